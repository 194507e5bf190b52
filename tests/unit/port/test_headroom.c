// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port/headroom.h"

#define GIGABIT 1000000000ull

// 100 Gb/s, 100 m, 9018 bytes: computed by hand.
static void headroom__of_a_long_fast_link(void **state)
{
	const struct headroom_parameters parameters = { .bits_per_second = 100 * GIGABIT,
							.cable_metres = 100,
							.frame_bytes = 9018 };
	struct headroom headroom;

	(void)state;
	headroom_compute(&parameters, &headroom);
	assert_int_equal(headroom.cable, 12500); // 1 us
	assert_int_equal(headroom.frames, 18036);
	assert_int_equal(headroom.response, 25225); // 394 quanta, 2017.28 ns, counted as 2018
	assert_int_equal(headroom.poll, 0);
	assert_int_equal(headroom.total, 12500 + 18036 + 25225);
}

// The design's example: looking every 10 us costs 125 kB at 100 Gb/s.
static void headroom__of_soft_has_the_poll_period(void **state)
{
	const struct headroom_parameters parameters = { .bits_per_second = 100 * GIGABIT,
							.frame_bytes = 1518,
							.response_ns = 1000,
							.poll_ns = 10000 };
	struct headroom headroom;

	(void)state;
	headroom_compute(&parameters, &headroom);
	assert_int_equal(headroom.cable, 0);
	assert_int_equal(headroom.response, 12500);
	assert_int_equal(headroom.poll, 125000);
	assert_int_equal(headroom.total, 3036 + 12500 + 125000);
}

static void response__as_the_standard_lists(void **state)
{
	(void)state;
	assert_int_equal(headroom_response_ns(GIGABIT), 1024);
	assert_int_equal(headroom_response_ns(10 * GIGABIT), 3431);  // 67 quanta
	assert_int_equal(headroom_response_ns(25 * GIGABIT), 1639);  // 80
	assert_int_equal(headroom_response_ns(400 * GIGABIT), 1159); // 905
}

static void response__between_and_beyond_the_listed(void **state)
{
	(void)state;
	assert_int_equal(headroom_response_ns(20 * GIGABIT), 2048); // as 25 Gb/s
	assert_int_equal(headroom_response_ns(800 * GIGABIT), 580); // as 400 Gb/s
	assert_int_equal(headroom_response_ns(1), 512000000000ull);
}

static void headroom__rounds_up(void **state)
{
	const struct headroom_parameters parameters = { .bits_per_second = GIGABIT,
							.response_ns = 9,
							.poll_ns = 1 };
	struct headroom headroom;

	(void)state;
	headroom_compute(&parameters, &headroom);
	assert_int_equal(headroom.response, 2);
	assert_int_equal(headroom.poll, 1);
}

static void headroom__of_huge_numbers_does_not_wrap(void **state)
{
	const struct headroom_parameters parameters = { .bits_per_second = 1000 * GIGABIT,
							.cable_metres = 100000000,
							.frame_bytes = UINT32_MAX,
							.response_ns = 1000000000,
							.poll_ns = 1000000000 };
	struct headroom headroom;

	(void)state;
	headroom_compute(&parameters, &headroom);
	assert_int_equal(headroom.cable, 125000000000ull);
	assert_int_equal(headroom.frames, 2ull * UINT32_MAX);
	assert_int_equal(headroom.response, 125000000000ull);
	assert_int_equal(headroom.total, 3 * 125000000000ull + 2ull * UINT32_MAX);
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
