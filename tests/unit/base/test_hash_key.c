// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Numbers that a remote host could choose to make one long chain.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash_key.h"

#define NUMBERS 16384u
#define BUCKETS (2 * NUMBERS)
#define LONGEST 24u // numbers; random ones make a chain of 13 once in 10^6 tables

static unsigned longest_chain(const struct hash_key *key, uint64_t first, uint64_t step)
{
	static uint16_t chains[BUCKETS];
	unsigned longest = 0;

	memset(chains, 0, sizeof(chains));
	for (uint64_t i = 0; i < NUMBERS; i++) {
		unsigned length = ++chains[hash_number(key, first + i * step) & (BUCKETS - 1)];

		longest = length > longest ? length : longest;
	}
	return longest;
}

static void numbers__in_steps_are_spread(void **state)
{
	static const uint64_t firsts[] = { 0, 12345, UINT64_C(0xFFFFFFFF00000000) };

	(void)state;
	for (unsigned draw = 0; draw < 8; draw++) {
		struct hash_key key = hash_key_draw();

		for (unsigned bit = 0; bit < 50; bit++)
			for (unsigned i = 0; i < 3; i++)
				assert_in_range(longest_chain(&key, firsts[i], UINT64_C(1) << bit),
						1, LONGEST);
	}
}

static void keys__differ(void **state)
{
	struct hash_key one = hash_key_draw(), other = hash_key_draw();

	(void)state;
	assert_int_not_equal(one.mask, other.mask);
	assert_int_not_equal(one.multiplier, other.multiplier);
	assert_int_equal(one.multiplier & other.multiplier & 1, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers__in_steps_are_spread),
		cmocka_unit_test(keys__differ),
	};

	return cmocka_run_group_tests_name("hash_key", tests, NULL, NULL);
}
