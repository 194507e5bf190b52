// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Routes: the ports by which a switch may forward a packet, for each switch that has hosts (leaf).
// Sets of ports that are equal are stored once. With a table of routes each host counts as a leaf.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/route_table.h"
#include "sim/topology.h"

// Where the ports of a topology lead; ports as in fabric.h.
struct sim_graph {
	uint32_t n_hosts, n_switches;
	const uint32_t *first_port;      // of each node, and the end
	const uint32_t *peer_node;       // of each port
	const uint32_t (*link_ports)[2]; // of each link of the topology, at its two ends
};

struct sim_port_set {
	uint32_t first; // in `ports`
	uint32_t count;
	uint32_t divisor; // of host numbers, for the choice by destination
};

struct sim_routes {
	uint32_t n_leaves;
	uint32_t *leaf_of_host;   // number of the leaf
	uint32_t *port_to_host;   // of its switch
	uint32_t *leaf_of_switch; // its number; UINT32_MAX: it has no hosts
	uint32_t *set_of;         // switch * n_leaves + leaf: the set
	struct sim_port_set *sets;
	uint32_t *ports;
	uint32_t n_sets, sets_room, n_ports, ports_room;
	uint32_t *buckets; // of sets, by their hash; while routes are made
	uint32_t n_buckets;
	size_t memory;
};

// paths: SIM_SHORTEST, ... False: an error, one line in error[SIM_ERROR_SIZE]; free it all the
// same.
bool sim_routes_make(struct sim_routes *routes, const struct sim_topology *topology,
		     const struct sim_graph *graph, unsigned paths, char *error);
// The same, of a table.
bool sim_routes_take(struct sim_routes *routes, const struct sim_topology *topology,
		     const struct sim_graph *graph, const struct sim_route_table *table,
		     char *error);
void sim_routes_free(struct sim_routes *routes);
