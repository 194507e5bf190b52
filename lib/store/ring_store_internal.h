// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The state that ring_store.c (the store) and ring_register.c (DPDK) share.
#pragma once

#include "producer/producer_ring.h"
#include "store/block_window.h"
#include "store/ring_store.h"

#define TAKEN_MOST    32u  // blocks in one poll
#define REGIONS       256u // a power of two
#define REGION_BLOCKS 256u // at most
#define PARTS         64u  // of the ring: a region has no more bytes than one

// Blocks that follow each other in the ring, and are released together.
struct region {
	struct block_hold hold;
	uint32_t n;
	uint64_t bytes;
	uint64_t sequences[REGION_BLOCKS];
};

struct ring_store {
	struct block_window window;
	struct producer_ring *ring;
	struct ring_store_parameters parameters;
	struct region *regions; // [REGIONS]: those from `oldest` to `current` have blocks
	uint64_t oldest, current;
	struct producer_block taken[TAKEN_MOST]; // from the ring
	unsigned n_taken, n_put;
	bool has_begun;
	bool is_discarded; // ring_store_discard()
	struct ring_store_fill fill;
	// Makes DPDK forget the memory of the ring; NULL: DPDK does not know it.
	void (*unregister)(const struct ring_store *store);
};

static inline struct ring_store *ring_store_of(struct block_store *store)
{
	return (struct ring_store *)store;
}
