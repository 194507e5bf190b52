// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim/route_table.h"

#include <stdlib.h>
#include <string.h>

bool sim_route_table_make(struct sim_route_table *table, const struct sim_topology *topology)
{
	*table = (struct sim_route_table){
		.n_hosts = topology->n_hosts,
		.n_switches = topology->n_switches,
		.entries = calloc((size_t)topology->n_hosts * topology->n_switches,
				  sizeof(*table->entries)),
	};
	return table->entries != NULL;
}

void sim_route_table_free(struct sim_route_table *table)
{
	free(table->entries);
	free(table->links);
	*table = (struct sim_route_table){ 0 };
}

bool sim_route_table_add(struct sim_route_table *table, const uint32_t *links, uint32_t count,
			 struct sim_route_entry *entry)
{
	const uint32_t needed = table->n_links + count;

	if (needed > table->room) {
		const uint32_t room = needed + needed / 2 + 64;
		uint32_t *moved = realloc(table->links, room * sizeof(*moved));

		if (moved == NULL)
			return false;
		table->links = moved;
		table->room = room;
	}
	if (count > 0)
		memcpy(table->links + table->n_links, links, count * sizeof(*links));
	*entry = (struct sim_route_entry){ table->n_links, count };
	table->n_links = needed;
	return true;
}

// --- the check ---

enum { UNSEEN, OPEN, ARRIVES };

struct walk {
	const struct sim_route_table *table;
	const struct sim_topology *topology;
	uint32_t *switch_of; // [n_hosts]
	bool *has_hosts;     // [n_switches]
	uint8_t *state;      // [n_switches], for the present host
	uint32_t *path;      // [n_switches]: those that are open, in order
	uint32_t *tried;     // same: links of each that were followed
	uint32_t depth;
	struct sim_route_fault *fault;
};

static uint32_t other_end(const struct sim_topology *topology, uint32_t link, uint32_t node)
{
	const uint32_t *ends = topology->links[link].ends;

	return ends[0] == node ? ends[1] : ends[0];
}

static bool fail(struct walk *walk, enum sim_route_fault_kind kind, uint32_t at, uint32_t host)
{
	*walk->fault = (struct sim_route_fault){ .kind = kind, .at = at, .host = host };
	return false;
}

// The loop is the end of the path, from `at` on.
static bool fail_loop(struct walk *walk, uint32_t at, uint32_t host)
{
	uint32_t i = 0;

	fail(walk, SIM_ROUTE_LOOP, at, host);
	while (walk->path[i] != at)
		i++;
	for (; i < walk->depth && walk->fault->n_loop < SIM_MAX_LOOP; i++)
		walk->fault->loop[walk->fault->n_loop++] = walk->path[i];
	return false;
}

static void enter(struct walk *walk, uint32_t at)
{
	walk->state[at] = OPEN;
	walk->path[walk->depth] = at;
	walk->tried[walk->depth++] = 0;
}

// Follows the next link of the switch at the end of the path.
static bool step(struct walk *walk, uint32_t host)
{
	const uint32_t n_hosts = walk->topology->n_hosts, at = walk->path[walk->depth - 1];
	const struct sim_route_entry *entry = sim_route_table_entry(walk->table, at, host);
	const uint32_t tried = walk->tried[walk->depth - 1]++;
	uint32_t next;

	if (entry->count == 0)
		return fail(walk, SIM_ROUTE_MISSING, at, host);
	if (tried == entry->count) {
		walk->state[at] = ARRIVES;
		walk->depth--;
		return true;
	}
	next = other_end(walk->topology, walk->table->links[entry->first + tried], n_hosts + at);
	if (next < n_hosts)
		return fail(walk, SIM_ROUTE_ASTRAY, at, host);
	next -= n_hosts;
	if (walk->state[next] == OPEN)
		return fail_loop(walk, next, host);
	if (walk->state[next] == UNSEEN)
		enter(walk, next);
	return true;
}

static bool walk_to(struct walk *walk, uint32_t host)
{
	memset(walk->state, UNSEEN, walk->topology->n_switches);
	walk->state[walk->switch_of[host]] = ARRIVES;
	for (uint32_t at = 0; at < walk->topology->n_switches; at++) {
		if (!walk->has_hosts[at] || walk->state[at] != UNSEEN)
			continue;
		enter(walk, at);
		while (walk->depth > 0)
			if (!step(walk, host))
				return false;
	}
	return true;
}

static void find_hosts(struct walk *walk)
{
	for (uint32_t i = 0; i < walk->topology->n_links; i++) {
		const uint32_t *ends = walk->topology->links[i].ends;
		const uint32_t n_hosts = walk->topology->n_hosts;

		for (unsigned end = 0; end < 2; end++) {
			if (ends[end] >= n_hosts || ends[!end] < n_hosts)
				continue;
			walk->switch_of[ends[end]] = ends[!end] - n_hosts;
			walk->has_hosts[ends[!end] - n_hosts] = true;
		}
	}
}

bool sim_route_table_check(const struct sim_route_table *table, const struct sim_topology *topology,
			   struct sim_route_fault *fault)
{
	const uint32_t n = topology->n_switches;
	struct walk walk = {
		.table = table,
		.topology = topology,
		.switch_of = calloc(topology->n_hosts, sizeof(*walk.switch_of)),
		.has_hosts = calloc(n, sizeof(*walk.has_hosts)),
		.state = calloc(n, sizeof(*walk.state)),
		.path = calloc(n, sizeof(*walk.path)),
		.tried = calloc(n, sizeof(*walk.tried)),
		.fault = fault,
	};
	bool arrive = walk.switch_of != NULL && walk.has_hosts != NULL && walk.state != NULL &&
		      walk.path != NULL && walk.tried != NULL;

	*fault = (struct sim_route_fault){ .host = SIM_MAX_HOSTS };
	if (arrive)
		find_hosts(&walk);
	for (uint32_t host = 0; arrive && host < topology->n_hosts; host++)
		arrive = walk_to(&walk, host);
	free(walk.switch_of);
	free(walk.has_hosts);
	free(walk.state);
	free(walk.path);
	free(walk.tried);
	return arrive;
}
