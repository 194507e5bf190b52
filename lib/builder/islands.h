// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which bytes of a block have come. In order, that is one number, the prefix; what arrives ahead
// of it is kept as a sorted list of separate pieces, islands, from a common pool.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define ISLANDS_NONE 0u   // no list; also the pool's entry 0, which is never used
#define ISLANDS_MOST 256u // most islands that a segment is compared with: bounds its work

struct island {
	uint32_t begin; // bytes, in the block
	uint32_t end;   // first byte behind it
	uint32_t next;  // index in the pool, ISLANDS_NONE at the end
};

struct island_pool {
	struct island *islands;
	uint32_t free; // head of the free list
};

struct received {
	uint32_t prefix;  // bytes that have come without a gap from the block's start
	uint32_t islands; // first island; all begin behind prefix
};

enum island_result {
	ISLANDS_NEW,         // none of the bytes had come; they are noted now
	ISLANDS_DUPLICATE,   // all had come
	ISLANDS_OVERLAPPING, // some had come
	ISLANDS_FULL,        // too many islands in front, or the pool is empty; nothing is noted
};

// n >= 1 islands. False if memory ran out.
bool island_pool_make(struct island_pool *pool, uint32_t n);
void island_pool_free(struct island_pool *pool);

// Notes the bytes [begin, end), end > begin, of which some do not continue the prefix.
enum island_result islands_insert(struct island_pool *pool, struct received *received,
				  uint32_t begin, uint32_t end);

// Gives a list back to the pool.
void islands_release(struct island_pool *pool, struct received *received);

// Notes the bytes [begin, end); in order without islands, which is nearly always, it is one
// comparison and one addition.
static inline enum island_result received_insert(struct island_pool *pool,
						 struct received *received, uint32_t begin,
						 uint32_t end)
{
	if (__builtin_expect(begin == received->prefix && received->islands == ISLANDS_NONE, 1)) {
		received->prefix = end;
		return ISLANDS_NEW;
	}
	return islands_insert(pool, received, begin, end);
}
