// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Lists of CPUs, in and out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sysfs/cpu_list.h"

static void assert_round(const char *text, const char *expected)
{
	char out[CPU_LIST_SIZE];
	cpu_set_t set;

	assert_true(cpu_list_parse(text, &set));
	cpu_list_format(&set, out);
	assert_string_equal(out, expected);
}

static void cpu_list__round_trips(void **state)
{
	(void)state;
	assert_round("", "");
	assert_round("0", "0");
	assert_round("0-3", "0-3");
	assert_round("0-3,8", "0-3,8");
	assert_round("0,1,2,5-6\n", "0-2,5-6");
	assert_round("8,0", "0,8");
	assert_round("1023", "1023");
	assert_round("1020-2000", "1020-1023");
	assert_round("7-3", "");
}

static void cpu_list_parse__refuses_what_is_none(void **state)
{
	static const char *const texts[] = { "x", "1-", "1-x", "1;2", "-1", "1,2 x", "0x3" };
	cpu_set_t set;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(cpu_list_parse(texts[i], &set));
}

static void cpu_list_format__is_bounded(void **state)
{
	char out[CPU_LIST_SIZE];
	cpu_set_t set;

	(void)state;
	CPU_ZERO(&set);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu += 2)
		CPU_SET(cpu, &set);
	cpu_list_format(&set, out);
	assert_true(strlen(out) < CPU_LIST_SIZE);
	assert_string_equal(out + strlen(out) - 3, "...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cpu_list__round_trips),
		cmocka_unit_test(cpu_list_parse__refuses_what_is_none),
		cmocka_unit_test(cpu_list_format__is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
