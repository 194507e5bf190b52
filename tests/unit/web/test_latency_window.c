// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "web/latency_window.h"

#define NONE 1e-9

// All builders' events together: `n` of them below each bound from 2^log2 ns on.
static void add(struct latency_counts *counts, unsigned log2, double n)
{
	for (unsigned i = log2; i < LATENCY_WINDOW_BOUNDS; i++)
		counts->below[i] += n;
	counts->all += n;
}

static void take__sums_over_builders(void **state)
{
	cJSON *snapshot = cJSON_Parse(
	    "{\"builder\":[{\"x_ns\":{\"le_1\":1,\"le_2\":3,\"inf\":7}},{\"name\":\"b\"},"
	    "{\"x_ns\":{\"le_2\":2,\"le_549755813888\":4,\"inf\":5,"
	    "\"max\":900}}]}");
	struct latency_counts counts;

	(void)state;
	latency_counts_take(&counts, snapshot, "x_ns");
	assert_float_equal(counts.below[0], 1, NONE);
	assert_float_equal(counts.below[1], 5, NONE);
	assert_float_equal(counts.below[2], 0, NONE);
	assert_float_equal(counts.below[LATENCY_WINDOW_BOUNDS - 1], 4, NONE);
	assert_float_equal(counts.all, 12, NONE);
	assert_float_equal(counts.most, 900, NONE);
	latency_counts_take(&counts, NULL, "x_ns");
	assert_float_equal(counts.all, 0, NONE);
	cJSON_Delete(snapshot);
}

static void quantile__of_no_events(void **state)
{
	struct latency_counts before = { .all = 0 }, after = { .all = 0 };

	(void)state;
	assert_true(latency_window_quantile(&before, &after, 0.5) < 0);
	add(&before, 10, 5);
	add(&after, 10, 5);
	assert_true(latency_window_quantile(&before, &after, 0.5) < 0);
	assert_true(latency_window_quantile(&after, &(struct latency_counts){ .all = 0 }, 0.5) < 0);
}

static void quantile__lies_between_its_bounds(void **state)
{
	struct latency_counts before = { .all = 0 }, after;

	(void)state;
	add(&before, 30, 1000); // what was before does not count
	after = before;
	add(&after, 10, 50); // 512 to 1024 ns
	add(&after, 20, 50); // 0.5 to 1 ms
	assert_float_equal(latency_window_quantile(&before, &after, 0.25), 768, NONE);
	assert_float_equal(latency_window_quantile(&before, &after, 0.5), 1024, NONE);
	assert_float_equal(latency_window_quantile(&before, &after, 1), 1048576, NONE);
	assert_float_equal(latency_window_quantile(&before, &after, 0.75), 786432, NONE);
}

static void quantile__beyond_the_range_is_its_end(void **state)
{
	struct latency_counts before = { .all = 0 }, after = { .all = 3 };

	(void)state;
	assert_float_equal(latency_window_quantile(&before, &after, 0.5),
			   (double)(1ull << (LATENCY_WINDOW_BOUNDS - 1)), NONE);
}

static void quantile__is_no_more_than_the_most(void **state)
{
	struct latency_counts before = { .all = 0 }, after = { .most = 600 };

	(void)state;
	add(&after, 10, 50);
	assert_float_equal(latency_window_quantile(&before, &after, 0.1), 563.2, NONE);
	assert_float_equal(latency_window_quantile(&before, &after, 0.9), 600, NONE);
	after.all += 1000; // beyond the range of the bounds
	assert_float_equal(latency_window_quantile(&before, &after, 1), 600, NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(take__sums_over_builders),
		cmocka_unit_test(quantile__of_no_events),
		cmocka_unit_test(quantile__lies_between_its_bounds),
		cmocka_unit_test(quantile__beyond_the_range_is_its_end),
		cmocka_unit_test(quantile__is_no_more_than_the_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
