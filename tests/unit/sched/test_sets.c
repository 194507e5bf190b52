// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sets and rankings against plain arrays.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "sched/ranking.h"
#include "sched/set.h"

static uint32_t plain_next(const bool *plain, uint32_t from, uint32_t end)
{
	for (uint32_t i = from; i < end; i++) {
		if (plain[i])
			return i;
	}
	return SET_NONE;
}

static void check_set(const struct set *set, const bool *plain, uint32_t from)
{
	uint32_t next = plain_next(plain, from, SET_SIZE), first = from / 2;
	uint32_t end = from + 1 + (SET_SIZE - from) / 2, within = plain_next(plain, from, end);

	assert_int_equal(set_next(set, from), next);
	assert_int_equal(set_has(set, from), plain[from]);
	assert_int_equal(set_is_empty(set), plain_next(plain, 0, SET_SIZE) == SET_NONE);
	if (plain_next(plain, first, end) != SET_NONE)
		assert_int_equal(set_next_around(set, from, first, end),
				 within != SET_NONE ? within : plain_next(plain, first, end));
}

static void set__is_a_set(void **state)
{
	static bool plain[SET_SIZE];
	struct random random = { 1 };
	struct set set = { 0 };

	(void)state;
	for (uint32_t step = 0; step < 100000; step++) {
		uint32_t number = (uint32_t)(random_next(&random) % SET_SIZE);
		// Ever fewer members at times, so that the set is sparse and empty.
		bool in = random_next(&random) % (step / 10000 % 2 ? 2 : 100) == 0;

		if (random_next(&random) % 8 == 0)
			number = SET_SIZE - 1;
		plain[number] = in;
		if (in)
			set_add(&set, number);
		else
			set_remove(&set, number);
		check_set(&set, plain, (uint32_t)(random_next(&random) % SET_SIZE));
	}
	for (uint32_t number = 0; number < SET_SIZE; number++)
		set_remove(&set, number);
	assert_true(set_is_empty(&set));
	for (uint32_t number = 0; number < SET_SIZE; number++)
		set_add(&set, number);
	for (uint32_t number = 0; number < SET_SIZE; number++) {
		assert_int_equal(set_next(&set, number), number);
		set_remove(&set, number);
		assert_int_equal(set_next(&set, number),
				 number + 1 < SET_SIZE ? number + 1 : SET_NONE);
	}
}

static void check_ranking(const struct ranking *ranking, const uint64_t *plain, uint32_t n)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < n; i++)
		if (plain[i] < plain[first])
			first = i;
	assert_true(ranking_least(ranking) == plain[first]);
	if (plain[first] != RANKING_OUT)
		assert_int_equal(ranking_first(ranking), first);
}

static void ranking__knows_the_smallest_key(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 64, 65, 1024, 4096 };
	static uint64_t nodes[2 * 4096], plain[4096];
	struct random random = { 2 };

	(void)state;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t n = sizes[i];
		struct ranking ranking;

		assert_in_range(ranking_leaves(n), n, 2 * n - 1);
		ranking_start(&ranking, nodes, n);
		memset(plain, 0xFF, sizeof(plain));
		for (uint32_t step = 0; step < 3000; step++) {
			uint32_t item = (uint32_t)(random_next(&random) % n);
			uint64_t key = random_next(&random) % 50; // equal keys are frequent

			if (random_next(&random) % 3 == 0)
				key = RANKING_OUT;
			plain[item] = key;
			ranking_put(&ranking, item, key);
			assert_true(ranking_key(&ranking, item) == key);
			check_ranking(&ranking, plain, n);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set__is_a_set),
		cmocka_unit_test(ranking__knows_the_smallest_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
