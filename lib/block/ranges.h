// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Records which bytes of a block have arrived. The bytes from the start of the block up to the
// first gap are one number, the prefix. The bytes behind that gap are a sorted list of separate
// ranges, which are allocated from a common pool. The owners of blocks (the sources) share the
// pool: an owner gets no further range if it has both its even share and as many ranges as are
// free. So one owner gets at most half of the pool, and the whole pool if it is the only one.
//
// Threads: one per pool.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RANGES_NONE 0u   // no range; entry 0 of the pool is never used
#define RANGES_MOST 256u // most ranges with which one segment is compared: bounds its work

struct range {
	uint32_t begin; // offset of the first byte in the block
	uint32_t end;   // offset behind the last byte
	uint32_t next;  // index in the pool, RANGES_NONE at the end of the list
};

struct range_pool {
	struct range *ranges;
	uint32_t free;   // first range of the list of free ranges
	uint32_t n_free; // ranges
	uint32_t share;  // ranges that each owner may have while some are free
};

struct received {
	uint32_t prefix; // bytes that have arrived from the block's start without a gap
	uint32_t ranges; // first range; all ranges begin behind the prefix
};

enum range_result {
	RANGES_NEW,         // none of the bytes had arrived; they are recorded now
	RANGES_DUPLICATE,   // all bytes had arrived
	RANGES_OVERLAPPING, // some bytes had arrived; nothing is recorded
	RANGES_FULL, // too many ranges precede it, or the owner's share is used up; nothing is
		     // recorded
};

// Makes a pool of n >= 1 ranges for n_owners >= 1. Returns false if memory ran out.
bool range_pool_make(struct range_pool *pool, uint32_t n, uint32_t n_owners);
void range_pool_free(struct range_pool *pool);

// Records the bytes [begin, end), end > begin. *used is the number of ranges that the block's owner
// has; all functions update it. The caller may extend the prefix of a block without ranges itself
// (block/part.h).
enum range_result ranges_insert(struct range_pool *pool, struct received *received, uint32_t *used,
				uint32_t begin, uint32_t end);

// Returns all ranges of a block to the pool.
void ranges_release(struct range_pool *pool, struct received *received, uint32_t *used);
