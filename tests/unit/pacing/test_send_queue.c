// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pacing/send_queue.h"

#define SIZE 64u

static struct send_queue queue_among(uint32_t rank, uint32_t n_senders)
{
	const struct send_queue_parameters parameters = {
		.size = SIZE,
		.rank = rank,
		.n_senders = n_senders,
	};
	struct send_queue queue;

	assert_true(send_queue_make(&queue, &parameters));
	return queue;
}

static struct send_queue queue_of(uint32_t rank)
{
	return queue_among(rank, 4);
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

static void expect(struct send_queue *queue, const uint64_t *events, unsigned n)
{
	struct message message;

	for (unsigned i = 0; i < n; i++) {
		assert_true(send_queue_next(queue, &message));
		assert_int_equal(message.event, events[i]);
	}
}

#define EXPECT(queue, ...)                               \
	expect(queue, (const uint64_t[]){ __VA_ARGS__ }, \
	       sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void expect_none(struct send_queue *queue)
{
	struct message message;

	assert_false(send_queue_next(queue, &message));
}

static void rounds__are_shifted_by_rank(void **state)
{
	struct send_queue queue = queue_of(2);

	(void)state;
	for (uint16_t i = 0; i < 4; i++)
		put(&queue, 1, i, 4);
	for (uint16_t i = 0; i < 4; i++)
		put(&queue, 2, i, 4);
	EXPECT(&queue, 102, 103, 100, 101, 202, 203, 200, 201);
	expect_none(&queue);
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
		if (!send_queue_next(&queues[i], &message))
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
		queues[i] = queue_among(i, SENDERS);
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
	struct send_queue queue = queue_of(1);

	(void)state;
	for (uint16_t i = 0; i < 2; i++) {
		put(&queue, 1, i, 4);
		EXPECT(&queue, 100u + i);
		expect_none(&queue);
	}
	put(&queue, 1, 2, 4);
	put(&queue, 1, 3, 4);
	// Phase 2 is that of position 1 + 2.
	EXPECT(&queue, 103, 102);
	expect_none(&queue);
	send_queue_free(&queue);
}

// Two builders, eight nodes: four begin with each.
static void rounds__with_empty_positions_spread_nodes_over_the_others(void **state)
{
	(void)state;
	for (uint32_t rank = 0; rank < 8; rank++) {
		struct send_queue queue = queue_among(rank, 8);
		struct message message;

		put(&queue, 1, 0, 8);
		put(&queue, 1, 1, 8);
		assert_true(send_queue_next(&queue, &message));
		assert_int_equal(message.event, 100 + rank / 4);
		send_queue_free(&queue);
	}
}

static void rounds__what_comes_late_is_sent_in_the_same_round(void **state)
{
	struct send_queue queue = queue_among(1, 3);

	(void)state;
	put(&queue, 1, 0, 3);
	put(&queue, 1, 1, 3);
	EXPECT(&queue, 100);
	put(&queue, 1, 2, 3);
	EXPECT(&queue, 102, 101);
	put(&queue, 2, 0, 3);
	EXPECT(&queue, 200);
	expect_none(&queue);
	send_queue_free(&queue);
}

// Positions are builders; each node begins with another one, and all of them get their turn.
static struct send_queue random_queue(uint32_t rank, uint64_t seed)
{
	const struct send_queue_parameters parameters = {
		.size = SIZE, .rank = rank, .n_senders = 4, .is_random = true, .seed = seed
	};
	struct send_queue queue;

	assert_true(send_queue_make(&queue, &parameters));
	return queue;
}

#define RANDOM_ROUNDS 600u

// Sends rounds of three; orders[r] is that of round r: its positions as decimal digits. Each
// position comes once per round.
static void send_randomly(uint32_t rank, uint64_t seed, unsigned *orders)
{
	struct send_queue queue = random_queue(rank, seed);
	struct message message;

	for (unsigned round = 0; round < RANDOM_ROUNDS; round++) {
		unsigned seen = 0;

		orders[round] = 0;
		for (uint16_t i = 0; i < 3; i++)
			put(&queue, round + 1, i, 3);
		for (unsigned i = 0; i < 3; i++) {
			assert_true(send_queue_next(&queue, &message));
			assert_int_equal(message.round, round + 1);
			orders[round] = 10 * orders[round] + message.position;
			seen |= 1u << message.position;
		}
		assert_int_equal(seen, 7);
	}
	expect_none(&queue);
	send_queue_free(&queue);
}

static unsigned count_equal(const unsigned *a, const unsigned *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < RANDOM_ROUNDS; i++)
		n += a[i] == b[i];
	return n;
}

// All six orders of three positions are equally frequent, 100 +- 9 times; two nodes have the same
// order in a sixth of the rounds, and the same seed gives the same orders again.
static void random__orders_differ_between_nodes_and_rounds(void **state)
{
	static const unsigned all[] = { 12, 21, 102, 120, 201, 210 };
	unsigned of_0[RANDOM_ROUNDS], of_1[RANDOM_ROUNDS], again[RANDOM_ROUNDS];

	(void)state;
	send_randomly(0, 5, of_0);
	send_randomly(1, 5, of_1);
	send_randomly(0, 5, again);
	assert_memory_equal(of_0, again, sizeof(of_0));
	for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		unsigned n = 0;

		for (unsigned j = 0; j < RANDOM_ROUNDS; j++)
			n += of_0[j] == all[i];
		assert_in_range(n, 64, 136);
	}
	assert_in_range(count_equal(of_0, of_1), 64, 136);
	send_randomly(0, 6, again);
	assert_in_range(count_equal(of_0, again), 64, 136);
}

static void requests__are_served_in_turn(void **state)
{
	(void)state;
	for (uint32_t rank = 0; rank < 6; rank++) {
		struct send_queue queue = queue_of(rank);

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

			assert_true(send_queue_next(&queue, &message));
			assert_int_equal(message.position, (rank + i) % 3);
		}
		expect_none(&queue);
		send_queue_free(&queue);
	}
}

// Builder 0 requests many events, then the others one each.
static void requests__many_of_one_builder_do_not_delay_others(void **state)
{
	struct send_queue queue = queue_of(0);
	struct message message = { .kind = MESSAGE_SEND,
				   .flags = MESSAGE_REQUESTED,
				   .n_positions = 3 };

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		message.event = i;
		message.position = (uint16_t)(i < 4 ? 0 : i - 3);
		assert_true(send_queue_put(&queue, &message));
	}
	for (unsigned i = 0; i < 6; i++) {
		assert_true(send_queue_next(&queue, &message));
		assert_int_equal(message.position, i < 3 ? i : 0);
	}
	expect_none(&queue);
	send_queue_free(&queue);
}

static void without_rounds__first_in_first_out(void **state)
{
	struct send_queue queue = queue_of(3);

	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		put(&queue, i, 0, 1);
	EXPECT(&queue, 0, 100, 200, 300, 400);
	expect_none(&queue);
	send_queue_free(&queue);
}

static void put__refuses_what_it_has_no_room_for(void **state)
{
	struct send_queue queue = queue_of(0);
	const struct message message = { .kind = MESSAGE_SEND, .n_positions = 1 };

	(void)state;
	for (unsigned i = 0; i < SIZE; i++)
		assert_true(send_queue_put(&queue, &message));
	assert_false(send_queue_put(&queue, &message));
	send_queue_clear(&queue);
	assert_int_equal(send_queue_length(&queue), 0);
	expect_none(&queue);
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
		cmocka_unit_test(random__orders_differ_between_nodes_and_rounds),
		cmocka_unit_test(requests__are_served_in_turn),
		cmocka_unit_test(requests__many_of_one_builder_do_not_delay_others),
		cmocka_unit_test(without_rounds__first_in_first_out),
		cmocka_unit_test(put__refuses_what_it_has_no_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
