// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pacing/send_queue.h"

#include <stdlib.h>
#include <string.h>

#define POSITIONS (UINT16_MAX + 1u) // a grant has 16 bits for its position

uint64_t send_queue_memory(uint32_t size)
{
	return ((uint64_t)size + POSITIONS) * sizeof(struct message);
}

bool send_queue_make(struct send_queue *queue, uint32_t size, uint32_t rank, uint64_t phase_ticks)
{
	*queue = (struct send_queue){ .size = size, .rank = rank, .phase_ticks = phase_ticks };
	queue->waiting = calloc(size, sizeof(*queue->waiting));
	queue->positions = calloc(POSITIONS, sizeof(*queue->positions));
	return queue->waiting != NULL && queue->positions != NULL;
}

void send_queue_free(struct send_queue *queue)
{
	free(queue->waiting);
	free(queue->positions);
}

bool send_queue_put(struct send_queue *queue, const struct message *grant)
{
	uint32_t at;

	if (queue->n == queue->size)
		return false;
	at = queue->head + queue->n++;
	queue->waiting[at >= queue->size ? at - queue->size : at] = *grant;
	return true;
}

static struct message *front(struct send_queue *queue)
{
	return &queue->waiting[queue->head];
}

static void pop(struct send_queue *queue)
{
	queue->head = queue->head + 1 == queue->size ? 0 : queue->head + 1;
	queue->n--;
}

// Moves the grants of the current round that wait to their positions.
static void collect(struct send_queue *queue)
{
	while (queue->n > 0 && front(queue)->round == queue->round &&
	       front(queue)->n_positions == queue->n_positions) {
		struct message *position = &queue->positions[front(queue)->position];

		if (position->kind != 0)
			return; // granted twice in the round: sent after the first one
		*position = *front(queue);
		queue->in_round++;
		pop(queue);
	}
}

static void begin_round(struct send_queue *queue, uint64_t now)
{
	bool requested = (front(queue)->flags & MESSAGE_REQUESTED) != 0;

	queue->round = front(queue)->round;
	queue->n_positions = front(queue)->n_positions;
	queue->phase = 0;
	queue->phase_start = now;
	collect(queue);
	// With a clock, and where positions are builders that request, all positions count.
	queue->first = queue->rank % (queue->phase_ticks != 0 || requested ? queue->n_positions
									   : queue->in_round);
}

static void next_phase(struct send_queue *queue)
{
	queue->phase++;
	queue->phase_start += queue->phase_ticks;
}

// Finds the grant of the next phase that has one. A round has some tens of positions of 64 bytes,
// so a scan is cheap.
static bool take_phase(struct send_queue *queue, uint64_t now, struct message *grant)
{
	while (queue->phase < queue->n_positions) {
		uint32_t at = queue->first + queue->phase;
		struct message *position;

		if (queue->phase_ticks != 0 && now < queue->phase_start)
			return false;
		while (at >= queue->n_positions)
			at -= queue->n_positions;
		position = &queue->positions[at];
		next_phase(queue);
		if (position->kind == 0)
			continue;
		*grant = *position;
		position->kind = 0;
		queue->in_round--;
		return true;
	}
	return false;
}

bool send_queue_next(struct send_queue *queue, uint64_t now, struct message *grant)
{
	for (;;) {
		if (queue->n_positions == 0) {
			if (queue->n == 0)
				return false;
			if (front(queue)->n_positions <= 1) {
				*grant = *front(queue);
				pop(queue);
				return true;
			}
			begin_round(queue, now);
		}
		collect(queue);
		if (take_phase(queue, now, grant))
			return true;
		if (queue->phase < queue->n_positions)
			return false; // the phase has not begun
		if (queue->in_round > 0)
			queue->phase = 0; // late grants are sent now
		else
			queue->n_positions = 0;
	}
}

void send_queue_clear(struct send_queue *queue)
{
	for (uint32_t i = 0; i < queue->n_positions; i++)
		queue->positions[i].kind = 0;
	queue->n = queue->in_round = queue->n_positions = 0;
}
