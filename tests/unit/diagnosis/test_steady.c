// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "diagnosis/steady.h"

#define SECOND UINT64_C(1000000000)

static void condition__lasts_from_the_look_that_found_it(void **state)
{
	struct steady_condition condition = { 0 };

	(void)state;
	assert_int_equal(steady_holds(&condition, false, 5 * SECOND), 0);
	assert_int_equal(steady_holds(&condition, true, 6 * SECOND), 1);
	assert_int_equal(steady_holds(&condition, true, 8 * SECOND), 2 * SECOND + 1);
	assert_int_equal(steady_holds(&condition, false, 9 * SECOND), 0);
	assert_int_equal(steady_holds(&condition, true, 10 * SECOND), 1);
}

static void counter__has_no_rate_before_a_window_ends(void **state)
{
	struct steady_counter counter = { 0 };

	(void)state;
	steady_count(&counter, 7, 1 * SECOND);
	steady_count(&counter, 8, 2 * SECOND);
	assert_int_equal(counter.rate, 0);
	steady_count(&counter, 11, 3 * SECOND);
	assert_int_equal(counter.rate, 2);
	steady_count(&counter, 20, 4 * SECOND);
	assert_int_equal(counter.rate, 2);
}

static void counter__has_the_rate_of_a_window(void **state)
{
	struct steady_counter counter = { 0 };

	(void)state;
	for (unsigned i = 1; i <= 5; i++)
		steady_count(&counter, 100 * i, i * SECOND);
	assert_int_equal(counter.rate, 100);
	// Another run: the counter begins anew.
	for (unsigned i = 6; i <= 8; i++)
		steady_count(&counter, 0, i * SECOND);
	assert_int_equal(counter.rate, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(condition__lasts_from_the_look_that_found_it),
		cmocka_unit_test(counter__has_no_rate_before_a_window_ends),
		cmocka_unit_test(counter__has_the_rate_of_a_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
