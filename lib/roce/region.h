// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Memory that peers may write or read by RDMA. A region's rkey is its index in the upper 24 bits
// and a key in the lower 8, which changes each time that the region is registered or renewed: who
// holds an older one is refused.
//
// Threads: one, that of the queue pairs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGION_WRITE      1u // permissions
#define REGION_READ       2u
#define REGION_ANY_DOMAIN 0u
#define REGION_MOST       (1u << 24)

struct region {
	uint8_t *memory;  // NULL: not registered
	uint64_t address; // virtual address of its first byte, as peers name it
	uint64_t length;  // bytes
	uint32_t domain;  // queue pairs of this domain only, or REGION_ANY_DOMAIN
	uint8_t access;   // REGION_WRITE | REGION_READ
	uint8_t key;      // low byte of the rkey
	uint64_t user;    // the caller's
};

struct region_table {
	struct region *regions;
	uint32_t n;
	uint32_t *free; // stack of free indices
	uint32_t n_free;
};

// n >= 1, at most REGION_MOST. False if memory ran out.
bool region_table_create(struct region_table *table, uint32_t n);
void region_table_destroy(struct region_table *table);

// Registers memory and returns its rkey in *rkey. False if the table is
// full, or length is 0, or the range of addresses wraps. `key` of the region is not looked at.
bool region_register(struct region_table *table, const struct region *region, uint32_t *rkey);

// The same with an rkey of the caller's choice. False, too, if its index is beyond the table or
// taken.
bool region_register_as(struct region_table *table, const struct region *region, uint32_t rkey);

// Gives a registered region a new rkey, in *rkey: the old one is stale from now on (a slot that is
// granted again). False if the rkey is not valid.
bool region_renew(struct region_table *table, uint32_t *rkey);

// Ends a registration. False if the rkey is not valid.
bool region_remove(struct region_table *table, uint32_t rkey);

// The region that a valid rkey names; NULL otherwise.
static inline struct region *region_find(const struct region_table *table, uint32_t rkey)
{
	uint32_t index = rkey >> 8;
	struct region *region;

	if (index >= table->n)
		return NULL;
	region = &table->regions[index];
	return region->memory != NULL && region->key == (uint8_t)rkey ? region : NULL;
}

// Where `length` bytes at a virtual address lie, if the rkey is valid, all of the range is inside
// the region, and a queue pair of this domain has all of these permissions; else NULL. The sums do
// not overflow.
static inline uint8_t *region_at(const struct region_table *table, uint32_t rkey, uint32_t domain,
				 uint8_t access, uint64_t address, uint64_t length)
{
	const struct region *region = region_find(table, rkey);

	if (region == NULL || (region->access & access) != access ||
	    (region->domain != REGION_ANY_DOMAIN && region->domain != domain) ||
	    address < region->address || length > region->length ||
	    address - region->address > region->length - length)
		return NULL;
	return region->memory + (address - region->address);
}
