// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "builder/window_watch.h"

#define SEND_NS 80000u
#define IDLE_NS 20000u

static struct window_watch watch;

static int open_watch(void **state)
{
	const struct shift_windows_parameters parameters = {
		.send_ns = SEND_NS,
		.idle_ns = IDLE_NS,
		.rank = 3,
		.n_positions = 4,
		.ticks_per_second = 1000000000,
	};

	(void)state;
	window_watch_make(&watch, &parameters);
	// Tick 500000000 is 7 ms of the manager's clock.
	shift_windows_set_clock(&watch.windows, 7000, 500000000);
	return 0;
}

static void add(uint32_t node, int64_t after_7_ms)
{
	window_watch_add(&watch, node, (uint64_t)(500000000 + after_7_ms));
}

static void expect(uint64_t windows, uint64_t conflicts)
{
	assert_int_equal(watch.counters.windows, windows);
	assert_int_equal(watch.counters.conflicts, conflicts);
}

static void windows__of_one_node_each_are_no_conflict(void **state)
{
	(void)state;
	for (int64_t window = 0; window < 10; window++)
		for (int64_t at = -9000; at < SEND_NS + 9000; at += 500)
			add((uint32_t)window % 3, window * (SEND_NS + IDLE_NS) + at);
	expect(10, 0);
}

static void conflicts__count_once_per_window(void **state)
{
	(void)state;
	add(1, 1000);
	expect(1, 0);
	add(2, 2000);
	add(1, 3000);
	add(3, 4000);
	expect(1, 1);
	add(3, 101000);
	expect(2, 1);
	// Data that is later than half of the idle window.
	add(1, 110000);
	expect(2, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(windows__of_one_node_each_are_no_conflict, open_watch),
		cmocka_unit_test_setup(conflicts__count_once_per_window, open_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
