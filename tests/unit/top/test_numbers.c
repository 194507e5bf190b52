// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fixture.h"

#include <math.h>
#include <string.h>

#include "top/numbers.h"

static void count(double value, const char *expected)
{
	char text[NUMBERS_SIZE];

	numbers_count(value, text);
	assert_string_equal(text, expected);
}

static void numbers_count__has_three_digits(void **state)
{
	(void)state;
	count(0, "0");
	count(7, "7");
	count(999, "999");
	count(0.004, "0");
	count(0.25, "0.25");
	count(12.34, "12.3");
	count(99.96, "100");
	count(1000, "1.00k");
	count(1234, "1.23k");
	count(9999, "10.0k");
	count(999499, "999k");
	count(999500, "1.00M");
	count(123456789, "123M");
	count(30.2e9, "30.2G");
	count(-40, "-40");
	count(-1234, "-1.23k");
	count((double)NAN, "-");
	count(5e21, ">999E");
}

static void numbers_count__is_short(void **state)
{
	char text[NUMBERS_SIZE];

	(void)state;
	for (double value = 1e-4; value < 1e20; value *= 1.0137) {
		numbers_count(value, text);
		assert_in_range(strlen(text), 1, 5);
		numbers_count(-value, text);
		assert_in_range(strlen(text), 1, 6);
	}
}

static void share(double value, const char *expected)
{
	char text[NUMBERS_SIZE];

	numbers_share(value, text);
	assert_string_equal(text, expected);
}

static void numbers_share__rounds_to_neither_end(void **state)
{
	(void)state;
	share(0, "0%");
	share(1, "100%");
	share(0.999999999, "99.99%");
	share(0.000000001, "0.01%");
	share(0.5, "50.0%");
	share(0.0123, "1.2%");
	share(0.9987, "99.87%");
	share((double)NAN, "-");
}

static void duration(double seconds, const char *expected)
{
	char text[NUMBERS_SIZE];

	numbers_duration(seconds, text);
	assert_string_equal(text, expected);
}

static void time_of(double ns, const char *expected)
{
	char text[NUMBERS_SIZE];

	numbers_time(ns, text);
	assert_string_equal(text, expected);
}

static void numbers_time__has_its_unit(void **state)
{
	(void)state;
	time_of(0, "0ns");
	time_of(917, "917ns");
	time_of(917400, "917us");
	time_of(999600, "1.00ms");
	time_of(1.57e6, "1.57ms");
	time_of(2.5e9, "2.50s");
	time_of(1e15, ">999s");
	time_of((double)NAN, "-");
	time_of(-1, "-");
	duration(0, "00:00:00");
	duration(754.9, "00:12:34");
	duration(86399, "23:59:59");
	duration(3 * 86400 + 4 * 3600 + 300, "3d 04:05");
	duration((double)NAN, "00:00:00");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_count__has_three_digits),
		cmocka_unit_test(numbers_count__is_short),
		cmocka_unit_test(numbers_share__rounds_to_neither_end),
		cmocka_unit_test(numbers_time__has_its_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
