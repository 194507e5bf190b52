// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "builder/islands.h"

static struct island_pool make_pool(uint32_t n)
{
	struct island_pool pool;

	assert_true(island_pool_make(&pool, n));
	return pool;
}

static unsigned count_free(const struct island_pool *pool)
{
	unsigned n = 0;

	for (uint32_t at = pool->free; at != ISLANDS_NONE; at = pool->islands[at].next)
		n++;
	return n;
}

// The islands as "begin-end begin-end ..." against a list ended by a 0 end.
static void assert_islands(const struct island_pool *pool, const struct received *received,
			   uint32_t prefix, const uint32_t (*expected)[2])
{
	uint32_t at = received->islands;

	assert_int_equal(received->prefix, prefix);
	for (; (*expected)[1] != 0; expected++, at = pool->islands[at].next) {
		assert_int_not_equal(at, ISLANDS_NONE);
		assert_int_equal(pool->islands[at].begin, (*expected)[0]);
		assert_int_equal(pool->islands[at].end, (*expected)[1]);
	}
	assert_int_equal(at, ISLANDS_NONE);
}

#define ISLANDS(...)          \
	(const uint32_t[][2]) \
	{                     \
		__VA_ARGS__,  \
		{             \
			0, 0  \
		}             \
	}
#define NO_ISLANDS            \
	(const uint32_t[][2]) \
	{                     \
		{             \
			0, 0  \
		}             \
	}

static void insert(struct island_pool *pool, struct received *received, uint32_t begin,
		   uint32_t end, enum island_result expected)
{
	assert_int_equal(received_insert(pool, received, begin, end), expected);
}

static void insert__in_order_is_the_prefix_alone(void **state)
{
	struct island_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 0, 10, ISLANDS_NEW);
	insert(&pool, &received, 10, 11, ISLANDS_NEW);
	insert(&pool, &received, 11, 4000000000u, ISLANDS_NEW);
	assert_islands(&pool, &received, 4000000000u, NO_ISLANDS);
	assert_int_equal(count_free(&pool), 4);
	island_pool_free(&pool);
}

static void insert__ahead_makes_an_island(void **state)
{
	struct island_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 10, 20, ISLANDS_NEW);
	assert_islands(&pool, &received, 0, ISLANDS({ 10, 20 }));
	assert_int_equal(count_free(&pool), 3);
	island_pool_free(&pool);
}

static void insert__closes_the_gap_behind_the_prefix(void **state)
{
	struct island_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 10, 20, ISLANDS_NEW);
	insert(&pool, &received, 30, 40, ISLANDS_NEW);
	insert(&pool, &received, 0, 5, ISLANDS_NEW);
	assert_islands(&pool, &received, 5, ISLANDS({ 10, 20 }, { 30, 40 }));
	insert(&pool, &received, 5, 10, ISLANDS_NEW);
	assert_islands(&pool, &received, 20, ISLANDS({ 30, 40 }));
	insert(&pool, &received, 20, 30, ISLANDS_NEW);
	assert_islands(&pool, &received, 40, NO_ISLANDS);
	assert_int_equal(count_free(&pool), 4);
	island_pool_free(&pool);
}

static void insert__extends_an_island_at_either_end(void **state)
{
	struct island_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 20, 30, ISLANDS_NEW);
	insert(&pool, &received, 30, 35, ISLANDS_NEW);
	insert(&pool, &received, 15, 20, ISLANDS_NEW);
	assert_islands(&pool, &received, 0, ISLANDS({ 15, 35 }));
	insert(&pool, &received, 50, 60, ISLANDS_NEW);
	insert(&pool, &received, 45, 50, ISLANDS_NEW);
	assert_islands(&pool, &received, 0, ISLANDS({ 15, 35 }, { 45, 60 }));
	assert_int_equal(count_free(&pool), 2);
	island_pool_free(&pool);
}

static void insert__joins_two_islands(void **state)
{
	struct island_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 10, 20, ISLANDS_NEW);
	insert(&pool, &received, 30, 40, ISLANDS_NEW);
	insert(&pool, &received, 50, 60, ISLANDS_NEW);
	insert(&pool, &received, 20, 30, ISLANDS_NEW);
	assert_islands(&pool, &received, 0, ISLANDS({ 10, 40 }, { 50, 60 }));
	assert_int_equal(count_free(&pool), 2);
	island_pool_free(&pool);
}

static void insert__stands_between_two_islands(void **state)
{
	struct island_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 10, 20, ISLANDS_NEW);
	insert(&pool, &received, 50, 60, ISLANDS_NEW);
	insert(&pool, &received, 30, 40, ISLANDS_NEW);
	insert(&pool, &received, 4, 6, ISLANDS_NEW);
	assert_islands(&pool, &received, 0, ISLANDS({ 4, 6 }, { 10, 20 }, { 30, 40 }, { 50, 60 }));
	assert_int_equal(count_free(&pool), 0);
	island_pool_free(&pool);
}

static void insert__tells_duplicates_from_overlaps(void **state)
{
	static const struct {
		uint32_t begin, end;
		enum island_result result;
	} cases[] = {
		{ 0, 10, ISLANDS_DUPLICATE },    { 0, 1, ISLANDS_DUPLICATE },
		{ 9, 10, ISLANDS_DUPLICATE },    { 0, 11, ISLANDS_OVERLAPPING },
		{ 9, 15, ISLANDS_OVERLAPPING },  { 0, 100, ISLANDS_OVERLAPPING },
		{ 20, 30, ISLANDS_DUPLICATE },   { 20, 21, ISLANDS_DUPLICATE },
		{ 29, 30, ISLANDS_DUPLICATE },   { 24, 26, ISLANDS_DUPLICATE },
		{ 19, 21, ISLANDS_OVERLAPPING }, { 29, 31, ISLANDS_OVERLAPPING },
		{ 15, 35, ISLANDS_OVERLAPPING }, { 20, 50, ISLANDS_OVERLAPPING },
		{ 10, 21, ISLANDS_OVERLAPPING }, { 30, 41, ISLANDS_OVERLAPPING },
		{ 40, 50, ISLANDS_DUPLICATE },   { 39, 51, ISLANDS_OVERLAPPING },
	};
	struct island_pool pool = make_pool(4);
	struct received received = { 0 };

	(void)state;
	insert(&pool, &received, 0, 10, ISLANDS_NEW);
	insert(&pool, &received, 20, 30, ISLANDS_NEW);
	insert(&pool, &received, 40, 50, ISLANDS_NEW);
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		insert(&pool, &received, cases[i].begin, cases[i].end, cases[i].result);
		assert_islands(&pool, &received, 10, ISLANDS({ 20, 30 }, { 40, 50 }));
	}
	island_pool_free(&pool);
}

static void insert__refuses_when_the_pool_is_empty(void **state)
{
	struct island_pool pool = make_pool(2);
	struct received received = { 0 }, other = { 0 };

	(void)state;
	insert(&pool, &received, 10, 20, ISLANDS_NEW);
	insert(&pool, &other, 10, 20, ISLANDS_NEW);
	insert(&pool, &received, 30, 40, ISLANDS_FULL);
	insert(&pool, &received, 5, 9, ISLANDS_FULL);
	assert_islands(&pool, &received, 0, ISLANDS({ 10, 20 }));
	// What needs no new island goes on.
	insert(&pool, &received, 20, 30, ISLANDS_NEW);
	insert(&pool, &received, 0, 10, ISLANDS_NEW);
	assert_islands(&pool, &received, 30, NO_ISLANDS);
	insert(&pool, &received, 40, 50, ISLANDS_NEW);
	assert_int_equal(count_free(&pool), 0);
	island_pool_free(&pool);
}

static void insert__looks_at_a_bounded_number_of_islands(void **state)
{
	struct island_pool pool = make_pool(1000);
	struct received received = { 0 };

	(void)state;
	for (uint32_t i = 0; i < ISLANDS_MOST; i++)
		insert(&pool, &received, 2 * i + 1, 2 * i + 2, ISLANDS_NEW);
	// In front of the last island is still in reach, behind it no longer.
	insert(&pool, &received, 2 * ISLANDS_MOST + 1, 2 * ISLANDS_MOST + 2, ISLANDS_FULL);
	insert(&pool, &received, 2 * ISLANDS_MOST, 2 * ISLANDS_MOST + 1, ISLANDS_FULL);
	insert(&pool, &received, 2 * ISLANDS_MOST - 2, 2 * ISLANDS_MOST - 1, ISLANDS_NEW);
	assert_int_equal(count_free(&pool), 1000 - ISLANDS_MOST + 1);
	insert(&pool, &received, 2 * ISLANDS_MOST, 2 * ISLANDS_MOST + 1, ISLANDS_NEW);
	islands_release(&pool, &received);
	assert_int_equal(count_free(&pool), 1000);
	island_pool_free(&pool);
}

static void release__gives_all_back_and_can_be_repeated(void **state)
{
	struct island_pool pool = make_pool(8);
	struct received received = { 0 };

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		for (uint32_t i = 8; i > 0; i--)
			insert(&pool, &received, 10 * i, 10 * i + 5, ISLANDS_NEW);
		assert_int_equal(count_free(&pool), 0);
		islands_release(&pool, &received);
		assert_int_equal(received.islands, ISLANDS_NONE);
		assert_int_equal(count_free(&pool), 8);
		islands_release(&pool, &received);
		assert_int_equal(count_free(&pool), 8);
	}
	island_pool_free(&pool);
}

#define BLOCK 64u // bytes of the blocks of the model check

// What the map of bytes says of [begin, end), and notes it if it is new.
static enum island_result model_insert(uint8_t *map, uint32_t begin, uint32_t end)
{
	uint32_t have = 0;

	for (uint32_t i = begin; i < end; i++)
		have += map[i];
	if (have == end - begin)
		return ISLANDS_DUPLICATE;
	if (have > 0)
		return ISLANDS_OVERLAPPING;
	memset(map + begin, 1, end - begin);
	return ISLANDS_NEW;
}

// The islands are the runs of 1 in the map, and nothing else is in use.
static unsigned assert_is_map(const struct island_pool *pool, const struct received *received,
			      const uint8_t *map)
{
	uint32_t at = received->islands, i = 0;
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
		assert_int_not_equal(at, ISLANDS_NONE);
		assert_int_equal(pool->islands[at].begin, begin);
		assert_int_equal(pool->islands[at].end, i);
		at = pool->islands[at].next;
		n++;
	}
	assert_int_equal(at, ISLANDS_NONE);
	return n;
}

// 10^5 pieces of two blocks that share a pool, against a map of their bytes.
static void insert__agrees_with_a_map_of_bytes(void **state)
{
	struct island_pool pool = make_pool(2 * BLOCK);
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

		assert_int_equal(received_insert(&pool, &received[block], begin, end),
				 model_insert(maps[block], begin, end));
		used = assert_is_map(&pool, &received[block], maps[block]);
		used += assert_is_map(&pool, &received[1 - block], maps[1 - block]);
		if (i % 64 == 0)
			assert_int_equal(count_free(&pool), 2 * BLOCK - used);
		// Begin anew when whole, and now and then before.
		if (received[block].prefix == BLOCK || random_next(&random) % 5000 == 0) {
			whole += received[block].prefix == BLOCK;
			islands_release(&pool, &received[block]);
			received[block] = (struct received){ 0 };
			memset(maps[block], 0, BLOCK);
		}
	}
	assert_true(whole > 10);
	island_pool_free(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(insert__in_order_is_the_prefix_alone),
		cmocka_unit_test(insert__ahead_makes_an_island),
		cmocka_unit_test(insert__closes_the_gap_behind_the_prefix),
		cmocka_unit_test(insert__extends_an_island_at_either_end),
		cmocka_unit_test(insert__joins_two_islands),
		cmocka_unit_test(insert__stands_between_two_islands),
		cmocka_unit_test(insert__tells_duplicates_from_overlaps),
		cmocka_unit_test(insert__refuses_when_the_pool_is_empty),
		cmocka_unit_test(insert__looks_at_a_bounded_number_of_islands),
		cmocka_unit_test(release__gives_all_back_and_can_be_repeated),
		cmocka_unit_test(insert__agrees_with_a_map_of_bytes),
	};

	return cmocka_run_group_tests_name("islands", tests, NULL, NULL);
}
