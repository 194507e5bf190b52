// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The grants that a readout has received and not sent yet, and the order in which it sends them:
// round after round, and within a round by phase. A grant that arrives after its phase is sent at
// the end of its round. Grants without a round (n_positions 1) are sent first in, first out.
//
// A position without a grant takes no time, except with a clock (timed shift). Therefore, without a
// clock, nodes begin a round at the positions that have grants when the round begins, so that the
// same number of nodes begins at each of them.
//
// Threads: one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/message.h"

struct send_queue {
	struct message *waiting;   // first in, first out
	uint32_t head, n, size;    // of `waiting`
	struct message *positions; // of the current round; kind 0: no grant
	uint32_t n_positions;      // of the current round; 0: there is no current round
	uint32_t phase;
	uint32_t rank;  // of this node among the nodes that send
	uint32_t first; // position that is sent in phase 0
	uint64_t round;
	uint32_t in_round;    // grants left in `positions`
	uint64_t phase_start; // ticks
	uint64_t phase_ticks; // length of a phase with a clock; 0: no clock
};

// Bytes that send_queue_make() allocates.
uint64_t send_queue_memory(uint32_t size);

// size: largest number of grants that wait. False if memory ran out.
bool send_queue_make(struct send_queue *queue, uint32_t size, uint32_t rank, uint64_t phase_ticks);
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
