// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The grants that a readout has received and not sent yet, and the order in which it sends them:
// round after round, and within a round by phase. A grant that arrives after its phase is sent at
// the end of its round. Grants without a round (n_positions 1) are sent first in, first out.
//
// A position without a grant takes no time. Therefore nodes begin a round at the positions that
// have grants when the round begins, spread evenly over them, and continue in cyclic order; each
// grant that is sent is a phase. If more grants of the round arrive then, the nodes continue as if
// all had been there: in phase p a node sends the position that is p behind that of its rank. If
// that has no grant, the nodes are again spread over the positions that have one. So they keep
// apart although the grants trickle in.
//
// Requests (MESSAGE_REQUESTED) are served in turn by position, of which each builder has one. The
// requests of one builder may be sent in another order than they arrived.
//
// In a random order, each grant that is sent is drawn from those of the round that are here. Each
// node draws other numbers.
//
// Threads: one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "packet/message.h"

struct send_queue_parameters {
	uint32_t size;      // largest number of grants that wait
	uint32_t rank;      // of this node among the nodes that send
	uint32_t n_senders; // nodes that send; 0: this one is the last
	bool is_random;     // the order within a round
	uint64_t seed;      // of the random order, equal for all nodes
};

struct send_queue {
	struct send_queue_parameters parameters;
	struct message *waiting; // first in, first out
	uint32_t head, n;        // of `waiting`
	// The current round, and then the one before
	uint64_t round;
	uint32_t n_positions;
	struct message *positions;
	uint64_t *present;  // bit set of the positions that have a grant
	uint32_t in_round;  // number of these
	bool goes_in_order; // not at random
	bool is_open;       // there is a current round
	bool is_shifted;    // its positions are not builders that request
	bool is_late;       // grants have arrived after it began
	uint32_t phase;
	uint32_t first; // position that is sent in phase 0
	struct random random;
};

// Bytes that send_queue_make() allocates.
uint64_t send_queue_memory(uint32_t size);

// False if memory ran out.
bool send_queue_make(struct send_queue *queue, const struct send_queue_parameters *parameters);
void send_queue_free(struct send_queue *queue);

// False if the queue is full.
bool send_queue_put(struct send_queue *queue, const struct message *grant);

// Removes the grant that is to be sent next and stores it in *grant. False if there is none.
bool send_queue_next(struct send_queue *queue, struct message *grant);

// The number of the phase (pacing/phase_gate.h) of the grant that was removed last, one of a round.
static inline uint32_t send_queue_phase(const struct send_queue *queue)
{
	const uint32_t behind = queue->phase > 0 ? queue->phase : queue->n_positions;

	return (uint32_t)queue->round * queue->n_positions + behind - 1;
}

static inline uint32_t send_queue_length(const struct send_queue *queue)
{
	return queue->n + queue->in_round;
}

void send_queue_clear(struct send_queue *queue);
