// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "readout/window_queue.h"

#define SIZE      6u
#define POSITIONS 3u

static struct window_queue queue;

static int open_queue(void **state)
{
	(void)state;
	return window_queue_make(&queue, SIZE, POSITIONS) ? 0 : -1;
}

static int close_queue(void **state)
{
	(void)state;
	window_queue_free(&queue);
	return 0;
}

static bool put(uint32_t position, uint64_t event)
{
	const struct message grant = { .kind = MESSAGE_SEND, .event = event };

	return window_queue_put(&queue, position, &grant);
}

static void expect(uint32_t position, uint64_t event, uint32_t offset)
{
	struct packet_segment at;
	struct message grant;

	assert_true(window_queue_take(&queue, position, &grant, &at));
	assert_int_equal(grant.event, event);
	assert_int_equal(at.event, event);
	assert_int_equal(at.offset, offset);
}

static void expect_none(uint32_t position)
{
	struct packet_segment at;
	struct message grant;

	assert_false(window_queue_take(&queue, position, &grant, &at));
}

static void each_position__is_first_in_first_out(void **state)
{
	(void)state;
	for (uint64_t event = 0; event < SIZE; event++)
		assert_true(put(event % 2, event));
	assert_int_equal(queue.n, SIZE);
	expect_none(2);
	expect(1, 1, 0);
	expect(0, 0, 0);
	assert_true(put(1, 9));
	expect(1, 3, 0);
	expect(1, 5, 0);
	expect(1, 9, 0);
	expect_none(1);
	expect(0, 2, 0);
	expect(0, 4, 0);
	expect_none(0);
	assert_int_equal(queue.n, 0);
}

static void a_grant_that_returns__comes_first_and_goes_on(void **state)
{
	const struct packet_segment at = { .event = 0, .offset = 77 };
	const struct message grant = { .kind = MESSAGE_SEND, .event = 0 };

	(void)state;
	assert_true(put(0, 0));
	expect(0, 0, 0);
	// The queue is full meanwhile.
	for (uint64_t event = 1; event <= SIZE; event++)
		assert_true(put(0, event));
	assert_false(put(0, 9));
	window_queue_return(&queue, 0, &grant, &at);
	assert_false(put(1, 9));
	expect(0, 0, 77);
	for (uint64_t event = 1; event <= SIZE; event++)
		expect(0, event, 0);
	// As the only one.
	window_queue_return(&queue, 2, &grant, &at);
	assert_true(put(2, 8));
	expect(2, 0, 77);
	expect(2, 8, 0);
	expect_none(2);
}

static void clear__leaves_the_whole_room(void **state)
{
	(void)state;
	for (uint64_t event = 0; event < SIZE; event++)
		assert_true(put(event % POSITIONS, event));
	window_queue_clear(&queue);
	assert_int_equal(queue.n, 0);
	for (uint32_t i = 0; i < POSITIONS; i++)
		expect_none(i);
	for (uint64_t event = 0; event < SIZE; event++)
		assert_true(put(1, event));
	assert_false(put(1, 9));
	expect(1, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_queue, close_queue)
		TEST(each_position__is_first_in_first_out),
		TEST(a_grant_that_returns__comes_first_and_goes_on),
		TEST(clear__leaves_the_whole_room),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
