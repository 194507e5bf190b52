// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pacing/send_queue.h"

#include <stdlib.h>

#define NOINLINE      __attribute__((noinline)) // keeps the usual case of send_queue_next() short
#define WORD_BITS     64u
#define POSITIONS     (UINT16_MAX + 1u) // a grant has 16 bits for its position
#define REQUESTS_MOST 64u               // that are looked at when one is sent

uint64_t send_queue_memory(uint32_t size)
{
	return ((uint64_t)size + POSITIONS) * sizeof(struct message) + POSITIONS / 8;
}

bool send_queue_make(struct send_queue *queue, const struct send_queue_parameters *parameters)
{
	*queue = (struct send_queue){
		.parameters = *parameters,
		.random = random_fork(parameters->seed, parameters->rank),
	};
	queue->goes_in_order = !parameters->is_random;
	if (queue->parameters.n_senders <= parameters->rank)
		queue->parameters.n_senders = parameters->rank + 1;
	queue->waiting = calloc(parameters->size, sizeof(*queue->waiting));
	queue->positions = calloc(POSITIONS, sizeof(*queue->positions));
	queue->present = calloc(POSITIONS / WORD_BITS, sizeof(*queue->present));
	return queue->waiting != NULL && queue->positions != NULL && queue->present != NULL;
}

void send_queue_free(struct send_queue *queue)
{
	free(queue->waiting);
	free(queue->positions);
	free(queue->present);
}

bool send_queue_put(struct send_queue *queue, const struct message *grant)
{
	uint32_t at;

	if (queue->n == queue->parameters.size)
		return false;
	if (queue->n == 0)
		queue->head = 0; // so that the places that are used stay in a near cache
	at = queue->head + queue->n++;
	at -= at >= queue->parameters.size ? queue->parameters.size : 0;
	queue->waiting[at] = *grant;
	return true;
}

static struct message *front(struct send_queue *queue)
{
	return &queue->waiting[queue->head];
}

static void pop(struct send_queue *queue)
{
	queue->head = queue->head + 1 == queue->parameters.size ? 0 : queue->head + 1;
	queue->n--;
}

// --- the positions of the current round ---

static bool is_present(const struct send_queue *queue, uint32_t position)
{
	return (queue->present[position / WORD_BITS] >> position % WORD_BITS & 1) != 0;
}

static uint32_t n_words(const struct send_queue *queue)
{
	return (queue->n_positions + WORD_BITS - 1) / WORD_BITS;
}

// The first position from `from` on, in cyclic order, that has a grant. There is one.
static uint32_t next_present(const struct send_queue *queue, uint32_t from)
{
	uint32_t word = from / WORD_BITS;
	uint64_t bits = queue->present[word] & UINT64_MAX << from % WORD_BITS;

	while (bits == 0) {
		word = word + 1 < n_words(queue) ? word + 1 : 0;
		bits = queue->present[word];
	}
	return word * WORD_BITS + (uint32_t)__builtin_ctzll(bits);
}

// Position number n, counted from 0, of those that have a grant. There are more than n.
static uint32_t present_number(const struct send_queue *queue, uint32_t n)
{
	uint32_t word = 0, in_word;
	uint64_t bits;

	while (n >= (in_word = (uint32_t)__builtin_popcountll(queue->present[word]))) {
		n -= in_word;
		word++;
	}
	for (bits = queue->present[word]; n > 0; n--)
		bits &= bits - 1;
	return word * WORD_BITS + (uint32_t)__builtin_ctzll(bits);
}

// The senders are spread evenly over n places; this is that of this node.
static uint32_t place_among(const struct send_queue *queue, uint32_t n)
{
	return (uint32_t)((uint64_t)queue->parameters.rank * n / queue->parameters.n_senders);
}

// The position of this node if the nodes are spread over the positions that have a grant.
static uint32_t spread(const struct send_queue *queue)
{
	return present_number(queue, place_among(queue, queue->in_round));
}

static uint32_t draw(struct send_queue *queue)
{
	const uint64_t drawn = random_next(&queue->random) >> 32;

	return present_number(queue, (uint32_t)(drawn * queue->in_round >> 32));
}

static void take(struct send_queue *queue, uint32_t position, struct message *grant)
{
	*grant = queue->positions[position];
	queue->present[position / WORD_BITS] &= ~(UINT64_C(1) << position % WORD_BITS);
	queue->in_round--;
}

static void put_at_position(struct send_queue *queue, const struct message *grant)
{
	queue->positions[grant->position] = *grant;
	queue->present[grant->position / WORD_BITS] |= UINT64_C(1) << grant->position % WORD_BITS;
	queue->in_round++;
}

// Whether the oldest grant that waits is one of the current round.
static bool has_more(const struct send_queue *queue)
{
	const struct message *next = &queue->waiting[queue->head];

	return queue->n > 0 && next->round == queue->round &&
	       next->n_positions == queue->n_positions;
}

// Moves the requests that wait to the positions of their builders. A request whose builder has one
// there already goes to the end of the queue: behind it are those of other builders, whose links
// would be idle meanwhile.
static void collect_requests(struct send_queue *queue)
{
	const uint32_t most = queue->n < REQUESTS_MOST ? queue->n : REQUESTS_MOST;

	for (uint32_t i = 0; i < most && has_more(queue); i++) {
		const struct message next = *front(queue);

		pop(queue);
		if (is_present(queue, next.position))
			(void)send_queue_put(queue, &next);
		else
			put_at_position(queue, &next);
	}
}

// Moves the grants of the current round that wait to their positions. Returns whether there were
// any.
static bool collect(struct send_queue *queue)
{
	const uint32_t size = queue->parameters.size, before = queue->n;
	struct message *const waiting = queue->waiting, *const positions = queue->positions;
	const uint16_t n_positions = (uint16_t)queue->n_positions;
	const uint64_t round = queue->round;
	uint32_t head = queue->head, n = before;

	if (!queue->is_shifted) {
		collect_requests(queue);
		return queue->n < before;
	}
	for (; n > 0; n--) {
		const struct message *next = &waiting[head];
		const uint32_t position = next->position;
		uint64_t *word = &queue->present[position / WORD_BITS];
		const uint64_t bit = UINT64_C(1) << position % WORD_BITS;

		if (next->round != round || next->n_positions != n_positions)
			break;
		if ((*word & bit) != 0)
			break; // granted twice in the round: sent after the first one
		*word |= bit;
		positions[position] = *next;
		head = head + 1 == size ? 0 : head + 1;
	}
	queue->head = head;
	queue->n = n;
	queue->in_round += before - n;
	return n < before;
}

// --- phases ---

static void begin_round(struct send_queue *queue)
{
	const struct message *next = front(queue);

	queue->is_open = true;
	// All grants of the round that were here are sent, and one more has arrived.
	if (queue->is_shifted && next->round == queue->round &&
	    next->n_positions == queue->n_positions)
		return;
	queue->is_late = false;
	queue->is_shifted = (next->flags & MESSAGE_REQUESTED) == 0;
	queue->round = next->round;
	queue->n_positions = next->n_positions;
	queue->phase = 0;
	(void)collect(queue);
	queue->first =
	    queue->is_shifted ? spread(queue) : queue->parameters.rank % queue->n_positions;
}

// The position of the phase, which has a grant in a complete round.
static uint32_t position_of_phase(const struct send_queue *queue)
{
	uint32_t at = queue->first + queue->phase;

	return at >= queue->n_positions ? at - queue->n_positions : at;
}

// Each grant that is sent is a phase.
static void take_next(struct send_queue *queue, uint32_t position, struct message *grant)
{
	take(queue, position, grant);
	queue->phase = queue->phase + 1 < queue->n_positions ? queue->phase + 1 : 0;
}

// The position that is sent in this phase.
static uint32_t next_position(struct send_queue *queue)
{
	uint32_t at = position_of_phase(queue);

	if (queue->parameters.is_random)
		return draw(queue);
	if (is_present(queue, at))
		return at;
	return queue->is_late ? spread(queue) : next_present(queue, at);
}

// Finds the grant that is sent next; false if the current round has none: then it is over.
static bool take_phase(struct send_queue *queue, struct message *grant)
{
	queue->is_open = queue->in_round > 0;
	if (queue->is_open)
		take_next(queue, next_position(queue), grant);
	return queue->is_open;
}

static NOINLINE bool next_of_any_round(struct send_queue *queue, struct message *grant)
{
	for (;;) {
		if (!queue->is_open) {
			if (queue->n == 0)
				return false;
			if (front(queue)->n_positions <= 1) {
				*grant = *front(queue);
				pop(queue);
				return true;
			}
			begin_round(queue);
		}
		if (has_more(queue) && collect(queue) && queue->is_shifted) {
			queue->is_late = true;
			queue->first = place_among(queue, queue->n_positions);
		}
		if (take_phase(queue, grant))
			return true;
	}
}

bool send_queue_next(struct send_queue *queue, struct message *grant)
{
	// The usual case first: the next grant of a round that was complete when it began.
	if (queue->is_open && queue->goes_in_order && !has_more(queue)) {
		uint32_t at = position_of_phase(queue);

		if (is_present(queue, at)) {
			take_next(queue, at, grant);
			return true;
		}
	}
	return next_of_any_round(queue, grant);
}

void send_queue_clear(struct send_queue *queue)
{
	for (uint32_t i = 0; i < n_words(queue); i++)
		queue->present[i] = 0;
	queue->n = queue->in_round = queue->n_positions = 0;
	queue->is_open = queue->is_shifted = false;
}
