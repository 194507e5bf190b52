// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Rooms for blocks in the memory of a store. Rooms lie one after the other in regions; a region is
// used again when the store has no block in it and no packet points into it. Regions are far larger
// than most blocks, so that little is lost at their ends, and few enough to look at them all.
//
// Thread: the role's lcore, except for make and free; any thread may read the level.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/block_hold.h"

#define BLOCK_MEMORY_MARKS 4u
#define BLOCK_MEMORY_UNIT  64u // bytes; rooms are multiples, so that copies are aligned

struct block_memory {
	uint8_t *bytes;
	struct block_hold *regions; // [n_regions]
	unsigned n_regions;
	unsigned shift;                       // log2 of the bytes of a region
	uint32_t largest;                     // bytes of the largest room
	unsigned current;                     // region that gets new rooms
	uint64_t used;                        // bytes of it
	bool is_full;                         // no region was free since block_memory_look_again()
	unsigned mark;                        // marks that the level has reached
	uint64_t level;                       // used regions in 1/1000
	uint64_t reached[BLOCK_MEMORY_MARKS]; // times that the level rose to 250, 500, 750 and 875
};

// `bytes` is aligned to a unit, of `size` bytes, at least 8 of the largest rooms, at most 256 GiB.
// Control thread. False if memory ran out.
bool block_memory_make(struct block_memory *memory, uint8_t *bytes, uint64_t size,
		       uint32_t largest);
void block_memory_free(struct block_memory *memory);

// How many rooms for blocks of one length are in such a memory at any time: the oldest region may
// hold one block only. `lag`: blocks that nobody needs and that still have their memory, at most.
// With k = region / round_up(block, 64):
//
//   lag    = k - 1
//   blocks = (regions - 1) * k + 1
//
// Thread: any.
struct block_memory_capacity {
	uint64_t bytes; // of a room
	uint64_t blocks;
	uint64_t lag;
};
struct block_memory_capacity block_memory_capacity(uint64_t size, uint32_t largest, uint64_t block);

// Blocks of the largest size for which there is room at least. If events are released in order, and
// those that have begun and are not released have at most half as many blocks, the memory is never
// full: a region lives on while as many events are released as may be in it.
uint64_t block_memory_blocks(const struct block_memory *memory);

// A room, which the store's blocks in the hold of its region count; 0: the memory is full.
uint32_t block_memory_take(struct block_memory *memory, uint32_t size);

// Regions may have become free. Until then a full memory is not searched again.
static inline void block_memory_look_again(struct block_memory *memory)
{
	memory->is_full = false;
}

// Counts the used regions. The level rises only by block_memory_take(), which does it, too.
void block_memory_renew_level(struct block_memory *memory);

static inline uint8_t *block_memory_room(const struct block_memory *memory, uint32_t room)
{
	return memory->bytes + (uint64_t)(room - 1) * BLOCK_MEMORY_UNIT;
}

static inline struct block_hold *block_memory_hold(const struct block_memory *memory, uint32_t room)
{
	return &memory->regions[(uint64_t)(room - 1) * BLOCK_MEMORY_UNIT >> memory->shift];
}
