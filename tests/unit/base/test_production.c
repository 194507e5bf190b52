// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/production.h"

#define HZ 1e6 // ticks are microseconds
#define MS 1000000u

static void events__come_evenly(void **state)
{
	const struct production_spill none = { 0 };
	const struct production even = production_make(1000, &none, HZ);
	const struct production fast = production_make(0, &none, HZ);

	(void)state;
	assert_true(production_is_limited(&even));
	assert_false(production_is_limited(&fast));
	assert_true(production_due(&even, 0) == 0);
	assert_true(production_due(&even, 7) == 7000);
	assert_int_equal(production_made(&even, 999), 0);
	assert_int_equal(production_made(&even, 7000), 7);
	assert_true(production_due(&fast, 7) == 0);
}

// 4 events in 2 ms, each 10 ms.
static void events__come_in_spills(void **state)
{
	const struct production_spill spill = { 4, 2 * MS, 10 * MS };
	const struct production production = production_make(0, &spill, HZ);
	static const uint64_t due[] = { 0, 500, 1000, 1500, 10000, 10500, 11000, 11500, 20000 };

	(void)state;
	assert_true(production_is_limited(&production));
	for (unsigned i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
		assert_true(production_due(&production, i) == (double)due[i]);
		assert_int_equal(production_made(&production, due[i] + 499), i);
		assert_int_equal(production_made(&production, due[i] + 501), i + 1);
	}
	assert_int_equal(production_made(&production, 2000), 4);
	assert_int_equal(production_made(&production, 9999), 4);
	assert_int_equal(production_made(&production, 12000), 8);
	assert_int_equal(production_made(&production, 1000000), 400);
}

static void events__of_a_spill_may_come_at_once(void **state)
{
	const struct production_spill spill = { 3, 0, 10 * MS };
	const struct production production = production_make(0, &spill, HZ);

	(void)state;
	assert_true(production_due(&production, 2) == 0);
	assert_true(production_due(&production, 3) == 10000);
	assert_int_equal(production_made(&production, 0), 3);
	assert_int_equal(production_made(&production, 9999), 3);
	assert_int_equal(production_made(&production, 10000), 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events__come_evenly),
		cmocka_unit_test(events__come_in_spills),
		cmocka_unit_test(events__of_a_spill_may_come_at_once),
	};

	return cmocka_run_group_tests_name("production", tests, NULL, NULL);
}
