// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim_system/internal.h"

#include <stdlib.h>

#include "base/error_line.h"
#include "readout/segment_head.h"
#include "wire/mep.h"
#include "wire/net.h"

#define WAKE_NUMBERS (SIM_MAX_DATA + 1u)
#define MOST_WORKERS 1024u
#define SEED_PURPOSE 71u // random_fork()

void sim_wake_at(struct sim_system *system, struct sim_wake *wake, unsigned handler, uint32_t index,
		 uint64_t at)
{
	const uint64_t now = sim_now(system->parameters.engine);

	if (at < now)
		at = now;
	if (at >= wake->at)
		return;
	wake->at = at;
	wake->number = (wake->number + 1) % WAKE_NUMBERS;
	sim_at(system->parameters.engine, at, handler, index, wake->number);
}

// --- what cannot be simulated ---

static const char *refusal_of(const struct sim_system_parameters *p)
{
	if (p->manager.cluster.mode == SCHED_STATIC)
		return "event_manager.mode: static has no event manager to simulate; push or pull "
		       "can be simulated";
	if (p->manager.wire.transport == ON_WIRE_ROCE)
		return "transport.kind: RoCE cannot be simulated; udp and eth can";
	if (cluster_elects(p->system))
		return "nodes: an elected event manager cannot be simulated; mark one node as "
		       "manager";
	if (p->system->shares_source)
		return "nodes: readout nodes that share a source cannot be simulated";
	if (p->system->n_sources == 0 || p->n_generators == 0)
		return "nodes: there are no generators, so nothing sends";
	if (p->system->n_builders == 0)
		return "nodes: there are no builders";
	if (p->consumer.n_workers == 0 || p->consumer.n_workers > MOST_WORKERS)
		return "the number of consumers is not in 1 to 1024";
	return NULL;
}

// --- creation ---

static uint32_t announced_size(const struct sim_system_parameters *p)
{
	return 2 * cluster_unfinished(p->manager.cluster.source_buffer);
}

static void make_rules(struct sim_system *system)
{
	const struct sim_system_parameters *p = &system->parameters;

	system->headers = NET_ETH_SIZE + segment_head_size(false);
	if (!p->ethernet)
		system->headers += NET_IPV4_SIZE + NET_UDP_SIZE;
	system->rules = (struct sim_builder_rules){
		.n_sources = p->system->n_sources,
		.n_nodes = p->system->n_nodes,
		.node_of_source = system->node_of_source,
		.header_size = (uint32_t)mep_header_size(p->system->n_sources, MEP_DEFAULT_ALIGN),
		.error_size = (uint32_t)mfp_error_size(p->packing),
		.deadline = p->manager.deadline_ns,
		.grant_wait = p->heartbeat_timeout_ns / 2,
		.discards = p->on_incomplete == INCOMPLETE_DISCARD,
		.consumer = p->consumer,
		.segments = &system->segments,
		.rows = &system->rows,
		.built = &system->latency.built,
		.tell = sim_node_tell,
		.published = sim_account_published,
	};
	pool_init(&system->segments, sizeof(struct sim_segment));
	pool_init(&system->rows, p->system->n_sources * sizeof(uint32_t));
	frames_init(&system->frames);
	for (unsigned i = 0; i < p->system->n_nodes; i++)
		for (unsigned j = 0; j < p->system->nodes[i].n_sources; j++)
			system->node_of_source[p->system->nodes[i].first_source + j] = (uint16_t)i;
}

static bool make_arrays(struct sim_system *system)
{
	const struct sim_system_parameters *p = &system->parameters;

	system->nodes = calloc(p->system->n_nodes, sizeof(*system->nodes));
	system->builders = calloc(p->system->n_builders, sizeof(*system->builders));
	system->readouts = calloc(p->n_generators, sizeof(*system->readouts));
	system->node_of_source = calloc(p->system->n_sources, sizeof(*system->node_of_source));
	system->announced = calloc(announced_size(p), sizeof(*system->announced));
	system->announced_mask = announced_size(p) - 1;
	for (unsigned i = 0; i < p->system->n_nodes; i++) {
		const uint32_t host = p->hosts != NULL ? p->hosts[i] : i;

		if (host >= system->n_hosts)
			system->n_hosts = host + 1;
	}
	system->nodes_of_hosts = calloc(system->n_hosts, sizeof(*system->nodes_of_hosts));
	return system->nodes != NULL && system->builders != NULL && system->readouts != NULL &&
	       system->node_of_source != NULL && system->announced != NULL &&
	       system->nodes_of_hosts != NULL;
}

// The generators of each node are neighbours in the array of readouts.
static void place_nodes(struct sim_system *system)
{
	const struct sim_system_parameters *p = &system->parameters;

	for (unsigned i = 0; i < p->system->n_nodes; i++) {
		struct sim_node *node = &system->nodes[i];

		node->system = system;
		node->number = i;
		node->host = p->hosts != NULL ? p->hosts[i] : i;
		system->nodes_of_hosts[node->host] = i;
		node->cluster = *p->system;
		node->cluster.self = i;
		node->builders = &system->builders[p->system->nodes[i].first_builder];
		node->n_builders = p->system->nodes[i].n_builders;
		node->readouts = &system->readouts[system->n_readouts];
		for (unsigned j = 0; j < p->n_generators; j++)
			node->n_readouts += p->generators[j].node == i;
		system->n_readouts += node->n_readouts;
	}
}

static bool make_builders(struct sim_system *system, char *error)
{
	const struct sim_system_parameters *p = &system->parameters;

	for (unsigned i = 0; i < p->system->n_builders; i++) {
		const struct cluster_system_builder *builder = &p->system->builders[i];

		system->builders[i].node = &system->nodes[builder->node];
		system->builders[i].index = builder->index;
		if (!sim_builder_make(&system->builders[i].builder, &system->rules,
				      &system->builders[i], builder->slots, announced_size(p),
				      random_fork(p->seed, SEED_PURPOSE + 1 + i))) {
			(void)error_line(error, SIM_SYSTEM_ERROR_SIZE, "out of memory");
			return false;
		}
	}
	return true;
}

static bool make_readouts(struct sim_system *system, char *error)
{
	const struct sim_system_parameters *p = &system->parameters;
	unsigned number = 0;

	for (unsigned i = 0; i < p->system->n_nodes; i++) {
		struct sim_node *node = &system->nodes[i];
		unsigned index = 0;

		for (unsigned j = 0; j < p->n_generators; j++) {
			struct sim_readout *readout = &system->readouts[number];

			if (p->generators[j].node != i)
				continue;
			readout->node = node;
			readout->index = index++;
			readout->number = number++;
			if (!sim_readout_make(readout, &p->generators[j], error))
				return false;
		}
	}
	return true;
}

struct sim_system *sim_system_create(const struct sim_system_parameters *parameters, char *error)
{
	struct sim_system *system = calloc(1, sizeof(*system));
	const char *refusal = refusal_of(parameters);

	(void)error_line(error, SIM_SYSTEM_ERROR_SIZE, "%s",
			 refusal != NULL ? refusal : "out of memory");
	if (system == NULL || refusal != NULL) {
		free(system);
		return NULL;
	}
	system->parameters = *parameters;
	system->has_costs = parameters->costs.receive > 0 || parameters->costs.send > 0 ||
			    parameters->costs.control > 0;
	system->random = random_fork(parameters->seed, SEED_PURPOSE);
	if (!make_arrays(system)) {
		sim_system_destroy(system);
		return NULL;
	}
	make_rules(system);
	place_nodes(system);
	if (!make_builders(system, error) || !make_readouts(system, error)) {
		sim_system_destroy(system);
		return NULL;
	}
	system->poll_handler = sim_engine_handler(parameters->engine, sim_node_poll, system);
	system->cpu_handler = sim_engine_handler(parameters->engine, sim_wire_handled, system);
	system->readout_handler = sim_engine_handler(parameters->engine, sim_readout_poll, system);
	for (unsigned i = 0; i < parameters->system->n_nodes; i++)
		if (!sim_node_begin(&system->nodes[i], error)) {
			sim_system_destroy(system);
			return NULL;
		}
	system->parameters.generators = NULL;
	return system;
}

void sim_system_destroy(struct sim_system *system)
{
	if (system == NULL)
		return;
	for (unsigned i = 0; system->nodes != NULL && i < system->parameters.system->n_nodes; i++)
		sim_node_end(&system->nodes[i]);
	for (unsigned i = 0; system->builders != NULL && i < system->parameters.system->n_builders;
	     i++)
		sim_builder_free(&system->builders[i].builder);
	for (unsigned i = 0; system->readouts != NULL && i < system->n_readouts; i++)
		sim_readout_free(&system->readouts[i]);
	free(system->nodes);
	free(system->builders);
	free(system->readouts);
	free(system->node_of_source);
	free(system->announced);
	free(system->nodes_of_hosts);
	pool_free(&system->segments);
	pool_free(&system->rows);
	frames_free(&system->frames);
	free(system);
}

void sim_system_start(struct sim_system *system, struct sim_fabric *fabric)
{
	system->fabric = fabric;
	for (unsigned i = 0; i < system->parameters.system->n_nodes; i++)
		sim_node_start(&system->nodes[i]);
}
