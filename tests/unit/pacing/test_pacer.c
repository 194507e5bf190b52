// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pacing/pacer.h"

#define GIGAHERTZ 1000000000ull
#define GIGABYTE  1000000000ull // a second: a byte a tick at 1 GHz

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

// The first tick at which the pacer is ready; UINT64_MAX: never at this rate.
static uint64_t ready_at(const struct pacer *pacer)
{
	uint64_t low = 0, high = UINT64_MAX;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (pacer_ready(pacer, middle))
			high = middle;
		else
			low = middle + 1;
	}
	if (low < UINT64_MAX)
		assert_int_equal(pacer_ready_at(pacer), low);
	return low;
}

static void take__the_burst_at_once(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, GIGAHERTZ, GIGABYTE, 3000, 1000);
	for (unsigned i = 0; i < 3; i++)
		assert_true(pacer_take(&pacer, 1000, 1000));
	assert_false(pacer_ready(&pacer, 1000));
	assert_false(pacer_take(&pacer, 1, 1000));
	assert_int_equal(ready_at(&pacer), 1001);
	assert_true(pacer_take(&pacer, 1, 1001));
}

static void take__no_more_than_the_burst_is_saved(void **state)
{
	struct pacer pacer;
	uint32_t taken = 0;

	(void)state;
	pacer_init(&pacer, GIGAHERTZ, GIGABYTE, 3000, 0);
	while (pacer_take(&pacer, 100, 1000000000))
		taken += 100;
	assert_int_equal(taken, 3000);
}

static void take__more_than_the_burst_leaves_a_debt(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, GIGAHERTZ, GIGABYTE, 1000, 0);
	assert_true(pacer_take(&pacer, 1000000, 0));
	assert_int_equal(ready_at(&pacer), 999001);
	assert_false(pacer_ready(&pacer, 999000));
	assert_true(pacer_ready(&pacer, 999001));
}

static void take__refused_takes_nothing(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, GIGAHERTZ, GIGABYTE, 1000, 0);
	assert_true(pacer_take(&pacer, 5000, 0));
	for (unsigned i = 0; i < 100; i++)
		assert_false(pacer_take(&pacer, 5000, i));
	assert_int_equal(ready_at(&pacer), 4001);
}

// At every moment of 10^6 packets: no more than burst + rate * time + the last packet, and, as
// there is always something to send, no less than what was refused for want of less than a packet.
static void expect_exact(uint64_t ticks_per_second, uint64_t rate, uint32_t burst)
{
	const uint64_t start = 123456789;
	double byte_ticks = (double)ticks_per_second / (double)rate;
	uint64_t now = start, random = rate ^ burst, bytes = 0, steps = 0, last = 0;
	struct pacer pacer;

	pacer_init(&pacer, ticks_per_second, rate, burst, now);
	for (unsigned i = 0; i < 2000000; i++) {
		uint32_t size = 64 + (uint32_t)(next_random(&random) % 9000);
		double allowed;

		if (pacer_take(&pacer, size, now)) {
			bytes += size;
			last = size;
			steps++;
		} else {
			assert_true(ready_at(&pacer) > now);
			now = ready_at(&pacer);
			assert_true(pacer_ready(&pacer, now));
			assert_false(pacer_ready(&pacer, now - 1));
		}
		allowed = burst + (double)(now - start) / byte_ticks;
		// One part in 10^9 for the fixed point.
		assert_true((double)(bytes - last) < allowed * (1 + 1e-9) + 1);
		if (steps > 10)
			assert_true((double)bytes + 9064 > (allowed - burst) * (1 - 1e-9) - 1);
	}
	assert_true(steps >= 999999);
	assert_true((double)bytes > (double)(now - start) / byte_ticks - burst);
	assert_true((double)bytes < (double)(now - start) / byte_ticks + burst + 9064 + 1);
}

static void take__is_exact_in_the_long_run(void **state)
{
	(void)state;
	expect_exact(2600000000, 12500000000, 65536); // 100 Gb/s
	expect_exact(2599999999, 1250000000, 9064);   // 10 Gb/s, 2.08 ticks a byte
	expect_exact(2600000000, 333333333, 1);
	expect_exact(1000000000, 125000, 1000000);      // 1 Mb/s
	expect_exact(5000000000, 100000000000, 100000); // 800 Gb/s
}

static void rate__0_stops_and_keeps_the_debt(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, GIGAHERTZ, GIGABYTE, 1000, 0);
	assert_true(pacer_take(&pacer, 3000, 0)); // 2000 owed
	pacer_set(&pacer, 0, pacer.burst, 500);   // 1500 owed
	assert_false(pacer_ready(&pacer, UINT64_MAX));
	assert_false(pacer_take(&pacer, 1, UINT64_MAX));
	assert_int_equal(ready_at(&pacer), UINT64_MAX);
	pacer_set(&pacer, 0, pacer.burst, 600); // again
	pacer_set(&pacer, GIGABYTE, pacer.burst, 100000);
	assert_int_equal(ready_at(&pacer), 101501);
}

static void rate__0_from_the_start(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, GIGAHERTZ, 0, 1000, 0);
	assert_false(pacer_ready(&pacer, 1000000));
	pacer_set(&pacer, GIGABYTE, pacer.burst, 1000000);
	assert_true(pacer_take(&pacer, 1000, 1000000));
	assert_false(pacer_ready(&pacer, 1000000));
}

static void rate__with_another_burst(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, GIGAHERTZ, GIGABYTE, 10000, 0);
	assert_true(pacer_take(&pacer, 2000, 0));
	pacer_set(&pacer, GIGABYTE, 3000, 0); // 2000 of 3000 are missing
	assert_true(pacer_take(&pacer, 1000, 0));
	assert_false(pacer_ready(&pacer, 0));
	pacer_set(&pacer, GIGABYTE, 4000, 0); // 3000 of 4000
	assert_true(pacer_take(&pacer, 1000, 0));
	assert_false(pacer_ready(&pacer, 0));
	pacer_set(&pacer, GIGABYTE, 1000, 0); // 4000 are owed, of a bucket of 1000
	assert_int_equal(ready_at(&pacer), 3001);
}

static void rate__unlimited(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, GIGAHERTZ, PACER_UNLIMITED, 1000, 77);
	for (unsigned i = 0; i < 1000; i++)
		assert_true(pacer_take(&pacer, UINT32_MAX, 77));
	assert_in_range(ready_at(&pacer), 0, 77);
	pacer_set(&pacer, GIGABYTE, pacer.burst, 100); // full
	assert_true(pacer_take(&pacer, 1000, 100));
	assert_false(pacer_ready(&pacer, 100));
	pacer_set(&pacer, PACER_UNLIMITED, pacer.burst, 100); // what was owed is forgotten
	assert_true(pacer_take(&pacer, 1000, 100));
}

static void rate__change_keeps_the_bytes(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, GIGAHERTZ, GIGABYTE, 1000, 0);
	assert_true(pacer_take(&pacer, 600, 0)); // 400 left
	pacer_set(&pacer, GIGABYTE / 10, pacer.burst, 0);
	assert_true(pacer_take(&pacer, 400, 0));
	assert_int_equal(ready_at(&pacer), 1);
	assert_true(pacer_take(&pacer, 500, 1)); // 499.9 owed
	pacer_set(&pacer, GIGABYTE, pacer.burst, 1);
	assert_in_range(ready_at(&pacer), 501, 502);
}

// Rates that change 10^5 times: bytes against the integral of the rate.
static void rate__changes_lose_nothing(void **state)
{
	uint64_t now = 0, random = 5, taken = 0;
	struct pacer pacer;
	double allowed = 0;
	uint64_t rate = GIGABYTE;

	(void)state;
	pacer_init(&pacer, GIGAHERTZ, rate, 10000, now);
	for (unsigned i = 0; i < 1000000; i++) {
		uint64_t pass = next_random(&random) % 200;

		allowed += (double)pass * (double)rate / 1e9;
		now += pass;
		if (i % 10 == 0) {
			rate = 1 + GIGABYTE / (1 + next_random(&random) % 50);
			pacer_set(&pacer, rate, pacer.burst, now);
		}
		while (pacer_take(&pacer, 1500, now))
			taken += 1500;
	}
	assert_true((double)taken < allowed + 10000 + 1500);
	assert_true((double)taken > allowed - 1500);
}

static void rate__extremes_do_not_wrap(void **state)
{
	struct pacer pacer;

	(void)state;
	pacer_init(&pacer, 10 * GIGAHERTZ, 1, UINT32_MAX, UINT64_MAX / 2);
	assert_true(pacer_take(&pacer, UINT32_MAX, UINT64_MAX / 2));
	assert_true(ready_at(&pacer) > UINT64_MAX / 2);
	assert_false(pacer_ready(&pacer, UINT64_MAX / 2));
	pacer_init(&pacer, 1, 1ull << 62, 1, 0);
	assert_true(pacer_take(&pacer, 1, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(take__the_burst_at_once),
		cmocka_unit_test(take__no_more_than_the_burst_is_saved),
		cmocka_unit_test(take__more_than_the_burst_leaves_a_debt),
		cmocka_unit_test(take__refused_takes_nothing),
		cmocka_unit_test(take__is_exact_in_the_long_run),
		cmocka_unit_test(rate__0_stops_and_keeps_the_debt),
		cmocka_unit_test(rate__0_from_the_start),
		cmocka_unit_test(rate__with_another_burst),
		cmocka_unit_test(rate__unlimited),
		cmocka_unit_test(rate__change_keeps_the_bytes),
		cmocka_unit_test(rate__changes_lose_nothing),
		cmocka_unit_test(rate__extremes_do_not_wrap),
	};

	return cmocka_run_group_tests_name("pacer", tests, NULL, NULL);
}
