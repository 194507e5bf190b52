// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Histograms of times, and the laws that draw from them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fabric_files/times.h"

#define DRAWS 100000u

static struct sim_times parse(const char *text)
{
	char error[FABRIC_TIMES_ERROR];
	struct sim_times times;

	if (fabric_times_parse(&times, text, strlen(text), "times", error) != 0)
		fail_msg("%s", error);
	return times;
}

static void times__are_drawn_by_their_weights(void **state)
{
	struct sim_times times =
	    parse("# a comment\n10us 1\n\n 1ms\t2.5 # another one\n5 0\n2ms 1.5");
	struct sim_law law = { SIM_LAW_HISTOGRAM, 0, &times };
	struct random random = random_fork(1, 1);
	uint32_t short_ones = 0, long_ones = 0;

	(void)state;
	assert_int_equal(times.n, 4);
	assert_true(times.mean_ns > 1101999 && times.mean_ns < 1102001);
	for (uint32_t i = 0; i < DRAWS; i++) {
		const uint64_t ns = sim_law_draw(&law, &random);

		assert_true(ns == 10000 || ns == 1000000 || ns == 2000000);
		short_ones += ns == 10000;
		long_ones += ns == 2000000;
	}
	// Standard deviations of 0.13 % and 0.15 % of the draws.
	assert_in_range(short_ones, DRAWS * 0.195, DRAWS * 0.205);
	assert_in_range(long_ones, DRAWS * 0.294, DRAWS * 0.306);
	// Scaled to a mean of 2.204 ms.
	law.mean_ns = 2204000;
	for (uint32_t i = 0; i < 100; i++) {
		const uint64_t ns = sim_law_draw(&law, &random);

		assert_true(ns == 20000 || ns == 2000000 || ns == 4000000);
	}
	sim_times_free(&times);
}

static void fixed_time__draws_nothing(void **state)
{
	const struct sim_law fixed = { SIM_LAW_FIXED, 7, NULL },
			     none = { SIM_LAW_EXPONENTIAL, 0, NULL };
	const struct sim_law exponential = { SIM_LAW_EXPONENTIAL, 1000000, NULL };
	struct random random = random_fork(1, 1), before = random;
	double sum = 0;

	(void)state;
	assert_int_equal(sim_law_draw(&fixed, &random), 7);
	assert_int_equal(sim_law_draw(&none, &random), 0);
	assert_memory_equal(&random, &before, sizeof(random));
	for (uint32_t i = 0; i < DRAWS; i++)
		sum += (double)sim_law_draw(&exponential, &random);
	assert_true(sum > 0.99e6 * DRAWS && sum < 1.01e6 * DRAWS);
}

static void wrong_lines__are_refused(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "", "times: has no time with a weight above 0" },
		{ "1us 0\n", "times: has no time with a weight above 0" },
		{ "1us 1\n\n2us\n", "times:3: expected a time and a weight, as in \"120us 35\"" },
		{ "1us 1 2\n", "times:1: expected a time and a weight, as in \"120us 35\"" },
		{ "1us -1\n", "times:1: \"-1\" is no weight: expected 0 to 1e15" },
		{ "1us x\n", "times:1: \"x\" is no weight: expected 0 to 1e15" },
		{ "2h 1\n", "times:1: a time is at most 1h" },
	};
	char error[FABRIC_TIMES_ERROR];
	struct sim_times times;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(fabric_times_parse(&times, cases[i].text, strlen(cases[i].text),
						    "times", error),
				 -1);
		assert_string_equal(error, cases[i].error);
		sim_times_free(&times);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times__are_drawn_by_their_weights),
		cmocka_unit_test(fixed_time__draws_nothing),
		cmocka_unit_test(wrong_lines__are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
