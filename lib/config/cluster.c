// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "config/internal.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "wire/ctrl.h"
#include "wire/net.h"

#define LEASE_BEATS 4u          // heartbeats in a lease, at least (election/election.h)
#define FIRST_GROUP 0xE0000100u // 224.0.1.0
#define LAST_GROUP  0xEFFFFFFFu // 239.255.255.255

static bool is_data_port(const struct config *config, uint16_t port)
{
	const struct config_transport *transport = &config->transport;

	switch (transport->kind) {
	case CONFIG_TRANSPORT_UDP:
		return port >= transport->udp_port &&
		       port - transport->udp_port < transport->udp_ports;
	case CONFIG_TRANSPORT_ROCE:
		return port == config->roce.udp_port;
	case CONFIG_TRANSPORT_ETH:
		break;
	}
	return false;
}

// Switches send the addresses below 224.0.1.0 to all ports, and hosts use them for protocols.
static bool is_group(uint32_t address)
{
	return address >= FIRST_GROUP && address <= LAST_GROUP;
}

int config_check_event_manager(struct config_reader *reader, const struct config *config)
{
	const struct config_event_manager *manager = &config->event_manager;

	if (!(manager->sched.target_utilisation > 0))
		return config_fail(config_at(reader, "event_manager.target_utilisation"),
				   "0 would let nothing be sent");
	if (manager->heartbeat_timeout_ns < 2 * manager->heartbeat_ns)
		return config_fail(config_at(reader, "event_manager.heartbeat_timeout"),
				   "is less than two heartbeats");
	if (is_data_port(config, manager->control_port))
		return config_fail(config_at(reader, "event_manager.control_port"),
				   "%u is the UDP port of the data", manager->control_port);
	if (manager->has_multicast && !is_group(manager->multicast))
		return config_fail(config_at(reader, "event_manager.multicast"),
				   "is no multicast address that may be used: take one of "
				   "239.0.0.0/8");
	if (manager->control_priority == manager->data_priority)
		return config_fail(config_at(reader, "event_manager.control_priority"),
				   "%u is that of the data, which may be paused",
				   manager->control_priority);
	return 0;
}

// The events of another appliance do not end and begin with the runs of this one.
static int check_runs(struct config_reader *reader, const struct config *config)
{
	for (unsigned i = 0; i < config->n_generators; i++)
		if (config->event_manager.runs == CONFIG_RUNS_MANY &&
		    config->generators[i].kind == GENERATOR_EVENT_RING)
			return config_fail(config_at_element(reader, "generators", i, "kind"),
					   "event_ring needs event_manager.runs one");
	return 0;
}

static int check_priorities(struct config_reader *reader, const struct config *node)
{
	for (unsigned i = 0; i < node->n_ports; i++) {
		const struct flow_control_settings *control = &node->ports[i].flow_control;
		if (control->mode != FLOW_CONTROL_OFF &&
		    control->priority == node->event_manager.control_priority)
			return config_fail(
			    config_at_element(reader, "ports", i, "flow_control.priority"),
			    "%u is that of control messages, which must not be paused",
			    control->priority);
		if (control->mode != FLOW_CONTROL_OFF &&
		    control->priority != node->event_manager.data_priority)
			return config_fail(
			    config_at_element(reader, "ports", i, "flow_control.priority"),
			    "%u is not event_manager.data_priority, which is %u: pauses of the "
			    "data would be neither obeyed nor reported",
			    control->priority, node->event_manager.data_priority);
	}
	return 0;
}

static void add_memif(const struct port_settings *port, struct cluster_system_node *node)
{
	if (strcmp(port->profile, "memif") != 0)
		return;
	node->memif = config_hash_text(port->device);
	for (unsigned i = 0; i < port->n_options; i++)
		if (strcmp(port->options[i].name, "role") == 0)
			node->is_memif_client = strcmp(port->options[i].value, "client") == 0;
}

static int compare_addresses(const void *a, const void *b)
{
	const struct cluster_system_node *one = a, *other = b;

	return (one->address > other->address) - (one->address < other->address);
}

static int check_address(struct config_reader *reader, const struct cluster_system_node *node,
			 struct config_owners *owners)
{
	const struct cluster_system_node **found =
	    tsearch(node, &owners->addresses, compare_addresses);

	if (found == NULL)
		return config_fail(reader, "out of memory");
	if (*found == node)
		return 0;
	return config_fail(config_at_element(reader, "ports", node->port, "address"),
			   "is that of node %s already", (*found)->name);
}

// Peers send to the node at its first port that has an address and is not for boards only.
static int add_address(struct config_reader *reader, const struct config *config,
		       struct cluster_system_node *node, struct config_owners *owners)
{
	while (node->port < config->n_ports &&
	       (!config->ports[node->port].has_address || config_is_for_boards(config, node->port)))
		node->port++;
	if (node->port == config->n_ports)
		return config_fail(config_at(reader, "ports"),
				   "none has an address, and a node of a system needs one");

	const struct port_settings *port = &config->ports[node->port];
	if (port->mtu < CTRL_MIN_MAX_SIZE + NET_IPV4_SIZE + NET_UDP_SIZE)
		return config_fail(config_at_element(reader, "ports", node->port, "mtu"),
				   "%u, control messages of a system need at least %u", port->mtu,
				   CTRL_MIN_MAX_SIZE + NET_IPV4_SIZE + NET_UDP_SIZE);
	node->address = port->address;
	node->prefix_length = port->prefix_length;
	node->has_mac = port->has_mac;
	memcpy(node->mac, port->mac, sizeof(node->mac));
	node->reports_link_rate = port->link_rate_is_auto;
	node->link_rate = port->link_rate;
	node->mtu = port->mtu;
	node->tagged = port->has_vlan;
	add_memif(port, node);
	return check_address(reader, node, owners);
}

static int add_builders(struct config_reader *reader, const struct config *config,
			struct cluster_system *cluster, struct cluster_system_node *node)
{
	node->first_builder = cluster->n_builders;
	node->n_builders = config->n_builders;
	if (config->transport.kind == CONFIG_TRANSPORT_ETH && config->n_builders > 1)
		return config_fail(config_at(reader, "transport.kind"),
				   "behind an EtherType nothing tells the %u builders of a node "
				   "apart: set it to \"udp\", or use one builder per node",
				   config->n_builders);
	if (cluster->n_builders + config->n_builders > EVB_MAX_SYSTEM_BUILDERS)
		return config_fail(config_at(reader, "builders"),
				   "more than %u builders in the whole system",
				   EVB_MAX_SYSTEM_BUILDERS);
	for (unsigned i = 0; i < config->n_builders; i++) {
		const struct config_builder *from = &config->builders[i];
		unsigned number = cluster->n_builders++;
		struct cluster_system_builder *to = &cluster->builders[number];
		*to = (struct cluster_system_builder){
			.node = config->cluster.self,
			.index = i,
			.slots = from->slots,
			.slot_size = from->slot_size,
			.group = from->group == CONFIG_AUTO ? CONFIG_MAX_GROUP + 1 + number
							    : from->group,
			.weight = from->weight,
		};
		memcpy(to->name, from->name, sizeof(to->name));
	}
	return 0;
}

static bool is_numbered_by_arrival(const struct config_generator *generator)
{
	return generator->kind == GENERATOR_EVENT_RING &&
	       generator->egress.number_by == CONFIG_NUMBER_BY_ARRIVAL;
}

// Nodes that send the built events of other appliances may share their source, unless the events
// keep their ids: each event comes from one of them.
static bool may_share(const struct config *config, const struct cluster_system *cluster,
		      unsigned owner, unsigned generator)
{
	return owner != config->cluster.self && cluster->nodes[owner].numbers_built &&
	       is_numbered_by_arrival(&config->generators[generator]);
}

static int own_source(struct config_reader *reader, const struct config *config, unsigned generator,
		      uint16_t id, struct cluster_system *cluster, struct config_owners *owners)
{
	const struct config_sources *sources = &config->sources;
	const uint16_t *found = config_find_id(sources->ids, sources->n_ids, id);
	uint16_t *owner = &owners->nodes[found - sources->ids];

	if (*owner && may_share(config, cluster, *owner - 1u, generator))
		cluster->shares_source = true;
	else if (*owner)
		return config_fail(config_at_element(reader, "generators", generator, "ids"),
				   "source id %u (0x%x) is sent by node %s already", id, id,
				   config->cluster.nodes[*owner - 1].name);
	*owner = (uint16_t)(config->cluster.self + 1);
	cluster->source_ids[cluster->n_sources++] = id;
	return 0;
}

// A grant names the number of an event, from which its builder computes the id.
static int check_first_event(struct config_reader *reader, const struct config *config)
{
	for (unsigned i = 0; i < config->n_generators; i++)
		if (config->generators[i].first_event != 0 &&
		    config->event_manager.sched.mode != SCHED_STATIC)
			return config_fail(
			    config_at_element(reader, "generators", i, "first_event"),
			    "must be 0 where events are granted: ids begin with 0");
	return 0;
}

static int add_sources(struct config_reader *reader, const struct config *config,
		       struct cluster_system *cluster, struct cluster_system_node *node,
		       struct config_owners *owners)
{
	const struct config_sources *sources = &config->sources;

	node->first_source = cluster->n_sources;
	for (unsigned i = 0; i < config->n_generators; i++) {
		const struct config_generator *generator = &config->generators[i];
		node->load_balancer |= generator->load_balancer_header;
		node->sends_built |= generator->kind == GENERATOR_EVENT_RING;
		node->numbers_built |= is_numbered_by_arrival(generator);
		const uint16_t *ids = generator->n_ids ? generator->ids : sources->ids;
		unsigned n_ids = generator->n_ids ? generator->n_ids : sources->n_ids;
		for (unsigned j = 0; j < n_ids; j++)
			if (own_source(reader, config, i, ids[j], cluster, owners))
				return -1;
	}
	node->n_sources = cluster->n_sources - node->first_source;
	config_sort_ids(&cluster->source_ids[node->first_source], node->n_sources);
	return 0;
}

int config_cluster_add(struct config_reader *reader, const struct config *config,
		       struct cluster_system *cluster, struct config_owners *owners)
{
	struct cluster_system_node *node = &cluster->nodes[config->cluster.self];

	if (config->n_builders == 0 && config->n_generators == 0 && config->n_results == 0 &&
	    !node->manager)
		return config_fail(reader,
				   "neither builders nor generators, and not the manager: there is "
				   "nothing to do");
	return check_priorities(reader, config) || check_runs(reader, config) ||
		       check_first_event(reader, config) ||
		       add_address(reader, config, node, owners) ||
		       add_builders(reader, config, cluster, node) ||
		       add_sources(reader, config, cluster, node, owners)
		   ? -1
		   : 0;
}

// Where the event manager is elected, the other nodes have to be a majority without it.
static int check_managers(struct config_reader *reader, const struct config *config)
{
	const struct config_event_manager *manager = &config->event_manager;
	const struct cluster_system *cluster = &config->cluster;

	if (!cluster_elects(cluster))
		return 0;
	if (cluster->n_managers > EVB_MAX_MANAGERS)
		return config_fail(reader, "%u of them are managers, at most %u can be",
				   cluster->n_managers, EVB_MAX_MANAGERS);
	if (cluster->n_nodes < 3)
		return config_fail(reader, "with several managers at least 3 nodes are needed: a "
					   "majority of them elects one");
	if (manager->heartbeat_timeout_ns < LEASE_BEATS * manager->heartbeat_ns)
		return config_fail(config_at(reader, "event_manager.heartbeat_timeout"),
				   "is less than %u heartbeats, which an elected manager needs",
				   LEASE_BEATS);
	return 0;
}

int config_check_cluster(struct config_reader *reader, const struct config_sources *sources,
			 const struct config *system, const struct config_owners *owners)
{
	const struct cluster_manager_parameters manager = config_manager_parameters(system);
	const struct cluster_system *cluster = &system->cluster;
	char cause[SCHED_ERROR_SIZE];

	if (cluster->n_builders == 0)
		return config_fail(reader, "none of them has a builder");
	for (unsigned i = 0; cluster->n_sources > 0 && i < sources->n_ids; i++)
		if (sources->expected[i] && !owners->nodes[i])
			return config_fail(reader,
					   "no generator of theirs stands for source id %u (0x%x)",
					   sources->ids[i], sources->ids[i]);
	if (check_managers(reader, system))
		return -1;
	if (cluster->shares_source && system->event_manager.sched.mode == SCHED_STATIC)
		return config_fail(config_at(reader, "event_manager.mode"),
				   "static has no indices for nodes that share a source: use push "
				   "or pull");
	if (cluster->shares_source && system->event_manager.sched.phase_barrier > 0)
		return config_fail(config_at(reader, "event_manager.phase_barrier"),
				   "nodes that share a source have no phases in common: use 0");
	if (cluster_manager_check(&manager, cause))
		return config_fail(config_at(reader, "event_manager"), "%s", cause);
	return 0;
}
