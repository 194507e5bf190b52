// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The rules of RoCE v2 that concern several keys.
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"
#include "roce/connection.h"
#include "wire/roce.h"

static struct config_reader *at_pair(struct config_reader *reader, unsigned index, const char *key)
{
	return config_at_element(reader, "roce.queue_pairs", index, key);
}

// The low bits of a queue pair's number are its index in a table, so no two may have the same.
static int check_place(struct config_reader *reader, const struct roce_settings *roce,
		       unsigned index, uint16_t *places)
{
	uint32_t qpn = roce->queue_pairs[index].local_qpn;
	uint16_t *place = &places[qpn & (roce->max_queue_pairs - 1)];

	if (*place)
		return config_fail(at_pair(reader, index, "local_qpn"),
				   "0x%x and that of queue_pairs[%u] are the same in a table of "
				   "max_queue_pairs, which is %u",
				   qpn, *place - 1, roce->max_queue_pairs);
	*place = (uint16_t)(index + 1);
	return 0;
}

static bool is_host(const uint8_t address[16])
{
	static const uint8_t ipv4[12] = { [10] = 0xff, [11] = 0xff };
	static const uint8_t none[16];

	if (!memcmp(address, ipv4, sizeof(ipv4)))
		return address[12] != 0 && address[12] < 224;
	return address[0] != 0xff && memcmp(address, none, sizeof(none)) != 0;
}

static int check_pairs(struct config_reader *reader, const struct config *config, uint16_t *places)
{
	const struct config_sources *sources = &config->sources;
	const struct roce_settings *roce = &config->roce;

	for (unsigned i = 0; i < roce->n_queue_pairs; i++) {
		const struct roce_static_pair *pair = &roce->queue_pairs[i];
		if (pair->has_source && !config_find_id(sources->ids, sources->n_ids, pair->source))
			return config_fail(at_pair(reader, i, "source"),
					   "source id %u (0x%x) is not in sources.ids",
					   pair->source, pair->source);
		if (!is_host(pair->address))
			return config_fail(at_pair(reader, i, "address"),
					   "is not the address of a host");
		if (check_place(reader, roce, i, places))
			return -1;
	}
	return 0;
}

static int check_queue_pairs(struct config_reader *reader, const struct config *config)
{
	const struct roce_settings *roce = &config->roce;

	if (roce->n_queue_pairs == 0)
		return 0;
	if (roce->connection != ROCE_CONNECTION_STATIC)
		return config_fail(config_at(reader, "roce.queue_pairs"),
				   "is of use with connection static only");
	uint16_t *places = calloc(roce->max_queue_pairs, sizeof(*places));
	if (!places)
		return config_fail(reader, "out of memory");
	int result = check_pairs(reader, config, places);
	free(places);
	return result;
}

// One lcore owns all queue pairs of a port, and peers find them at the port's address.
static int check_port(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct port_settings *port = &config->ports[i];
	uint32_t path_mtu = roce_path_mtu(port->mtu);

	if (port->rx_queues > 1)
		return config_fail(config_at_element(reader, "ports", i, "rx_queues"),
				   "%u, RoCE is received on one: set it to 1, and use more ports",
				   port->rx_queues);
	if (!port->has_address && !port->has_address6)
		return config_fail(config_at_element(reader, "ports", i, "address"),
				   "RoCE needs one, as 10.0.0.1/24, or address6");
	if (!port->has_address && config->roce.connection == ROCE_CONNECTION_FEROCE)
		return config_fail(config_at_element(reader, "ports", i, "address"),
				   "FERoCE boards need one, as 10.0.0.1/24");
	if (path_mtu == 0 || config->roce.path_mtu > path_mtu)
		return config_fail(config_at(reader, "roce.path_mtu"),
				   "the mtu %u of ports[%u] has room for %u and headers", port->mtu,
				   i, path_mtu);
	return 0;
}

// Responses that arrive on a port go to the one generator that sends on it.
static int check_generator(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct config_generator *generator = &config->generators[i];
	unsigned port = config_port(config, generator->port);

	if (port < config->n_ports && !config->ports[port].has_address)
		return config_fail(config_at_element(reader, "generators", i, "port"),
				   "port %s needs an `address` to send RoCE from", generator->port);
	// The readouts of a system send the MFPs of a capture.
	if (generator->kind == GENERATOR_PCAP && reader->node == NULL)
		return config_fail(config_at_element(reader, "generators", i, "kind"),
				   "packets of a capture are sent as they are: set transport.kind "
				   "to \"udp\", or the kind to \"roce\"");
	for (unsigned j = 0; j < i; j++)
		if (strcmp(config->generators[j].port, generator->port) == 0)
			return config_fail(config_at_element(reader, "generators", i, "port"),
					   "generator %s sends by RoCE on port %s already: make "
					   "one of both, or use another port",
					   config->generators[j].name, generator->port);
	return 0;
}

// A builder can only read a block that its readout has announced through the event manager.
static int check_read(struct config_reader *reader, const struct config *config)
{
	if (config->roce.operation != ROCE_OPERATION_READ ||
	    (config->cluster.n_nodes > 0 && config->event_manager.sched.mode == SCHED_PULL &&
	     config->roce.service == ROCE_RC))
		return 0;
	return config_fail(config_at(reader, "roce.operation"),
			   "builders read from the readouts of a cluster, with event_manager.mode "
			   "\"pull\" and roce.service \"rc\": set these, or this to \"send\"");
}

// In a node of a system, readouts connect by RDMA CM, and peers find its builders by RDMA CM.
static int check_node(struct config_reader *reader, const struct config *config)
{
	const struct roce_settings *roce = &config->roce;

	if (config->n_generators > 0 && roce->connection != ROCE_CONNECTION_CM)
		return config_fail(config_at(reader, "roce.connection"),
				   "readouts of a cluster connect by RDMA CM: set it to \"cm\"");
	if (config->n_generators > 0 && roce->service == ROCE_UD)
		return config_fail(config_at(reader, "roce.service"),
				   "an MFP of a readout of a cluster may be longer than one "
				   "packet: set it to \"rc\"");
	if (config->n_builders > 1 &&
	    (roce->connection != ROCE_CONNECTION_CM || config->n_builders > CM_PORTS_MOST ||
	     roce->cm_service + config->n_builders - 1 > UINT16_MAX))
		return config_fail(config_at(reader, "builders"),
				   "%u, where RoCE is received peers find the %u of a node at "
				   "most by RDMA CM, at cm_service and the ports behind it",
				   config->n_builders, CM_PORTS_MOST);
	return 0;
}

static int check_payload(struct config_reader *reader, const struct config *config)
{
	if (config->sources.payload != PAYLOAD_MFP)
		return config_fail(config_at(reader, "sources.payload"),
				   "RoCE messages are MFPs, whose header names event and source: "
				   "set it to \"mfp\"");
	return 0;
}

int config_check_roce_port(struct config_reader *reader, const struct config *config, unsigned port)
{
	return check_payload(reader, config) || check_port(reader, config, port) ? -1 : 0;
}

static int check_transport(struct config_reader *reader, const struct config *config)
{
	if (check_payload(reader, config))
		return -1;
	for (unsigned i = 0; i < config->n_ports; i++)
		if (config_has_roce(config, i) && check_port(reader, config, i))
			return -1;
	for (unsigned i = 0; i < config->n_generators; i++)
		if (check_generator(reader, config, i))
			return -1;
	return config->cluster.n_nodes > 0 ? check_node(reader, config) : 0;
}

int config_check_roce(struct config_reader *reader, const struct config *config)
{
	const struct roce_settings *roce = &config->roce;

	if (roce->service == ROCE_UD && roce->operation >= ROCE_OPERATION_WRITE)
		return config_fail(config_at(reader, "roce.operation"), "service ud can only send");
	if (check_queue_pairs(reader, config))
		return -1;
	if (config->transport.kind == CONFIG_TRANSPORT_ROCE)
		return check_transport(reader, config) || check_read(reader, config) ? -1 : 0;
	for (unsigned i = 0; i < config->n_generators; i++)
		if (config->generators[i].kind == GENERATOR_ROCE && reader->node == NULL)
			return config_fail(config_at_element(reader, "generators", i, "kind"),
					   "messages of RoCE connections need transport.kind "
					   "\"roce\"");
	return 0;
}
