// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Dependencies of buffers: a packet that has come in through one link waits for another one, by the
// routes. Without a cycle of these no deadlock can arise (Dally, Seitz 1987).
#include "sim/fabric_internal.h"

#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64u

// The bit (in, out) of a switch, its ports numbered within it: what comes in through the one waits
// for the other.
struct search {
	const struct sim_fabric *fabric;
	uint64_t **waits;   // per switch: radix * words
	bool *is_reached;   // per switch, on a path to the present leaf
	uint32_t *queue;    // of switches
	uint8_t *state;     // per port
	uint32_t *path;     // ports that are open
	uint32_t *next_out; // per port: of its peer's switch, the port to look at next
};

static uint32_t first_of(const struct search *search, uint32_t at)
{
	return search->fabric->first_port[search->fabric->n_hosts + at];
}

static uint32_t radix_of(const struct search *search, uint32_t at)
{
	return first_of(search, at + 1) - first_of(search, at);
}

static uint32_t words_of(const struct search *search, uint32_t at)
{
	return (radix_of(search, at) + WORD_BITS - 1) / WORD_BITS;
}

// The ports by which a switch forwards to a leaf.
static const uint32_t *ports_to(const struct search *search, uint32_t at, uint32_t leaf,
				uint32_t *n)
{
	const struct sim_routes *routes = &search->fabric->routes;
	const struct sim_port_set *set =
	    &routes->sets[routes->set_of[(size_t)at * routes->n_leaves + leaf]];

	*n = routes->leaf_of_switch[at] == leaf ? 0 : set->count;
	return routes->ports + set->first;
}

// The switch to which a port leads; SIM_NONE: a host.
static uint32_t next_of(const struct search *search, uint32_t port)
{
	const struct sim_sender *sender = &search->fabric->ports[port];

	return sender->peer_is_switch
		   ? search->fabric->ports[sender->peer].node - search->fabric->n_hosts
		   : SIM_NONE;
}

// Notes for what packets wait that have come through `port`, on a path to the leaf.
static void note_waits(struct search *search, uint32_t port, uint32_t leaf)
{
	const uint32_t at = next_of(search, port);
	const uint32_t in = search->fabric->ports[port].peer - first_of(search, at);
	uint64_t *row = search->waits[at] + (size_t)in * words_of(search, at);
	uint32_t n;
	const uint32_t *ports = ports_to(search, at, leaf, &n);

	for (uint32_t i = 0; i < n; i++) {
		const uint32_t out = ports[i] - first_of(search, at);

		row[out / WORD_BITS] |= UINT64_C(1) << out % WORD_BITS;
	}
}

// Follows the packets for a leaf from all switches that have hosts.
static void follow_leaf(struct search *search, uint32_t leaf)
{
	const struct sim_fabric *fabric = search->fabric;
	uint32_t first = 0, last = 0;

	memset(search->is_reached, 0, fabric->n_switches * sizeof(*search->is_reached));
	for (uint32_t host = 0; host < fabric->n_hosts; host++) {
		const uint32_t at = fabric->ports[fabric->ports[host].peer].node - fabric->n_hosts;

		if (!search->is_reached[at])
			search->queue[last++] = at;
		search->is_reached[at] = true;
	}
	while (first < last) {
		const uint32_t at = search->queue[first++];
		uint32_t n;
		const uint32_t *ports = ports_to(search, at, leaf, &n);

		for (uint32_t i = 0; i < n; i++) {
			const uint32_t next = next_of(search, ports[i]);

			if (next == SIM_NONE)
				continue;
			note_waits(search, ports[i], leaf);
			if (!search->is_reached[next])
				search->queue[last++] = next;
			search->is_reached[next] = true;
		}
	}
}

// The next port, from *out on, for which packets wait that came in through `port`; SIM_NONE: none.
static uint32_t next_wait(const struct search *search, uint32_t port, uint32_t *out)
{
	const uint32_t at = next_of(search, port);
	const uint32_t in = search->fabric->ports[port].peer - first_of(search, at);
	const uint64_t *row = search->waits[at] + (size_t)in * words_of(search, at);

	while (*out < radix_of(search, at)) {
		const uint32_t i = (*out)++;

		if ((row[i / WORD_BITS] >> i % WORD_BITS & 1) != 0)
			return first_of(search, at) + i;
	}
	return SIM_NONE;
}

enum { UNSEEN, OPEN, DONE };

// Writes the cycle that ends the path.
static uint32_t take_cycle(const struct search *search, uint32_t depth, uint32_t first,
			   struct sim_wait *cycle, uint32_t room)
{
	uint32_t i = 0, n = 0;

	while (search->path[i] != first)
		i++;
	for (; i < depth && n < room; i++)
		cycle[n++] = (struct sim_wait){ .port = search->path[i] };
	return n;
}

static uint32_t find_cycle(struct search *search, uint32_t begin, struct sim_wait *cycle,
			   uint32_t room)
{
	uint32_t depth = 0;

	search->state[begin] = OPEN;
	search->path[depth++] = begin;
	while (depth > 0) {
		const uint32_t port = search->path[depth - 1];
		const uint32_t next = next_wait(search, port, &search->next_out[port]);

		if (next == SIM_NONE) {
			search->state[port] = DONE;
			depth--;
		} else if (next_of(search, next) == SIM_NONE || search->state[next] == DONE) {
			continue;
		} else if (search->state[next] == OPEN) {
			return take_cycle(search, depth, next, cycle, room);
		} else {
			search->state[next] = OPEN;
			search->path[depth++] = next;
		}
	}
	return 0;
}

static bool allocate(struct search *search)
{
	const struct sim_fabric *fabric = search->fabric;

	search->waits = calloc(fabric->n_switches, sizeof(*search->waits));
	search->is_reached = calloc(fabric->n_switches, sizeof(*search->is_reached));
	search->queue = calloc(fabric->n_switches, sizeof(*search->queue));
	search->state = calloc(fabric->n_ports, sizeof(*search->state));
	search->path = calloc(fabric->n_ports, sizeof(*search->path));
	search->next_out = calloc(fabric->n_ports, sizeof(*search->next_out));
	if (search->waits == NULL || search->is_reached == NULL || search->queue == NULL ||
	    search->state == NULL || search->path == NULL || search->next_out == NULL)
		return false;
	for (uint32_t at = 0; at < fabric->n_switches; at++) {
		search->waits[at] = calloc((size_t)radix_of(search, at) * words_of(search, at) + 1,
					   sizeof(uint64_t));
		if (search->waits[at] == NULL)
			return false;
	}
	return true;
}

uint32_t sim_dependency_cycle(const struct sim_fabric *fabric, struct sim_wait *cycle,
			      uint32_t room)
{
	struct search search = { .fabric = fabric };
	const bool is_ready = allocate(&search);
	uint32_t n = 0;

	for (uint32_t leaf = 0; is_ready && leaf < fabric->routes.n_leaves; leaf++)
		follow_leaf(&search, leaf);
	for (uint32_t port = fabric->n_hosts; is_ready && port < fabric->n_ports && n == 0; port++)
		if (search.state[port] == UNSEEN && next_of(&search, port) != SIM_NONE)
			n = find_cycle(&search, port, cycle, room);
	for (uint32_t at = 0; search.waits != NULL && at < fabric->n_switches; at++)
		free(search.waits[at]);
	free(search.waits);
	free(search.is_reached);
	free(search.queue);
	free(search.state);
	free(search.path);
	free(search.next_out);
	return n;
}
