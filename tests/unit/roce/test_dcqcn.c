// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "roce/dcqcn.h"

#define LINE  UINT64_C(12500000000) // 100 Gb/s
#define START UINT64_C(1000000000)

static struct dcqcn_parameters parameters;
static struct dcqcn dcqcn;

static int start(void **state)
{
	(void)state;
	parameters = dcqcn_defaults(LINE);
	dcqcn_start(&dcqcn, &parameters, START);
	return 0;
}

static void cut__halves_at_first_and_less_later(void **state)
{
	(void)state;
	assert_int_equal(dcqcn.rate, LINE);
	assert_true(dcqcn_notified(&dcqcn, &parameters, START));
	assert_int_equal(dcqcn.rate, LINE / 2);
	assert_int_equal(dcqcn.target, LINE);
	assert_false(dcqcn_notified(&dcqcn, &parameters, START + parameters.cut_interval - 1));
	assert_int_equal(dcqcn.rate, LINE / 2);
	assert_true(dcqcn_notified(&dcqcn, &parameters, START + parameters.cut_interval));
	assert_int_equal(dcqcn.rate, LINE / 4);
	// Quiet for a hundred steps: alpha has decayed, the next cut is a smaller part.
	dcqcn_advance(&dcqcn, &parameters, 0, START + 100 * parameters.alpha_interval);
	{
		uint64_t before = dcqcn.rate;

		assert_true(
		    dcqcn_notified(&dcqcn, &parameters, START + 100 * parameters.alpha_interval));
		assert_in_range(dcqcn.rate, before * 6 / 10, before * 9 / 10);
	}
}

static void cut__not_below_the_minimum(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		dcqcn_notified(&dcqcn, &parameters, START + i * parameters.cut_interval);
	assert_int_equal(dcqcn.rate, parameters.minimum_rate);
}

static void raise__by_time_up_to_the_line_rate(void **state)
{
	uint64_t now = START, last;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		dcqcn_notified(&dcqcn, &parameters, now += parameters.cut_interval);
	last = dcqcn.rate;
	assert_int_equal(last, LINE / 16);
	assert_false(dcqcn_advance(&dcqcn, &parameters, 0, now + parameters.raise_interval - 1));
	assert_true(dcqcn_advance(&dcqcn, &parameters, 0, now += parameters.raise_interval));
	assert_int_equal(dcqcn.rate, (LINE / 16 + LINE / 8) / 2); // fast recovery: half of the way
	for (unsigned i = 0; i < 20000; i++) {
		last = dcqcn.rate;
		dcqcn_advance(&dcqcn, &parameters, 0, now += parameters.raise_interval);
		assert_true(dcqcn.rate >= last && dcqcn.rate <= LINE);
	}
	assert_true(dcqcn.rate > LINE - 100);
}

static void raise__faster_by_bytes_and_time_together(void **state)
{
	struct dcqcn by_time, by_both;
	uint64_t now = START;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		dcqcn_notified(&dcqcn, &parameters, now += parameters.cut_interval);
	by_time = dcqcn;
	by_both = dcqcn;
	for (unsigned i = 0; i < 50; i++) {
		now += parameters.raise_interval;
		dcqcn_advance(&by_time, &parameters, 0, now);
		dcqcn_advance(&by_both, &parameters, 2 * parameters.raise_bytes, now);
	}
	assert_true(by_both.rate > by_time.rate + 40 * parameters.additive);
}

static void advance__long_silence_is_bounded_work(void **state)
{
	(void)state;
	dcqcn_notified(&dcqcn, &parameters, START);
	dcqcn_advance(&dcqcn, &parameters, UINT64_MAX / 2, UINT64_C(1) << 60);
	assert_true(dcqcn.rate > LINE / 2 && dcqcn.rate <= LINE);
	assert_true(dcqcn.alpha < 65536);
	assert_false(dcqcn_advance(&dcqcn, &parameters, 0, UINT64_C(1) << 60));
}

#define TEST(name) cmocka_unit_test_setup(name, start)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cut__halves_at_first_and_less_later),
		TEST(cut__not_below_the_minimum),
		TEST(raise__by_time_up_to_the_line_rate),
		TEST(raise__faster_by_bytes_and_time_together),
		TEST(advance__long_silence_is_bounded_work),
	};

	return cmocka_run_group_tests_name("dcqcn", tests, NULL, NULL);
}
