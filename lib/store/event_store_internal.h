// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The state that the files of the store of built events share: event_store.c (events get indices in
// the order in which they come), event_store_by_id.c (by their ids) and event_store_rings.c (the
// rings).
#pragma once

#include <stdatomic.h>

#include "base/limits.h"
#include "evring/evb_reader.h"
#include "evring/reader_watch.h"
#include "store/block_window.h"
#include "store/event_store.h"

#define EVENT_STORE_TAKEN_MOST 32u // events in one poll

// An event in its slot.
struct held_event {
	struct block_hold hold;  // first
	uint64_t index;          // in order of arrival: ascending
	bool is_repeated;        // it may have been sent before
	bool is_unpublished;     // under this index
	bool is_held;            // by id: taken, and not released by the role
	uint8_t again;           // times that it was offered again
	struct held_event *next; // by id: in the list in which it is
	struct evb_event event;
};

// Of one ring.
struct ring_slots {
	uint32_t n;
	uint32_t held; // by this store
};

// Who may use the reader.
enum owner { OWNER_CONTROL, OWNER_LCORE };

struct event_store {
	struct block_window window; // by id; in order of arrival only window.store is used
	struct event_store_parameters parameters;
	struct held_event *held; // [mask + 1]; in order of arrival by number
	uint64_t mask;
	bool has_begun;
	bool is_over; // the rings of `reader` get no events any more, and are empty
	_Atomic enum owner owner;
	struct evb_reader *reader; // NULL: not open
	uint64_t regained;         // events of dead members that the reader has delivered

	// In order of arrival: events have numbers in the order in which they are taken, over all
	// runs and readers.
	uint64_t taken;    // from the rings
	uint64_t indexed;  // of these, that have an event index in this run
	uint64_t released; // of these, by the role
	uint64_t freed;    // of these, to the rings
	uint64_t begun;    // number of the first event of this run
	uint64_t next;     // the next event index

	// By id
	struct held_event *unused;  // a stack
	struct held_event *ahead;   // of the window; a stack
	struct held_event *retired; // not needed any more; oldest first
	struct held_event **last;   // where the next one is put into `retired`
	uint64_t n_used;            // that are not in `unused`

	struct ring_slots rings[EVB_MAX_BUILDERS];
	unsigned n_rings;
	bool has_put;            // an event into the window
	_Atomic uint64_t far_id; // of an event ahead of the window before; UINT64_MAX: none
	bool is_short; // the appliance may have lacked slots while an event was waited for

	// The control thread's
	unsigned n_registered;               // rings whose slots DPDK knows
	char reason[EVENT_STORE_ERROR_SIZE]; // of the last EVENT_STORE_WAITS
	bool said_far;
};

static inline struct event_store *event_store_of(struct block_store *store)
{
	return (struct event_store *)store;
}

// Whether the rings are open, and belong to the role's lcore.
static inline bool event_store_is_open(struct event_store *store)
{
	return atomic_load_explicit(&store->owner, memory_order_acquire) == OWNER_LCORE;
}

// Describes an event that was taken just now. A sender that has died may have sent those that the
// reader regains.
static inline void event_store_describe(struct event_store *store, struct held_event *held)
{
	const uint64_t regained = evb_reader_counters(store->reader).regained;

	held->is_unpublished = false;
	held->again = 0;
	held->is_repeated =
	    (held->event.flags & EVB_EVENT_REPEATED) != 0 || regained != store->regained;
	store->regained = regained;
}

// For the role's housekeeping: like evb_reader_poll(), and also notes in is_over when the run of
// the rings is over and they are empty. True if `event` was taken. The role's lcore.
bool event_store_take_or_end(struct event_store *store, struct evb_event *event);

// Closes the rings, and returns events that are not released to the group. Control thread.
void event_store_close(struct event_store *store);

// Closes the rings and frees the store. Control thread.
void event_store_destroy(struct block_store *base);

// Makes what a store needs whose events keep their ids; `held` and `mask` are set. False if memory
// ran out. Control thread.
bool event_store_make_by_id(struct event_store *store);
