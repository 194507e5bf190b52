// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sets of numbers below SET_SIZE: one bit per number, and a summary with one bit per word that is
// not zero. All operations take constant time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SET_SIZE 1024u
#define SET_NONE UINT32_MAX

// A set whose bytes are all zero is empty.
struct set {
	uint64_t summary;
	uint64_t words[SET_SIZE / 64];
};

static inline bool set_is_empty(const struct set *set)
{
	return set->summary == 0;
}

static inline bool set_has(const struct set *set, uint32_t number)
{
	return set->words[number / 64] >> (number % 64) & 1;
}

static inline void set_add(struct set *set, uint32_t number)
{
	set->words[number / 64] |= UINT64_C(1) << (number % 64);
	set->summary |= UINT64_C(1) << (number / 64);
}

// The number need not be in the set.
static inline void set_remove(struct set *set, uint32_t number)
{
	uint64_t *word = &set->words[number / 64];

	*word &= ~(UINT64_C(1) << (number % 64));
	if (*word == 0)
		set->summary &= ~(UINT64_C(1) << (number / 64));
}

// The first member at or after `from`; SET_NONE if there is none.
static inline uint32_t set_next(const struct set *set, uint32_t from)
{
	uint32_t word = from / 64;
	uint64_t rest = set->words[word] >> (from % 64);

	if (rest != 0)
		return from + (uint32_t)__builtin_ctzll(rest);
	rest = set->summary >> word >> 1;
	if (rest == 0)
		return SET_NONE;
	word += 1 + (uint32_t)__builtin_ctzll(rest);
	return word * 64 + (uint32_t)__builtin_ctzll(set->words[word]);
}

// The first member at or after `from` among the numbers from `first` to end - 1; if there is none,
// the first of all of these. At least one of them is a member.
static inline uint32_t set_next_around(const struct set *set, uint32_t from, uint32_t first,
				       uint32_t end)
{
	uint32_t found = set_next(set, from);

	return found < end ? found : set_next(set, first);
}
