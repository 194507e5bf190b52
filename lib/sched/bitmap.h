// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sets of small numbers as bitmaps in levels of 64: each bit of a level says whether a word of the
// level below has bits. The next member from any number on is found in a few steps, however few
// members there are.
//
// Threads: belongs to one thread.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sched/carver.h"

#define BITMAP_LEVELS 4u
#define BITMAP_MOST   (1u << 24)
#define BITMAP_NONE   UINT32_MAX

struct bitmap {
	uint64_t *words[BITMAP_LEVELS];
	uint32_t size;   // numbers are below, 1 to BITMAP_MOST
	uint32_t levels; // the last one is a single word
};

// Takes memory, all zero: an empty set.
static inline void bitmap_layout(struct bitmap *bitmap, struct carver *carver, uint32_t size)
{
	uint32_t n = size;

	bitmap->size = size;
	bitmap->levels = 0;
	do {
		n = (n + 63) / 64;
		bitmap->words[bitmap->levels++] = carve(carver, n, sizeof(uint64_t));
	} while (n > 1);
}

static inline bool bitmap_test(const struct bitmap *bitmap, uint32_t number)
{
	return bitmap->words[0][number / 64] >> (number % 64) & 1;
}

static inline bool bitmap_empty(const struct bitmap *bitmap)
{
	return bitmap->words[bitmap->levels - 1][0] == 0;
}

static inline void bitmap_set(struct bitmap *bitmap, uint32_t number)
{
	for (uint32_t level = 0; level < bitmap->levels; level++) {
		uint64_t *word = &bitmap->words[level][number / 64];
		uint64_t before = *word;

		*word = before | UINT64_C(1) << (number % 64);
		if (before != 0)
			return;
		number /= 64;
	}
}

// Of a number that is not in the set, too.
static inline void bitmap_clear(struct bitmap *bitmap, uint32_t number)
{
	for (uint32_t level = 0; level < bitmap->levels; level++) {
		uint64_t *word = &bitmap->words[level][number / 64];

		*word &= ~(UINT64_C(1) << (number % 64));
		if (*word != 0)
			return;
		number /= 64;
	}
}

// The first member at or after `from`, which is below size; BITMAP_NONE if there is none.
static inline uint32_t bitmap_next(const struct bitmap *bitmap, uint32_t from)
{
	uint32_t bits = bitmap->size;

	for (uint32_t level = 0; level < bitmap->levels && from < bits; level++) {
		uint64_t rest = bitmap->words[level][from / 64] >> (from % 64);

		if (rest != 0) {
			from += (uint32_t)__builtin_ctzll(rest);
			while (level-- > 0)
				from = from * 64 +
				       (uint32_t)__builtin_ctzll(bitmap->words[level][from]);
			return from;
		}
		from = from / 64 + 1;
		bits = (bits + 63) / 64;
	}
	return BITMAP_NONE;
}

// The same, going on from 0 after the last.
static inline uint32_t bitmap_next_around(const struct bitmap *bitmap, uint32_t from)
{
	uint32_t found = bitmap_next(bitmap, from);

	return found != BITMAP_NONE ? found : bitmap_next(bitmap, 0);
}

// The highest member of a set that is not empty.
static inline uint32_t bitmap_last(const struct bitmap *bitmap)
{
	uint32_t number = 0;

	for (uint32_t level = bitmap->levels; level-- > 0;)
		number = number * 64 + 63 - (uint32_t)__builtin_clzll(bitmap->words[level][number]);
	return number;
}
