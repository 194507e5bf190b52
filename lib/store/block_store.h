// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A block store holds the blocks of the sources of one generator, by event index and source. A
// filler puts the blocks in: it makes them before the run, reads a file, or takes them from another
// process. A role sends them: it asks which events are ready, finds each block once, and releases
// the events that it does not need any more. The role does not know the filler.
//
// Event index e stands for the event id first_event + e * packing, where first_event is a parameter
// of the role. The role writes the event id into the header of each block that it sends.
//
// An event is ready when the store knows of each source whether it has the block. A block that did
// not come in time is missing: an MFP with the error type FragmentMissing stands in its place, and
// the builder treats the source as events.on_incomplete requires. Sources may run out of step by as
// much as the store holds. A full store holds its filler back.
//
// Memory: blocks lie where the filler put them, and packets point there. A block whose memory is
// used again has a hold, which counts these packets (block_hold.h). The filler overwrites the
// memory only when the events are released and the hold is free.
//
// Threads: a store is made and freed by the control thread; between that, all functions belong to
// the lcore of the role. A filler with a thread of its own says so in its header. Other threads may
// read the counters.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/block_hold.h"

struct store_block {
	const uint8_t *bytes;
	uint32_t size;           // bytes; 0: nothing is sent for the source
	bool is_missing;         // an error MFP, or nothing, in the place of the block
	bool is_temporary;       // valid until another block is requested: it must be copied
	bool is_repeated;        // it may have been sent before, as that of another event
	struct block_hold *hold; // of the memory; NULL: the memory outlives all packets
};

// A segment of a block.
struct packet_segment {
	uint64_t event;  // index
	unsigned source; // index into the store
	uint32_t offset; // in the block
};

struct block_store;

// What a filler implements. NULL: the filler does not need it.
struct block_store_operations {
	// The block of an event that is ready and not released; otherwise a block of size 0.
	struct store_block (*find)(struct block_store *store, uint64_t event, unsigned source);
	// Starts with event `first`: all that the store holds of earlier events is dropped, and
	// `ready` becomes `first`. A run begins.
	void (*begin)(struct block_store *store, uint64_t first);
	// Takes what the filler has brought, and gives memory back: a bounded piece of work. `now`
	// is in TSC cycles.
	void (*poll)(struct block_store *store, uint64_t now);
	// May make a short system call. To be called as roles call their housekeeping.
	void (*housekeep)(struct block_store *store);
	// Events below `event` are not requested again.
	void (*release)(struct block_store *store, uint64_t event);
	// The next `n` events without an index get the indices from `event` on, of a store with
	// `is_shared`.
	void (*assign)(struct block_store *store, uint64_t event, uint64_t n);
	// Nobody publishes the event, which is not released yet: the store may offer its block
	// again, for another event. `repeated`: somebody may have published it, nevertheless.
	void (*unpublished)(struct block_store *store, uint64_t event, bool repeated);
	void (*destroy)(struct block_store *store);
};

// Written by the role's lcore, read by telemetry.
struct block_store_counters {
	uint64_t missing; // blocks that were not there when their event became ready
	uint64_t late;    // blocks that came later, or a second time; not sent
	uint64_t unknown; // blocks whose event id is that of no event; not sent
	uint64_t events;  // held now: ready or begun, and not released
	// Built events that the next stage discarded: each time that one was offered again, and
	// those that were not any more.
	uint64_t again, given_up;
};

struct block_store {
	const struct block_store_operations *operations;
	const uint16_t *ids; // [n_sources], ascending
	unsigned n_sources;
	uint32_t packing;  // events per MFP
	uint32_t largest;  // bytes; no block is larger
	uint64_t capacity; // events that it can hold; UINT64_MAX: no limit
	uint64_t ready;    // events below are ready
	uint64_t end;      // there are no events from this one on; UINT64_MAX: not known
	uint64_t released; // events below are released
	// The source has events of other stores, too, on other nodes. `offered` events have come in
	// this run, and get their indices by block_store_assign(); `ready` is not used. If `end` is
	// known, no more will come.
	bool is_shared;
	uint64_t offered;
	// Its blocks outlive the process: those that are not released are in it, or still to come.
	// While `is_inheriting`, it has not yet taken all that the last process had taken.
	// `resumes_at` is the oldest event that the last process has not released; UINT64_MAX: not
	// known, or there was none.
	bool resumes, is_inheriting;
	uint64_t resumes_at;
	struct block_store_counters counters;
};

static inline struct store_block block_store_find(struct block_store *store, uint64_t event,
						  unsigned source)
{
	return store->operations->find(store, event, source);
}

static inline void block_store_begin(struct block_store *store, uint64_t first)
{
	if (store->operations->begin != NULL)
		store->operations->begin(store, first);
}

static inline void block_store_poll(struct block_store *store, uint64_t now)
{
	if (store->operations->poll != NULL)
		store->operations->poll(store, now);
}

static inline void block_store_housekeep(struct block_store *store)
{
	if (store->operations->housekeep != NULL)
		store->operations->housekeep(store);
}

static inline void block_store_release(struct block_store *store, uint64_t event)
{
	if (store->operations->release != NULL)
		store->operations->release(store, event);
}

static inline void block_store_assign(struct block_store *store, uint64_t event, uint64_t n)
{
	if (store->operations->assign != NULL)
		store->operations->assign(store, event, n);
}

static inline void block_store_unpublished(struct block_store *store, uint64_t event, bool repeated)
{
	if (store->operations->unpublished != NULL)
		store->operations->unpublished(store, event, repeated);
}

// NULL is allowed. No packet may point into the blocks any more.
static inline void block_store_destroy(struct block_store *store)
{
	if (store != NULL)
		store->operations->destroy(store);
}
