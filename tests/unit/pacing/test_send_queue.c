// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pacing/send_queue.h"

#define SIZE 64u

static struct send_queue queue_among(uint32_t rank, uint32_t n_senders, uint64_t phase_ticks)
{
	const struct send_queue_parameters parameters = {
		.size = SIZE,
		.rank = rank,
		.n_senders = n_senders,
		.phase_ticks = phase_ticks,
	};
	struct send_queue queue;

	assert_true(send_queue_make(&queue, &parameters));
	return queue;
}

static struct send_queue queue_of(uint32_t rank, uint64_t phase_ticks)
{
	return queue_among(rank, 4, phase_ticks);
}

// Events are numbered 100 * round + position.
static void put(struct send_queue *queue, uint64_t round, uint16_t position, uint16_t n_positions)
{
	const struct message message = { .kind = MESSAGE_SEND,
					 .event = 100 * round + position,
					 .round = round,
					 .position = position,
					 .n_positions = n_positions };

	assert_true(send_queue_put(queue, &message));
}

static void expect(struct send_queue *queue, uint64_t now, const uint64_t *events, unsigned n)
{
	struct message message;

	for (unsigned i = 0; i < n; i++) {
		assert_true(send_queue_next(queue, now, &message));
		assert_int_equal(message.event, events[i]);
	}
}

#define EXPECT(queue, now, ...)                               \
	expect(queue, now, (const uint64_t[]){ __VA_ARGS__ }, \
	       sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void expect_none(struct send_queue *queue, uint64_t now)
{
	struct message message;

	assert_false(send_queue_next(queue, now, &message));
}

static void rounds__are_shifted_by_rank(void **state)
{
	struct send_queue queue = queue_of(2, 0);

	(void)state;
	for (uint16_t i = 0; i < 4; i++)
		put(&queue, 1, i, 4);
	for (uint16_t i = 0; i < 4; i++)
		put(&queue, 2, i, 4);
	EXPECT(&queue, 0, 102, 103, 100, 101, 202, 203, 200, 201);
	expect_none(&queue, 0);
	assert_int_equal(send_queue_length(&queue), 0);
	send_queue_free(&queue);
}

#define SENDERS 4u

// What the nodes send in one phase, each from its queue. Returns how many send the position that
// most of them send.
static unsigned send_at_once(struct send_queue *queues)
{
	unsigned n[SENDERS] = { 0 }, most = 0;
	struct message message;

	for (unsigned i = 0; i < SENDERS; i++) {
		if (!send_queue_next(&queues[i], 0, &message))
			continue;
		if (++n[message.position] > most)
			most = n[message.position];
	}
	return most;
}

static void put_to_all(struct send_queue *queues, uint64_t round, uint16_t position)
{
	for (unsigned i = 0; i < SENDERS; i++)
		put(&queues[i], round, position, SENDERS);
}

static void open_all(struct send_queue *queues)
{
	for (unsigned i = 0; i < SENDERS; i++)
		queues[i] = queue_among(i, SENDERS, 0);
}

static void close_all(struct send_queue *queues)
{
	for (unsigned i = 0; i < SENDERS; i++)
		send_queue_free(&queues[i]);
}

static void rounds__that_are_complete_keep_nodes_apart(void **state)
{
	struct send_queue queues[SENDERS];

	(void)state;
	open_all(queues);
	for (unsigned phase = 0; phase < 3 * SENDERS; phase++) {
		for (uint16_t i = 0; phase % SENDERS == 0 && i < SENDERS; i++)
			put_to_all(queues, phase / SENDERS, i);
		assert_int_equal(send_at_once(queues), 1);
	}
	assert_int_equal(send_at_once(queues), 0);
	close_all(queues);
}

// Two grants arrive per phase, after the first one. Of the 4 nodes that send in a phase, all would
// send the same position if they took the positions in order.
static void rounds__that_trickle_in_keep_nodes_apart(void **state)
{
	static const unsigned most[SENDERS] = { 4, 3, 2, 2 };
	struct send_queue queues[SENDERS];
	uint16_t position = 0;

	(void)state;
	open_all(queues);
	for (unsigned phase = 0; phase < SENDERS; phase++) {
		for (unsigned i = 0; i < (phase == 0 ? 1 : 2) && position < SENDERS; i++)
			put_to_all(queues, 1, position++);
		assert_in_range(send_at_once(queues), 1, most[phase]);
	}
	assert_int_equal(send_at_once(queues), 0);
	// The next round is complete when it begins.
	for (position = 0; position < SENDERS; position++)
		put_to_all(queues, 2, position);
	for (unsigned phase = 0; phase < SENDERS; phase++)
		assert_int_equal(send_at_once(queues), 1);
	close_all(queues);
}

// Each grant is sent before the next one arrives; the round goes on all the same.
static void rounds__that_trickle_in_one_by_one(void **state)
{
	struct send_queue queue = queue_of(1, 0);

	(void)state;
	for (uint16_t i = 0; i < 2; i++) {
		put(&queue, 1, i, 4);
		EXPECT(&queue, 0, 100u + i);
		expect_none(&queue, 0);
	}
	put(&queue, 1, 2, 4);
	put(&queue, 1, 3, 4);
	// Phase 2 is that of position 1 + 2.
	EXPECT(&queue, 0, 103, 102);
	expect_none(&queue, 0);
	send_queue_free(&queue);
}

// Two builders, eight nodes: four begin with each.
static void rounds__with_empty_positions_spread_nodes_over_the_others(void **state)
{
	(void)state;
	for (uint32_t rank = 0; rank < 8; rank++) {
		struct send_queue queue = queue_among(rank, 8, 0);
		struct message message;

		put(&queue, 1, 0, 8);
		put(&queue, 1, 1, 8);
		assert_true(send_queue_next(&queue, 0, &message));
		assert_int_equal(message.event, 100 + rank / 4);
		send_queue_free(&queue);
	}
}

static void rounds__what_comes_late_is_sent_in_the_same_round(void **state)
{
	struct send_queue queue = queue_among(1, 3, 0);

	(void)state;
	put(&queue, 1, 0, 3);
	put(&queue, 1, 1, 3);
	EXPECT(&queue, 0, 100);
	put(&queue, 1, 2, 3);
	EXPECT(&queue, 0, 102, 101);
	put(&queue, 2, 0, 3);
	EXPECT(&queue, 0, 200);
	expect_none(&queue, 0);
	send_queue_free(&queue);
}

static void rounds__by_the_clock_wait_for_their_phase(void **state)
{
	struct send_queue queue = queue_of(1, 1000);

	(void)state;
	for (uint16_t i = 0; i < 2; i++)
		put(&queue, 1, i, 4);
	// Phases 0 to 3 are positions 1, 2, 3, 0.
	EXPECT(&queue, 5000, 101);
	expect_none(&queue, 5999);
	expect_none(&queue, 7999);
	EXPECT(&queue, 8000, 100);
	send_queue_free(&queue);
}

// Positions are builders; each node begins with another one, and all of them get their turn.
static void requests__are_served_in_turn(void **state)
{
	(void)state;
	for (uint32_t rank = 0; rank < 6; rank++) {
		struct send_queue queue = queue_of(rank, 0);

		for (unsigned i = 0; i < 6; i++) {
			const struct message message = { .kind = MESSAGE_SEND,
							 .flags = MESSAGE_REQUESTED,
							 .event = i,
							 .position = (uint16_t)(i % 3),
							 .n_positions = 3 };

			assert_true(send_queue_put(&queue, &message));
		}
		for (unsigned i = 0; i < 6; i++) {
			struct message message;

			assert_true(send_queue_next(&queue, 0, &message));
			assert_int_equal(message.position, (rank + i) % 3);
		}
		expect_none(&queue, 0);
		send_queue_free(&queue);
	}
}

static void without_rounds__first_in_first_out(void **state)
{
	struct send_queue queue = queue_of(3, 0);

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		put(&queue, i, 0, 1);
	EXPECT(&queue, 0, 0, 100, 200, 300, 400);
	expect_none(&queue, 0);
	send_queue_free(&queue);
}

static void put__refuses_what_it_has_no_room_for(void **state)
{
	struct send_queue queue = queue_of(0, 0);
	const struct message message = { .kind = MESSAGE_SEND, .n_positions = 1 };

	(void)state;
	for (unsigned i = 0; i < SIZE; i++)
		assert_true(send_queue_put(&queue, &message));
	assert_false(send_queue_put(&queue, &message));
	send_queue_clear(&queue);
	assert_int_equal(send_queue_length(&queue), 0);
	expect_none(&queue, 0);
	assert_true(send_queue_put(&queue, &message));
	send_queue_free(&queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds__are_shifted_by_rank),
		cmocka_unit_test(rounds__with_empty_positions_spread_nodes_over_the_others),
		cmocka_unit_test(rounds__what_comes_late_is_sent_in_the_same_round),
		cmocka_unit_test(rounds__that_are_complete_keep_nodes_apart),
		cmocka_unit_test(rounds__that_trickle_in_keep_nodes_apart),
		cmocka_unit_test(rounds__that_trickle_in_one_by_one),
		cmocka_unit_test(rounds__by_the_clock_wait_for_their_phase),
		cmocka_unit_test(requests__are_served_in_turn),
		cmocka_unit_test(without_rounds__first_in_first_out),
		cmocka_unit_test(put__refuses_what_it_has_no_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
