// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Memory that peers may write or read by RDMA. The upper 24 bits of an rkey are the index of the
// region in its table, the lower 8 bits are the key of the region.
//
// Thread: the one that owns the queue pairs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGION_WRITE 1u // permissions
#define REGION_READ  2u
#define REGION_MOST  (1u << 24)

struct region {
	uint8_t *memory;  // NULL: no region is registered at this index
	uint64_t address; // virtual address of the first byte, as peers name it
	uint64_t length;  // bytes
	uint8_t access;   // REGION_WRITE | REGION_READ
	uint8_t key;      // low byte of the rkey
};

struct region_table {
	struct region *regions; // [n]
	uint32_t n;
};

// 1 <= n <= REGION_MOST. False if memory ran out.
bool region_table_create(struct region_table *table, uint32_t n);
void region_table_destroy(struct region_table *table);

// Registers memory under an rkey; region->key is ignored. False if the index of the rkey is beyond
// the table or in use, the length is 0, or the range of addresses wraps.
bool region_register(struct region_table *table, const struct region *region, uint32_t rkey);

// The region that an rkey names; NULL if the rkey is not valid.
static inline struct region *region_find(const struct region_table *table, uint32_t rkey)
{
	uint32_t index = rkey >> 8;
	struct region *region;

	if (index >= table->n)
		return NULL;
	region = &table->regions[index];
	return region->memory != NULL && region->key == (uint8_t)rkey ? region : NULL;
}

// The memory behind `length` bytes at a virtual address. NULL unless the rkey is valid, the region
// has all permissions of `access`, and it contains the whole range. The sums do not overflow.
static inline uint8_t *region_at(const struct region_table *table, uint32_t rkey, uint8_t access,
				 uint64_t address, uint64_t length)
{
	const struct region *region = region_find(table, rkey);

	if (region == NULL || (region->access & access) != access || address < region->address ||
	    length > region->length || address - region->address > region->length - length)
		return NULL;
	return region->memory + (address - region->address);
}
