// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <evring/reader_pause.h>

#include "bench.h"

#define LEAST READER_PAUSE_LEAST_NS
#define MOST  READER_PAUSE_MOST_NS
#define SLOTS 1024u

// The pause of a reader that finds `rate` events per second in a ring of so many slots, after it
// has become steady: the shortest and the longest one of the next ones.
static void steady_pauses(uint64_t rate, uint64_t slots, uint64_t *shortest, uint64_t *longest)
{
	uint64_t pause = LEAST;

	*shortest = UINT64_MAX;
	*longest = 0;
	for (unsigned i = 0; i < 200; i++) {
		pause = reader_next_pause(pause, rate * pause / 1000000000, slots);
		if (i < 100)
			continue;
		*shortest = pause < *shortest ? pause : *shortest;
		*longest = pause > *longest ? pause : *longest;
	}
}

static void first_pause__is_the_least(void **state)
{
	(void)state;
	assert_int_equal(reader_next_pause(0, 0, SLOTS), LEAST);
}

static void few_events__let_pauses_grow_to_the_most(void **state)
{
	uint64_t shortest, longest;

	(void)state;
	steady_pauses(100, SLOTS, &shortest, &longest);
	assert_int_equal(shortest, MOST);
	steady_pauses(12000, SLOTS, &shortest, &longest);
	assert_int_equal(shortest, MOST);
}

static void many_events__end_long_pauses(void **state)
{
	uint64_t shortest, longest;

	(void)state;
	assert_int_equal(reader_next_pause(MOST, READER_MANY_EVENTS + 1, SLOTS), MOST / 2);
	steady_pauses(1000000, SLOTS, &shortest, &longest);
	assert_int_equal(longest, LEAST);
}

// Whatever the rate, what comes in a steady pause leaves slots to the builder, unless even the
// least pause is too long for the ring.
static void steady_pause__does_not_fill_the_ring(void **state)
{
	static const uint64_t slots[] = { 4, 20, 64, 1024 };

	(void)state;
	for (unsigned i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		for (uint64_t rate = 100; rate < slots[i] * 1000000000 / LEAST;
		     rate += rate / 8 + 1) {
			uint64_t shortest, longest;

			steady_pauses(rate, slots[i], &shortest, &longest);
			assert_true(rate * longest / 1000000000 < slots[i]);
		}
}

static void half_a_ring__ends_long_pauses_at_once(void **state)
{
	(void)state;
	assert_int_equal(reader_next_pause(MOST, 10, 20), LEAST);
	assert_int_equal(reader_next_pause(MOST, 0, 1), LEAST); // it is full after each event
}

static void long_wait__sleeps_for_a_hundredth_of_it(void **state)
{
	(void)state;
	assert_int_equal(reader_sleep(LEAST, 1000000), LEAST);
	assert_int_equal(reader_sleep(LEAST, 80000000), 800000);
	assert_int_equal(reader_sleep(LEAST, 10000000000), READER_WAIT_MOST_NS);
	assert_int_equal(reader_sleep(MOST, 1000000), MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_pause__is_the_least),
		cmocka_unit_test(few_events__let_pauses_grow_to_the_most),
		cmocka_unit_test(many_events__end_long_pauses),
		cmocka_unit_test(steady_pause__does_not_fill_the_ring),
		cmocka_unit_test(half_a_ring__ends_long_pauses_at_once),
		cmocka_unit_test(long_wait__sleeps_for_a_hundredth_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
