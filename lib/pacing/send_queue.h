// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The grants that a readout has received and not sent yet, and the order in which it sends them:
// round after round, and within a round by phase. A grant that arrives after its phase is sent at
// the end of its round. Grants without a round (n_positions 1) are sent first in, first out.
//
// A position without a grant takes no time, except with a clock (timed shift). Therefore, without a
// clock, nodes begin a round at the positions that have grants when the round begins, spread evenly
// over them, and continue in cyclic order; each grant that is sent is a phase. If more grants of
// the round arrive then, the nodes continue as if all had been there: in phase p a node sends the
// position that is p behind that of its rank. If that has no grant, the nodes are again spread over
// the positions that have one. So they keep apart although the grants trickle in.
//
// Threads: one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/message.h"

struct send_queue_parameters {
	uint32_t size;        // largest number of grants that wait
	uint32_t rank;        // of this node among the nodes that send
	uint32_t n_senders;   // nodes that send; 0: this one is the last
	uint64_t phase_ticks; // length of a phase with a clock; 0: no clock
};

struct send_queue {
	struct send_queue_parameters parameters;
	struct message *waiting; // first in, first out
	uint32_t head, n;        // of `waiting`
	// The current round, and then the one before
	uint64_t round;
	uint32_t n_positions;
	struct message *positions;
	uint64_t *present; // bit set of the positions that have a grant
	uint32_t in_round; // number of these
	bool is_open;      // there is a current round
	bool is_shifted;   // it has no clock, and its positions are not builders that request
	bool is_late;      // grants have arrived after it began
	uint32_t phase;
	uint32_t first;       // position that is sent in phase 0
	uint64_t phase_start; // ticks
};

// Bytes that send_queue_make() allocates.
uint64_t send_queue_memory(uint32_t size);

// False if memory ran out.
bool send_queue_make(struct send_queue *queue, const struct send_queue_parameters *parameters);
void send_queue_free(struct send_queue *queue);

// False if the queue is full.
bool send_queue_put(struct send_queue *queue, const struct message *grant);

// Removes the grant that is to be sent next and stores it in *grant. False if there is none, or its
// phase has not begun.
bool send_queue_next(struct send_queue *queue, uint64_t now, struct message *grant);

static inline uint32_t send_queue_length(const struct send_queue *queue)
{
	return queue->n + queue->in_round;
}

void send_queue_clear(struct send_queue *queue);
