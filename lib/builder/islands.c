// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "builder/islands.h"

#include <stdlib.h>

bool island_pool_make(struct island_pool *pool, uint32_t n)
{
	pool->islands = calloc((size_t)n + 1, sizeof(*pool->islands));
	if (pool->islands == NULL)
		return false;
	for (uint32_t i = 1; i < n; i++)
		pool->islands[i].next = i + 1;
	pool->free = 1;
	return true;
}

void island_pool_free(struct island_pool *pool)
{
	free(pool->islands);
	pool->islands = NULL;
}

static void give_back(struct island_pool *pool, uint32_t island)
{
	pool->islands[island].next = pool->free;
	pool->free = island;
}

// The first island has come to touch the prefix: it becomes part of it.
static void absorb_first(struct island_pool *pool, struct received *received)
{
	uint32_t first = received->islands;

	if (first == ISLANDS_NONE || pool->islands[first].begin != received->prefix)
		return;
	received->prefix = pool->islands[first].end;
	received->islands = pool->islands[first].next;
	give_back(pool, first);
}

// Bytes in the gap between the islands *link of `before` (or the prefix) and `after`.
static enum island_result fill_gap(struct island_pool *pool, struct received *received,
				   uint32_t before, uint32_t after, uint32_t begin, uint32_t end)
{
	struct island *islands = pool->islands;
	bool touches_after = after != ISLANDS_NONE && islands[after].begin == end;
	uint32_t fresh;

	if (before == ISLANDS_NONE && begin == received->prefix) {
		received->prefix = end;
		absorb_first(pool, received);
		return ISLANDS_NEW;
	}
	if (before != ISLANDS_NONE && islands[before].end == begin) {
		islands[before].end = end;
		if (touches_after) {
			islands[before].end = islands[after].end;
			islands[before].next = islands[after].next;
			give_back(pool, after);
		}
		return ISLANDS_NEW;
	}
	if (touches_after) {
		islands[after].begin = begin;
		return ISLANDS_NEW;
	}
	fresh = pool->free;
	if (fresh == ISLANDS_NONE)
		return ISLANDS_FULL;
	pool->free = islands[fresh].next;
	islands[fresh] = (struct island){ .begin = begin, .end = end, .next = after };
	if (before == ISLANDS_NONE)
		received->islands = fresh;
	else
		islands[before].next = fresh;
	return ISLANDS_NEW;
}

enum island_result islands_insert(struct island_pool *pool, struct received *received,
				  uint32_t begin, uint32_t end)
{
	const struct island *islands = pool->islands;
	uint32_t before = ISLANDS_NONE, at = received->islands, steps = 0;

	if (end <= received->prefix)
		return ISLANDS_DUPLICATE;
	if (begin < received->prefix)
		return ISLANDS_OVERLAPPING;
	while (at != ISLANDS_NONE && islands[at].end <= begin) {
		if (++steps == ISLANDS_MOST)
			return ISLANDS_FULL;
		before = at;
		at = islands[at].next;
	}
	if (at == ISLANDS_NONE || end <= islands[at].begin)
		return fill_gap(pool, received, before, at, begin, end);
	return begin >= islands[at].begin && end <= islands[at].end ? ISLANDS_DUPLICATE
								    : ISLANDS_OVERLAPPING;
}

void islands_release(struct island_pool *pool, struct received *received)
{
	while (received->islands != ISLANDS_NONE) {
		uint32_t first = received->islands;

		received->islands = pool->islands[first].next;
		give_back(pool, first);
	}
}
