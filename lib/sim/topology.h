// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Topologies: which hosts and switches there are, and the links between them. A topology is built
// once, and given to sim_fabric_create().
//
// Nodes: hosts have the numbers 0 to n_hosts - 1, switches follow. A host has exactly one link. A
// link is full duplex.
//
// Threads: a topology belongs to one thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim/engine.h"

#define SIM_MAX_HOSTS      (1u << 20)
#define SIM_MAX_SWITCHES   (1u << 16)
#define SIM_MAX_RADIX      4096u // ports of one switch
#define SIM_MAX_DIMENSIONS 3u
#define SIM_ERROR_SIZE     512

struct sim_link {
	uint32_t ends[2];         // nodes
	uint64_t bits_per_second; // in each direction, 10^6 to 10^13
	uint64_t delay;           // ps, of the cable, in one direction; at most SIM_SECOND
	double loss;              // share of the packets that are lost at random, 0 to 1
};

struct sim_topology {
	uint32_t n_hosts;
	uint32_t n_switches;
	uint32_t n_links;
	struct sim_link *links;
	// Of a torus, for the routing by dimension order; n_dimensions is 0 otherwise.
	uint32_t n_dimensions;
	uint32_t size[SIM_MAX_DIMENSIONS];
	// Of each switch: 0 for those nearest to the hosts (leaves), then 1 (spines, or the second
	// level of three) and 2. All are 0 if the topology has no levels.
	uint8_t *level;
	// The levels are those of sim_topology_find_levels(). Where no path up and then down exists
	// between two hosts, SIM_UP_DOWN takes distances from switch 0 instead.
	bool guesses_levels;
	uint32_t room; // of `links`; internal
};

// What the links of a topology have in common.
struct sim_links {
	uint64_t bits_per_second;
	uint64_t delay; // ps
};

// Each function makes a topology that sim_topology_free() frees, or returns false and writes one
// line to error[SIM_ERROR_SIZE]: the fault, and the expected value.

// n_hosts at one switch; host h is at port h.
bool sim_topology_switch(struct sim_topology *topology, uint32_t n_hosts, struct sim_links links,
			 char *error);

// A folded Clos network of 2 levels. Leaf l has the hosts l * down to l * down + down - 1, and
// `parallel` links to each spine. Without oversubscription, spines * parallel = down. Only the
// first n_hosts hosts exist, so that the last leaf may be part empty; n_hosts is at most
// leaves * down.
struct sim_clos2 {
	uint32_t leaves, spines;
	uint32_t down;     // hosts per leaf
	uint32_t parallel; // links from each leaf to each spine
	uint32_t n_hosts;  // 0: leaves * down
	struct sim_links host_links, spine_links;
};
bool sim_topology_clos2(struct sim_topology *topology, const struct sim_clos2 *clos, char *error);

// A folded Clos network of 3 levels: `pods`, each of `leaves` leaves and `middles` middle switches
// that are completely joined; middle switch m of each pod is joined to the spines
// m * spines / middles and following of them. spines is a multiple of middles.
struct sim_clos3 {
	uint32_t pods, leaves, middles, spines;
	uint32_t down;            // hosts per leaf
	uint32_t parallel_middle; // links from each leaf to each middle switch of its pod
	uint32_t parallel_spine;  // links from a middle switch to each of its spines
	uint32_t n_hosts;         // 0: pods * leaves * down
	struct sim_links host_links, middle_links, spine_links;
};
bool sim_topology_clos3(struct sim_topology *topology, const struct sim_clos3 *clos, char *error);

// A torus of 1 (a ring) to 3 dimensions: one switch with `hosts` hosts per point. The switch at
// (x, y, z) has the number (z * size[1] + y) * size[0] + x. A dimension of size 2 has one link, not
// two; one of size 1 has none.
struct sim_torus {
	uint32_t n_dimensions;
	uint32_t size[SIM_MAX_DIMENSIONS];
	uint32_t hosts; // per switch
	struct sim_links host_links, torus_links;
};
bool sim_topology_torus(struct sim_topology *topology, const struct sim_torus *torus, char *error);

// A list of links: begin with the numbers of nodes, then add each link. Ports of a node are
// numbered in the order in which its links are added. sim_fabric_create() checks that all is
// joined.
bool sim_topology_begin(struct sim_topology *topology, uint32_t n_hosts, uint32_t n_switches,
			char *error);
bool sim_topology_add(struct sim_topology *topology, const struct sim_link *link, char *error);

// Sets the levels of such a list: each is the distance to the nearest switch with hosts. All stay 0
// if one is above 255.
void sim_topology_find_levels(struct sim_topology *topology);

// Sets the levels by the distance to the nearest of some switches (0 to n_switches - 1), the roots,
// which have the highest level. False: a switch is further than 255 links from them.
bool sim_topology_set_roots(struct sim_topology *topology, const uint32_t *roots, uint32_t n);

void sim_topology_free(struct sim_topology *topology);
