// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/tick_clock.h"

#define HOUR_NS 3600000000000ull

// A clock whose counter stood at `ticks` when the time was `ns`.
static struct tick_clock clock_at(uint64_t ticks, uint64_t ns, uint64_t ticks_per_second)
{
	struct tick_clock clock;

	tick_clock_set(&clock, (struct tick_moment){ ticks, ns }, ticks_per_second);
	return clock;
}

static void duration__is_exact_at_one_tick_a_nanosecond(void **state)
{
	struct tick_clock clock = clock_at(0, 0, 1000000000);

	(void)state;
	assert_int_equal(tick_clock_duration_ns(&clock, 0), 0);
	assert_int_equal(tick_clock_duration_ns(&clock, 1), 1);
	assert_int_equal(tick_clock_duration_ns(&clock, UINT64_MAX), UINT64_MAX);
}

static void duration__is_exact_at_powers_of_two(void **state)
{
	struct tick_clock clock = clock_at(0, 0, 500000000);

	(void)state;
	assert_int_equal(tick_clock_duration_ns(&clock, 3), 6);
	assert_int_equal(tick_clock_duration_ns(&clock, 1ull << 62), 1ull << 63);
}

static void renew__takes_the_rate_that_was(void **state)
{
	struct tick_clock clock = clock_at(1000, 5000, 1000000000);

	(void)state;
	tick_clock_renew(&clock, (struct tick_moment){
				     1000 + 1000000, 5000 + 1002000 }); // 0.2 % slower than stated
	assert_int_equal(tick_clock_ns(&clock, 1001000), 1007000);
	assert_in_range(tick_clock_duration_ns(&clock, 1000000000), 1001999999, 1002000000);
}

static void renew__does_not_believe_a_jump(void **state)
{
	struct tick_clock clock = clock_at(0, 0, 1000000000);

	(void)state;
	tick_clock_renew(&clock, (struct tick_moment){ 1000000, 2000000 });
	assert_int_equal(tick_clock_ns(&clock, 1000000), 2000000);
	assert_int_equal(tick_clock_duration_ns(&clock, 1000), 1000);
	tick_clock_renew(&clock, (struct tick_moment){ 1000000, 2000000 }); // no time has passed
	assert_int_equal(tick_clock_duration_ns(&clock, 1000), 1000);
}

// The rate has 32 bits of fraction: the error is below 1 us per hour at 2.6 GHz.
static void duration__does_not_drift(void **state)
{
	const uint64_t hz = 2600000000ull;
	struct tick_clock clock = clock_at(0, 0, hz);
	uint64_t ns = tick_clock_duration_ns(&clock, 3600 * hz);

	(void)state;
	assert_in_range(ns, HOUR_NS - 2500, HOUR_NS);
	assert_in_range(tick_clock_duration_ns(&clock, 26), 9, 10);
}

static void duration__does_not_overflow(void **state)
{
	const uint64_t hz = 2600000000ull;
	struct tick_clock clock = clock_at(0, 0, hz);
	uint64_t year = 365ull * 24 * 3600;

	(void)state;
	assert_in_range(tick_clock_duration_ns(&clock, year * hz), year * 1000000000 - 22000000,
			year * 1000000000);
}

static void ns__counts_from_the_anchor_both_ways(void **state)
{
	struct tick_clock clock = clock_at(1000, 50000, 500000000);

	(void)state;
	assert_int_equal(tick_clock_ns(&clock, 1000), 50000);
	assert_int_equal(tick_clock_ns(&clock, 1500), 51000);
	assert_int_equal(tick_clock_ns(&clock, 500), 49000);
}

static uint64_t reads;
static uint64_t counter;

// A counter that passes 1000 within each moment, but 10 in the third.
static uint64_t read_ticks(void)
{
	counter += ++reads == 6 ? 10 : 1000;
	return counter;
}

static void moment__is_that_of_the_shortest_try(void **state)
{
	uint64_t before = tick_clock_monotonic_ns();
	struct tick_moment moment = tick_moment_read(read_ticks);

	(void)state;
	assert_int_equal(reads, 2 * TICK_MOMENT_TRIES);
	assert_int_equal(moment.ticks, 5000 + 10 / 2);
	assert_in_range(moment.ns, before, tick_clock_monotonic_ns());
}

static void rate__is_that_between_two_moments(void **state)
{
	struct tick_moment from = { 1000, 5000 }, to = { 1000 + 52000, 5000 + 20000 };

	(void)state;
	assert_int_equal(tick_moments_rate(from, to), 2600000000);
	assert_int_equal(tick_moments_rate(from, from), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(duration__is_exact_at_one_tick_a_nanosecond),
		cmocka_unit_test(duration__is_exact_at_powers_of_two),
		cmocka_unit_test(renew__takes_the_rate_that_was),
		cmocka_unit_test(renew__does_not_believe_a_jump),
		cmocka_unit_test(duration__does_not_drift),
		cmocka_unit_test(duration__does_not_overflow),
		cmocka_unit_test(ns__counts_from_the_anchor_both_ways),
		cmocka_unit_test(moment__is_that_of_the_shortest_try),
		cmocka_unit_test(rate__is_that_between_two_moments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
