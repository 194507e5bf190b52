// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim/routes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "sim/fabric.h"

#define NOWHERE     UINT32_MAX
#define LEVELS      256u
#define MOST_ROUTES ((size_t)1 << 28) // 1 GB

// While the routes to one leaf are made.
struct search {
	const struct sim_topology *topology;
	const struct sim_graph *graph;
	struct sim_routes *routes;
	uint32_t *rank;     // of each switch: above it are those of higher rank
	uint32_t *order;    // the switches, from the highest rank to the lowest
	uint32_t *distance; // to the leaf, of each switch
	uint32_t *down;     // the same, downwards only
	uint32_t *queue;
	uint32_t divisor[LEVELS]; // of host numbers, for paths up from each level
	uint32_t set[SIM_MAX_RADIX];
};

static bool no_memory(char *error)
{
	snprintf(error, SIM_ERROR_SIZE, "no memory for the routes: simulate fewer switches");
	return false;
}

static uint32_t ports_begin(const struct search *search, uint32_t at)
{
	return search->graph->first_port[search->graph->n_hosts + at];
}

static uint32_t ports_end(const struct search *search, uint32_t at)
{
	return search->graph->first_port[search->graph->n_hosts + at + 1];
}

// The switch at the other end of a port; NOWHERE: a host.
static uint32_t neighbour(const struct search *search, uint32_t port)
{
	const uint32_t node = search->graph->peer_node[port];

	return node < search->graph->n_hosts ? NOWHERE : node - search->graph->n_hosts;
}

static bool is_above(const struct search *search, uint32_t one, uint32_t other)
{
	return search->rank[one] > search->rank[other];
}

// Distances to the leaf over all links, or only over those that lead down towards it.
static void measure(struct search *search, uint32_t leaf, uint32_t *distance, bool down_only)
{
	uint32_t first = 0, last = 0;

	memset(distance, 0xff, search->graph->n_switches * sizeof(*distance));
	distance[leaf] = 0;
	search->queue[last++] = leaf;
	while (first < last) {
		const uint32_t at = search->queue[first++];

		for (uint32_t p = ports_begin(search, at); p < ports_end(search, at); p++) {
			const uint32_t next = neighbour(search, p);

			if (next == NOWHERE || distance[next] != NOWHERE ||
			    (down_only && !is_above(search, next, at)))
				continue;
			distance[next] = distance[at] + 1;
			search->queue[last++] = next;
		}
	}
}

// Distances over up links first: where a path down exists, it is taken.
static void measure_up(struct search *search, uint32_t leaf)
{
	uint32_t *distance = search->distance;

	measure(search, leaf, search->down, true);
	for (uint32_t i = 0; i < search->graph->n_switches; i++) {
		const uint32_t at = search->order[i];

		distance[at] = search->down[at];
		if (distance[at] != NOWHERE)
			continue;
		for (uint32_t p = ports_begin(search, at); p < ports_end(search, at); p++) {
			const uint32_t next = neighbour(search, p);

			if (next != NOWHERE && is_above(search, next, at) &&
			    distance[next] != NOWHERE && distance[next] + 1 < distance[at])
				distance[at] = distance[next] + 1;
		}
	}
}

// The switch that follows in dimension order.
static uint32_t next_in_order(const struct sim_topology *topology, uint32_t at, uint32_t leaf)
{
	uint32_t stride = 1;

	for (uint32_t i = 0; i < topology->n_dimensions; i++) {
		const uint32_t size = topology->size[i];
		const uint32_t here = at / stride % size, there = leaf / stride % size;
		const uint32_t ahead = (there + size - here) % size;
		const uint32_t next = ahead <= size - ahead ? here + 1 : here + size - 1;

		if (ahead != 0)
			return at - here * stride + next % size * stride;
		stride *= size;
	}
	return at;
}

// Writes the ports of `at` towards the leaf to search->set. Returns their number.
static uint32_t choose_ports(struct search *search, uint32_t at, uint32_t leaf, unsigned paths)
{
	const bool goes_down = paths == SIM_UP_DOWN && search->down[at] != NOWHERE;
	uint32_t count = 0;

	for (uint32_t p = ports_begin(search, at); p < ports_end(search, at); p++) {
		const uint32_t next = neighbour(search, p);
		bool leads;

		if (next == NOWHERE)
			continue;
		if (paths == SIM_DIMENSION_ORDER)
			leads = next == next_in_order(search->topology, at, leaf);
		else if (paths == SIM_SHORTEST)
			leads = search->distance[next] < search->distance[at];
		else if (goes_down)
			leads = is_above(search, at, next) && search->down[next] < search->down[at];
		else
			leads = is_above(search, next, at) &&
				search->distance[next] < search->distance[at];
		if (leads)
			search->set[count++] = p;
	}
	return count;
}

static uint32_t hash_set(const uint32_t *ports, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 0; i < count; i++)
		hash = random_mix(hash + ports[i]);
	return (uint32_t)hash;
}

static bool rehash(struct sim_routes *routes)
{
	const uint32_t n = routes->n_buckets == 0 ? 1024 : 2 * routes->n_buckets;
	uint32_t *buckets = malloc(n * sizeof(*buckets));

	if (buckets == NULL)
		return false;
	memset(buckets, 0xff, n * sizeof(*buckets));
	for (uint32_t i = 0; i < routes->n_sets; i++) {
		const struct sim_port_set *set = &routes->sets[i];
		uint32_t bucket = hash_set(routes->ports + set->first, set->count) & (n - 1);

		while (buckets[bucket] != NOWHERE)
			bucket = (bucket + 1) & (n - 1);
		buckets[bucket] = i;
	}
	free(routes->buckets);
	routes->buckets = buckets;
	routes->n_buckets = n;
	return true;
}

// Makes `*array` at least `needed` long.
static bool reserve(void **array, uint32_t *room, uint32_t needed, size_t size)
{
	const uint32_t longer = needed + needed / 2 + 64;
	void *moved;

	if (needed <= *room)
		return true;
	moved = realloc(*array, longer * size);
	if (moved == NULL)
		return false;
	*array = moved;
	*room = longer;
	return true;
}

// The number of an equal set, or of a new one; NOWHERE: no memory.
static uint32_t store_set(struct sim_routes *routes, const uint32_t *ports, uint32_t count,
			  uint32_t divisor)
{
	uint32_t bucket, number;

	if (2 * routes->n_sets >= routes->n_buckets && !rehash(routes))
		return NOWHERE;
	bucket = hash_set(ports, count) & (routes->n_buckets - 1);
	while ((number = routes->buckets[bucket]) != NOWHERE) {
		const struct sim_port_set *set = &routes->sets[number];

		if (set->count == count &&
		    memcmp(routes->ports + set->first, ports, count * sizeof(*ports)) == 0)
			return number;
		bucket = (bucket + 1) & (routes->n_buckets - 1);
	}
	if (!reserve((void **)&routes->sets, &routes->sets_room, routes->n_sets + 1,
		     sizeof(*routes->sets)) ||
	    !reserve((void **)&routes->ports, &routes->ports_room, routes->n_ports + count,
		     sizeof(*ports)))
		return NOWHERE;
	if (count > 0)
		memcpy(routes->ports + routes->n_ports, ports, count * sizeof(*ports));
	routes->sets[routes->n_sets] = (struct sim_port_set){ routes->n_ports, count, divisor };
	routes->n_ports += count;
	routes->buckets[bucket] = routes->n_sets;
	return routes->n_sets++;
}

// Host numbers are divided by the number of paths up that the levels below have used already: then
// the hosts of a full tree spread over all paths at each level.
static void set_divisors(struct search *search)
{
	const uint8_t *level = search->topology->level;
	uint32_t ways_up[LEVELS] = { 0 };

	for (uint32_t at = 0; at < search->graph->n_switches; at++) {
		uint32_t count = 0;

		for (uint32_t p = ports_begin(search, at); p < ports_end(search, at); p++) {
			const uint32_t next = neighbour(search, p);

			count += next != NOWHERE && level[next] > level[at];
		}
		if (ways_up[level[at]] == 0)
			ways_up[level[at]] = count;
	}
	search->divisor[0] = 1;
	for (unsigned i = 1; i < LEVELS; i++)
		search->divisor[i] =
		    search->divisor[i - 1] * (ways_up[i - 1] > 1 ? ways_up[i - 1] : 1);
}

// Parallel paths down from a level are used as those up to it are.
static uint32_t divisor_of(const struct search *search, uint32_t at, uint32_t count)
{
	const uint8_t *level = search->topology->level;
	const bool goes_down = count > 0 && level[neighbour(search, search->set[0])] < level[at];

	return search->divisor[goes_down ? level[at] - 1 : level[at]];
}

static bool routes_to(struct search *search, uint32_t leaf, unsigned paths, char *error)
{
	struct sim_routes *routes = search->routes;

	if (paths == SIM_UP_DOWN)
		measure_up(search, leaf);
	else
		measure(search, leaf, search->distance, false);
	for (uint32_t at = 0; at < search->graph->n_switches; at++) {
		uint32_t *set =
		    &routes->set_of[(size_t)at * routes->n_leaves + routes->leaf_of_switch[leaf]];
		const uint32_t count = at == leaf ? 0 : choose_ports(search, at, leaf, paths);

		// The set of a switch that no packet for this leaf can reach may be empty.
		if (count == 0 && at != leaf && routes->leaf_of_switch[at] != NOWHERE) {
			snprintf(error, SIM_ERROR_SIZE,
				 "no path from switch %" PRIu32 " to switch %" PRIu32
				 ": expected links that join all hosts",
				 at, leaf);
			return false;
		}
		*set = store_set(routes, search->set, count, divisor_of(search, at, count));
		if (*set == NOWHERE)
			return no_memory(error);
	}
	return true;
}

static int compare_keys(const void *one, const void *other)
{
	const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? 1 : a > b ? -1 : 0;
}

// Ranks for up and down: levels, or else nearness to switch 0, and lower numbers where these are
// equal. It is a strict order, so that no cycle can go up only or down only.
static bool rank_switches(struct search *search, bool by_level)
{
	const uint32_t n = search->graph->n_switches;
	uint64_t *keys = malloc(n * sizeof(*keys));
	bool has_levels = false;

	if (keys == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++)
		has_levels |= by_level && search->topology->level[i] != 0;
	measure(search, 0, search->distance, false);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t from_root = search->distance[i] == NOWHERE ? n : search->distance[i];
		const uint32_t height = has_levels ? search->topology->level[i] : n - from_root;

		keys[i] = (uint64_t)height << 32 | (n - i);
	}
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (uint32_t i = 0; i < n; i++) {
		search->order[i] = n - (uint32_t)keys[i];
		search->rank[search->order[i]] = n - i;
	}
	free(keys);
	return true;
}

// Which switches have hosts, and where each host is.
static void find_leaves(struct sim_routes *routes, const struct sim_graph *graph)
{
	for (uint32_t at = 0; at < graph->n_switches; at++) {
		const uint32_t end = graph->first_port[graph->n_hosts + at + 1];
		bool has_hosts = false;

		for (uint32_t p = graph->first_port[graph->n_hosts + at]; p < end; p++) {
			const uint32_t node = graph->peer_node[p];

			if (node >= graph->n_hosts)
				continue;
			has_hosts = true;
			routes->leaf_of_host[node] = routes->n_leaves;
			routes->port_to_host[node] = p;
		}
		routes->leaf_of_switch[at] = has_hosts ? routes->n_leaves++ : NOWHERE;
	}
}

static bool allocate(struct sim_routes *routes, struct search *search)
{
	const size_t n = search->graph->n_switches;

	routes->leaf_of_host = calloc(search->graph->n_hosts, sizeof(uint32_t));
	routes->port_to_host = calloc(search->graph->n_hosts, sizeof(uint32_t));
	routes->leaf_of_switch = calloc(n, sizeof(uint32_t));
	search->rank = calloc(5 * n, sizeof(uint32_t));
	if (search->rank == NULL || routes->leaf_of_host == NULL || routes->port_to_host == NULL ||
	    routes->leaf_of_switch == NULL)
		return false;
	search->order = search->rank + n;
	search->distance = search->order + n;
	search->down = search->distance + n;
	search->queue = search->down + n;
	find_leaves(routes, search->graph);
	if (n * routes->n_leaves > MOST_ROUTES)
		return false;
	routes->set_of = calloc(n * routes->n_leaves, sizeof(uint32_t));
	return routes->set_of != NULL && rank_switches(search, true);
}

static bool routes_to_all(struct search *search, unsigned paths, char *error)
{
	for (uint32_t at = 0; at < search->graph->n_switches; at++)
		if (search->routes->leaf_of_switch[at] != NOWHERE &&
		    !routes_to(search, at, paths, error))
			return false;
	return true;
}

static bool make_routes(struct search *search, unsigned paths, char *error)
{
	if (routes_to_all(search, paths, error))
		return true;
	return paths == SIM_UP_DOWN && search->topology->guesses_levels &&
	       rank_switches(search, false) && routes_to_all(search, paths, error);
}

static void finish(struct sim_routes *routes, const struct sim_graph *graph)
{
	free(routes->buckets);
	routes->buckets = NULL;
	routes->memory = ((size_t)graph->n_switches * (routes->n_leaves + 1) + routes->ports_room +
			  2 * (size_t)graph->n_hosts) *
			     sizeof(uint32_t) +
			 routes->sets_room * sizeof(struct sim_port_set);
}

bool sim_routes_make(struct sim_routes *routes, const struct sim_topology *topology,
		     const struct sim_graph *graph, unsigned paths, char *error)
{
	struct search *search = calloc(1, sizeof(*search));
	bool ok = search != NULL;

	*routes = (struct sim_routes){ 0 };
	if (ok) {
		*search = (struct search){ .topology = topology, .graph = graph, .routes = routes };
		ok = allocate(routes, search);
	}
	if (!ok)
		no_memory(error);
	else
		set_divisors(search);
	ok = ok && make_routes(search, paths, error);
	if (search != NULL)
		free(search->rank);
	free(search);
	finish(routes, graph);
	return ok;
}

// --- a table ---

// The set of a switch for a host; NOWHERE: no memory.
static uint32_t take_set(struct sim_routes *routes, const struct sim_topology *topology,
			 const struct sim_graph *graph, const struct sim_route_table *table,
			 uint32_t at, uint32_t host)
{
	const struct sim_route_entry *entry = sim_route_table_entry(table, at, host);
	const uint32_t own = routes->port_to_host[host];
	uint32_t ports[SIM_MAX_RADIX];

	if (own >= graph->first_port[graph->n_hosts + at] &&
	    own < graph->first_port[graph->n_hosts + at + 1])
		return store_set(routes, &own, 1, 1);
	for (uint32_t i = 0; i < entry->count; i++) {
		const uint32_t link = table->links[entry->first + i];

		ports[i] =
		    graph->link_ports[link][topology->links[link].ends[0] != graph->n_hosts + at];
	}
	return store_set(routes, ports, entry->count, 1);
}

bool sim_routes_take(struct sim_routes *routes, const struct sim_topology *topology,
		     const struct sim_graph *graph, const struct sim_route_table *table,
		     char *error)
{
	const size_t n = graph->n_switches, n_hosts = graph->n_hosts;

	*routes = (struct sim_routes){ 0 };
	routes->leaf_of_host = calloc(n_hosts, sizeof(uint32_t));
	routes->port_to_host = calloc(n_hosts, sizeof(uint32_t));
	routes->leaf_of_switch = calloc(n, sizeof(uint32_t));
	if (n * n_hosts <= MOST_ROUTES)
		routes->set_of = calloc(n * n_hosts, sizeof(uint32_t));
	if (routes->leaf_of_host == NULL || routes->port_to_host == NULL ||
	    routes->leaf_of_switch == NULL || routes->set_of == NULL)
		return no_memory(error);
	find_leaves(routes, graph);
	routes->n_leaves = graph->n_hosts;
	for (uint32_t at = 0; at < n; at++)
		routes->leaf_of_switch[at] = NOWHERE;
	for (uint32_t host = 0; host < n_hosts; host++)
		routes->leaf_of_host[host] = host;
	for (size_t i = 0; i < n * n_hosts; i++) {
		routes->set_of[i] = take_set(routes, topology, graph, table,
					     (uint32_t)(i / n_hosts), (uint32_t)(i % n_hosts));
		if (routes->set_of[i] == NOWHERE)
			return no_memory(error);
	}
	finish(routes, graph);
	return true;
}

void sim_routes_free(struct sim_routes *routes)
{
	free(routes->leaf_of_host);
	free(routes->port_to_host);
	free(routes->leaf_of_switch);
	free(routes->set_of);
	free(routes->sets);
	free(routes->ports);
	free(routes->buckets);
	*routes = (struct sim_routes){ 0 };
}
