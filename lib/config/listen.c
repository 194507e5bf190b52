// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Generators of kind port: the ports to which boards send, and what these need.
#include <string.h>

#include "config/internal.h"

#define LEAST_BLOCKS      8u // of the largest size, for which a store has memory
#define LEAST_ROCE_BLOCKS 8u // per source and one more: then it holds two events at least

unsigned config_port(const struct config *config, const char *name)
{
	unsigned i = 0;

	while (i < config->n_ports && strcmp(config->ports[i].name, name) != 0)
		i++;
	return i;
}

const char *config_listen_port(const struct config_generator *generator)
{
	return generator->listen.port[0] != '\0' ? generator->listen.port : generator->port;
}

unsigned config_listener(const struct config *config, unsigned port)
{
	unsigned i = 0;

	while (i < config->n_generators &&
	       (config->generators[i].kind != GENERATOR_PORT ||
		strcmp(config_listen_port(&config->generators[i]), config->ports[port].name) != 0))
		i++;
	return i;
}

bool config_is_for_boards(const struct config *config, unsigned port)
{
	unsigned i = config_listener(config, port);

	return i < config->n_generators &&
	       strcmp(config->generators[i].port, config->ports[port].name) != 0;
}

bool config_has_roce(const struct config *config, unsigned port)
{
	return config_is_for_boards(config, port)
		   ? config->generators[config_listener(config, port)].listen.roce
		   : config->transport.kind == CONFIG_TRANSPORT_ROCE;
}

// What a port needs on which the generator also sends.
static int check_shared(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct config_listen *listen = &config->generators[i].listen;
	uint16_t control = config->event_manager.control_port;

	if (listen->roce)
		return config_fail(config_at_element(reader, "generators", i, "listen.port"),
				   "RoCE boards need a port on which nobody sends");
	if (config->n_builders > 0)
		return config_fail(config_at_element(reader, "generators", i, "listen.port"),
				   "the builders of the node receive on port %s: the boards need "
				   "another one",
				   config->generators[i].port);
	if (!listen->has_ether_type && control >= listen->udp_port &&
	    control - listen->udp_port < listen->udp_ports)
		return config_fail(config_at_element(reader, "generators", i, "listen.udp_port"),
				   "%u is event_manager.control_port", control);
	return 0;
}

static int check_port(struct config_reader *reader, const struct config *config, unsigned i)
{
	const char *port = config_listen_port(&config->generators[i]);
	unsigned at = config_port(config, port);

	if (at == config->n_ports)
		return config_fail(config_at_element(reader, "generators", i, "listen.port"),
				   "no port is called \"%s\"", port);
	if (config_listener(config, at) != i)
		return config_fail(config_at_element(reader, "generators", i, "listen.port"),
				   "the boards of generator %s send to port %s already",
				   config->generators[config_listener(config, at)].name, port);
	if (strcmp(config->generators[i].port, port) == 0)
		return check_shared(reader, config, i);
	for (unsigned j = 0; j < config->n_generators; j++)
		if (strcmp(config->generators[j].port, port) == 0)
			return config_fail(
			    config_at_element(reader, "generators", i, "listen.port"),
			    "generator %s sends on port %s: the boards need another one",
			    config->generators[j].name, port);
	return config->generators[i].listen.roce ? config_check_roce_port(reader, config, at) : 0;
}

int config_check_listen(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct config_generator *generator = &config->generators[i];
	const struct config_listen *listen = &generator->listen;
	unsigned n_sources;

	if (generator->kind != GENERATOR_PORT)
		return 0;
	if (reader->node == NULL)
		return config_fail(config_at_element(reader, "generators", i, "kind"),
				   "kind port needs a node of a system");
	if (listen->size / LEAST_BLOCKS < listen->max_block)
		return config_fail(config_at_element(reader, "generators", i, "listen.size"),
				   "must be at least %u times max_block", LEAST_BLOCKS);
	n_sources = generator->n_ids > 0 ? generator->n_ids : config->sources.n_ids;
	if (listen->roce && listen->size / listen->max_block < LEAST_ROCE_BLOCKS * (n_sources + 1))
		return config_fail(config_at_element(reader, "generators", i, "listen.size"),
				   "must be at least %u times max_block for %u RoCE boards",
				   LEAST_ROCE_BLOCKS * (n_sources + 1), n_sources);
	if (listen->udp_port + listen->udp_ports - 1 > 65535)
		return config_fail(config_at_element(reader, "generators", i, "listen.udp_ports"),
				   "%u ports from %u on end above 65535", listen->udp_ports,
				   listen->udp_port);
	if (listen->has_ether_type && config_ether_type_is_taken(listen->ether_type))
		return config_fail(config_at_element(reader, "generators", i, "listen.ether_type"),
				   "0x%04X belongs to another protocol", listen->ether_type);
	return check_port(reader, config, i);
}
