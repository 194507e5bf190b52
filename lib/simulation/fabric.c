// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// From the configuration to the parameters of a fabric.
#include <stdlib.h>

#include "base/random.h"
#include "simulation/internal.h"

enum { DATA, CONTROL }; // priorities, where there are two

#define PLACES            UINT64_C(1) // purpose of the random numbers
#define DEADLOCK_INTERVAL (100000 * SIM_NANOSECOND)
#define LEAST_PACKETS     (1u << 20) // that may be underway; memory is used for those that are
#define PACKETS_PER_PORT  4096u
#define MOST_PACKETS      (1u << 26)

struct sim_fabric_parameters simulation_fabric(const struct config_fabric *fabric,
					       const struct simulation_network *network)
{
	const struct sim_topology *topology = &network->topology;
	struct sim_fabric_parameters parameters = sim_fabric_defaults();
	const uint64_t packets =
	    PACKETS_PER_PORT * ((uint64_t)topology->n_hosts + topology->n_links);

	parameters.kind = fabric->switch_kind;
	parameters.forwarding = fabric->forwarding;
	parameters.flow_control = fabric->flow_control;
	parameters.paths = fabric->paths;
	parameters.choice = fabric->routing;
	parameters.arbitration = fabric->arbitration;
	parameters.weights[DATA] = (uint8_t)fabric->data_weight;
	parameters.weights[CONTROL] = (uint8_t)fabric->control_weight;
	parameters.shared_buffer = fabric->shared_buffer;
	parameters.alpha = fabric->alpha;
	parameters.n_priorities = 1;
	parameters.lossless = 1;
	parameters.seed = fabric->seed;
	parameters.overhead = fabric->overhead;
	parameters.switch_delay = fabric->switch_delay_ns * SIM_NANOSECOND;
	parameters.host_delay = fabric->host_delay_ns * SIM_NANOSECOND;
	parameters.host_law =
	    (struct sim_law){ fabric->host_delay_law, fabric->host_delay_ns, &network->host_times };
	if (network->has_routes)
		parameters.table = &network->routes;
	parameters.queue = fabric->flow_control == SIM_NO_FLOW_CONTROL ? fabric->buffer : 0;
	parameters.burst = fabric->burst;
	parameters.input_buffer = fabric->buffer;
	parameters.retry_time = fabric->retry_time_ns * SIM_NANOSECOND;
	parameters.xoff = fabric->pfc.xoff;
	parameters.xon = fabric->pfc.xon;
	parameters.headroom = fabric->pfc.headroom;
	parameters.red_low = fabric->ecn.low;
	parameters.red_high = fabric->ecn.high;
	parameters.red_share = fabric->ecn.share;
	parameters.deadlock_interval = DEADLOCK_INTERVAL;
	parameters.max_packets = packets < LEAST_PACKETS  ? LEAST_PACKETS
				 : packets > MOST_PACKETS ? MOST_PACKETS
							  : (uint32_t)packets;
	return parameters;
}

uint32_t *simulation_places(const struct config_fabric *fabric, uint32_t n_hosts)
{
	uint32_t *places = calloc(n_hosts, sizeof(places[0]));
	struct random random = random_fork(fabric->seed, PLACES);

	for (uint32_t i = 0; places != NULL && i < n_hosts; i++) {
		uint32_t j = i;

		if (fabric->host_order == CONFIG_HOSTS_SHUFFLED)
			j = (uint32_t)(random_uniform(&random) * (i + 1));
		places[i] = places[j];
		places[j] = i;
	}
	return places;
}
