// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Declarations that the files of the assembly share: assembly.c (segments), event_table.c (open
// events and free slots), event_close.c (closing of events), consumer_slots.c (slots that consumers
// hold), assembly_held.c (granted events).
#pragma once

#include "base/hash_key.h"
#include "builder/assembly.h"
#include "builder/ranges.h"
#include "wire/mep.h"
#include "wire/mfp.h"

#define NO_EVENT    UINT32_MAX
#define ROOM_UNIT   MEP_DEFAULT_ALIGN // bytes; 32-bit offsets in this unit reach beyond 4 GiB
#define CLOSED_SIZE 65536u            // closed events that are remembered, a power of two

// The block of one source in one event.
struct part {
	uint32_t room;   // offset in the slot, in ROOM_UNITs; 0: no segment has arrived yet
	uint32_t length; // bytes of the block
	struct received received;
};

// For a whole block, received.ranges is PART_WHOLE + its number of fragments, or PART_MALFORMED.
#define PART_WHOLE     0x80000000u
#define PART_MALFORMED 0xFFFFFFFFu

static inline bool part_is_whole(const struct part *part)
{
	return part->received.ranges >= PART_WHOLE;
}

static inline bool part_is_valid(const struct part *part)
{
	return part_is_whole(part) && part->received.ranges != PART_MALFORMED;
}

// The end of run is assembled like an event, but uses no slot, since it must be received also when
// no slot is free. It is events[n_slots]. Nobody reads the payload of its blocks: every segment of
// them is written to the same memory.
#define END_MEMORY 65536u // bytes; no segment is larger

// An open, held or published event. events[i] is the event in slot i.
struct event {
	uint64_t id;
	uint64_t index;
	uint64_t first; // ticks: arrival of the first segment
	uint64_t since; // open: start of the deadline, in ticks of the assembly's own time, which
			// stops while the builder waits; published: ticks
	uint64_t used;  // bytes of the slot that the header and the rooms occupy
	uint32_t n_started; // sources whose block has a room
	uint32_t n_whole;   // whole blocks, malformed ones included
	uint32_t n_malformed;
	uint32_t n_fragments;  // fragments of the first valid MFP
	uint32_t n_agreeing;   // valid MFPs that have n_fragments fragments
	uint64_t serial;       // number of events that were opened earlier
	uint32_t older, newer; // neighbours in the list, by `since`; NO_EVENT at the ends
	uint32_t chain;        // next event of the same bucket
	bool expected;         // granted, and no segment has arrived: in the list `expected`
	bool granted;
	bool given_up; // published, and held for so long that nobody waits for the slot
};

// A list of events, sorted by `since`.
struct event_order {
	uint32_t oldest, newest; // NO_EVENT: empty
};

// State of granted events, see assembly_held.c.
struct held {
	struct evring_event *descriptions; // by slot
	bool *is_held;                     // by slot
	struct assembly_report *reports;   // first in, first out
	uint32_t reports_size, reports_head, n_reports;
	uint32_t n_ungranted; // slots of open and held events that have no grant
};

struct assembly {
	struct assembly_parameters parameters;
	struct tick_clock clock;
	uint32_t n_slots;
	uint32_t n_sources;
	uint64_t slot_size;
	uint64_t header_size; // bytes of the MEP header
	uint64_t error_size;  // bytes of an error MFP with its padding
	uint64_t waited;      // ticks that do not count towards deadlines
	uint64_t last_placed; // ticks of the own time: last segment that was not of the end of run
	uint64_t newest_complete; // highest serial of a complete event
	bool end_is_open;         // some sources have ended, or sent a part of their block
	uint32_t n_ended;         // sources that had, when the run ended
	bool ended;               // end-of-run blocks have ended the run
	bool flushing;

	struct event *events; // [n_slots + 1]; the last one is the end of run
	struct part *parts;   // [n_slots + 1][n_sources]
	uint8_t *end_memory;  // receives the payload of end-of-run blocks
	uint64_t *end_times;  // [n_sources], ticks of the own time: last segment of the end of run
	struct range_pool pool;

	uint32_t *buckets; // first event of each chain, by the hash of the event id
	uint32_t bucket_mask;
	struct hash_key hash_key;
	struct event_order order;          // open events by the time of their first segment
	struct event_order expected;       // granted events that have received no segment
	struct event_order with_consumers; // published events whose slots are waited for
	uint64_t longest_hold;             // ticks; of late, by consumers
	struct held held;
	uint32_t n_open;
	uint64_t *closed; // event id + 1 of a closed event, by event index % CLOSED_SIZE; 0: none

	uint32_t *free_slots; // first in, first out: so a spy can read a released slot for longest
	uint32_t free_head, n_free;

	struct event *latest;   // of the segment that was admitted last, NULL if it is closed
	struct event *admitted; // event and part of the segment that was admitted last
	struct part *admitted_part;

	uint32_t *offsets; // scratch memory: the offsets in the MEP header

	struct assembly_counters counters;
	struct assembly_source_counters *source_counters;
	struct assembly_latency *latency;
};

static inline void count(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static inline struct part *event_parts(const struct assembly *assembly, const struct event *event)
{
	return &assembly->parts[(size_t)(event - assembly->events) * assembly->n_sources];
}

static inline uint32_t event_slot(const struct assembly *assembly, const struct event *event)
{
	return (uint32_t)(event - assembly->events);
}

static inline bool is_end_of_run(const struct event *event)
{
	return event->id == MFP_END_OF_RUN;
}

// event_table.c

// Returns the open event with this id, or NULL.
struct event *event_find(const struct assembly *assembly, uint64_t id);
// Whether the event has been closed. Only the latest CLOSED_SIZE events are remembered.
bool event_was_closed(const struct assembly *assembly, uint64_t id, uint64_t index);
// Opens the event of this first segment in a free slot. NULL if no slot is free.
struct event *event_open(struct assembly *assembly, const struct segment *first, uint64_t now);
// Removes an event from the table and from the list of deadlines, and remembers it as closed.
void event_remove(struct assembly *assembly, struct event *event);
// Closes one overtaken event if there is any: the one with the fewest sources among the oldest.
void event_close_overtaken(struct assembly *assembly, uint64_t now);
// Adds an event to a list as its newest, and removes it from a list.
void event_append(struct assembly *assembly, struct event_order *order, struct event *event);
void event_unlink(struct assembly *assembly, struct event_order *order, struct event *event);
// Moves an event to the end of the list of deadlines, as if it were opened now.
void event_postpone(struct assembly *assembly, struct event *event, uint64_t now);
void slot_free(struct assembly *assembly, uint32_t slot);
// Starts the deadline of an expected event, whose first segment has arrived.
void event_start(struct assembly *assembly, struct event *event, const struct segment *first,
		 uint64_t now);
// Opens a granted event in a free slot before its first segment arrives. NULL if no slot is free.
struct event *event_expect(struct assembly *assembly, uint64_t id, uint64_t index, uint64_t now);

// event_close.c

// Closes an open event: publishes, holds or discards it, according to the parameters.
void event_close(struct assembly *assembly, struct event *event, uint64_t now);
// Returns the ranges of blocks that are not whole to the pool, and counts these blocks as missing.
// Returns their number.
uint32_t event_settle_missing(struct assembly *assembly, struct event *event);

// consumer_slots.c

// The first events may take consumers long: they count as if slots were held for this many
// deadlines.
#define FIRST_HOLD 10u
// Consumers have the slot of the event from now on.
void consumer_slot_published(struct assembly *assembly, struct event *event, uint64_t now);
// All consumers have released the slot of the event.
void consumer_slot_released(struct assembly *assembly, struct event *event, uint64_t now);

// assembly_held.c

bool held_make(struct assembly *assembly);
void held_free(struct assembly *assembly);
// Holds a built event, and reports it. For a discarded event, `slot` is ASSEMBLY_NO_SLOT and
// `description` NULL.
void held_add(struct assembly *assembly, const struct event *event, uint32_t slot,
	      uint32_t n_missing, const struct evring_event *description);
// Reports that the slot of an event is free again.
void held_report_freed(struct assembly *assembly, uint64_t index);
// Whether a segment may open an event that has no grant yet.
bool held_may_open(const struct assembly *assembly);
