// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The store of the built events of another appliance on this machine. The store is a member of a
// group of consumers of that appliance's event rings; each event (MEP) becomes the block of its one
// source, and is sent from the slot in which it was built.
//
// Built events come in any order and with gaps: each builder has its own, and a group may get
// accepted events only. They get their indices
//   - in the order in which they come: event index e has no relation to the id of the built event,
//     which stands in the MEP. Where several nodes send built events, they share the source, and
//     the event manager chooses the indices;
//   - or by their ids: id first_event + e * packing is that of index e, and other ids are counted
//     as unknown. The next stage can combine events of several stores. The store takes all events
//     that the rings have, up to 16384 indices ahead of what is released. An event that has not
//     come holds those behind it back, until all events before it are released and a deadline has
//     passed: then it is missing. If it was the first of several gaps, and the store held more than
//     half of the slots of a ring, the others have a deadline of their own, because their events
//     may have waited for slots. It is late if it comes after that, as is the second event of an
//     id. Late and unknown events are released to the rings at once.
//
// A slot is released to the appliance when the role has released the event and no packet points
// into the slot. Until then it belongs to this process: when the process dies, the group gets the
// event again. With indices by ids the next process resumes (struct block_store). An event that the
// role has not released when a run begins is sent again in the new run. Blocks of events that may
// be sent twice are marked, as are those of events with the flag EVB_EVENT_REPEATED.
//
// An event that the next stage discarded (block_store_unpublished()) is offered again under another
// index when it is released and no packet points into its slot: EVENT_STORE_AGAIN times, then it is
// given up, and counted. With indices by ids it is given up the first time.
//
// The appliance may start after the store, and may be replaced by a new process of the same name.
// Only the end of its run, in order, ends the store: in the order of arrival when all events are
// released, and by ids when all have come.
//
// Threads: event_store_watch() belongs to the control thread, which opens and closes the rings. In
// between they belong to the role's lcore.
#pragma once

#include "evring/evring.h"
#include "store/block_store.h"

#define EVENT_STORE_AGAIN      3u
#define EVENT_STORE_ERROR_SIZE (EVRING_ERROR_SIZE + 128)

struct event_store_parameters {
	const char *appliance; // whose built events are sent
	const char *group;     // of consumers
	const char *directory; // of the rings; NULL: searched for
	const uint16_t *id;    // the source; outlives the store
	uint32_t packing;
	uint32_t max_event;       // bytes: largest slot of the rings
	uint32_t events;          // that are taken and not released, at most; ignored with by_id
	bool is_shared;           // see struct block_store
	bool by_id;               // indices follow from ids; not with is_shared
	uint64_t first_event;     // by_id: event id of event index 0
	uint64_t deadline_cycles; // by_id: in the unit of the times that the store gets
};

enum event_store_news {
	EVENT_STORE_NOTHING_NEW,
	EVENT_STORE_OPENED,
	EVENT_STORE_CLOSED, // the appliance has died, and all its events are released
	EVENT_STORE_WAITS,  // the rings cannot be opened; for the first time, or for a new reason
	EVENT_STORE_AHEAD,  // by_id: the first event is far ahead of the run; once
};

// Bytes that a store with these parameters allocates.
uint64_t event_store_memory(uint32_t events, bool by_id);

// Control thread. NULL if memory ran out.
struct block_store *event_store_create(const struct event_store_parameters *parameters);

// Opens the rings, and registers their memory with DPDK and with the device that sends from it;
// closes the rings of a dead appliance. To be called about 10 times per second. With
// EVENT_STORE_WAITS the reason is one line in error[EVENT_STORE_ERROR_SIZE], with EVENT_STORE_AHEAD
// the id of the event.
enum event_store_news event_store_watch(struct block_store *store, uint16_t port_id, char *error);
