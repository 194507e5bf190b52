// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which bytes of a block have come. In order, that is one number, the prefix; what arrives ahead
// of it is kept as a sorted list of separate pieces, ranges, from a common pool.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RANGES_NONE 0u   // no list; also the pool's entry 0, which is never used
#define RANGES_MOST 256u // most ranges that a segment is compared with: bounds its work

struct range {
	uint32_t begin; // bytes, in the block
	uint32_t end;   // first byte behind it
	uint32_t next;  // index in the pool, RANGES_NONE at the end
};

struct range_pool {
	struct range *ranges;
	uint32_t free; // head of the free list
};

struct received {
	uint32_t prefix; // bytes that have come without a gap from the block's start
	uint32_t ranges; // first range; all begin behind prefix
};

enum range_result {
	RANGES_NEW,         // none of the bytes had come; they are noted now
	RANGES_DUPLICATE,   // all had come
	RANGES_OVERLAPPING, // some had come
	RANGES_FULL,        // too many ranges in front, or the pool is empty; nothing is noted
};

// n >= 1 ranges. False if memory ran out.
bool range_pool_make(struct range_pool *pool, uint32_t n);
void range_pool_free(struct range_pool *pool);

// Notes the bytes [begin, end), end > begin, of which some do not continue the prefix.
enum range_result ranges_insert(struct range_pool *pool, struct received *received, uint32_t begin,
				uint32_t end);

// Gives a list back to the pool.
void ranges_release(struct range_pool *pool, struct received *received);

// Notes the bytes [begin, end); in order without ranges, which is nearly always, it is one
// comparison and one addition.
static inline enum range_result received_insert(struct range_pool *pool, struct received *received,
						uint32_t begin, uint32_t end)
{
	if (__builtin_expect(begin == received->prefix && received->ranges == RANGES_NONE, 1)) {
		received->prefix = end;
		return RANGES_NEW;
	}
	return ranges_insert(pool, received, begin, end);
}
