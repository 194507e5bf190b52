// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// From the configuration to a topology and the parameters of a fabric.
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "simulation/internal.h"

#define PLACES            UINT64_C(1) // purpose of the random numbers
#define DEADLOCK_INTERVAL (100000 * SIM_NANOSECOND)
#define LEAST_PACKETS     (1u << 20) // that may be underway; memory is used for those that are
#define PACKETS_PER_PORT  4096u
#define MOST_PACKETS      (1u << 26)

static struct sim_links links_of(const struct config_fabric *fabric)
{
	return (struct sim_links){
		.bits_per_second = fabric->link_rate,
		.delay = fabric->link_delay_ns * SIM_NANOSECOND,
	};
}

// Hosts that there are: those asked for, else the nodes, else the room.
static bool choose_hosts(const struct config_fabric *fabric, uint32_t n_nodes, uint64_t room,
			 uint32_t *n_hosts, char *error)
{
	*n_hosts = fabric->hosts != 0 ? fabric->hosts : n_nodes;
	if (*n_hosts == 0)
		*n_hosts = (uint32_t)(room < SIM_MAX_HOSTS ? room : SIM_MAX_HOSTS);
	if (*n_hosts >= 2 && *n_hosts <= room)
		return true;
	snprintf(error, SIM_ERROR_SIZE,
		 "fabric.hosts: %u, and the topology has room for 2 to %llu: change arity",
		 *n_hosts, (unsigned long long)room);
	return false;
}

// Leaves of `arity` hosts and uplinks to as many switches; half of the ports of each switch above
// lead down, so that all have the same number of ports.
static bool make_clos(const struct config_fabric *fabric, uint32_t n_nodes,
		      struct sim_topology *topology, char *error)
{
	const uint32_t arity = fabric->arity;
	const uint32_t uplinks = (uint32_t)lround(arity / fabric->oversubscription);
	const uint64_t per_pod = (uint64_t)arity * (fabric->levels == 3 ? arity : 1);
	const struct sim_links links = links_of(fabric);
	uint32_t n_hosts, pods;

	if (fabs(uplinks * fabric->oversubscription - arity) > 1e-6 || uplinks == 0) {
		snprintf(error, SIM_ERROR_SIZE,
			 "fabric.oversubscription: %g does not divide %u hosts of a leaf evenly",
			 fabric->oversubscription, arity);
		return false;
	}
	if (!choose_hosts(fabric, n_nodes, 2 * arity * per_pod, &n_hosts, error))
		return false;
	pods = (uint32_t)((n_hosts + per_pod - 1) / per_pod);
	if (fabric->levels == 3) {
		const struct sim_clos3 clos = {
			.pods = pods,
			.leaves = arity,
			.middles = uplinks,
			.spines = uplinks * arity,
			.down = arity,
			.parallel_middle = 1,
			.parallel_spine = 1,
			.n_hosts = n_hosts,
			.host_links = links,
			.middle_links = links,
			.spine_links = links,
		};
		return sim_topology_clos3(topology, &clos, error);
	}
	const struct sim_clos2 clos = {
		.leaves = pods,
		.spines = uplinks,
		.down = arity,
		.parallel = 1,
		.n_hosts = n_hosts,
		.host_links = links,
		.spine_links = links,
	};
	return sim_topology_clos2(topology, &clos, error);
}

static bool make_torus(const struct config_fabric *fabric, uint32_t n_nodes,
		       struct sim_topology *topology, char *error)
{
	const uint64_t n_switches = (uint64_t)fabric->columns * fabric->rows * fabric->planes;
	const struct sim_torus torus = {
		.n_dimensions = SIM_MAX_DIMENSIONS,
		.size = { fabric->columns, fabric->rows, fabric->planes },
		.hosts = fabric->arity,
		.host_links = links_of(fabric),
		.torus_links = links_of(fabric),
	};
	uint32_t n_hosts;

	if (!choose_hosts(fabric, n_nodes, n_switches * fabric->arity, &n_hosts, error))
		return false;
	if (n_hosts == n_switches * fabric->arity)
		return sim_topology_torus(topology, &torus, error);
	snprintf(error, SIM_ERROR_SIZE,
		 "fabric.hosts: %u, and a torus of %llu switches with %u hosts each is always full",
		 n_hosts, (unsigned long long)n_switches, fabric->arity);
	return false;
}

bool simulation_topology(const struct config_fabric *fabric, uint32_t n_nodes,
			 struct sim_topology *topology, char *error)
{
	uint32_t n_hosts;

	if (fabric->topology == CONFIG_TOPOLOGY_CLOS)
		return make_clos(fabric, n_nodes, topology, error);
	if (fabric->topology == CONFIG_TOPOLOGY_TORUS)
		return make_torus(fabric, n_nodes, topology, error);
	n_hosts = fabric->hosts != 0 ? fabric->hosts : n_nodes;
	return sim_topology_switch(topology, n_hosts != 0 ? n_hosts : fabric->arity,
				   links_of(fabric), error);
}

struct sim_fabric_parameters simulation_fabric(const struct config_fabric *fabric,
					       const struct sim_topology *topology)
{
	struct sim_fabric_parameters parameters = sim_fabric_defaults();
	const uint64_t packets =
	    PACKETS_PER_PORT * ((uint64_t)topology->n_hosts + topology->n_links);

	parameters.kind = fabric->switch_kind;
	parameters.forwarding = fabric->forwarding;
	parameters.flow_control = fabric->flow_control;
	parameters.paths = fabric->paths;
	parameters.choice = fabric->routing;
	parameters.n_priorities = 1;
	parameters.lossless = 1;
	parameters.seed = fabric->seed;
	parameters.overhead = fabric->overhead;
	parameters.switch_delay = fabric->switch_delay_ns * SIM_NANOSECOND;
	parameters.host_delay = fabric->host_delay_ns * SIM_NANOSECOND;
	parameters.queue = fabric->flow_control == SIM_NO_FLOW_CONTROL ? fabric->buffer : 0;
	parameters.burst = fabric->burst;
	parameters.credit_buffer = fabric->buffer;
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
