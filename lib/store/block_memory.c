// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "store/block_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "wire/wire.h"

#define UNIT         BLOCK_MEMORY_UNIT
#define REGIONS_MOST 256u // about
#define REGIONS_MANY 64u  // enough, so that regions have room for several of the largest blocks
#define REGION_LARGE 8u   // of the largest blocks

void block_memory_renew_level(struct block_memory *memory)
{
	static const uint64_t marks[BLOCK_MEMORY_MARKS] = { 250, 500, 750, 875 };
	unsigned n = 0, mark = 0;
	uint64_t level;

	for (unsigned i = 0; i < memory->n_regions; i++)
		n += !block_hold_is_free(&memory->regions[i]);
	level = 1000u * n / memory->n_regions;
	while (mark < BLOCK_MEMORY_MARKS && level >= marks[mark])
		if (++mark > memory->mark)
			counter_add(&memory->reached[mark - 1], 1);
	memory->mark = mark;
	__atomic_store_n(&memory->level, level, __ATOMIC_RELAXED);
}

// Continues in a region that is free. False if there is none.
static bool change_region(struct block_memory *memory)
{
	unsigned at = memory->current;

	if (memory->is_full)
		return false;
	for (unsigned i = 0; i < memory->n_regions; i++) {
		if (++at == memory->n_regions)
			at = 0;
		if (!block_hold_is_free(&memory->regions[at]))
			continue;
		memory->current = at;
		memory->used = 0;
		return true;
	}
	memory->is_full = true;
	return false;
}

uint32_t block_memory_take(struct block_memory *memory, uint32_t size)
{
	uint64_t rounded = round_up(size, UNIT), offset;
	bool is_first;

	if (memory->used + rounded > UINT64_C(1) << memory->shift && !change_region(memory))
		return 0;
	offset = ((uint64_t)memory->current << memory->shift) + memory->used;
	is_first = memory->used == 0;
	memory->used += rounded;
	memory->regions[memory->current].blocks++;
	if (is_first)
		block_memory_renew_level(memory);
	return (uint32_t)(offset / UNIT) + 1;
}

static void choose_regions(struct block_memory *memory, uint64_t size, uint64_t largest)
{
	uint64_t region = UNIT;

	memory->shift = (unsigned)__builtin_ctzll(UNIT);
	while (region < largest || size / region > REGIONS_MOST ||
	       (region < REGION_LARGE * largest && size / region > REGIONS_MANY)) {
		region *= 2;
		memory->shift++;
	}
	memory->n_regions = (unsigned)(size / region);
	memory->largest = (uint32_t)largest;
}

// The current region, and the one before it, may have less.
uint64_t block_memory_blocks(const struct block_memory *memory)
{
	uint64_t each = (UINT64_C(1) << memory->shift) / memory->largest;

	return memory->n_regions > 2 ? (memory->n_regions - 2) * each : 0;
}

struct block_memory_capacity block_memory_capacity(uint64_t size, uint32_t largest, uint64_t block)
{
	struct block_memory memory = { 0 };
	uint64_t room = round_up(block, UNIT), of_region;

	choose_regions(&memory, size, round_up(largest, UNIT));
	of_region = (UINT64_C(1) << memory.shift) / room;
	return (struct block_memory_capacity){
		.bytes = room,
		.blocks = (memory.n_regions - 1) * of_region + 1,
		.lag = of_region - 1,
	};
}

bool block_memory_make(struct block_memory *memory, uint8_t *bytes, uint64_t size, uint32_t largest)
{
	size_t regions;

	*memory = (struct block_memory){ .bytes = bytes };
	choose_regions(memory, size, round_up(largest, UNIT));
	regions = memory->n_regions * sizeof(*memory->regions);
	memory->regions = aligned_alloc(BLOCK_HOLD_LINE, regions);
	if (memory->regions != NULL)
		memset(memory->regions, 0, regions);
	return memory->regions != NULL;
}

void block_memory_free(struct block_memory *memory)
{
	free(memory->regions);
}
