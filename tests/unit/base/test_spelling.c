// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/spelling.h"

static const char *nearest_to(const char *unknown)
{
	static const char *const known[] = { "run", "record", "replay", "top", "stat" };
	struct spelling_nearest nearest = { NULL, 0 };

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		spelling_compare(&nearest, unknown, known[i]);
	return nearest.name;
}

static void misspelt__the_closest_is_found(void **state)
{
	(void)state;
	assert_string_equal(nearest_to("recrd"), "record");
	assert_string_equal(nearest_to("relpay"), "replay");
	assert_string_equal(nearest_to("records"), "record");
	assert_string_equal(nearest_to("stats"), "stat");
	// Two are as close: the first one.
	assert_string_equal(nearest_to("rep"), "run");
}

static void something_else__none_is_found(void **state)
{
	(void)state;
	assert_null(nearest_to(""));
	assert_null(nearest_to("configuration"));
	// All letters of "top" would have to be replaced.
	assert_null(nearest_to("xyz"));
	// Longer than any that is compared.
	assert_null(nearest_to("recordrecordrecordrecordrecordrecord"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(misspelt__the_closest_is_found),
		cmocka_unit_test(something_else__none_is_found),
	};

	return cmocka_run_group_tests_name("spelling", tests, NULL, NULL);
}
