// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pacing/shift_windows.h"

#define SEND_NS 80000u
#define IDLE_NS 20000u
#define NODES   4u
#define WRAP_NS ((UINT64_C(1) << 32) * 1000u)

static struct shift_windows windows_of(uint32_t rank, bool is_folded, uint64_t ticks_per_second)
{
	const struct shift_windows_parameters parameters = {
		.send_ns = SEND_NS,
		.idle_ns = IDLE_NS,
		.rank = rank,
		.n_positions = NODES,
		.is_folded = is_folded,
		.ticks_per_second = ticks_per_second,
	};
	struct shift_windows windows;

	shift_windows_make(&windows, &parameters);
	return windows;
}

static void phases__are_a_window_and_an_idle_window(void **state)
{
	struct shift_windows windows = windows_of(1, false, 1000000000);

	(void)state;
	assert_int_equal(shift_windows_position(&windows, 0), 1);
	assert_int_equal(shift_windows_position(&windows, 79999), 1);
	assert_int_equal(shift_windows_position(&windows, 80000), SHIFT_NO_POSITION);
	assert_int_equal(shift_windows_position(&windows, 99999), SHIFT_NO_POSITION);
	assert_int_equal(shift_windows_position(&windows, 100000), 2);
	assert_int_equal(windows.number, 1);
	assert_int_equal(shift_windows_position(&windows, 350000), 0);
	// Windows that nobody asked for are left out.
	assert_int_equal(shift_windows_position(&windows, 1790000), SHIFT_NO_POSITION);
	assert_int_equal(shift_windows_position(&windows, 1800000), 3);
}

// In each phase the nodes send to different positions; in all phases together each to all of them,
// in a folded system without its own.
static void nodes__never_meet(void **state)
{
	(void)state;
	for (unsigned folded = 0; folded < 2; folded++) {
		struct shift_windows windows[NODES];
		unsigned sent[NODES][NODES] = { 0 };

		for (uint32_t i = 0; i < NODES; i++)
			windows[i] = windows_of(i, folded != 0, 1000000000);
		for (uint64_t phase = 0; phase < 12; phase++) {
			unsigned seen = 0;

			for (unsigned i = 0; i < NODES; i++) {
				uint32_t position =
				    shift_windows_position(&windows[i], phase * 100000 + 5);

				assert_in_range(position, 0, NODES - 1);
				seen |= 1u << position;
				sent[i][position]++;
			}
			assert_int_equal(seen, (1u << NODES) - 1);
		}
		for (unsigned i = 0; i < NODES; i++)
			for (unsigned j = 0; j < NODES; j++)
				assert_int_equal(sent[i][j], folded == 0 ? 3 : i == j ? 0 : 4);
	}
}

// Two nodes whose ticks begin at other times and have other lengths.
static void clock__is_that_of_the_manager(void **state)
{
	struct shift_windows a = windows_of(0, false, 1000000000);
	struct shift_windows b = windows_of(1, false, 2500000000);
	unsigned n = 0;

	(void)state;
	shift_windows_set_clock(&a, 1000000, 7000000000);
	shift_windows_set_clock(&b, 2000000, 1000000);
	// From 2.01 s of the manager's clock on.
	for (uint64_t ns = 2010000000; ns < 2020000000; ns += 1000) {
		uint32_t of_a = shift_windows_position(&a, 7000000000 + (ns - 1000000000));
		uint32_t of_b = shift_windows_position(
		    &b, 1000000 + (uint64_t)((double)(ns - 2000000000) * 2.5) + 1);

		// Rounding to ticks shifts a boundary by one step at most.
		if (of_a == SHIFT_NO_POSITION || of_b == SHIFT_NO_POSITION)
			n += of_a != of_b;
		else
			assert_int_equal(of_b, (of_a + 1) % NODES);
	}
	assert_true(n <= 200);
}

static void clock__begins_anew_at_the_same_time_for_all(void **state)
{
	struct shift_windows a = windows_of(0, false, 1000000000);
	struct shift_windows b = windows_of(1, false, 1000000000);

	(void)state;
	shift_windows_set_clock(&a, UINT32_MAX - 100, 5000000);
	shift_windows_set_clock(&b, 7, WRAP_NS + 7000);
	for (uint64_t ns = WRAP_NS - 90000; ns < WRAP_NS + 5000000; ns += 500) {
		// The clock of a: 5 ms at WRAP - 101 us.
		uint32_t of_a = shift_windows_position(&a, ns - (WRAP_NS - 101000) + 5000000);
		uint32_t of_b = shift_windows_position(&b, ns);

		if (ns >= WRAP_NS + 100000 && of_a != SHIFT_NO_POSITION)
			assert_int_equal(of_b, (of_a + 1) % NODES);
	}
	assert_int_equal(a.number, b.number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(phases__are_a_window_and_an_idle_window),
		cmocka_unit_test(nodes__never_meet),
		cmocka_unit_test(clock__is_that_of_the_manager),
		cmocka_unit_test(clock__begins_anew_at_the_same_time_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
