// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The events that a readout has been granted and has not sent yet, and the order in which it sends
// them: round after round, within a round by phase. A grant that comes when its phase is over is
// sent at the round's end. Grants without a round (n_positions 1) go first in, first out.
//
// Positions without an event take no time, save by the clock. Therefore nodes begin, without a
// clock, at the positions that are there when the round begins, as many nodes at each.
//
// Threads: one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/message.h"

struct send_queue {
	struct message *waiting; // first in, first out
	uint32_t head, n, size;
	struct message *positions; // of the round under way; kind 0: none
	uint32_t n_positions;      // of it, 0: no round is under way
	uint32_t phase;
	uint32_t rank;  // of this node among those that send
	uint32_t first; // position that is sent in phase 0
	uint64_t round;
	uint32_t in_round;    // grants that are left in positions
	uint64_t phase_start; // ticks
	uint64_t phase_ticks; // of a phase on the clock (timed shift); 0: none
};

// size: most grants that wait. False if memory ran out.
bool send_queue_make(struct send_queue *queue, uint32_t size, uint32_t rank, uint64_t phase_ticks);
void send_queue_free(struct send_queue *queue);

// False if it is full.
bool send_queue_put(struct send_queue *queue, const struct message *grant);

// Takes the grant to be sent next. False if there is none, or its phase has not begun.
bool send_queue_next(struct send_queue *queue, uint64_t now, struct message *grant);

static inline uint32_t send_queue_length(const struct send_queue *queue)
{
	return queue->n + queue->in_round;
}

void send_queue_clear(struct send_queue *queue);
