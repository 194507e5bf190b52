// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Deadlocks: a set of ports, each of which waits for a buffer that cannot be emptied, as what is in
// it waits for ports of the set. The set is found by taking away, from all ports that wait, those
// whose buffer can be emptied far enough, until none is left to take away.
#include "sim/fabric_internal.h"

#include <stdlib.h>
#include <string.h>

// All by sim_place().
struct search {
	const struct sim_fabric *fabric;
	uint8_t *blocked;
	uint64_t *stuck; // bytes that came in through the port and wait for blocked ports
	uint32_t *next;  // one of these ports
	uint32_t *step;  // number of the step in which the port was visited; 0: not yet
};

// Whether packets of the port wait for the switch at the other end.
static bool waits(const struct sim_fabric *fabric, uint32_t number, unsigned priority)
{
	const struct sim_sender *port = &fabric->ports[number];
	uint64_t bytes = sim_queue_at(fabric, number, priority)->bytes;

	// Of a port that was refused, all packets may be on the link.
	if (sim_has_copies(fabric, number, priority))
		return (port->starved >> priority & 1) != 0;
	if (port->is_sending && port->sending.priority == priority)
		bytes -= port->sending.bytes;
	if (bytes == 0 || !port->peer_is_switch || !sim_is_lossless(fabric, priority))
		return false;
	if (fabric->parameters.flow_control == SIM_CREDITS)
		return (port->starved >> priority & 1) != 0;
	return (fabric->ports[port->peer].holds >> priority & 1) != 0;
}

// Whether the buffer behind the port remains full if the packets that wait for blocked ports stay.
static bool stays_full(const struct search *search, uint32_t port, unsigned priority)
{
	const struct sim_fabric_parameters *p = &search->fabric->parameters;
	const uint32_t peer = search->fabric->ports[port].peer;
	const uint64_t stuck = search->stuck[sim_place(search->fabric, peer, priority)];

	if (p->flow_control == SIM_CREDITS || p->flow_control == SIM_RETRY)
		return stuck + sim_flow_at(search->fabric, port, priority)->lacks > p->input_buffer;
	return stuck > sim_xon(search->fabric, peer);
}

// The packet is in the buffer of an input, and waits for a blocked port.
static void add_stuck(struct search *search, const struct sim_packet *packet)
{
	const uint32_t at = sim_place(search->fabric, packet->from, packet->priority);

	search->stuck[at] += packet->bytes;
	search->next[at] = packet->port;
}

// Packets on a link, and those that were refused, are in no list, and still in the buffer of their
// sender.
static void add_copies(struct search *search)
{
	const struct sim_fabric *fabric = search->fabric;

	for (uint32_t i = 0; i < fabric->used; i++) {
		const struct sim_packet *packet = &fabric->packets[i];

		if (packet->bytes != 0 && packet->from != SIM_NONE &&
		    search->blocked[sim_place(fabric, packet->port, packet->priority)])
			add_stuck(search, packet);
	}
}

// Packets in the queues of blocked ports.
static void add_queues(struct search *search)
{
	const struct sim_fabric *fabric = search->fabric;
	const unsigned n_priorities = fabric->parameters.n_priorities;

	for (uint32_t i = fabric->n_hosts * n_priorities; i < fabric->n_ports * n_priorities; i++) {
		const uint8_t backlog = fabric->ports[i / n_priorities].backlog;
		const bool has_any = (backlog >> i % n_priorities & 1) != 0;
		uint32_t number = has_any ? fabric->queues[i].first : SIM_NONE;

		for (; search->blocked[i] && number != SIM_NONE;
		     number = fabric->packets[number].next)
			add_stuck(search, &fabric->packets[number]);
	}
}

static void count_stuck(struct search *search)
{
	const struct sim_fabric *fabric = search->fabric;

	memset(search->stuck, 0,
	       (size_t)fabric->n_ports * fabric->parameters.n_priorities * sizeof(*search->stuck));
	if (fabric->retries != NULL)
		add_copies(search);
	else if (fabric->crossbars != NULL)
		sim_crossbar_stuck(fabric, search->blocked, search->stuck, search->next);
	else
		add_queues(search);
}

// Takes away the ports whose wait will end. True: there were any.
static bool take_away(struct search *search)
{
	const struct sim_fabric *fabric = search->fabric;
	bool changed = false;

	count_stuck(search);
	for (uint32_t port = 0; port < fabric->n_ports; port++) {
		for (unsigned p = 0; p < fabric->parameters.n_priorities; p++) {
			uint8_t *blocked = &search->blocked[sim_place(fabric, port, p)];

			if (*blocked && !stays_full(search, port, p)) {
				*blocked = 0;
				changed = true;
			}
		}
	}
	return changed;
}

// Follows the ports of the set until one comes again, and writes the steps between.
static uint32_t follow(struct search *search, uint32_t first, struct sim_wait *cycle, uint32_t room)
{
	const struct sim_fabric *fabric = search->fabric;
	const unsigned priority = first % fabric->parameters.n_priorities;
	uint32_t port = first / fabric->parameters.n_priorities, length = 0, begin, step = 0;

	while (search->step[sim_place(fabric, port, priority)] == 0) {
		search->step[sim_place(fabric, port, priority)] = ++step;
		port = search->next[sim_place(fabric, fabric->ports[port].peer, priority)];
	}
	begin = port;
	do {
		if (length < room)
			cycle[length++] = (struct sim_wait){ port, priority };
		port = search->next[sim_place(fabric, fabric->ports[port].peer, priority)];
	} while (port != begin);
	return length;
}

uint32_t sim_deadlock(const struct sim_fabric *fabric, struct sim_wait *cycle, uint32_t room)
{
	const uint32_t n_places = fabric->n_ports * fabric->parameters.n_priorities;
	struct search search = { .fabric = fabric,
				 .blocked = calloc(n_places, sizeof(*search.blocked)),
				 .stuck = calloc(n_places, sizeof(*search.stuck)),
				 .next = calloc(n_places, sizeof(*search.next)),
				 .step = calloc(n_places, sizeof(*search.step)) };
	uint32_t length = 0;

	if (search.blocked != NULL && search.stuck != NULL && search.next != NULL &&
	    search.step != NULL) {
		for (uint32_t i = 0; i < n_places; i++)
			search.blocked[i] = waits(fabric, i / fabric->parameters.n_priorities,
						  i % fabric->parameters.n_priorities);
		while (take_away(&search))
			;
		for (uint32_t i = 0; i < n_places && length == 0; i++) {
			if (search.blocked[i])
				length = follow(&search, i, cycle, room);
		}
	}
	free(search.blocked);
	free(search.stuck);
	free(search.next);
	free(search.step);
	return length;
}

void sim_looks_for_deadlock(void *context, uint32_t index, uint32_t data)
{
	struct sim_fabric *fabric = context;
	struct sim_wait wait;

	(void)index;
	(void)data;
	fabric->looks_for_deadlock = false;
	if (fabric->has_deadlock || fabric->n_blocked == 0)
		return;
	if (sim_deadlock(fabric, &wait, 1) != 0) {
		fabric->has_deadlock = true;
		if (fabric->operations.deadlock != NULL)
			fabric->operations.deadlock(fabric->context);
		return;
	}
	fabric->looks_for_deadlock = true;
	sim_at(fabric->engine, *fabric->now + fabric->parameters.deadlock_interval,
	       fabric->handlers[SIM_LOOKS_FOR_DEADLOCK], 0, 0);
}
