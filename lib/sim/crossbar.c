// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Input-queued switches: packets wait at the input port, which serves one output port at a time. An
// idle output port takes a packet from the input ports in turn. It does so at the end of an
// instant: what becomes idle at the same time is arbitrated together.
#include "sim/fabric_internal.h"

#include <stdlib.h>

#define WORD_BITS 64u

struct list {
	uint32_t first, last;
};

// In the bitmaps a port is numbered within its switch.
struct sim_crossbar {
	uint32_t first_port, radix, words;
	// A list per input port and priority; with virtual output queues, per output port, too:
	// (input * radix + output) * priorities + priority.
	struct list *lists;
	uint64_t *wants; // of an output port and priority: the input ports with a packet for it
	uint64_t *busy;  // input ports
	uint32_t *turn;  // of an output port and priority: the input port that comes next
	uint32_t first_output; // that takes its packet first in the next arbitration
	bool is_due;           // arbitration, at the end of this instant
};

static bool is_voq(const struct sim_fabric *fabric)
{
	return fabric->parameters.kind == SIM_VIRTUAL_OUTPUT_QUEUED;
}

static struct sim_crossbar *crossbar_of(const struct sim_fabric *fabric, uint32_t port)
{
	return &fabric->crossbars[fabric->ports[port].node - fabric->n_hosts];
}

static void set_bit(uint64_t *bitmap, uint32_t bit)
{
	bitmap[bit / WORD_BITS] |= UINT64_C(1) << bit % WORD_BITS;
}

static void clear_bit(uint64_t *bitmap, uint32_t bit)
{
	bitmap[bit / WORD_BITS] &= ~(UINT64_C(1) << bit % WORD_BITS);
}

// The first bit of `bitmap` without `without`, from `turn` on in cyclic order; SIM_NONE: none.
static uint32_t next_bit(const uint64_t *bitmap, const uint64_t *without, uint32_t words,
			 uint32_t turn)
{
	uint32_t word = turn / WORD_BITS;
	uint64_t mask = UINT64_MAX << turn % WORD_BITS;

	for (uint32_t i = 0; i <= words; i++) {
		const uint64_t bits = bitmap[word] & ~without[word] & mask;

		if (bits != 0)
			return word * WORD_BITS + (uint32_t)__builtin_ctzll(bits);
		mask = UINT64_MAX;
		word = word + 1 < words ? word + 1 : 0;
	}
	return SIM_NONE;
}

bool sim_crossbars_create(struct sim_fabric *fabric)
{
	const uint32_t n_priorities = fabric->parameters.n_priorities;

	fabric->crossbars = calloc(fabric->n_switches, sizeof(*fabric->crossbars));
	if (fabric->crossbars == NULL)
		return false;
	for (uint32_t i = 0; i < fabric->n_switches; i++) {
		struct sim_crossbar *crossbar = &fabric->crossbars[i];
		const uint32_t *first = &fabric->first_port[fabric->n_hosts + i];
		const uint32_t radix = first[1] - first[0];
		const size_t places = (size_t)radix * n_priorities;
		const size_t lists = is_voq(fabric) ? places * radix : places;

		crossbar->first_port = first[0];
		crossbar->radix = radix;
		crossbar->words = (radix + WORD_BITS - 1) / WORD_BITS;
		crossbar->lists = malloc(lists * sizeof(*crossbar->lists) + 1);
		crossbar->wants = calloc(places * crossbar->words + crossbar->words + 1,
					 sizeof(*crossbar->wants));
		crossbar->turn = calloc(places + 1, sizeof(*crossbar->turn));
		if (crossbar->lists == NULL || crossbar->wants == NULL || crossbar->turn == NULL)
			return false;
		for (size_t j = 0; j < lists; j++)
			crossbar->lists[j] = (struct list){ SIM_NONE, SIM_NONE };
		crossbar->busy = crossbar->wants + places * crossbar->words;
		fabric->memory += sizeof(*crossbar) + lists * sizeof(*crossbar->lists) +
				  (places + 1) * crossbar->words * sizeof(uint64_t) +
				  places * sizeof(uint32_t);
	}
	return true;
}

void sim_crossbars_destroy(struct sim_fabric *fabric)
{
	for (uint32_t i = 0; fabric->crossbars != NULL && i < fabric->n_switches; i++) {
		free(fabric->crossbars[i].lists);
		free(fabric->crossbars[i].wants);
		free(fabric->crossbars[i].turn);
	}
	free(fabric->crossbars);
}

static struct list *list_of(const struct sim_fabric *fabric, const struct sim_crossbar *crossbar,
			    uint32_t input, uint32_t output, unsigned priority)
{
	const uint32_t row = is_voq(fabric) ? input * crossbar->radix + output : input;

	return &crossbar->lists[sim_place(fabric, row, priority)];
}

// The input ports with a packet for an output port.
static uint64_t *requests(const struct sim_fabric *fabric, const struct sim_crossbar *crossbar,
			  uint32_t output, unsigned priority)
{
	return crossbar->wants + sim_place(fabric, output, priority) * crossbar->words;
}

static void arbitrate_later(struct sim_fabric *fabric, struct sim_crossbar *crossbar)
{
	if (crossbar->is_due)
		return;
	crossbar->is_due = true;
	sim_at(fabric->engine, *fabric->now, fabric->handlers[SIM_ARBITRATES],
	       (uint32_t)(crossbar - fabric->crossbars), 0);
}

void sim_crossbar_enqueue(struct sim_fabric *fabric, uint32_t number)
{
	struct sim_packet *packet = &fabric->packets[number];
	struct sim_crossbar *crossbar = crossbar_of(fabric, packet->port);
	const uint32_t input = packet->from - crossbar->first_port;
	const uint32_t output = packet->port - crossbar->first_port;
	struct list *list = list_of(fabric, crossbar, input, output, packet->priority);

	packet->next = SIM_NONE;
	if (list->first == SIM_NONE) {
		list->first = number;
		set_bit(requests(fabric, crossbar, output, packet->priority), input);
	} else {
		fabric->packets[list->last].next = number;
	}
	list->last = number;
	arbitrate_later(fabric, crossbar);
}

// Removes the first packet of the list in which that for this output port is first.
static uint32_t remove_first(struct sim_fabric *fabric, const struct sim_crossbar *crossbar,
			     uint32_t input, uint32_t output, unsigned priority)
{
	struct list *list = list_of(fabric, crossbar, input, output, priority);
	const uint32_t number = list->first;

	list->first = fabric->packets[number].next;
	if (list->first == SIM_NONE || !is_voq(fabric))
		clear_bit(requests(fabric, crossbar, output, priority), input);
	if (list->first != SIM_NONE && !is_voq(fabric))
		set_bit(requests(fabric, crossbar,
				 fabric->packets[list->first].port - crossbar->first_port,
				 priority),
			input);
	return number;
}

uint32_t sim_crossbar_take(struct sim_fabric *fabric, uint32_t port, unsigned allowed)
{
	const struct sim_crossbar *crossbar = crossbar_of(fabric, port);
	const uint32_t output = port - crossbar->first_port;

	for (allowed &= (1u << fabric->parameters.n_priorities) - 1; allowed != 0;) {
		const unsigned priority = sim_next_priority(fabric, port, allowed);
		const uint32_t at = sim_place(fabric, output, priority);
		const uint32_t input =
		    next_bit(crossbar->wants + at * crossbar->words, crossbar->busy,
			     crossbar->words, crossbar->turn[at]);

		allowed &= ~(1u << priority);
		if (input == SIM_NONE)
			continue;
		if (!sim_may_send(
			fabric, port, priority,
			fabric->packets[list_of(fabric, crossbar, input, output, priority)->first]
			    .bytes))
			continue;
		crossbar->turn[at] = input + 1 < crossbar->radix ? input + 1 : 0;
		set_bit(crossbar->busy, input);
		return remove_first(fabric, crossbar, input, output, priority);
	}
	return SIM_NONE;
}

void sim_crossbar_release(struct sim_fabric *fabric, uint32_t port)
{
	struct sim_crossbar *crossbar = crossbar_of(fabric, port);

	clear_bit(crossbar->busy, port - crossbar->first_port);
	arbitrate_later(fabric, crossbar);
}

void sim_arbitrates(void *context, uint32_t number, uint32_t data)
{
	struct sim_fabric *fabric = context;
	struct sim_crossbar *crossbar = &fabric->crossbars[number];
	uint32_t output = crossbar->first_output;

	(void)data;
	crossbar->is_due = false;
	crossbar->first_output = output + 1 < crossbar->radix ? output + 1 : 0;
	for (uint32_t i = 0; i < crossbar->radix; i++) {
		sim_start(fabric, crossbar->first_port + output);
		output = output + 1 < crossbar->radix ? output + 1 : 0;
	}
}

void sim_crossbar_stuck(const struct sim_fabric *fabric, const uint8_t *blocked, uint64_t *stuck,
			uint32_t *next)
{
	const uint32_t n_priorities = fabric->parameters.n_priorities;

	for (uint32_t s = 0; s < fabric->n_switches; s++) {
		const struct sim_crossbar *crossbar = &fabric->crossbars[s];
		const uint32_t per_input = is_voq(fabric) ? crossbar->radix : 1;

		for (uint32_t i = 0; i < crossbar->radix * per_input * n_priorities; i++) {
			const unsigned priority = i % n_priorities;
			const uint32_t input = i / n_priorities / per_input;
			const uint32_t at =
			    sim_place(fabric, crossbar->first_port + input, priority);
			uint32_t packet = crossbar->lists[i].first;

			if (packet == SIM_NONE ||
			    !blocked[sim_place(fabric, fabric->packets[packet].port, priority)])
				continue;
			next[at] = fabric->packets[packet].port;
			for (; packet != SIM_NONE; packet = fabric->packets[packet].next)
				stuck[at] += fabric->packets[packet].bytes;
		}
	}
}
