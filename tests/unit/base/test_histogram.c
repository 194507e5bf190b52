// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/histogram.h"

static void bins__of_small_values_hold_one_value_each(void **state)
{
	(void)state;
	for (unsigned value = 0; value < 16; value++) {
		assert_int_equal(histogram_bin(value), value);
		assert_int_equal(histogram_bin_end(value), value + 1);
	}
}

// Every bin ends where the next begins, and holds its first and its last value.
static void bins__join_without_gap(void **state)
{
	(void)state;
	for (unsigned bin = 0; bin < HISTOGRAM_BINS; bin++) {
		uint64_t end = histogram_bin_end(bin);

		assert_int_equal(histogram_bin(end - 1), bin);
		if (bin + 1 < HISTOGRAM_BINS)
			assert_int_equal(histogram_bin(end), bin + 1);
	}
	assert_int_equal(histogram_bin_end(HISTOGRAM_BINS - 1), 1ull << HISTOGRAM_MAX_LOG2);
}

static void bins__are_an_eighth_of_a_power_of_two(void **state)
{
	(void)state;
	assert_int_equal(histogram_bin(1024), histogram_bin(1024 + 127));
	assert_int_equal(histogram_bin(1024 + 128), histogram_bin(1024) + 1);
	assert_int_equal(histogram_bin_end(histogram_bin(1024)), 1024 + 128);
	assert_int_equal(histogram_bin_end(histogram_bin(2047)), 2048);
}

static void bins__last_takes_what_is_beyond(void **state)
{
	(void)state;
	assert_int_equal(histogram_bin((1ull << HISTOGRAM_MAX_LOG2) - 1), HISTOGRAM_BINS - 1);
	assert_int_equal(histogram_bin(1ull << HISTOGRAM_MAX_LOG2), HISTOGRAM_BINS - 1);
	assert_int_equal(histogram_bin(UINT64_MAX), HISTOGRAM_BINS - 1);
}

static void add__counts_sums_and_keeps_the_maximum(void **state)
{
	struct histogram histogram = { 0 };

	(void)state;
	histogram_add(&histogram, 5);
	histogram_add(&histogram, 1000);
	histogram_add(&histogram, 7);
	assert_int_equal(histogram_count(&histogram), 3);
	assert_int_equal(histogram.sum, 1012);
	assert_int_equal(histogram.maximum, 1000);
	assert_int_equal(histogram.bins[5], 1);
	assert_int_equal(histogram.bins[7], 1);
	assert_int_equal(histogram.bins[histogram_bin(1000)], 1);
}

static void quantile__of_none_is_zero(void **state)
{
	struct histogram histogram = { 0 };

	(void)state;
	assert_int_equal(histogram_quantile(&histogram, 0), 0);
	assert_int_equal(histogram_quantile(&histogram, 0.5), 0);
	assert_int_equal(histogram_quantile(&histogram, 1), 0);
}

// 0 to 9, ten times each: bins of one value, so quantiles are exact.
static void quantile__of_small_values_is_exact(void **state)
{
	struct histogram histogram = { 0 };

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		histogram_add(&histogram, i % 10);
	assert_int_equal(histogram_quantile(&histogram, 0.1), 1);  // 0 lies below 1
	assert_int_equal(histogram_quantile(&histogram, 0.11), 2); // one more than a tenth
	assert_int_equal(histogram_quantile(&histogram, 0.5), 5);
	assert_int_equal(histogram_quantile(&histogram, 0.9), 9);
	assert_int_equal(histogram_quantile(&histogram, 0.91), 9); // never above the maximum
	assert_int_equal(histogram_quantile(&histogram, 1), 9);
	assert_int_equal(histogram_quantile(&histogram, 0), 1);
}

static void quantile__is_at_most_an_eighth_too_high(void **state)
{
	struct histogram histogram = { 0 };

	(void)state;
	for (uint64_t i = 1; i <= 1000000; i++)
		histogram_add(&histogram, i);
	for (unsigned permille = 1; permille <= 1000; permille++) {
		uint64_t value = histogram_quantile(&histogram, permille / 1000.0);

		assert_in_range(value, permille * 1000, permille * 1125);
	}
	assert_int_equal(histogram_quantile(&histogram, 1), 1000000);
}

static void quantile__of_one_value_is_that_value(void **state)
{
	struct histogram histogram = { 0 };

	(void)state;
	histogram_add(&histogram, 123456789);
	assert_int_equal(histogram_quantile(&histogram, 0.5), 123456789);
	assert_int_equal(histogram_quantile(&histogram, 0.999), 123456789);
}

static void quantile__beyond_the_range_is_the_maximum_at_most(void **state)
{
	struct histogram histogram = { 0 };

	(void)state;
	histogram_add(&histogram, UINT64_MAX / 4);
	assert_int_equal(histogram_count(&histogram), 1);
	assert_int_equal(histogram.maximum, UINT64_MAX / 4);
	// The last bin's end is all that is known of its values.
	assert_int_equal(histogram_quantile(&histogram, 0.5), 1ull << HISTOGRAM_MAX_LOG2);
}

static void merge__is_the_histogram_of_both(void **state)
{
	struct histogram a = { 0 }, b = { 0 }, both = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 5000; i++) {
		uint64_t value = i * i;

		histogram_add(i % 3 == 0 ? &a : &b, value);
		histogram_add(&both, value);
	}
	histogram_merge(&a, &b);
	assert_memory_equal(&a, &both, sizeof(a));
}

static void merge__keeps_the_larger_maximum(void **state)
{
	struct histogram a = { 0 }, b = { 0 };

	(void)state;
	histogram_add(&a, 900);
	histogram_add(&b, 30);
	histogram_merge(&a, &b);
	assert_int_equal(a.maximum, 900);
	histogram_merge(&b, &a);
	assert_int_equal(b.maximum, 900);
	assert_int_equal(b.sum, 960);
	assert_int_equal(histogram_count(&b), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bins__of_small_values_hold_one_value_each),
		cmocka_unit_test(bins__join_without_gap),
		cmocka_unit_test(bins__are_an_eighth_of_a_power_of_two),
		cmocka_unit_test(bins__last_takes_what_is_beyond),
		cmocka_unit_test(add__counts_sums_and_keeps_the_maximum),
		cmocka_unit_test(quantile__of_none_is_zero),
		cmocka_unit_test(quantile__of_small_values_is_exact),
		cmocka_unit_test(quantile__is_at_most_an_eighth_too_high),
		cmocka_unit_test(quantile__of_one_value_is_that_value),
		cmocka_unit_test(quantile__beyond_the_range_is_the_maximum_at_most),
		cmocka_unit_test(merge__is_the_histogram_of_both),
		cmocka_unit_test(merge__keeps_the_larger_maximum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
