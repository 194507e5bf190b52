// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "block/ranges.h"

#include <stdlib.h>

bool range_pool_make(struct range_pool *pool, uint32_t n, uint32_t n_owners)
{
	pool->ranges = calloc((size_t)n + 1, sizeof(*pool->ranges));
	if (pool->ranges == NULL)
		return false;
	for (uint32_t i = 1; i < n; i++)
		pool->ranges[i].next = i + 1;
	pool->free = 1;
	pool->n_free = n;
	pool->share = n / n_owners;
	return true;
}

void range_pool_free(struct range_pool *pool)
{
	free(pool->ranges);
	pool->ranges = NULL;
}

static void give_back(struct range_pool *pool, uint32_t *used, uint32_t range)
{
	pool->ranges[range].next = pool->free;
	pool->free = range;
	pool->n_free++;
	--*used;
}

// If the first range begins at the end of the prefix, makes it part of the prefix.
static void absorb_first(struct range_pool *pool, struct received *received, uint32_t *used)
{
	uint32_t first = received->ranges;

	if (first == RANGES_NONE || pool->ranges[first].begin != received->prefix)
		return;
	received->prefix = pool->ranges[first].end;
	received->ranges = pool->ranges[first].next;
	give_back(pool, used, first);
}

// Adds the bytes [begin, end), which lie in the gap between the range `before` and the range
// `after`. RANGES_NONE as `before` stands for the prefix.
static enum range_result fill_gap(struct range_pool *pool, struct received *received,
				  uint32_t *used, uint32_t before, uint32_t after, uint32_t begin,
				  uint32_t end)
{
	struct range *ranges = pool->ranges;
	bool touches_after = after != RANGES_NONE && ranges[after].begin == end;
	uint32_t fresh;

	if (before == RANGES_NONE && begin == received->prefix) {
		received->prefix = end;
		absorb_first(pool, received, used);
		return RANGES_NEW;
	}
	if (before != RANGES_NONE && ranges[before].end == begin) {
		ranges[before].end = end;
		if (touches_after) {
			ranges[before].end = ranges[after].end;
			ranges[before].next = ranges[after].next;
			give_back(pool, used, after);
		}
		return RANGES_NEW;
	}
	if (touches_after) {
		ranges[after].begin = begin;
		return RANGES_NEW;
	}
	fresh = pool->free;
	if (fresh == RANGES_NONE || (*used >= pool->share && *used >= pool->n_free))
		return RANGES_FULL;
	pool->free = ranges[fresh].next;
	pool->n_free--;
	++*used;
	ranges[fresh] = (struct range){ .begin = begin, .end = end, .next = after };
	if (before == RANGES_NONE)
		received->ranges = fresh;
	else
		ranges[before].next = fresh;
	return RANGES_NEW;
}

enum range_result ranges_insert(struct range_pool *pool, struct received *received, uint32_t *used,
				uint32_t begin, uint32_t end)
{
	const struct range *ranges = pool->ranges;
	uint32_t before = RANGES_NONE, at = received->ranges, steps = 0;

	if (end <= received->prefix)
		return RANGES_DUPLICATE;
	if (begin < received->prefix)
		return RANGES_OVERLAPPING;
	while (at != RANGES_NONE && ranges[at].end <= begin) {
		if (++steps == RANGES_MOST)
			return RANGES_FULL;
		before = at;
		at = ranges[at].next;
	}
	if (at == RANGES_NONE || end <= ranges[at].begin)
		return fill_gap(pool, received, used, before, at, begin, end);
	return begin >= ranges[at].begin && end <= ranges[at].end ? RANGES_DUPLICATE
								  : RANGES_OVERLAPPING;
}

void ranges_release(struct range_pool *pool, struct received *received, uint32_t *used)
{
	while (received->ranges != RANGES_NONE) {
		uint32_t first = received->ranges;

		received->ranges = pool->ranges[first].next;
		give_back(pool, used, first);
	}
}
