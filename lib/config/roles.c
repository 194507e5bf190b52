// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "config/config.h"

#include <stdio.h>

// The name is "KIND.OBJECT". The key tables limit the names of objects, so that it fits.
static void make_role(struct config_role *role, enum config_role_kind kind, unsigned object,
		      const char *name)
{
	static const char *const kinds[] = {
		[CONFIG_ROLE_SOURCE] = "source",          [CONFIG_ROLE_RX] = "rx",
		[CONFIG_ROLE_BUILDER] = "builder",        [CONFIG_ROLE_WRITER] = "writer",
		[CONFIG_ROLE_READOUT] = "readout",        [CONFIG_ROLE_RESULTS] = "results",
		[CONFIG_ROLE_RESULTS_SENDER] = "results",
	};

	*role = (struct config_role){ .kind = kind, .object = object };
	snprintf(role->name, sizeof(role->name), "%s.%s", kinds[kind], name);
}

static void make_rx(struct config_role *role, const struct config *config, unsigned port,
		    unsigned queue)
{
	char name[EVB_NAME_SIZE + 12];

	if (config->ports[port].rx_queues > 1)
		snprintf(name, sizeof(name), "%s.%u", config->ports[port].name, queue);
	else
		snprintf(name, sizeof(name), "%s", config->ports[port].name);
	make_role(role, CONFIG_ROLE_RX, port, name);
	role->queue = queue;
}

bool config_role(const struct config *config, unsigned index, struct config_role *role)
{
	bool is_node = config->cluster.n_nodes > 0;
	// A node without builders receives grants; an appliance that sends RoCE receives
	// acknowledgements.
	bool receives =
	    is_node || config->n_builders > 0 || config->transport.kind == CONFIG_TRANSPORT_ROCE;

	if (is_node && index-- == 0) {
		*role = (struct config_role){ .name = "control", .kind = CONFIG_ROLE_CONTROL };
		return true;
	}
	if (index < config->n_generators) {
		make_role(role, is_node ? CONFIG_ROLE_READOUT : CONFIG_ROLE_SOURCE, index,
			  config->generators[index].name);
		return true;
	}
	index -= config->n_generators;
	for (unsigned i = 0; receives && i < config->n_ports; i++) {
		if (index < config->ports[i].rx_queues) {
			make_rx(role, config, i, index);
			return true;
		}
		index -= config->ports[i].rx_queues;
	}
	if (index < config->n_builders) {
		make_role(role, CONFIG_ROLE_BUILDER, index, config->builders[index].name);
		return true;
	}
	index -= config->n_builders;
	if (index < config->n_writers) {
		make_role(role, CONFIG_ROLE_WRITER, index, config->writers[index].name);
		return true;
	}
	index -= config->n_writers;
	if (index < config->n_results) {
		const struct config_results *results = &config->results[index];
		make_role(role,
			  config_results_are_sent(config, results) ? CONFIG_ROLE_RESULTS_SENDER
								   : CONFIG_ROLE_RESULTS,
			  index, results->name);
		return true;
	}
	return false;
}

struct source_set_parameters config_source_set(const struct config *config,
					       const struct config_generator *generator)
{
	bool own_ids = generator->n_ids > 0;
	// The messages of a RoCE generator stay until they are acknowledged; the readouts of a
	// system release them event by event.
	bool loads =
	    config->transport.kind == CONFIG_TRANSPORT_ROCE && config->cluster.n_nodes == 0;

	return (struct source_set_parameters){
		.name = generator->name,
		.kind = generator->kind,
		.file = generator->file,
		.ids = own_ids ? generator->ids : config->sources.ids,
		.n_ids = own_ids ? generator->n_ids : config->sources.n_ids,
		.packing = config->sources.packing,
		.run_number = config->run_number,
		.events = generator->events,
		.window = loads ? 0 : generator->window,
		.sizes = generator->sizes,
		.variants = generator->variants,
		.seed = generator->seed,
		.by_event = config->cluster.n_nodes > 0,
		.roce_port = config->roce.udp_port,
	};
}
