// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/utf8.h"

static void length__of_characters(void **state)
{
	(void)state;
	assert_int_equal(utf8_length(""), 0);
	assert_int_equal(utf8_length("a"), 1);
	assert_int_equal(utf8_length("\x7f"), 1);
	assert_int_equal(utf8_length("\xc2\x80"), 2);
	assert_int_equal(utf8_length("\xdf\xbf"), 2);
	assert_int_equal(utf8_length("\xe0\xa0\x80"), 3);
	assert_int_equal(utf8_length("\xef\xbf\xbf"), 3);
	assert_int_equal(utf8_length("\xf0\x90\x80\x80"), 4);
	assert_int_equal(utf8_length("\xf4\x8f\xbf\xbf"), 4);
}

static void length__of_what_is_none(void **state)
{
	static const char *const texts[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc2",
		"\xc2\x41",
		"\xe0\x9f\xbf",
		"\xe2\x82",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xf0\x9f\x98",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xff",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(utf8_length(texts[i]), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(length__of_characters),
		cmocka_unit_test(length__of_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
