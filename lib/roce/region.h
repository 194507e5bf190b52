// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Memory that peers may write or read by RDMA.
//
// Thread: the one that owns the queue pairs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGION_WRITE 1u // permissions
#define REGION_READ  2u

// address + length does not wrap.
struct region {
	uint8_t *memory;  // NULL: the region does not exist
	uint64_t address; // virtual address of the first byte, as peers name it
	uint64_t length;  // bytes
	uint32_t rkey;
	uint8_t access; // REGION_WRITE | REGION_READ
};

// The caller owns the regions, and may change them between two calls.
struct region_table {
	struct region *regions; // [n]: few, because all are searched
	uint32_t n;
};

// The region that an rkey names; NULL if the rkey is not valid.
static inline struct region *region_find(const struct region_table *table, uint32_t rkey)
{
	for (uint32_t i = 0; i < table->n; i++)
		if (table->regions[i].rkey == rkey && table->regions[i].memory != NULL)
			return &table->regions[i];
	return NULL;
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
