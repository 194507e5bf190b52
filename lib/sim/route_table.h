// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Routes that somebody has written down: for each switch and each destination, the links by which
// the switch may forward. A fabric with a table (struct sim_fabric_parameters) chooses among them
// as among the paths that it finds itself.
//
// Threads: a table belongs to one thread.
#pragma once

#include "sim/topology.h"

#define SIM_MAX_LOOP 16u // switches of a loop that are named

struct sim_route_entry {
	uint32_t first, count; // in sim_route_table.links; count 0: there is no route
};

struct sim_route_table {
	uint32_t n_hosts, n_switches;
	struct sim_route_entry *entries; // [n_switches][n_hosts]
	uint32_t *links;                 // of the topology
	uint32_t n_links, room;
};

// False: no memory. Free the table in both cases.
bool sim_route_table_make(struct sim_route_table *table, const struct sim_topology *topology);
void sim_route_table_free(struct sim_route_table *table);

// Adds links of a switch (0 to n_switches - 1), for the entries of any number of hosts. False: no
// memory.
bool sim_route_table_add(struct sim_route_table *table, const uint32_t *links, uint32_t count,
			 struct sim_route_entry *entry);
static inline struct sim_route_entry *sim_route_table_entry(const struct sim_route_table *table,
							    uint32_t at, uint32_t host)
{
	return &table->entries[(uint64_t)at * table->n_hosts + host];
}

enum sim_route_fault_kind {
	SIM_ROUTE_MISSING, // `at` has no route to `host`, and gets packets for it
	SIM_ROUTE_ASTRAY,  // `at` forwards packets for `host` to another host
	SIM_ROUTE_LOOP,    // packets for `host` can return to `at`
};

struct sim_route_fault {
	enum sim_route_fault_kind kind;
	uint32_t at, host;
	uint32_t loop[SIM_MAX_LOOP]; // switches, from `at` on
	uint32_t n_loop;             // of these; the loop can be longer
};

// Follows the routes from each switch with hosts to each host. True: all packets arrive, whatever
// is chosen. False with fault->n_loop 0 and fault->host SIM_MAX_HOSTS: no memory.
bool sim_route_table_check(const struct sim_route_table *table, const struct sim_topology *topology,
			   struct sim_route_fault *fault);
