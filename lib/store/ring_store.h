// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The store of a producer ring (producer/producer_ring.h): another process fills it with blocks
// during the run. Blocks are sent from where they lie in the shared memory.
//
// Event id first_event + e * packing is event index e; a block with another event id is counted and
// not sent. Blocks are released to the ring in its order. An event for which blocks are missing
// becomes ready when a deadline has passed since all events before it are released: while the store
// holds events, the producer may be waiting for room.
//
// The store ends when the producer has finished. The ring is then removed, as is a ring that no
// producer has ever opened; otherwise it stays, with all blocks that were not released, for the
// next process of the appliance, whose store resumes (struct block_store).
#pragma once

#include "producer/producer_ring.h"
#include "store/block_store.h"

struct ring_store_parameters {
	// The sources are ascending, and outlive the store. The store sets the packing.
	struct producer_ring_parameters ring;
	uint32_t packing;
	uint64_t first_event; // event id of event index 0
	bool mfps;            // an error MFP stands in the place of a missing block; else nothing
	uint64_t deadline_cycles; // in the unit of the times that the store gets
};

// How many blocks of one length fit into a ring.
//
// Blocks are released to the ring in groups, so that up to `lag` blocks that nobody needs still
// have their memory; and a block does not wrap around the end of the ring. With room for r =
// producer_room_of(block) bytes each:
//
//   lag    = min(256, max(1, size / 64 / block)) - 1
//   blocks = min(size / r, descriptors) - 1 - lag
//   ready  = min(blocks, 255 * (lag + 1)): what the store takes ahead; the rest waits in the ring
//
// Thread: any.
struct ring_store_room {
	uint64_t bytes; // r
	uint64_t most;  // blocks of any length: descriptors - 1
	uint64_t blocks;
	uint64_t ready;
	uint64_t lag;
};
struct ring_store_room ring_store_room(uint64_t size, uint32_t blocks, uint64_t block);

// Bytes that the store allocates beside its ring.
uint64_t ring_store_memory(unsigned n_sources);

// Control thread. NULL with errno and one line in error[EVRING_ERROR_SIZE].
struct block_store *ring_store_create(const struct ring_store_parameters *parameters, char *error);

// The event of the block that the store takes next. False if there is none. The role's lcore.
bool ring_store_next(struct block_store *store, uint64_t *event);

// Whether the producer has finished, and the store has all its blocks. The role's lcore.
bool ring_store_is_finished(const struct block_store *store);

// Tells the producer that nothing is taken any more. Control thread.
void ring_store_end(struct block_store *store);

// The ring is removed with the store, whatever is in it: its producer opens the next ring. Control
// thread.
void ring_store_discard(struct block_store *store);

// Registers the ring's memory with DPDK and with a device that sends from it. Control thread. False
// if DPDK or the device refuses it, with rte_errno.
bool ring_store_register(struct block_store *store, uint16_t port_id);

// Blocks that the last process of the appliance left in the ring.
uint64_t ring_store_inherited(const struct block_store *store);

// Written by the role's lcore, as it calls its housekeeping.
struct ring_store_fill {
	uint64_t size;    // bytes of room; constant
	uint64_t used;    // bytes, committed and not released
	uint64_t highest; // of `used` since the store was made
};

// NULL if the store is not one of a ring. Any thread.
const struct ring_store_fill *ring_store_fill(const struct block_store *store);

// Looks after the ring, about 10 times per second, and sets *pid to the attached producer, 0 if
// there is none. Control thread. False if the ring's file was truncated: nothing comes any more.
bool ring_store_watch(struct block_store *store, uint32_t *pid);
