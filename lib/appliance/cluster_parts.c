// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The parts that only a node of a cluster has: the control role, the readouts, and their links and
// mailboxes.
#include <string.h>

#include <rte_errno.h>

#include "appliance/parts.h"
#include "node/readout_role.h"
#include "port/interface.h"
#include "port/last_will.h"

bool cluster_grants(const struct config *config)
{
	return config->cluster.n_nodes > 0 && config->event_manager.sched.mode != SCHED_STATIC;
}

struct role *appliance_control(const struct appliance *appliance)
{
	return appliance_role(appliance, CONFIG_ROLE_CONTROL, 0);
}

static int make_mail(struct mailbox mail[2], uint32_t depth, int node, char *error)
{
	for (unsigned i = 0; i < 2; i++)
		if (!mailbox_make(&mail[i], depth, node))
			return appliance_fail(error, "no memory for a mailbox of %u messages (%s)",
					      depth, rte_strerror(rte_errno));
	return 0;
}

// Makes the mailbox of offered blocks, if builders read: each block of an event is offered.
static int make_offers(struct appliance *appliance, int node, char *error)
{
	uint32_t depth = plan_offers(appliance->config);

	if (depth > 0 && !mailbox_make(&appliance->offers, depth, node))
		return appliance_fail(error, "no memory for a mailbox of %u offers (%s)", depth,
				      rte_strerror(rte_errno));
	return 0;
}

static void find_nodes_of_sources(struct appliance *appliance)
{
	const struct cluster_system *cluster = &appliance->config->cluster;

	for (unsigned i = 0; i < cluster->n_nodes; i++)
		for (unsigned j = 0; j < cluster->nodes[i].n_sources; j++) {
			uint16_t id = cluster->source_ids[cluster->nodes[i].first_source + j];

			if (appliance->sources.index[id] < EVB_MAX_SOURCES)
				appliance->nodes_of_sources[appliance->sources.index[id]] =
				    (uint16_t)i;
		}
}

static int make_mailboxes(struct appliance *appliance, int node, char *error)
{
	const struct config *config = appliance->config;

	// Each token causes only a few messages, so that the mailbox is never full.
	for (unsigned i = 0; i < config->n_builders; i++)
		if (make_mail(
			appliance->builder_mail[i],
			rte_align32pow2(8 * config->builders[i].slots + config->cluster.n_nodes),
			node, error) != 0)
			return -1;
	for (unsigned i = 0; i < config->n_generators; i++)
		if (make_mail(appliance->readout_mail[i], PLAN_MAILBOX_DEPTH, node, error) != 0)
			return -1;
	return make_offers(appliance, node, error);
}

static int make_decision_queues(struct appliance *appliance, char *error)
{
	const struct config *config = appliance->config;
	const struct cluster_system *system = &config->cluster;

	for (unsigned i = 0; i < config->n_results; i++) {
		const struct config_results *results = &config->results[i];
		const unsigned index = results->system - 1;
		const uint32_t packing = config_results_packing(config, results);

		if (results->system == 0)
			continue;
		if (config_results_are_sent(config, results))
			appliance->outboxes[index] =
			    decision_outbox_create(results->window, packing);
		else
			appliance->inboxes[index] =
			    decision_inbox_create(results->window, packing, system->n_nodes);
		if (appliance->outboxes[index] == NULL && appliance->inboxes[index] == NULL)
			return appliance_fail(error, "no memory for the decisions of results %s",
					      results->name);
	}
	return 0;
}

int cluster_common_make(struct appliance *appliance, char *error)
{
	const struct plan *plan = appliance->plan;
	const unsigned n_nodes = appliance->config->cluster.n_nodes;
	unsigned control = plan_role_of(plan, CONFIG_ROLE_CONTROL, 0);
	int node;

	if (control == PLAN_NONE)
		return 0;
	node = (int)plan_node_of(plan, control);
	appliance->control_pool = port_pool_create("control", plan->control_mbufs, PLAN_POOL_CACHE,
						   plan->control_buffer, node);
	if (appliance->control_pool == NULL)
		return appliance_fail(error, "no memory for the pool of %u control frames (%s)",
				      plan->control_mbufs, rte_strerror(rte_errno));
	find_nodes_of_sources(appliance);
	if (!neighbours_make(&appliance->neighbours, n_nodes))
		return appliance_fail(error, "out of memory");
	return 0;
}

void last_will_prepare(struct appliance *appliance)
{
	const struct plan *plan = appliance->plan;
	const unsigned control = plan_role_of(plan, CONFIG_ROLE_CONTROL, 0);
	char interface[INTERFACE_NAME_SIZE], cause[LAST_WILL_ERROR_SIZE];
	const char *device;

	if (control == PLAN_NONE)
		return;
	device = appliance->config->ports[plan->roles[control].port].device;
	if (!interface_of_device(device, interface))
		return;
	appliance->last_will = last_will_make(interface, appliance->config->cluster.n_nodes, cause);
	if (appliance->last_will == NULL)
		notice(appliance,
		       "if this process dies, the other nodes notice it after heartbeat_timeout "
		       "only: its last will cannot be sent: %s",
		       cause);
}

void cluster_common_free(struct appliance *appliance)
{
	neighbours_free(&appliance->neighbours);
}

// Of the nodes whose MAC address is configured.
static void set_known_neighbours(struct appliance *appliance)
{
	const struct cluster_system *cluster = &appliance->config->cluster;

	for (unsigned i = 0; i < cluster->n_nodes; i++)
		if (cluster->nodes[i].has_mac)
			neighbours_set(&appliance->neighbours, i, cluster->nodes[i].mac);
}

int cluster_parts_make(struct appliance *appliance, char *error)
{
	const struct plan *plan = appliance->plan;
	unsigned control = plan_role_of(plan, CONFIG_ROLE_CONTROL, 0);
	int node;

	if (control == PLAN_NONE)
		return 0;
	set_known_neighbours(appliance);
	if (!keys_watch_make(&appliance->key_watch, appliance->config->cluster.n_nodes))
		return appliance_fail(error, "out of memory");
	node = (int)plan_node_of(plan, control);
	for (unsigned i = 0; i < plan->n_roles; i++) {
		struct link *link;

		if (plan->roles[i].kind != CONFIG_ROLE_RX)
			continue;
		link = make_link(plan, i, control, PLAN_CONTROL_DEPTH, false, node, error);
		if (link == NULL)
			return -1;
		appliance->control_links[appliance->n_control_links++] = link;
	}
	return make_mailboxes(appliance, node, error) || make_decision_queues(appliance, error) ? -1
												: 0;
}

void cluster_parts_free(struct appliance *appliance)
{
	for (unsigned i = 0; i < appliance->config->n_builders; i++)
		for (unsigned j = 0; j < 2; j++)
			mailbox_free(&appliance->builder_mail[i][j]);
	for (unsigned i = 0; i < appliance->config->n_generators; i++)
		for (unsigned j = 0; j < 2; j++)
			mailbox_free(&appliance->readout_mail[i][j]);
	if (appliance->offers.ring != NULL)
		mailbox_free(&appliance->offers);
	for (unsigned i = 0; i < EVB_MAX_RESULTS; i++) {
		decision_outbox_destroy(appliance->outboxes[i]);
		decision_inbox_destroy(appliance->inboxes[i]);
	}
	for (unsigned i = 0; i < appliance->n_control_links; i++)
		link_destroy(appliance->control_links[i]);
	keys_watch_free(&appliance->key_watch);
}

// Whether what the node's sources announced before outlives its process.
static bool sources_resume(const struct appliance *appliance)
{
	const unsigned n = appliance->config->n_generators;
	unsigned i = 0;

	while (i < n && appliance->stores[i]->resumes)
		i++;
	return n > 0 && i == n;
}

// For one of several runs of the process.
static void prepare_run(const struct appliance *appliance,
			struct control_role_parameters *parameters)
{
	if (!config_serves_several_runs(appliance->config))
		return;
	parameters->node.cluster.prepared_run = appliance->run;
	parameters->manager.cluster.prepared_run = appliance->run;
	parameters->manager.excluded = appliance->excluded;
	// Runs behind the first one start at a command.
	parameters->manager.autostart &= appliance->n_runs == 0;
	parameters->manager.autostart |= appliance->is_asked_for;
}

struct role *cluster_make_control(struct appliance *appliance, const struct plan_role *plan,
				  char *error)
{
	const struct config *config = appliance->config;
	const struct config_event_manager *manager = &config->event_manager;
	const struct port *port = &appliance->ports[plan->port];
	struct control_keys keys;
	struct control_role_parameters parameters = {
		.name = plan->name,
		.keys = &keys,
		.control_port = manager->control_port,
		.control_dscp = manager->control_dscp,
		.group = manager->has_multicast ? manager->multicast : 0,
		.heartbeat_ns = manager->heartbeat_ns,
		.shares_clock = manager->sched.shaping == SCHED_TIMED_SHIFT,
		.heartbeat_timeout_ns = manager->heartbeat_timeout_ns,
		.node = {
			.cluster = config_cluster_parameters(config),
			.n_readouts = config->n_generators,
			.resumes = sources_resume(appliance),
			.placements = roce_placements(appliance),
			.link_rate = port_link_rate(port),
			.excluded = appliance->excluded[config->cluster.self],
		},
		.session = appliance->control_session,
		.gates = appliance->gates,
		.n_gates = appliance->n_gates,
		.manager = config_manager_parameters(config),
		.decisions = {
			.granted = cluster_grants(config),
			.run = RTE_MAX(appliance->run, 1u),
		},
		.drain_ns = config->events.drain_timeout_ns,
		.port_id = port->id,
		.queue = (uint16_t)plan->tx_queue,
		.mac = port->mac,
		.mtu = port->config->mtu,
		.pool = appliance->control_pool,
		.flow_control = appliance_flow_control(appliance, plan->port),
		.data_priority = manager->data_priority,
		.neighbours = &appliance->neighbours,
		.last_will = appliance->last_will,
		.vlan = port->config->has_vlan ? &port->vlan : NULL,
		.links = appliance->control_links,
		.n_links = appliance->n_control_links,
		.builder_mail = appliance->builder_mail,
		.n_builders = config->n_builders,
		.readout_mail = appliance->readout_mail,
		.n_readouts = config->n_generators,
		.offers = appliance->offers.ring != NULL ? &appliance->offers : NULL,
		.slots = cluster_grants(config) ? appliance->roce_slots : NULL,
		.numa_node = port->numa_node,
	};
	struct role *role;

	prepare_run(appliance, &parameters);
	memcpy(parameters.decisions.outboxes, appliance->outboxes, sizeof(appliance->outboxes));
	memcpy(parameters.decisions.inboxes, appliance->inboxes, sizeof(appliance->inboxes));
	if (keys_read(appliance, &keys, error) != 0)
		return NULL;
	role = control_role_create(&parameters, error);
	control_keys_wipe(&keys);
	return role;
}

static void list_builders(const struct config *config, struct link **links,
			  struct readout_builder *builders,
			  struct readout_destination *destinations)
{
	const struct cluster_system *cluster = &config->cluster;

	for (unsigned i = 0; i < cluster->n_builders; i++) {
		const struct cluster_system_builder *builder = &cluster->builders[i];

		builders[i] = (struct readout_builder){
			.first = cluster_link_of(cluster, i).first_builder,
			.link = builder->node == cluster->self ? links[builder->index] : NULL,
			.node = builder->node,
			.address = cluster->nodes[builder->node].address,
			.udp_port = (uint16_t)(config->transport.udp_port + builder->index),
		};
		destinations[i] = (struct readout_destination){
			.is_local = builder->node == cluster->self,
			.node = (uint16_t)builder->node,
			.index = (uint16_t)builder->index,
			.address = cluster->nodes[builder->node].address,
			.slots = builder->slots,
		};
	}
}

struct role *cluster_make_readout(struct appliance *appliance, const struct plan_role *plan,
				  struct link **links)
{
	const struct config *config = appliance->config;
	const struct config_event_manager *manager = &config->event_manager;
	const struct cluster_system_node *self = &config->cluster.nodes[config->cluster.self];
	const struct config_generator *generator = &config->generators[plan->object];
	const struct port *port = &appliance->ports[plan->port];
	struct readout_builder builders[EVB_MAX_SYSTEM_BUILDERS];
	struct readout_destination destinations[EVB_MAX_SYSTEM_BUILDERS];
	const struct readout_roce_parameters roce = {
		.settings = &config->roce,
		.builders = destinations,
		.n_builders = config->cluster.n_builders,
		.link_rate = port_link_rate(port),
		.unfinished = cluster_unfinished(manager->source_buffer),
		.holds_until_release = manager->sched.mode != SCHED_STATIC,
		.neighbours = &appliance->neighbours,
		.responses = appliance->roce_responses[plan->port],
	};
	struct readout_parameters parameters = {
		.name = plan->name,
		.packets = generator_packets(appliance, plan),
		.sources = &appliance->sources,
		.builders = builders,
		.logic = config_readout_logic(config, generator),
		.faults = &generator->faults,
		.bundles = appliance->generator_pools[plan->object][2],
		.seed = generator->seed,
		.port_id = port->id,
		.queue = (uint16_t)plan->tx_queue,
		.tagged = self->tagged,
		.neighbours = &appliance->neighbours,
		.flow_control = appliance_flow_control(appliance, plan->port),
		.data_priority = manager->data_priority,
		.roce = roce.responses != NULL ? &roce : NULL,
		.from_control = &appliance->readout_mail[plan->object][0],
		.to_control = &appliance->readout_mail[plan->object][1],
		.numa_node = port->numa_node,
	};

	parameters.logic.pace.n_sources = appliance->stores[plan->object]->n_sources;
	parameters.packets.address = self->address;
	parameters.packets.udp_ports = 1; // each builder has a UDP port of its own
	parameters.packets.dscp = manager->data_dscp;
	list_builders(config, links, builders, destinations);
	return readout_role_create(&parameters);
}
