// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port/headroom.h"

#define GIGABIT 1000000000ull

#define RESPONSE_100G 25225 // bytes: 394 quanta, 2017.28 ns, counted as 2018

// 100 Gb/s, 100 m, 9018 bytes: computed by hand.
static void headroom__of_a_long_fast_link(void **state)
{
	struct headroom_parameters parameters = { .bits_per_second = 100 * GIGABIT };

	(void)state;
	assert_int_equal(headroom_bytes(&parameters), RESPONSE_100G);
	parameters.cable_metres = 100;
	assert_int_equal(headroom_bytes(&parameters), RESPONSE_100G + 12500); // 1 us
	parameters.frame_bytes = 9018;
	assert_int_equal(headroom_bytes(&parameters), RESPONSE_100G + 12500 + 18036);
}

// The design's example: looking every 10 us costs 125 kB at 100 Gb/s.
static void headroom__of_soft_has_the_poll_period(void **state)
{
	const struct headroom_parameters parameters = { .bits_per_second = 100 * GIGABIT,
							.frame_bytes = 1518,
							.poll_ns = 10000 };

	(void)state;
	assert_int_equal(headroom_bytes(&parameters), 3036 + RESPONSE_100G + 125000);
}

static uint64_t response(uint64_t bits_per_second)
{
	return headroom_bytes(
	    &(const struct headroom_parameters){ .bits_per_second = bits_per_second });
}

// Bytes that a link carries in the standard's time, which is a whole number of ns, rounded up.
static void response__as_the_standard_lists(void **state)
{
	(void)state;
	assert_int_equal(response(GIGABIT), 128);         // 2 quanta, 1024 ns
	assert_int_equal(response(10 * GIGABIT), 4289);   // 67, 3431 ns
	assert_int_equal(response(25 * GIGABIT), 5122);   // 80, 1639 ns
	assert_int_equal(response(400 * GIGABIT), 57950); // 905, 1159 ns
}

static void response__between_and_beyond_the_listed(void **state)
{
	(void)state;
	assert_int_equal(response(20 * GIGABIT), 5120);   // as 25 Gb/s, 2048 ns
	assert_int_equal(response(800 * GIGABIT), 58000); // as 400 Gb/s, 580 ns
	assert_int_equal(response(1), 64);                // 1 quantum, 512 s
}

static void headroom__rounds_up(void **state)
{
	const struct headroom_parameters parameters = { .bits_per_second = GIGABIT, .poll_ns = 1 };

	(void)state;
	assert_int_equal(headroom_bytes(&parameters), 128 + 1);
}

static void headroom__of_huge_numbers_does_not_wrap(void **state)
{
	const struct headroom_parameters parameters = { .bits_per_second = 1000 * GIGABIT,
							.cable_metres = 100000000,
							.frame_bytes = UINT32_MAX,
							.poll_ns = 1000000000 };

	(void)state;
	assert_int_equal(headroom_bytes(&parameters),
			 response(1000 * GIGABIT) + 2 * 125000000000ull + 2ull * UINT32_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headroom__of_a_long_fast_link),
		cmocka_unit_test(headroom__of_soft_has_the_poll_period),
		cmocka_unit_test(response__as_the_standard_lists),
		cmocka_unit_test(response__between_and_beyond_the_listed),
		cmocka_unit_test(headroom__rounds_up),
		cmocka_unit_test(headroom__of_huge_numbers_does_not_wrap),
	};

	return cmocka_run_group_tests_name("headroom", tests, NULL, NULL);
}
