// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Traffic kind `system`: the nodes of the configuration send, with the code of lib/sim_system.
#include <stdlib.h>

#include "base/error_line.h"
#include "simulation/internal.h"

#define HOST_PACKETS  2u // of a frame's size, in the transmit queue of a host
#define N_PRIORITIES  2u // data, and above it control, which is never paused
#define DATA_PRIORITY 0u

static bool fail(char *error, const char *reason)
{
	(void)error_line(error, SIM_ERROR_SIZE, "%s", reason);
	return false;
}

static bool make_fabric(struct simulated_system *simulated, struct sim_engine *engine,
			const struct sim_topology *topology,
			const struct sim_fabric_parameters *fabric, char *error)
{
	struct sim_fabric_parameters parameters = *fabric;

	parameters.n_priorities = N_PRIORITIES;
	parameters.lossless = 1u << DATA_PRIORITY;
	parameters.host_queue = HOST_PACKETS * CLUSTER_MTU_MOST;
	simulated->fabric = sim_fabric_create(engine, topology, &parameters, &sim_system_operations,
					      simulated->system, error);
	return simulated->fabric != NULL;
}

bool simulated_system_make(struct simulated_system *simulated, struct sim_engine *engine,
			   const struct simulation_network *network,
			   const struct sim_fabric_parameters *fabric,
			   const struct simulation_parameters *parameters, const uint32_t *places,
			   char *error)
{
	const struct sim_traffic_settings *traffic = &parameters->fabric->traffic;
	const struct config_fabric_costs *costs = &parameters->fabric->host_costs;
	char reason[SIM_SYSTEM_ERROR_SIZE];
	struct sim_system_parameters system;

	if (parameters->system == NULL)
		return fail(error, "fabric.traffic.kind: system needs a file with nodes");
	system = *parameters->system;
	if (network->topology.n_hosts < system.system->n_nodes)
		return fail(error, "fabric.hosts: there are more nodes than hosts");
	system.engine = engine;
	system.tracer = fabric->tracer;
	system.hosts = places;
	system.seed = parameters->fabric->seed;
	system.data_priority = DATA_PRIORITY;
	system.control_priority = N_PRIORITIES - 1;
	system.consumer.law = (struct sim_law){ traffic->consumer_law, traffic->consumer_time_ns,
						&network->consumer_times };
	system.consumer.n_workers = 1;
	system.costs = (struct sim_costs){ .receive = costs->receive_ns,
					   .send = costs->send_ns,
					   .control = costs->control_ns };
	simulated->n_nodes = system.system->n_nodes;
	simulated->system = sim_system_create(&system, reason);
	if (simulated->system == NULL)
		return fail(error, reason);
	simulated->before = calloc(simulated->n_nodes, sizeof(simulated->before[0]));
	if (simulated->before == NULL)
		return fail(error, "no memory");
	if (!make_fabric(simulated, engine, &network->topology, fabric, error))
		return false;
	sim_system_start(simulated->system, simulated->fabric);
	return true;
}

void simulated_system_free(struct simulated_system *simulated)
{
	sim_fabric_destroy(simulated->fabric);
	sim_system_destroy(simulated->system);
	free(simulated->before);
}

void simulated_system_begin(struct simulated_system *simulated)
{
	for (unsigned i = 0; i < simulated->n_nodes; i++)
		sim_system_node(simulated->system, i, &simulated->before[i]);
	sim_system_packets(simulated->system, &simulated->lost_before);
	sim_system_begin(simulated->system);
}

void simulated_system_received(const struct simulated_system *simulated, uint64_t *received)
{
	for (unsigned i = 0; i < simulated->n_nodes; i++) {
		struct sim_node_view view;

		sim_system_node(simulated->system, i, &view);
		received[i] = view.received_wire;
	}
}

// All fields are sums of 64 bits.
static void add_difference(struct sim_node_view *sum, const struct sim_node_view *before,
			   const struct sim_node_view *after)
{
	const uint64_t *from = (const uint64_t *)before, *end = (const uint64_t *)after;
	uint64_t *to = (uint64_t *)sum;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += end[i] - from[i];
}

bool simulated_system_result(const struct simulated_system *simulated,
			     struct simulation_result *result, char *error)
{
	struct simulation_system *out = &result->system;
	char reason[SIM_SYSTEM_ERROR_SIZE];
	struct sim_packets lost;

	if (!sim_system_check(simulated->system, reason))
		return fail(error, reason);
	for (unsigned i = 0; i < simulated->n_nodes; i++) {
		struct sim_node_view after;

		sim_system_node(simulated->system, i, &after);
		result->received[i] = after.payload - simulated->before[i].payload;
		add_difference(&out->total, &simulated->before[i], &after);
	}
	out->latency = *sim_system_latency(simulated->system);
	sim_system_manager(simulated->system, &out->manager);
	sim_system_packets(simulated->system, &lost);
	out->lost_data = lost.data_lost - simulated->lost_before.data_lost;
	out->lost_control = lost.control_lost - simulated->lost_before.control_lost;
	result->n_deadlock =
	    sim_deadlock(simulated->fabric, result->deadlock, SIMULATION_MAX_WAITS);
	return true;
}
