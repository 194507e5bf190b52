// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include "inspect/id_ranges.h"

#define SET 7

static uint64_t add(struct id_ranges *ranges, uint64_t first, uint64_t n)
{
	uint64_t repeated;

	assert_int_equal(id_ranges_add(ranges, SET, first, n, &repeated), 0);
	return repeated;
}

// The ranges of all sets.
struct listed {
	struct id_range ranges[8];
	size_t n;
};

static void list(void *context, const struct id_range *range)
{
	struct listed *listed = context;

	assert_true(listed->n < 8);
	listed->ranges[listed->n++] = *range;
}

static void expect_ranges(const struct id_ranges *ranges, size_t n, const uint64_t (*expected)[2])
{
	struct listed listed = { 0 };

	id_ranges_walk(ranges, list, &listed);
	assert_int_equal(listed.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(listed.ranges[i].first, expected[i][0]);
		assert_int_equal(listed.ranges[i].last, expected[i][1]);
	}
}

#define EXPECT(ranges, ...)                                                              \
	do {                                                                             \
		const uint64_t expected[][2] = { __VA_ARGS__ };                          \
		expect_ranges(ranges, sizeof(expected) / sizeof(expected[0]), expected); \
	} while (0)

static void id_ranges__in_order_is_one_range(void **state)
{
	struct id_ranges ranges = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(add(&ranges, 10 * i, 10), 0);
	EXPECT(&ranges, { 0, 9999 });
	id_ranges_fini(&ranges);
}

static void id_ranges__any_order_joins(void **state)
{
	struct id_ranges ranges = { 0 };

	(void)state;
	assert_int_equal(add(&ranges, 20, 10), 0);
	assert_int_equal(add(&ranges, 0, 10), 0);
	assert_int_equal(add(&ranges, 40, 10), 0);
	EXPECT(&ranges, { 0, 9 }, { 20, 29 }, { 40, 49 });
	assert_int_equal(add(&ranges, 10, 10), 0);
	EXPECT(&ranges, { 0, 29 }, { 40, 49 });
	assert_int_equal(add(&ranges, 30, 10), 0);
	EXPECT(&ranges, { 0, 49 });
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
	EXPECT(&ranges, { 0, 29 });
	id_ranges_fini(&ranges);
}

static void id_ranges__largest_ids(void **state)
{
	struct id_ranges ranges = { 0 };

	(void)state;
	assert_int_equal(add(&ranges, UINT64_MAX - 1, 100), 0);
	EXPECT(&ranges, { UINT64_MAX - 1, UINT64_MAX });
	assert_int_equal(add(&ranges, UINT64_MAX, 1), 1);
	assert_int_equal(add(&ranges, UINT64_MAX - 2, 1), 0);
	EXPECT(&ranges, { UINT64_MAX - 2, UINT64_MAX });
	id_ranges_fini(&ranges);
}

static void id_ranges__sets_are_apart(void **state)
{
	struct id_ranges ranges = { 0 };
	uint64_t repeated;

	(void)state;
	add(&ranges, 0, 10);
	assert_int_equal(id_ranges_add(&ranges, SET + 1, 5, 10, &repeated), 0);
	assert_int_equal(repeated, 0);
	assert_int_equal(id_ranges_add(&ranges, SET - 1, 0, 1, &repeated), 0);
	assert_int_equal(repeated, 0);
	EXPECT(&ranges, { 0, 0 }, { 0, 9 }, { 5, 14 });
	id_ranges_fini(&ranges);
}

// The files of several writers: each has every fourth event.
static void id_ranges__many_writers(void **state)
{
	static const uint64_t order[] = { 0, 2, 1, 3 };
	const uint64_t events = 1000000;
	struct id_ranges ranges = { 0 };

	(void)state;
	for (unsigned writer = 0; writer < 4; writer++)
		for (uint64_t i = 0; i < events / 4; i++)
			assert_int_equal(add(&ranges, 4 * i + order[writer], 1), 0);
	EXPECT(&ranges, { 0, events - 1 });
	id_ranges_fini(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(id_ranges__in_order_is_one_range),
		cmocka_unit_test(id_ranges__any_order_joins),
		cmocka_unit_test(id_ranges__counts_what_is_repeated),
		cmocka_unit_test(id_ranges__largest_ids),
		cmocka_unit_test(id_ranges__sets_are_apart),
		cmocka_unit_test(id_ranges__many_writers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
