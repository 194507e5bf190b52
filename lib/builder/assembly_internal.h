// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of the assembly share: assembly.c (segments), event_table.c (which events are
// open), event_close.c (what is published of them).
#pragma once

#include "builder/assembly.h"
#include "builder/ranges.h"
#include "wire/mep.h"
#include "wire/mfp.h"

#define NO_EVENT    UINT32_MAX
#define ROOM_UNIT   MEP_DEFAULT_ALIGN // bytes; rooms are counted in it to reach beyond 4 GiB
#define CLOSED_SIZE 65536u            // closed events that are remembered, a power of two

// What has come of one source's block of one event.
struct part {
	uint32_t room;   // from the slot's start, in ROOM_UNITs; 0: no segment has come yet
	uint32_t length; // bytes of the block
	struct received received;
};

// States of a part whose block is whole, in received.ranges: its fragments + PART_WHOLE.
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

// The end of run is assembled like an event, but needs no slot: it must get through when all are
// taken. Its index is the number of slots, and its bytes, which nobody reads, all go to one place.
#define END_MEMORY 65536u // bytes: no segment is larger

// An open event. Its index is its slot's.
struct event {
	uint64_t id;
	uint64_t index;
	uint64_t first;     // ticks: arrival of the first segment
	uint64_t opened;    // ticks of the assembly's own time, which stands still while it waits
	uint64_t used;      // bytes of the slot given to the header and to rooms
	uint32_t n_started; // sources that have a room
	uint32_t n_whole;   // of them whole, malformed ones included
	uint32_t n_malformed;
	uint32_t n_fragments;  // of the first valid MFP
	uint32_t n_agreeing;   // valid MFPs with as many
	uint64_t serial;       // events opened before it
	uint32_t older, newer; // by opened; NO_EVENT at the ends
	uint32_t chain;        // next of the same bucket
	bool published;        // the slot is with the ring; `first` still serves the latency
	bool expected;         // granted, and no segment has come: in the order of expected events
	bool granted;
};

// The oldest and newest of a list of open events, by their times.
struct event_order {
	uint32_t oldest, newest; // NO_EVENT: empty
};

// What the event manager's grants need, see assembly_held.c.
struct held {
	struct evring_event *descriptions; // by slot
	bool *is_held;                     // by slot
	struct assembly_news *news;        // first in, first out
	uint32_t news_size, news_head, n_news;
	uint32_t n_ungranted; // slots of events without a grant, open or held
};

struct assembly {
	struct assembly_parameters parameters;
	struct tick_clock clock;
	uint32_t n_slots;
	uint32_t n_sources;
	uint64_t slot_size;
	uint64_t header_size;     // of the MEP
	uint64_t error_size;      // of an error MFP, padded
	uint64_t waited;          // ticks that do not count towards deadlines
	uint64_t last_placed;     // ticks of that own time: last segment of an ordinary event
	uint64_t newest_complete; // highest serial of a complete event
	bool ended;               // the run, by end-of-run blocks
	bool flushing;

	struct event *events; // [n_slots + 1], the last for the end of run
	struct part *parts;   // [n_slots + 1][n_sources]
	uint8_t *end_memory;  // where the bytes of end-of-run blocks go
	struct range_pool pool;

	uint32_t *buckets; // by event index & bucket_mask
	uint32_t bucket_mask;
	struct event_order order;    // open events by the time of their first segment
	struct event_order expected; // those that wait for it
	struct held held;
	uint32_t n_open;
	uint64_t *closed; // event id + 1 of closed events, by event index; 0: none

	uint32_t *free_slots; // first in, first out: a spy has the longest time to look
	uint32_t free_head, n_free;

	struct event *admitted; // of the segment admitted last
	struct part *admitted_part;

	uint32_t *offsets; // scratch for the MEP header

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

// The open event of this id, or NULL.
struct event *event_find(const struct assembly *assembly, uint64_t id, uint64_t index);
// Whether the event has been closed (as far as is remembered).
bool event_was_closed(const struct assembly *assembly, uint64_t id, uint64_t index);
// Opens the event of its first segment in a free slot; NULL if there is none.
struct event *event_open(struct assembly *assembly, const struct segment *first, uint64_t now);
// Takes an event out of the table and the order of deadlines, and remembers it as closed.
void event_remove(struct assembly *assembly, struct event *event);
// Closes one overtaken event, if there is one: of the oldest, that with the fewest sources.
void event_close_overtaken(struct assembly *assembly, uint64_t now);
// Puts an event at the end of the order of deadlines, as if it were opened now.
void event_postpone(struct assembly *assembly, struct event *event, uint64_t now);
void slot_free(struct assembly *assembly, uint32_t slot);
// The first segment of an event that was expected has come.
void event_start(struct assembly *assembly, struct event *event, const struct segment *first,
		 uint64_t now);
// Opens an event in a free slot before its first segment; NULL if there is none.
struct event *event_expect(struct assembly *assembly, uint64_t id, uint64_t index, uint64_t now);

// event_close.c

// Closes an event: publishes or discards it, as the configuration says. The event is open.
void event_close(struct assembly *assembly, struct event *event, uint64_t now);
// Gives back the ranges of blocks that are not whole, and counts these as missing; returns how
// many.
uint32_t event_settle_missing(struct assembly *assembly, struct event *event);

// assembly_held.c

bool held_make(struct assembly *assembly);
void held_free(struct assembly *assembly);
// An event is ready: held from now on. `slot` may be ASSEMBLY_NO_SLOT, without a description.
void held_add(struct assembly *assembly, const struct event *event, uint32_t slot,
	      uint32_t n_missing, const struct evring_event *description);
// Notes that a slot came back.
void held_note_freed(struct assembly *assembly, uint64_t index);
// Whether a segment whose event has no grant yet may open it.
bool held_may_open(const struct assembly *assembly);
