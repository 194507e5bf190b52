// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/units.h"

static void assert_parsed(enum units_kind kind, const char *text, uint64_t expected)
{
	char error[UNITS_ERROR_SIZE] = "";
	uint64_t value = 0;

	if (units_parse(kind, text, &value, error))
		fail_msg("%s", error);
	assert_int_equal(value, expected);
}

static void assert_unparsed(enum units_kind kind, const char *text, const char *expected)
{
	char error[UNITS_ERROR_SIZE] = "";
	uint64_t value;

	assert_int_equal(units_parse(kind, text, &value, error), -1);
	assert_string_equal(error, expected);
}

static void units_parse__times(void **state)
{
	(void)state;
	assert_parsed(UNITS_TIME, "0", 0);
	assert_parsed(UNITS_TIME, "7", 7);
	assert_parsed(UNITS_TIME, "7ns", 7);
	assert_parsed(UNITS_TIME, "100us", 100000);
	assert_parsed(UNITS_TIME, "1.5ms", 1500000);
	assert_parsed(UNITS_TIME, "1.500000ms", 1500000);
	assert_parsed(UNITS_TIME, "2s", 2000000000);
	assert_parsed(UNITS_TIME, "2 s", 2000000000);
	assert_parsed(UNITS_TIME, "1min", 60000000000);
	assert_parsed(UNITS_TIME, "0.5h", 1800000000000);
	assert_parsed(UNITS_TIME, "0.000000001s", 1);
}

static void units_parse__sizes(void **state)
{
	(void)state;
	assert_parsed(UNITS_SIZE, "512", 512);
	assert_parsed(UNITS_SIZE, "512B", 512);
	assert_parsed(UNITS_SIZE, "8kB", 8000);
	assert_parsed(UNITS_SIZE, "8KB", 8000);
	assert_parsed(UNITS_SIZE, "4KiB", 4096);
	assert_parsed(UNITS_SIZE, "8MB", 8000000);
	assert_parsed(UNITS_SIZE, "64MiB", 67108864);
	assert_parsed(UNITS_SIZE, "1GB", 1000000000);
	assert_parsed(UNITS_SIZE, "1.5GiB", 1610612736);
	assert_parsed(UNITS_SIZE, "2TB", 2000000000000);
	assert_parsed(UNITS_SIZE, "1TiB", 1099511627776);
}

static void units_parse__rates(void **state)
{
	(void)state;
	assert_parsed(UNITS_BIT_RATE, "9", 9);
	assert_parsed(UNITS_BIT_RATE, "9b/s", 9);
	assert_parsed(UNITS_BIT_RATE, "25Gb/s", 25000000000);
	assert_parsed(UNITS_BIT_RATE, "2.5Gb/s", 2500000000);
	assert_parsed(UNITS_BIT_RATE, "1Tb/s", 1000000000000);
	assert_parsed(UNITS_FREQUENCY, "40MHz", 40000000);
	assert_parsed(UNITS_FREQUENCY, "1.25kHz", 1250);
}

static void units_parse__counts(void **state)
{
	(void)state;
	assert_parsed(UNITS_COUNT, "0", 0);
	assert_parsed(UNITS_COUNT, "007", 7);
	assert_parsed(UNITS_COUNT, "0x88B5", 0x88b5);
	assert_parsed(UNITS_COUNT, "0XffFF", 0xffff);
	assert_unparsed(UNITS_COUNT, "", "\"\" is not a whole number");
	assert_unparsed(UNITS_COUNT, "0x", "\"0x\" is not a whole number");
	assert_unparsed(UNITS_COUNT, "12k", "\"12k\" is not a whole number");
	assert_unparsed(UNITS_COUNT, "-1", "\"-1\" is not a whole number");
	assert_unparsed(UNITS_COUNT, " 1", "\" 1\" is not a whole number");
	assert_unparsed(UNITS_COUNT, "1.0", "\"1.0\" is not a whole number");
}

// Through a double 2^64 - 1 would become 2^64, and 2^53 + 1 would become 2^53.
static void units_parse__is_exact_up_to_64_bits(void **state)
{
	(void)state;
	assert_parsed(UNITS_COUNT, "9007199254740993", 9007199254740993);
	assert_parsed(UNITS_COUNT, "18446744073709551615", UINT64_MAX);
	assert_parsed(UNITS_COUNT, "0xffffffffffffffff", UINT64_MAX);
	assert_parsed(UNITS_TIME, "18446744073709551615ns", UINT64_MAX);
	assert_parsed(UNITS_TIME, "18446744073.709551615s", UINT64_MAX);
	assert_parsed(UNITS_SIZE, "16777215TiB", 16777215ULL << 40);
}

static void units_parse__refuses_what_does_not_fit(void **state)
{
	(void)state;
	assert_unparsed(UNITS_COUNT, "18446744073709551616",
			"\"18446744073709551616\" is too large");
	assert_unparsed(UNITS_COUNT, "0x10000000000000000", "\"0x10000000000000000\" is too large");
	assert_unparsed(UNITS_TIME, "18446744073709551616",
			"\"18446744073709551616\" is too large");
	assert_unparsed(UNITS_TIME, "18446744073.709551616s",
			"\"18446744073.709551616s\" has too many digits");
	assert_unparsed(UNITS_TIME, "5124096h", "\"5124096h\" is too large");
	assert_unparsed(UNITS_SIZE, "16777216TiB", "\"16777216TiB\" is too large");
}

static void units_parse__refuses_fractions_of_the_base_unit(void **state)
{
	(void)state;
	assert_unparsed(UNITS_TIME, "1.5ns", "\"1.5ns\" is not a whole number of nanoseconds");
	assert_unparsed(UNITS_TIME, "1.5", "\"1.5\" is not a whole number of nanoseconds");
	assert_unparsed(UNITS_SIZE, "0.1KiB", "\"0.1KiB\" is not a whole number of bytes");
	assert_unparsed(UNITS_BIT_RATE, "0.5b/s",
			"\"0.5b/s\" is not a whole number of bits per second");
}

static void units_parse__tells_the_units_allowed(void **state)
{
	(void)state;
	assert_unparsed(UNITS_TIME, "5sec",
			"\"5sec\" has an unknown unit, allowed are ns, us, ms, s, min, h");
	assert_unparsed(UNITS_TIME, "5 ",
			"\"5 \" has an unknown unit, allowed are ns, us, ms, s, min, h");
	assert_unparsed(UNITS_TIME, "1e3s",
			"\"1e3s\" has an unknown unit, allowed are ns, us, ms, s, min, h");
	assert_unparsed(
	    UNITS_SIZE, "5mb",
	    "\"5mb\" has an unknown unit, allowed are B, kB, KB, KiB, MB, MiB, GB, GiB, "
	    "TB, TiB");
	assert_unparsed(UNITS_BIT_RATE, "5Gbps",
			"\"5Gbps\" has an unknown unit, allowed are b/s, kb/s, Mb/s, Gb/s, Tb/s");
	assert_unparsed(UNITS_FREQUENCY, "5hz",
			"\"5hz\" has an unknown unit, allowed are Hz, kHz, MHz, GHz");
}

static void units_parse__refuses_what_is_no_number(void **state)
{
	(void)state;
	assert_unparsed(UNITS_TIME, "", "\"\" is not a quantity such as \"100us\"");
	assert_unparsed(UNITS_TIME, "-1s", "\"-1s\" is not a quantity such as \"100us\"");
	assert_unparsed(UNITS_TIME, "+1s", "\"+1s\" is not a quantity such as \"100us\"");
	assert_unparsed(UNITS_TIME, ".5s", "\".5s\" is not a quantity such as \"100us\"");
	assert_unparsed(UNITS_SIZE, "MiB", "\"MiB\" is not a quantity such as \"64MiB\"");
	assert_unparsed(UNITS_TIME, "1.s", "\"1.s\" has no digits behind the point");
}

static void units_parse_real__keeps_fractions(void **state)
{
	char error[UNITS_ERROR_SIZE] = "";
	double value = 0;

	(void)state;
	assert_int_equal(units_parse_real(UNITS_FREQUENCY, "0.5Hz", &value, error), 0);
	assert_true(value == 0.5);
	assert_int_equal(units_parse_real(UNITS_FREQUENCY, "2.5kHz", &value, error), 0);
	assert_true(value == 2500);
	assert_int_equal(units_parse_real(UNITS_FREQUENCY, "12", &value, error), 0);
	assert_true(value == 12);
	assert_int_equal(units_parse_real(UNITS_FREQUENCY, "1kB", &value, error), -1);
	assert_string_equal(error, "\"1kB\" has an unknown unit, allowed are Hz, kHz, MHz, GHz");
}

static void assert_formatted(enum units_kind kind, uint64_t value, const char *expected)
{
	char text[UNITS_TEXT_SIZE];

	units_format(kind, value, text);
	assert_string_equal(text, expected);
}

static void units_format__takes_the_largest_whole_unit(void **state)
{
	(void)state;
	assert_formatted(UNITS_TIME, 0, "0");
	assert_formatted(UNITS_TIME, 1, "1ns");
	assert_formatted(UNITS_TIME, 1500000, "1500us");
	assert_formatted(UNITS_TIME, 120000000000, "2min");
	assert_formatted(UNITS_TIME, 3600000000000, "1h");
	assert_formatted(UNITS_SIZE, 65536, "64KiB");
	assert_formatted(UNITS_SIZE, 1000, "1KB");
	assert_formatted(UNITS_SIZE, 1500, "1500B");
	assert_formatted(UNITS_SIZE, UINT64_MAX, "18446744073709551615B");
	assert_formatted(UNITS_COUNT, UINT64_MAX, "18446744073709551615");
	assert_formatted(UNITS_BIT_RATE, 25000000000, "25Gb/s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_parse__times),
		cmocka_unit_test(units_parse__sizes),
		cmocka_unit_test(units_parse__rates),
		cmocka_unit_test(units_parse__counts),
		cmocka_unit_test(units_parse__is_exact_up_to_64_bits),
		cmocka_unit_test(units_parse__refuses_what_does_not_fit),
		cmocka_unit_test(units_parse__refuses_fractions_of_the_base_unit),
		cmocka_unit_test(units_parse__tells_the_units_allowed),
		cmocka_unit_test(units_parse__refuses_what_is_no_number),
		cmocka_unit_test(units_parse_real__keeps_fractions),
		cmocka_unit_test(units_format__takes_the_largest_whole_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
