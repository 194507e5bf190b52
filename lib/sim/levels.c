// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Levels of the switches of any topology, by their distance to some of them.
#include <string.h>

#include "sim/topology.h"

#define UNKNOWN UINT8_MAX

// Gives all switches the distance to the nearest one that has 0 already; the others are UNKNOWN.
// Returns the largest distance; UNKNOWN: not all were reached.
static uint8_t measure(struct sim_topology *topology)
{
	const uint32_t n_hosts = topology->n_hosts;
	uint8_t *level = topology->level, most = 0;
	bool changed = true;

	for (unsigned distance = 0; changed && distance + 1 < UNKNOWN; distance++) {
		changed = false;
		for (uint32_t i = 0; i < topology->n_links; i++) {
			const uint32_t *ends = topology->links[i].ends;

			for (unsigned end = 0; end < 2; end++) {
				const uint32_t at = ends[end], next = ends[!end];

				if (at < n_hosts || next < n_hosts ||
				    level[at - n_hosts] != distance ||
				    level[next - n_hosts] != UNKNOWN)
					continue;
				level[next - n_hosts] = (uint8_t)(distance + 1);
				changed = true;
			}
		}
	}
	for (uint32_t i = 0; i < topology->n_switches; i++)
		if (level[i] > most)
			most = level[i];
	return most;
}

void sim_topology_find_levels(struct sim_topology *topology)
{
	memset(topology->level, UNKNOWN, topology->n_switches);
	for (uint32_t i = 0; i < topology->n_links; i++) {
		const uint32_t *ends = topology->links[i].ends;

		for (unsigned end = 0; end < 2; end++)
			if (ends[end] < topology->n_hosts && ends[!end] >= topology->n_hosts)
				topology->level[ends[!end] - topology->n_hosts] = 0;
	}
	if (measure(topology) == UNKNOWN)
		memset(topology->level, 0, topology->n_switches);
	topology->guesses_levels = true;
}

bool sim_topology_set_roots(struct sim_topology *topology, const uint32_t *roots, uint32_t n)
{
	uint8_t most;

	memset(topology->level, UNKNOWN, topology->n_switches);
	for (uint32_t i = 0; i < n; i++)
		topology->level[roots[i]] = 0;
	most = measure(topology);
	if (most == UNKNOWN)
		return false;
	for (uint32_t i = 0; i < topology->n_switches; i++)
		topology->level[i] = (uint8_t)(most - topology->level[i]);
	topology->guesses_levels = false;
	return true;
}
