// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The rules that concern several keys, which no single key's range can state.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

#define ONLY_PORT "ports[0]."

// Whether the node has a key of the file's port itself (`port`).
static bool is_of_own_port(const struct config_reader *reader, const char *path)
{
	const cJSON *port = cJSON_GetObjectItemCaseSensitive(reader->node, "port");
	char key[EVB_NAME_SIZE];

	if (port == NULL || strncmp(path, ONLY_PORT, strlen(ONLY_PORT)) != 0)
		return false;
	path += strlen(ONLY_PORT);
	snprintf(key, sizeof(key), "%.*s", (int)strcspn(path, ".["), path);
	return cJSON_GetObjectItemCaseSensitive(port, key) != NULL;
}

static bool is_of_node(const struct config_reader *reader, const char *path)
{
	char key[EVB_NAME_SIZE];

	if (!reader->node)
		return false;
	snprintf(key, sizeof(key), "%.*s", (int)strcspn(path, ".["), path);
	return cJSON_GetObjectItemCaseSensitive(reader->node, key) != NULL;
}

struct config_reader *config_at(struct config_reader *reader, const char *path)
{
	if (is_of_node(reader, path))
		snprintf(reader->path, sizeof(reader->path), "nodes[%u].%s", reader->node_index,
			 path);
	else if (is_of_own_port(reader, path))
		snprintf(reader->path, sizeof(reader->path), "nodes[%u].port.%s",
			 reader->node_index, path + strlen(ONLY_PORT));
	else
		snprintf(reader->path, sizeof(reader->path), "%s", path);
	return reader;
}

struct config_reader *config_at_element(struct config_reader *reader, const char *list,
					unsigned index, const char *key)
{
	char path[96];

	snprintf(path, sizeof(path), "%s[%u].%s", list, index, key);
	return config_at(reader, path);
}

// Checks that the names, the first member of n elements of `width` bytes, are unique.
static int check_names(struct config_reader *reader, const char *list, const void *elements,
		       unsigned n_elements, size_t width)
{
	for (unsigned i = 1; i < n_elements; i++) {
		const char *name = (const char *)elements + i * width;
		for (unsigned j = 0; j < i; j++)
			if (strcmp((const char *)elements + j * width, name) == 0)
				return config_fail(config_at_element(reader, list, i, "name"),
						   "\"%s\" is the name of %s[%u] already", name,
						   list, j);
	}
	return 0;
}

// Gives the only element of a list its usual name. Of several, each has its own.
static int name_elements(struct config_reader *reader, const char *list, void *elements,
			 unsigned n_elements, size_t width, const char *usual)
{
	for (unsigned i = 0; i < n_elements; i++) {
		char *name = (char *)elements + i * width;

		if (name[0] == '\0' && n_elements > 1)
			return config_fail(config_at_element(reader, list, i, "name"),
					   "required where there are several");
		if (name[0] == '\0')
			snprintf(name, EVB_NAME_SIZE, "%s", usual);
	}
	return 0;
}

static int name_all(struct config_reader *reader, struct config *config)
{
	if (name_elements(reader, "ports", config->ports, config->n_ports, sizeof(config->ports[0]),
			  "wire") ||
	    name_elements(reader, "builders", config->builders, config->n_builders,
			  sizeof(config->builders[0]), "b0") ||
	    name_elements(reader, "generators", config->generators, config->n_generators,
			  sizeof(config->generators[0]), "boards") ||
	    name_elements(reader, "writers", config->writers, config->n_writers,
			  sizeof(config->writers[0]), "files"))
		return -1;
	for (unsigned i = 0; i < config->n_generators; i++) {
		char *port = config->generators[i].port;

		if (port[0] == '\0' && config->n_ports != 1)
			return config_fail(config_at_element(reader, "generators", i, "port"),
					   "required where there are several ports");
		if (port[0] == '\0')
			memcpy(port, config->ports[0].name, EVB_NAME_SIZE);
	}
	return 0;
}

static int check_all_names(struct config_reader *reader, const struct config *config)
{
	return check_names(reader, "ports", config->ports, config->n_ports,
			   sizeof(config->ports[0])) ||
	       check_names(reader, "builders", config->builders, config->n_builders,
			   sizeof(config->builders[0])) ||
	       check_names(reader, "generators", config->generators, config->n_generators,
			   sizeof(config->generators[0])) ||
	       check_names(reader, "groups", config->groups, config->n_groups,
			   sizeof(config->groups[0])) ||
	       check_names(reader, "writers", config->writers, config->n_writers,
			   sizeof(config->writers[0])) ||
	       check_names(reader, "results", config->results, config->n_results,
			   sizeof(config->results[0]));
}

// With a high mark of 1 the sender would never be paused; with a low mark of 0 it would never
// resume.
static int check_water_marks(struct config_reader *reader, const struct flow_control_settings *flow,
			     unsigned port)
{
	if (flow->high_water == 1)
		return config_fail(
		    config_at_element(reader, "ports", port, "flow_control.high_water"),
		    "1 is not below full: the sender would never be paused");
	if (flow->low_water == 0)
		return config_fail(
		    config_at_element(reader, "ports", port, "flow_control.low_water"),
		    "0 is not above empty: a paused sender would never go on");
	if (flow->low_water >= flow->high_water)
		return config_fail(
		    config_at_element(reader, "ports", port, "flow_control.low_water"),
		    "%g is not below high_water, which is %g", flow->low_water, flow->high_water);
	return 0;
}

// A network's first and last address are its own and the broadcast address, unless it has at most
// two addresses (RFC 3021).
static bool is_host(const struct port_settings *port)
{
	const uint32_t first_byte = port->address >> 24;
	const uint32_t of_hosts = port->prefix_length <= 30 ? UINT32_MAX >> port->prefix_length : 0;
	const uint32_t host = port->address & of_hosts;

	return first_byte != 0 && first_byte < 224 &&
	       (of_hosts == 0 || (host != 0 && host != of_hosts));
}

// Nodes of a system find each other by ARP, so they are in one network.
static int check_gateway(struct config_reader *reader, const struct port_settings *port, unsigned i)
{
	if (!port->has_gateway)
		return 0;
	if (reader->node)
		return config_fail(config_at_element(reader, "ports", i, "gateway"),
				   "nodes of a system are in one network");
	if (!port->has_address || !port_settings_reach(port, port->gateway))
		return config_fail(config_at_element(reader, "ports", i, "gateway"),
				   "is not in the network of the port's address");
	return 0;
}

static int check_ports(struct config_reader *reader, const struct config *config)
{
	for (unsigned i = 0; i < config->n_ports; i++) {
		const struct port_settings *port = &config->ports[i];
		if (port->has_address && !is_host(port))
			return config_fail(config_at_element(reader, "ports", i, "address"),
					   "is not the address of a host");
		if (port->has_address6 &&
		    (port->address6[0] == 0xff ||
		     !memcmp(port->address6, (const uint8_t[16]){ 0 }, sizeof(port->address6))))
			return config_fail(config_at_element(reader, "ports", i, "address6"),
					   "is not the address of a host");
		if (port->has_mac && (port->mac[0] & 1))
			return config_fail(config_at_element(reader, "ports", i, "mac"),
					   "is a multicast address, no port's own");
		if (check_gateway(reader, port, i) ||
		    check_water_marks(reader, &port->flow_control, i))
			return -1;
	}
	return 0;
}

bool config_ether_type_is_taken(uint16_t ether_type)
{
	static const uint16_t taken[] = { 0x0800, 0x0806, 0x8100, 0x86dd, 0x8808, 0x88a8 };

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (ether_type == taken[i])
			return true;
	return false;
}

static int check_transport(struct config_reader *reader, const struct config_transport *transport)
{
	if (transport->udp_port + transport->udp_ports - 1 > 65535)
		return config_fail(config_at(reader, "transport.udp_ports"),
				   "%u ports from %u on end above 65535", transport->udp_ports,
				   transport->udp_port);
	if (config_ether_type_is_taken(transport->ether_type))
		return config_fail(config_at(reader, "transport.ether_type"),
				   "0x%04X belongs to another protocol", transport->ether_type);
	return 0;
}

// Ethernet addresses are those of transport eth, and no others are.
static int check_from(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct source_from *from = &config->sources.from[i];
	bool is_eth = config->transport.kind == CONFIG_TRANSPORT_ETH;

	for (unsigned j = 0; j < from->n_addresses; j++)
		if ((from->addresses[j].kind == SOURCE_ADDRESS_MAC) != is_eth)
			return config_fail(
			    config_at_element(reader, "sources.from", i, "addresses"),
			    "transport.kind %s has senders with %s addresses",
			    is_eth ? "eth" : "udp or roce", is_eth ? "Ethernet" : "IP");
	if (from->has_udp_port && is_eth)
		return config_fail(config_at_element(reader, "sources.from", i, "udp_port"),
				   "transport.kind eth has no UDP ports");
	if (from->has_udp_port && from->udp_port + from->udp_ports - 1 > 65535)
		return config_fail(config_at_element(reader, "sources.from", i, "udp_ports"),
				   "%u ports from %u on end above 65535", from->udp_ports,
				   from->udp_port);
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

void config_sort_ids(uint16_t *ids, unsigned n_ids)
{
	qsort(ids, n_ids, sizeof(ids[0]), compare_ids);
}

const uint16_t *config_find_id(const uint16_t *ids, unsigned n_ids, uint16_t id)
{
	return bsearch(&id, ids, n_ids, sizeof(id), compare_ids);
}

static int check_generator_ids(struct config_reader *reader, const struct config *config,
			       unsigned i)
{
	const struct config_generator *generator = &config->generators[i];
	const struct config_sources *sources = &config->sources;

	for (unsigned j = 0; j < generator->n_ids; j++) {
		uint16_t id = generator->ids[j];
		if (!config_find_id(sources->ids, sources->n_ids, id))
			return config_fail(config_at_element(reader, "generators", i, "ids"),
					   "source id %u (0x%x) is not in sources.ids", id, id);
	}
	return 0;
}

static int check_faults(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct config_generator *generator = &config->generators[i];
	const struct faults *faults = &generator->faults;
	const uint16_t *ids = generator->n_ids ? generator->ids : config->sources.ids;
	unsigned n_ids = generator->n_ids ? generator->n_ids : config->sources.n_ids;

	if (faults->has_silent_source && !config_find_id(ids, n_ids, faults->silent_source))
		return config_fail(
		    config_at_element(reader, "generators", i, "faults.silent_source"),
		    "%u is no source of this generator", faults->silent_source);
	if (faults->has_late_source && !config_find_id(ids, n_ids, faults->late_source))
		return config_fail(config_at_element(reader, "generators", i, "faults.late_source"),
				   "%u is no source of this generator", faults->late_source);
	if (faults->has_late_source && faults->late_delay_ns == 0)
		return config_fail(config_at_element(reader, "generators", i, "faults.late_delay"),
				   "is needed with late_source");
	return 0;
}

static int check_producer(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct config_generator *generator = &config->generators[i];

	if (generator->kind != GENERATOR_PRODUCER)
		return 0;
	if (generator->producer.size / 2 < generator->producer.max_block)
		return config_fail(config_at_element(reader, "generators", i, "producer.size"),
				   "must be at least twice max_block");
	if (config->transport.kind == CONFIG_TRANSPORT_ROCE && reader->node == NULL)
		return config_fail(config_at_element(reader, "generators", i, "kind"),
				   "over RoCE, a producer needs a node of a system");
	return 0;
}

static int check_egress(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct config_generator *generator = &config->generators[i];

	if (generator->kind != GENERATOR_EVENT_RING)
		return 0;
	if (generator->egress.appliance[0] == '\0')
		return config_fail(
		    config_at_element(reader, "generators", i, "event_ring.appliance"),
		    "kind event_ring needs the name of the appliance that builds the events");
	if ((generator->n_ids > 0 ? generator->n_ids : config->sources.n_ids) != 1)
		return config_fail(config_at_element(reader, "generators", i, "ids"),
				   "kind event_ring sends for one source");
	// Blocks of other sources with the same number would be of other events.
	if (generator->egress.number_by == CONFIG_NUMBER_BY_ARRIVAL && config->sources.n_ids > 1)
		return config_fail(
		    config_at_element(reader, "generators", i, "event_ring.number_by"),
		    "arrival is for a single source in sources.ids: use event_id");
	if (config->sources.payload != PAYLOAD_OPAQUE)
		return config_fail(config_at_element(reader, "generators", i, "kind"),
				   "event_ring sends built events, which are no MFPs: "
				   "sources.payload must be opaque");
	return 0;
}

// The name of a kind that reads no file; NULL: it reads one.
static const char *without_file(enum generator_kind kind)
{
	switch (kind) {
	case GENERATOR_SYNTHETIC:
		return "synthetic";
	case GENERATOR_PRODUCER:
		return "producer";
	case GENERATOR_EVENT_RING:
		return "event_ring";
	case GENERATOR_PORT:
		return "port";
	default:
		return NULL;
	}
}

static int check_generator(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct config_generator *generator = &config->generators[i];
	const char *kind = without_file(generator->kind);
	bool reads_file = kind == NULL;

	if (config_port(config, generator->port) == config->n_ports)
		return config_fail(config_at_element(reader, "generators", i, "port"),
				   "no port is called \"%s\"", generator->port);
	if (!reads_file && generator->file[0])
		return config_fail(config_at_element(reader, "generators", i, "file"),
				   "kind %s reads no file", kind);
	if (reads_file && !generator->file[0])
		return config_fail(config_at_element(reader, "generators", i, "file"),
				   "is needed with this kind");
	if (generator->sizes.law == SIZE_GAUSSIAN &&
	    generator->sizes.mean > generator->sizes.maximum)
		return config_fail(config_at_element(reader, "generators", i, "size.mean"),
				   "%u is above maximum, which is %u", generator->sizes.mean,
				   generator->sizes.maximum);
	return check_producer(reader, config, i) || check_egress(reader, config, i) ||
		       config_check_listen(reader, config, i) ||
		       config_check_spill(reader, config, i) ||
		       check_generator_ids(reader, config, i) || check_faults(reader, config, i)
		   ? -1
		   : 0;
}

static int check_writer(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct config_writer *writer = &config->writers[i];

	if (config->n_builders == 0)
		return config_fail(config_at_element(reader, "writers", i, "name"),
				   "without builders there is nothing to write");
	if (writer->format == FILE_FORMAT_MDF && config->sources.payload == PAYLOAD_OPAQUE)
		return config_fail(config_at_element(reader, "writers", i, "format"),
				   "mdf has no form for sources.payload \"opaque\"; mep has");
	if (writer->format != FILE_FORMAT_MDF && writer->source_map[0])
		return config_fail(config_at_element(reader, "writers", i, "source_map"),
				   "is of use with format mdf only");
	return 0;
}

static void expect_all(struct config_sources *sources)
{
	if (sources->n_expected)
		return;
	for (unsigned i = 0; i < sources->n_ids; i++)
		sources->expected[i] = true;
	sources->n_expected = sources->n_ids;
}

// Finds the lcore that already contains the role. Searches the roles before number j_end of lcore
// i_end; returns false if none of them is the role.
static bool placed_before(const struct config *config, const char *role, unsigned i_end,
			  unsigned j_end, unsigned *lcore)
{
	for (*lcore = 0; *lcore < config->n_lcores && *lcore <= i_end; ++*lcore) {
		const struct config_lcore *candidate = &config->lcores[*lcore];
		unsigned end = *lcore == i_end ? j_end : candidate->n_roles;
		for (unsigned j = 0; j < end; j++)
			if (strcmp(candidate->roles[j], role) == 0)
				return true;
	}
	return false;
}

static bool is_role(const struct config *config, const char *role)
{
	struct config_role known;

	for (unsigned i = 0; config_role(config, i, &known); i++)
		if (strcmp(known.name, role) == 0)
			return true;
	return false;
}

static int check_roles(struct config_reader *reader, const struct config *config, unsigned i)
{
	const struct config_lcore *lcore = &config->lcores[i];
	char key[24];
	unsigned first;

	for (unsigned j = 0; j < lcore->n_roles; j++) {
		snprintf(key, sizeof(key), "roles[%u]", j);
		if (!is_role(config, lcore->roles[j]))
			return config_fail(config_at_element(reader, "lcores", i, key),
					   "there is no role \"%s\"", lcore->roles[j]);
		if (placed_before(config, lcore->roles[j], i, j, &first))
			return config_fail(config_at_element(reader, "lcores", i, key),
					   "\"%s\" is in lcores[%u] already", lcore->roles[j],
					   first);
	}
	return 0;
}

static int check_lcores(struct config_reader *reader, const struct config *config)
{
	struct config_role role;
	unsigned lcore;

	for (unsigned i = 0; i < config->n_lcores; i++) {
		for (unsigned j = 0; j < i; j++)
			if (config->lcores[j].cpu == config->lcores[i].cpu)
				return config_fail(config_at_element(reader, "lcores", i, "cpu"),
						   "CPU %u is that of lcores[%u] already",
						   config->lcores[i].cpu, j);
		if (check_roles(reader, config, i))
			return -1;
	}
	for (unsigned i = 0; config->n_lcores && config_role(config, i, &role); i++)
		if (!placed_before(config, role.name, config->n_lcores, 0, &lcore))
			return config_fail(config_at(reader, "lcores"), "no lcore has role \"%s\"",
					   role.name);
	return 0;
}

int config_check(struct config_reader *reader, struct config *config)
{
	expect_all(&config->sources);
	if (config->n_builders == 0 && config->n_generators == 0 && !reader->node)
		return config_fail(config_at(reader, "builders"),
				   "neither builders nor generators: there is nothing to do");
	if (config_resolve(reader, config) || name_all(reader, config) ||
	    check_all_names(reader, config) || check_ports(reader, config) ||
	    check_transport(reader, &config->transport) || config_check_roce(reader, config))
		return -1;
	for (unsigned i = 0; i < config->sources.n_from; i++)
		if (check_from(reader, config, i))
			return -1;
	for (unsigned i = 0; i < config->n_generators; i++)
		if (check_generator(reader, config, i))
			return -1;
	for (unsigned i = 0; i < config->n_writers; i++)
		if (check_writer(reader, config, i))
			return -1;
	if (config_check_groups(reader, config))
		return -1;
	return check_lcores(reader, config);
}
