// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include "inspect/id_ranges.h"

static uint64_t add(struct id_ranges *ranges, uint64_t first, uint64_t n)
{
	uint64_t repeated;

	assert_int_equal(id_ranges_add(ranges, first, n, &repeated), 0);
	return repeated;
}

static void expect_range(const struct id_ranges *ranges, size_t i, uint64_t first, uint64_t last)
{
	assert_int_equal(ranges->ranges[i].first, first);
	assert_int_equal(ranges->ranges[i].last, last);
}

static void id_ranges__in_order_is_one_range(void **state)
{
	struct id_ranges ranges = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(add(&ranges, 10 * i, 10), 0);
	assert_int_equal(ranges.n, 1);
	expect_range(&ranges, 0, 0, 9999);
	id_ranges_fini(&ranges);
}

static void id_ranges__any_order_joins(void **state)
{
	struct id_ranges ranges = { 0 };

	(void)state;
	assert_int_equal(add(&ranges, 20, 10), 0);
	assert_int_equal(add(&ranges, 0, 10), 0);
	assert_int_equal(add(&ranges, 40, 10), 0);
	assert_int_equal(ranges.n, 3);
	expect_range(&ranges, 0, 0, 9);
	expect_range(&ranges, 1, 20, 29);
	expect_range(&ranges, 2, 40, 49);
	assert_int_equal(add(&ranges, 10, 10), 0);
	assert_int_equal(ranges.n, 2);
	expect_range(&ranges, 0, 0, 29);
	assert_int_equal(add(&ranges, 30, 10), 0);
	assert_int_equal(ranges.n, 1);
	expect_range(&ranges, 0, 0, 49);
	id_ranges_fini(&ranges);
}

static void id_ranges__counts_what_is_repeated(void **state)
{
	struct id_ranges ranges = { 0 };

	(void)state;
	add(&ranges, 0, 10);
	add(&ranges, 20, 10);
	assert_int_equal(add(&ranges, 5, 1), 1);
	assert_int_equal(add(&ranges, 0, 10), 10);
	assert_int_equal(add(&ranges, 8, 14), 4); // 8, 9 and 20, 21
	assert_int_equal(ranges.n, 1);
	expect_range(&ranges, 0, 0, 29);
	id_ranges_fini(&ranges);
}

static void id_ranges__largest_ids(void **state)
{
	struct id_ranges ranges = { 0 };

	(void)state;
	assert_int_equal(add(&ranges, UINT64_MAX - 1, 100), 0);
	expect_range(&ranges, 0, UINT64_MAX - 1, UINT64_MAX);
	assert_int_equal(add(&ranges, UINT64_MAX, 1), 1);
	assert_int_equal(add(&ranges, UINT64_MAX - 2, 1), 0);
	assert_int_equal(ranges.n, 1);
	id_ranges_fini(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(id_ranges__in_order_is_one_range),
		cmocka_unit_test(id_ranges__any_order_joins),
		cmocka_unit_test(id_ranges__counts_what_is_repeated),
		cmocka_unit_test(id_ranges__largest_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
