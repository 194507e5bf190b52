// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The events of a store whose blocks come during the run: a window of consecutive events, which
// moves when events are released. Fillers have it as the first member of their store and put
// blocks into it; it finds and releases them.
//
// The blocks of most sources come in ascending order of events. Therefore a source that skips an
// event does not have it, and the store need not wait. An event is ready when each source has put
// its block, or a block of a later event, or when the filler gives up waiting. Of a source whose
// blocks come in any order, a block says nothing about earlier events.
//
// Thread: the role's lcore, except for block_window_make() and block_window_free().
#pragma once

#include "store/block_store.h"

struct block_window_parameters {
	const uint16_t *ids; // [n_sources], ascending; outlive the window
	unsigned n_sources;
	uint32_t packing;
	uint32_t largest;  // bytes of the largest block
	uint64_t capacity; // events, a power of two
	bool mfps;         // an error MFP stands in the place of a missing block; else nothing
};

struct window_block {
	const uint8_t *bytes; // NULL: the source has not put it
	uint32_t size;
	struct block_hold *hold;
};

struct window_event {
	uint32_t n_decided; // sources of which it is known whether they have the event
	uint32_t n_present; // sources that have put their blocks
};

struct block_window {
	struct block_store store;
	struct block_window_parameters parameters;
	uint64_t mask;               // capacity - 1
	struct window_event *events; // [capacity]
	struct window_block *blocks; // [capacity][n_sources]
	uint64_t *next;              // [n_sources]: the source puts no event below any more
	uint64_t newest;             // first event without any sign
	uint64_t idle_since;         // TSC: only incomplete events are left; 0: this is not so
	uint64_t idle_newest;        // `newest` at that time
	uint8_t *error_mfp;          // of the block that was found last
};

enum window_put {
	WINDOW_TAKEN, // the window has the block, and its hold counts it
	WINDOW_FULL,  // the event is too far ahead: put the block again when events were released
	WINDOW_LATE,  // the event is ready, or the source has put a later one; counted, not taken
};

// The capacity that fillers use, for sources that are out of step: 16384 events, and fewer, but at
// least 1024, where all sources together would have more than 2^20 blocks.
uint64_t block_window_capacity(unsigned n_sources);

// Bytes that block_window_make() allocates with this capacity.
uint64_t block_window_memory(unsigned n_sources);

// False if memory ran out; call block_window_free() even then.
bool block_window_make(struct block_window *window,
		       const struct block_window_parameters *parameters);
void block_window_free(struct block_window *window);

// The bytes stay valid until the hold is free.
enum window_put block_window_put(struct block_window *window, uint64_t event, unsigned source,
				 const struct window_block *block);

// The same for a source whose blocks come in any order, which must not use the function above. A
// second block of an event is late. After WINDOW_FULL the filler gives up waiting by
// block_window_expire(), and puts the block again.
enum window_put block_window_put_unordered(struct block_window *window, uint64_t event,
					   unsigned source, const struct window_block *block);

// Makes the event ready for which the store waits, if there is one, without the blocks that it
// lacks.
void block_window_give_up(struct block_window *window);

// Makes the events ready that have had a sign for the deadline, if the window has had nothing else
// for that time. Both times are in TSC cycles. With `only_gap` only the events before the first one
// that has a block: for sources that may send the next ones only when these are released.
void block_window_expire(struct block_window *window, uint64_t now, uint64_t deadline,
			 bool only_gap);

// There are no events from `event` on: what has not come below it is missing. To be called again as
// long as `ready` is below the event.
void block_window_end(struct block_window *window, uint64_t event);

// For the operations of a store whose first member is a window.
struct store_block block_window_find(struct block_store *store, uint64_t event, unsigned source);
void block_window_release(struct block_store *store, uint64_t event);
// Drops all blocks; the next event is `first`.
void block_window_begin(struct block_store *store, uint64_t first);
