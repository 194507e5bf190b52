// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The formula of a spill, and a store that is filled and emptied step by step.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pacing/spill.h"

#define STEP    1e-4 // s
#define PERIODS 3

struct seen {
	double highest; // in the first period
	double empty;   // when the first spill has left; < 0: never
	double later;   // highest in the last period
};

// Fills and empties a store step by step.
static struct seen simulate(const struct spill *spill, double rate)
{
	struct seen seen = { .empty = -1 };
	double fill = 0;

	for (unsigned period = 0; period < PERIODS; period++) {
		double in = 0;

		for (unsigned i = 0; i * STEP < spill->period; i++) {
			double until = (i + 1) * STEP;
			double due = until < spill->duration
					 ? spill->amount * until / spill->duration
					 : spill->amount;

			fill += due - in;
			in = due;
			fill = fill > rate * STEP ? fill - rate * STEP : 0;
			if (period == 0 && fill > seen.highest)
				seen.highest = fill;
			if (period == PERIODS - 1 && fill > seen.later)
				seen.later = fill;
			if (period == 0 && seen.empty < 0 && fill <= 0 && until >= spill->duration)
				seen.empty = until;
		}
	}
	return seen;
}

static double between(double least, double most)
{
	return least + (most - least) * (double)rand() / (double)RAND_MAX;
}

static void assert_near(double is, double expected, double error)
{
	if (is < expected - error || is > expected + error)
		fail_msg("%g is not %g within %g", is, expected, error);
}

static void fill__is_that_of_a_simulation(void **state)
{
	(void)state;
	srand(1);
	for (unsigned i = 0; i < 200; i++) {
		double period = between(0.05, 1);
		const struct spill spill = { between(1, 1e9), between(0, period), period };
		double mean = spill.amount / period;
		double rate = mean * between(1.01, 3);
		const struct spill_fill fill = spill_fill(&spill, rate);
		const struct seen seen = simulate(&spill, rate);
		double step = (spill.duration > STEP ? spill.amount / spill.duration * STEP : 0) +
			      rate * STEP;

		assert_true(fill.carried);
		assert_near(seen.highest, fill.highest, 2 * step);
		assert_near(seen.later, fill.highest, 2 * step);
		assert_near(seen.empty, fill.empty, 2 * STEP);
	}
}

static void fill__grows_where_the_mean_is_not_carried(void **state)
{
	const struct spill spill = { 100, 0.2, 1 };
	const struct seen seen = simulate(&spill, 90);

	(void)state;
	assert_false(spill_fill(&spill, 90).carried);
	assert_true(spill_fill(&spill, 100).carried);
	assert_near(seen.highest, spill_fill(&spill, 90).highest, 0.1);
	assert_near(seen.later, spill_fill(&spill, 90).highest + 20, 0.2);
}

static void fill__of_what_leaves_as_it_comes(void **state)
{
	const struct spill even = { 100, 1, 1 };

	(void)state;
	assert_near(spill_fill(&even, 120).highest, 0, 1e-9);
	assert_near(spill_fill(&even, 120).empty, 1, 1e-9);
	assert_near(spill_fill(&even, 100).highest, 0, 1e-9);
}

// 250 MB in 2.4 s, each 15 s, through the mean and 20 %.
static void fill__of_the_spill_of_an_experiment(void **state)
{
	const struct spill spill = { 250e6, 2.4, 15 };
	const struct spill_fill fill = spill_fill(&spill, 20e6);

	(void)state;
	assert_true(fill.carried);
	assert_near(fill.highest, 202e6, 1);
	assert_near(fill.empty, 12.5, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fill__is_that_of_a_simulation),
		cmocka_unit_test(fill__grows_where_the_mean_is_not_carried),
		cmocka_unit_test(fill__of_what_leaves_as_it_comes),
		cmocka_unit_test(fill__of_the_spill_of_an_experiment),
	};

	return cmocka_run_group_tests_name("spill", tests, NULL, NULL);
}
