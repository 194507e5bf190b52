// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "block/ranges.h"

static uint32_t in_use; // ranges of the one owner

static struct range_pool make_pool(uint32_t n)
{
	struct range_pool pool;

	in_use = 0;
	assert_true(range_pool_make(&pool, n, 1));
	return pool;
}

static unsigned count_free(const struct range_pool *pool)
{
	unsigned n = 0;

	for (uint32_t at = pool->free; at != RANGES_NONE; at = pool->ranges[at].next)
		n++;
	return n;
}

// The ranges as "begin-end begin-end ..." against a list ended by a 0 end.
static void assert_ranges(const struct range_pool *pool, const struct received *received,
			  uint32_t prefix, const uint32_t (*expected)[2])
{
	uint32_t at = received->ranges;

	assert_int_equal(received->prefix, prefix);
	for (; (*expected)[1] != 0; expected++, at = pool->ranges[at].next) {
		assert_int_not_equal(at, RANGES_NONE);
		assert_int_equal(pool->ranges[at].begin, (*expected)[0]);
		assert_int_equal(pool->ranges[at].end, (*expected)[1]);
	}
	assert_int_equal(at, RANGES_NONE);
}

#define RANGES(...)           \
	(const uint32_t[][2]) \
	{                     \
		__VA_ARGS__,  \
		{             \
			0, 0  \
		}             \
	}
#define NO_RANGES             \
	(const uint32_t[][2]) \
	{                     \
		{             \
			0, 0  \
		}             \
	}

static void insert(struct range_pool *pool, struct received *received, uint32_t begin, uint32_t end,
		   enum range_result expected)
{
	assert_int_equal(ranges_insert(pool, received, &in_use, begin, end), expected);
}

static void insert__in_order_is_the_prefix_alone(void **state)
{
	struct range_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 0, 10, RANGES_NEW);
	insert(&pool, &received, 10, 11, RANGES_NEW);
	insert(&pool, &received, 11, 4000000000u, RANGES_NEW);
	assert_ranges(&pool, &received, 4000000000u, NO_RANGES);
	assert_int_equal(count_free(&pool), 4);
	range_pool_free(&pool);
}

static void insert__ahead_makes_an_range(void **state)
{
	struct range_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 10, 20, RANGES_NEW);
	assert_ranges(&pool, &received, 0, RANGES({ 10, 20 }));
	assert_int_equal(count_free(&pool), 3);
	range_pool_free(&pool);
}

static void insert__closes_the_gap_behind_the_prefix(void **state)
{
	struct range_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 10, 20, RANGES_NEW);
	insert(&pool, &received, 30, 40, RANGES_NEW);
	insert(&pool, &received, 0, 5, RANGES_NEW);
	assert_ranges(&pool, &received, 5, RANGES({ 10, 20 }, { 30, 40 }));
	insert(&pool, &received, 5, 10, RANGES_NEW);
	assert_ranges(&pool, &received, 20, RANGES({ 30, 40 }));
	insert(&pool, &received, 20, 30, RANGES_NEW);
	assert_ranges(&pool, &received, 40, NO_RANGES);
	assert_int_equal(count_free(&pool), 4);
	range_pool_free(&pool);
}

static void insert__extends_an_range_at_either_end(void **state)
{
	struct range_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 20, 30, RANGES_NEW);
	insert(&pool, &received, 30, 35, RANGES_NEW);
	insert(&pool, &received, 15, 20, RANGES_NEW);
	assert_ranges(&pool, &received, 0, RANGES({ 15, 35 }));
	insert(&pool, &received, 50, 60, RANGES_NEW);
	insert(&pool, &received, 45, 50, RANGES_NEW);
	assert_ranges(&pool, &received, 0, RANGES({ 15, 35 }, { 45, 60 }));
	assert_int_equal(count_free(&pool), 2);
	range_pool_free(&pool);
}

static void insert__joins_two_ranges(void **state)
{
	struct range_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 10, 20, RANGES_NEW);
	insert(&pool, &received, 30, 40, RANGES_NEW);
	insert(&pool, &received, 50, 60, RANGES_NEW);
	insert(&pool, &received, 20, 30, RANGES_NEW);
	assert_ranges(&pool, &received, 0, RANGES({ 10, 40 }, { 50, 60 }));
	assert_int_equal(count_free(&pool), 2);
	range_pool_free(&pool);
}

static void insert__stands_between_two_ranges(void **state)
{
	struct range_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 10, 20, RANGES_NEW);
	insert(&pool, &received, 50, 60, RANGES_NEW);
	insert(&pool, &received, 30, 40, RANGES_NEW);
	insert(&pool, &received, 4, 6, RANGES_NEW);
	assert_ranges(&pool, &received, 0, RANGES({ 4, 6 }, { 10, 20 }, { 30, 40 }, { 50, 60 }));
	assert_int_equal(count_free(&pool), 0);
	range_pool_free(&pool);
}

static void insert__tells_duplicates_from_overlaps(void **state)
{
	static const struct {
		uint32_t begin, end;
		enum range_result result;
	} cases[] = {
		{ 0, 10, RANGES_DUPLICATE },    { 0, 1, RANGES_DUPLICATE },
		{ 9, 10, RANGES_DUPLICATE },    { 0, 11, RANGES_OVERLAPPING },
		{ 9, 15, RANGES_OVERLAPPING },  { 0, 100, RANGES_OVERLAPPING },
		{ 20, 30, RANGES_DUPLICATE },   { 20, 21, RANGES_DUPLICATE },
		{ 29, 30, RANGES_DUPLICATE },   { 24, 26, RANGES_DUPLICATE },
		{ 19, 21, RANGES_OVERLAPPING }, { 29, 31, RANGES_OVERLAPPING },
		{ 15, 35, RANGES_OVERLAPPING }, { 20, 50, RANGES_OVERLAPPING },
		{ 10, 21, RANGES_OVERLAPPING }, { 30, 41, RANGES_OVERLAPPING },
		{ 40, 50, RANGES_DUPLICATE },   { 39, 51, RANGES_OVERLAPPING },
	};
	struct range_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 0, 10, RANGES_NEW);
	insert(&pool, &received, 20, 30, RANGES_NEW);
	insert(&pool, &received, 40, 50, RANGES_NEW);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		insert(&pool, &received, cases[i].begin, cases[i].end, cases[i].result);
		assert_ranges(&pool, &received, 10, RANGES({ 20, 30 }, { 40, 50 }));
	}
	range_pool_free(&pool);
}

static void insert__refuses_when_the_pool_is_empty(void **state)
{
	struct range_pool pool = make_pool(2);
	struct received received = { 0 }, other = { 0 };

	(void)state;
	insert(&pool, &received, 10, 20, RANGES_NEW);
	insert(&pool, &other, 10, 20, RANGES_NEW);
	insert(&pool, &received, 30, 40, RANGES_FULL);
	insert(&pool, &received, 5, 9, RANGES_FULL);
	assert_ranges(&pool, &received, 0, RANGES({ 10, 20 }));
	// What needs no new range goes on.
	insert(&pool, &received, 20, 30, RANGES_NEW);
	insert(&pool, &received, 0, 10, RANGES_NEW);
	assert_ranges(&pool, &received, 30, NO_RANGES);
	insert(&pool, &received, 40, 50, RANGES_NEW);
	assert_int_equal(count_free(&pool), 0);
	range_pool_free(&pool);
}

static void insert__looks_at_a_bounded_number_of_ranges(void **state)
{
	struct range_pool pool = make_pool(1000);
	struct received received = { 0 };

	(void)state;
	for (uint32_t i = 0; i < RANGES_MOST; i++)
		insert(&pool, &received, 2 * i + 1, 2 * i + 2, RANGES_NEW);
	// In front of the last range is still in reach, behind it no longer.
	insert(&pool, &received, 2 * RANGES_MOST + 1, 2 * RANGES_MOST + 2, RANGES_FULL);
	insert(&pool, &received, 2 * RANGES_MOST, 2 * RANGES_MOST + 1, RANGES_FULL);
	insert(&pool, &received, 2 * RANGES_MOST - 2, 2 * RANGES_MOST - 1, RANGES_NEW);
	assert_int_equal(count_free(&pool), 1000 - RANGES_MOST + 1);
	insert(&pool, &received, 2 * RANGES_MOST, 2 * RANGES_MOST + 1, RANGES_NEW);
	ranges_release(&pool, &received, &in_use);
	assert_int_equal(count_free(&pool), 1000);
	range_pool_free(&pool);
}

// Of four owners one takes as much as it can: half of the pool. Two others still get half of the
// rest each, and the last one its even share.
static void insert__leaves_ranges_to_other_owners(void **state)
{
	struct received received[4] = { 0 };
	uint32_t used[4] = { 0 };
	struct range_pool pool;

	(void)state;
	assert_true(range_pool_make(&pool, 64, 8));
	for (unsigned owner = 0; owner < 4; owner++)
		for (uint32_t i = 64; i > 0; i--) // in falling order
			(void)ranges_insert(&pool, &received[owner], &used[owner], 10 * i,
					    10 * i + 5);
	assert_int_equal(used[0], 32);
	assert_int_equal(used[1], 16);
	assert_int_equal(used[2], 8);
	assert_int_equal(used[3], 8);
	assert_int_equal(pool.n_free, 0);
	for (unsigned owner = 0; owner < 4; owner++) {
		ranges_release(&pool, &received[owner], &used[owner]);
		assert_int_equal(used[owner], 0);
	}
	assert_int_equal(count_free(&pool), 64);
	range_pool_free(&pool);
}

static void release__gives_all_back_and_can_be_repeated(void **state)
{
	struct range_pool pool = make_pool(8);
	struct received received = { 0 };

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		for (uint32_t i = 8; i > 0; i--)
			insert(&pool, &received, 10 * i, 10 * i + 5, RANGES_NEW);
		assert_int_equal(count_free(&pool), 0);
		ranges_release(&pool, &received, &in_use);
		assert_int_equal(received.ranges, RANGES_NONE);
		assert_int_equal(count_free(&pool), 8);
		ranges_release(&pool, &received, &in_use);
		assert_int_equal(count_free(&pool), 8);
	}
	range_pool_free(&pool);
}

#define BLOCK 64u // bytes of the blocks of the model check

// What the map of bytes says of [begin, end), and notes it if it is new.
static enum range_result model_insert(uint8_t *map, uint32_t begin, uint32_t end)
{
	uint32_t have = 0;

	for (uint32_t i = begin; i < end; i++)
		have += map[i];
	if (have == end - begin)
		return RANGES_DUPLICATE;
	if (have > 0)
		return RANGES_OVERLAPPING;
	memset(map + begin, 1, end - begin);
	return RANGES_NEW;
}

// The ranges are the runs of 1 in the map, and nothing else is in use.
static unsigned assert_is_map(const struct range_pool *pool, const struct received *received,
			      const uint8_t *map)
{
	uint32_t at = received->ranges, i = 0;
	unsigned n = 0;

	while (i < BLOCK && map[i])
		i++;
	assert_int_equal(received->prefix, i);
	while (i < BLOCK) {
		uint32_t begin;

		while (i < BLOCK && !map[i])
			i++;
		if (i == BLOCK)
			break;
		begin = i;
		while (i < BLOCK && map[i])
			i++;
		assert_int_not_equal(at, RANGES_NONE);
		assert_int_equal(pool->ranges[at].begin, begin);
		assert_int_equal(pool->ranges[at].end, i);
		at = pool->ranges[at].next;
		n++;
	}
	assert_int_equal(at, RANGES_NONE);
	return n;
}

// 10^5 pieces of two blocks that share a pool, against a map of their bytes.
static void insert__agrees_with_a_map_of_bytes(void **state)
{
	struct range_pool pool = make_pool(2 * BLOCK);
	struct received received[2] = { 0 };
	static uint8_t maps[2][BLOCK];
	struct random random = random_fork(1, 1);
	unsigned whole = 0;

	(void)state;
	memset(maps, 0, sizeof(maps));
	for (unsigned i = 0; i < 100000; i++) {
		unsigned block = random_next(&random) % 2;
		uint32_t begin = random_next(&random) % BLOCK, most = BLOCK - begin;
		uint32_t end =
		    begin + 1 + random_next(&random) % (i % 3 == 0 || most < 8 ? most : 8);
		unsigned used;

		assert_int_equal(ranges_insert(&pool, &received[block], &in_use, begin, end),
				 model_insert(maps[block], begin, end));
		used = assert_is_map(&pool, &received[block], maps[block]);
		used += assert_is_map(&pool, &received[1 - block], maps[1 - block]);
		assert_int_equal(in_use, used);
		assert_int_equal(pool.n_free, 2 * BLOCK - used);
		if (i % 64 == 0)
			assert_int_equal(count_free(&pool), 2 * BLOCK - used);
		// Begin anew when whole, and now and then before.
		if (received[block].prefix == BLOCK || random_next(&random) % 5000 == 0) {
			whole += received[block].prefix == BLOCK;
			ranges_release(&pool, &received[block], &in_use);
			received[block] = (struct received){ 0 };
			memset(maps[block], 0, BLOCK);
		}
	}
	assert_true(whole > 10);
	range_pool_free(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(insert__in_order_is_the_prefix_alone),
		cmocka_unit_test(insert__ahead_makes_an_range),
		cmocka_unit_test(insert__closes_the_gap_behind_the_prefix),
		cmocka_unit_test(insert__extends_an_range_at_either_end),
		cmocka_unit_test(insert__joins_two_ranges),
		cmocka_unit_test(insert__stands_between_two_ranges),
		cmocka_unit_test(insert__tells_duplicates_from_overlaps),
		cmocka_unit_test(insert__refuses_when_the_pool_is_empty),
		cmocka_unit_test(insert__looks_at_a_bounded_number_of_ranges),
		cmocka_unit_test(insert__leaves_ranges_to_other_owners),
		cmocka_unit_test(release__gives_all_back_and_can_be_repeated),
		cmocka_unit_test(insert__agrees_with_a_map_of_bytes),
	};

	return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}
