// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "client/latency_window.h"

#define NONE 1e-9

struct counts {
	double below[LATENCY_WINDOW_BOUNDS], all, longest;
};

// `n` events below each bound from 2^log2 ns on.
static void add(struct counts *counts, unsigned log2, double n)
{
	for (unsigned i = log2; i < LATENCY_WINDOW_BOUNDS; i++)
		counts->below[i] += n;
	counts->all += n;
}

static void add_builder(cJSON *builders, const struct counts *counts)
{
	cJSON *builder = cJSON_CreateObject();
	cJSON *histogram = cJSON_AddObjectToObject(builder, "x_ns");
	char key[32];

	cJSON_AddItemToArray(builders, builder);
	for (unsigned i = 0; i < LATENCY_WINDOW_BOUNDS; i++) {
		snprintf(key, sizeof(key), "le_%llu", 1ull << i);
		cJSON_AddNumberToObject(histogram, key, counts->below[i]);
	}
	cJSON_AddNumberToObject(histogram, "inf", counts->all);
	cJSON_AddNumberToObject(histogram, "max", counts->longest);
}

// A reading of two builders, the second of which may be absent.
static struct reading *make(const struct counts *first, const struct counts *second)
{
	cJSON *snapshot = cJSON_CreateObject();
	cJSON *builders = cJSON_AddArrayToObject(snapshot, "builder");

	add_builder(builders, first);
	cJSON_AddItemToArray(builders, cJSON_Parse("{\"name\":\"without histogram\"}"));
	if (second != NULL)
		add_builder(builders, second);
	return reading_make(snapshot, 1, 1);
}

static double quantile(const struct counts *before, const struct counts *now, double share)
{
	struct reading *first = make(before, NULL), *last = make(now, NULL);
	double result = latency_window_quantile(first, last, "x_ns", share);

	reading_unref(first);
	reading_unref(last);
	return result;
}

static void quantile__is_over_all_builders(void **state)
{
	struct counts none = { .all = 0 }, fast = none, slow = none;
	struct reading *before = make(&none, &none), *now;

	(void)state;
	add(&fast, 10, 50);
	add(&slow, 20, 50);
	now = make(&fast, &slow);
	assert_float_equal(latency_window_quantile(before, now, "x_ns", 0.5), 1024, NONE);
	assert_float_equal(latency_window_quantile(before, now, "x_ns", 1), 1048576, NONE);
	assert_true(isnan(latency_window_quantile(before, now, "other_ns", 0.5)));
	reading_unref(before);
	reading_unref(now);
}

static void quantile__of_no_events(void **state)
{
	struct counts before = { .all = 0 }, after = { .all = 0 };

	(void)state;
	assert_true(isnan(quantile(&before, &after, 0.5)));
	add(&before, 10, 5);
	add(&after, 10, 5);
	assert_true(isnan(quantile(&before, &after, 0.5)));
	assert_true(isnan(quantile(&after, &(struct counts){ .all = 0 }, 0.5)));
}

static void quantile__lies_between_its_bounds(void **state)
{
	struct counts before = { .all = 0 }, after;

	(void)state;
	add(&before, 30, 1000); // what was before does not count
	after = before;
	add(&after, 10, 50); // 512 to 1024 ns
	add(&after, 20, 50); // 0.5 to 1 ms
	assert_float_equal(quantile(&before, &after, 0.25), 768, NONE);
	assert_float_equal(quantile(&before, &after, 0.5), 1024, NONE);
	assert_float_equal(quantile(&before, &after, 1), 1048576, NONE);
	assert_float_equal(quantile(&before, &after, 0.75), 786432, NONE);
}

static void quantile__beyond_the_range_is_its_end(void **state)
{
	struct counts before = { .all = 0 }, after = { .all = 3 };

	(void)state;
	assert_float_equal(quantile(&before, &after, 0.5),
			   (double)(1ull << (LATENCY_WINDOW_BOUNDS - 1)), NONE);
}

static void quantile__is_not_above_the_longest(void **state)
{
	struct counts before = { .all = 0 }, after = { .longest = 600 };

	(void)state;
	add(&after, 10, 50);
	assert_float_equal(quantile(&before, &after, 0.1), 563.2, NONE);
	assert_float_equal(quantile(&before, &after, 0.9), 600, NONE);
	after.all += 1000; // beyond the range of the bounds
	assert_float_equal(quantile(&before, &after, 1), 600, NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantile__is_over_all_builders),
		cmocka_unit_test(quantile__of_no_events),
		cmocka_unit_test(quantile__lies_between_its_bounds),
		cmocka_unit_test(quantile__beyond_the_range_is_its_end),
		cmocka_unit_test(quantile__is_not_above_the_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
