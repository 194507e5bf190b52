// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Declarations that the files of the assembly share: assembly.c (segments), event_table.c (open
// events and free slots), event_window.c (which events may be opened), block_room.c (rooms of
// blocks), event_close.c (closing of events), consumer_slots.c (slots that consumers hold),
// assembly_held.c (granted events), assembly_sources.c (sources that take no part), differences.c
// (sources that send otherwise than configured).
#pragma once

#include "base/hash_key.h"
#include "block/part.h"
#include "builder/assembly.h"
#include "wire/mep.h"
#include "wire/mfp.h"

#define NO_EVENT    UINT32_MAX
#define ROOM_UNIT   MEP_DEFAULT_ALIGN // bytes; 32-bit offsets in this unit reach beyond 4 GiB
#define CLOSED_SIZE 65536u            // closed events that are remembered, a power of two

// A malformed block that may be displaced until its event is closed. It has no length, and its
// bytes are the prefix.
static inline bool part_is_dubious(const struct part *part)
{
	return part->received.ranges == PART_MALFORMED && part->length == 0;
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
			// stops while the builder waits; in ticks: held: its closing; published:
			// its publication
	uint64_t used;  // bytes of the slot that the header and the rooms occupy
	uint32_t n_started; // sources whose block has a room
	uint32_t n_whole;   // whole blocks, malformed ones included
	uint32_t n_malformed;
	uint32_t n_fragments;  // fragments of the first valid MFP
	uint32_t n_agreeing;   // valid MFPs that have n_fragments fragments
	uint32_t n_absent;     // sources that did not take part in it when it was granted, or later
	uint64_t serial;       // number of events that were opened earlier
	uint64_t granted_at;   // ticks; valid if `granted`
	uint32_t older, newer; // neighbours in the list, by `since`; NO_EVENT at the ends
	uint32_t chain;        // next event of the same bucket
	bool expected;         // granted, and no segment has arrived: in the list `expected`,
	bool overtaken;        // unless it is overtaken by a later one: then in the list `order`
	bool granted;
	uint32_t hole, hole_size; // unused room in front of `used`, in ROOM_UNITs
	uint32_t n_dubious;       // parts, not in n_whole
	uint16_t opener;          // source of the first segment
	bool confirmed;           // for good, see event_window.c; without a window: always
	bool on_probation;        // opened outside the window
	bool is_repeated;         // a segment says so
	bool given_up;            // published, and held for so long that nobody waits for the slot
};

// A list of events, sorted by `since`.
struct event_order {
	uint32_t oldest, newest; // NO_EVENT: empty
};

#define REFUSED_MOST 4u // more of the events that may be granted have the same hash rarely

// Events of which data was refused because no slot was free.
struct refused {
	uint64_t next[REFUSED_MOST]; // index + 1; 0: none
};

// State of granted events, see assembly_held.c.
struct held {
	struct evring_event *descriptions; // by slot
	bool *is_held;                     // by slot
	uint32_t *buckets;                 // held events by index, chained; NO_EVENT: none
	struct assembly_report *reports;   // first in, first out
	uint32_t reports_size, reports_head, n_reports;
	uint32_t n_ungranted;    // slots of open and held events that have no grant
	struct refused *refused; // by hash
	uint32_t n_refused;      // events in `refused`
};

// Sources that do not take part in granted events, see assembly_sources.c.
struct absence {
	uint64_t *from;   // [n_sources]: the first event in which each source takes part
	uint32_t n;       // sources that do not take part in all events
	uint64_t changed; // ticks of the own time
	bool is_new;      // open events do not take the change into account yet
};

// What a source has of what all sources share, and what is known of its blocks.
struct share {
	uint32_t ranges;     // of the pool, for events
	uint32_t end_ranges; // of the pool, for the end of run: up to END_RANGES_MOST
	uint32_t opened; // events in the window that the source opened, and that are not confirmed
	uint32_t probation; // the same outside the window
	uint32_t usual;     // bytes: the largest recent valid block
	// While it is not 0, a malformed block of the source may be displaced by another one until
	// its event is closed. It is decremented when this does not happen.
	uint32_t patience;
	bool differs; // it has an entry in `differences`
};

// The latest closed event all of whose MFPs had fewer fragments than `packing`.
struct short_events {
	uint64_t closed;      // number of events that were closed before it
	uint32_t n_fragments; // per MFP
	uint32_t row;         // such events in a row, it included; 0: there was none
};

#define PATIENCE_MOST   8u
#define END_RANGES_MOST 16u

// The event window, see event_window.c. Times are ticks of the assembly's own time.
struct event_window {
	uint32_t quorum;          // sources that confirm an event; UINT32_MAX: there is no window
	uint32_t reach;           // events beyond the front, if their indices are consecutive
	uint32_t share;           // events in the window that a source may have opened alone
	uint32_t probation_share; // the same outside the window
	bool known;               // an event has been confirmed
	uint64_t front;           // index of the newest confirmed event
	uint64_t begin;           // last index that is behind the window
	uint64_t sample;          // front when `begin` was set
	uint64_t sampled;         // time of the sample
	uint64_t remainder;       // of event ids divided by the packing
	uint64_t gap;             // mean difference of the indices of confirmed events, fixed point
	uint64_t moved;           // time of the latest confirmed event
	uint64_t interval;        // longest recent time between confirmed events
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
	uint64_t newest_granted;  // that of a granted one that lacks no source which takes part
	bool end_is_open;         // some sources have ended, or sent a part of their block
	uint32_t n_ended;         // sources that had, when the run ended
	bool ended;               // end-of-run blocks have ended the run
	bool flushing;

	struct event *events; // [n_slots + 1]; the last one is the end of run
	struct part *parts;   // [n_slots + 1][n_sources]
	uint8_t *end_memory;  // receives the payload of end-of-run blocks
	uint64_t *end_times;  // [n_sources], ticks of the own time: last segment of the end of run
	struct range_pool pool;
	struct share *shares; // [n_sources]
	struct event_window window;
	struct short_events short_events;
	struct source_difference *differences; // [n_sources]
	uint32_t n_differences;                // released after its entry was written

	uint32_t *buckets; // first event of each chain, by the hash of the event id
	uint32_t bucket_mask;
	struct hash_key hash_key;
	struct event_order order;          // open events by the time of their first segment
	struct event_order expected;       // granted events that have received no segment
	struct event_order with_consumers; // published events whose slots are waited for
	uint64_t longest_hold;             // ticks; the longest recent one by consumers
	struct held held;
	struct absence absence;
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

// Counts the time from one tick to a later one; 0 if the second is not later.
static inline void latency_add(const struct assembly *assembly, struct histogram *histogram,
			       uint64_t from, uint64_t to)
{
	histogram_add(histogram,
		      to > from ? tick_clock_duration_ns(&assembly->clock, to - from) : 0);
}

static inline struct part *event_parts(const struct assembly *assembly, const struct event *event)
{
	return &assembly->parts[(size_t)(event - assembly->events) * assembly->n_sources];
}

static inline uint32_t event_slot(const struct assembly *assembly, const struct event *event)
{
	return (uint32_t)(event - assembly->events);
}

static inline uint32_t *ranges_used(const struct assembly *assembly, const struct event *event,
				    uint32_t source)
{
	struct share *share = &assembly->shares[source];

	return event->id == MFP_END_OF_RUN ? &share->end_ranges : &share->ranges;
}

// Counts the block of a source as whole, and as malformed.
static inline void part_count_whole(struct assembly *assembly, struct event *event, uint32_t source)
{
	event->n_whole++;
	count(&assembly->counters.blocks_whole, 1);
	count(&assembly->source_counters[source].blocks, 1);
}

static inline void part_count_malformed(struct assembly *assembly, struct event *event,
					uint32_t source)
{
	event->n_malformed++;
	count(&assembly->counters.blocks_malformed, 1);
	count(&assembly->source_counters[source].malformed, 1);
}

static inline bool is_end_of_run(const struct event *event)
{
	return event->id == MFP_END_OF_RUN;
}

// The room of a block of an ordinary event.
static inline uint8_t *room_of(const struct assembly *assembly, const struct event *event,
			       const struct part *part)
{
	return evring_slot(assembly->parameters.ring, event_slot(assembly, event)) +
	       (uint64_t)part->room * ROOM_UNIT;
}

// Bytes before the payload in the room of a block: evb adds an MFP header to an opaque block.
static inline uint32_t block_prefix(const struct assembly *assembly)
{
	return assembly->parameters.payload == PAYLOAD_OPAQUE ? MFP_HEADER_SIZE : 0;
}

// Bytes of the room of a block.
static inline uint64_t room_size(const struct assembly *assembly, uint32_t length)
{
	uint64_t size = round_up((uint64_t)length + block_prefix(assembly), ROOM_UNIT);

	// The room may have to hold an error MFP.
	return size < assembly->error_size ? assembly->error_size : size;
}

// Whether the event window and the sources' shares of slots and rooms apply.
static inline bool assembly_is_guarded(const struct assembly *assembly)
{
	return assembly->window.quorum != UINT32_MAX;
}

// Whether a deadline has passed since a moment of the assembly's own time. That moment may be later
// than now: the assembly learns of a wait only in the housekeeping after the wait.
static inline bool is_over(const struct assembly *assembly, uint64_t since, uint64_t deadline,
			   uint64_t now)
{
	int64_t age = (int64_t)(now - assembly->waited - since);

	return age >= (int64_t)deadline;
}

// assembly_sources.c

// Counts the sources that do not take part in a granted event.
void event_count_absent(const struct assembly *assembly, struct event *event);
// Whether the event lacks only blocks of sources that do not take part in it.
bool event_lacks_none(const struct assembly *assembly, const struct event *event);
// To be called in each housekeeping.
void absence_housekeep(struct assembly *assembly, uint64_t now);

// event_window.c

enum verdict {
	VERDICT_CLOSE,
	VERDICT_WAIT,    // it is in front of the other sources
	VERDICT_DISCARD, // it is not an event of the run
};

void window_make(struct assembly *assembly);
// Whether the segment may open its event. If not, stores the reason in *cause.
bool window_admits(const struct assembly *assembly, const struct segment *segment, uint64_t now,
		   bool *on_probation, enum segment_cause *cause);
// The event has been opened, or is removed: adjusts the share of its opener.
void window_opened(struct assembly *assembly, const struct event *event);
void window_removed(struct assembly *assembly, const struct event *event);
// A quorum of sources has started the event.
void window_confirm(struct assembly *assembly, struct event *event, uint64_t now);
// What is to become of an event whose deadline has passed, or whose slot is needed.
enum verdict window_judge(const struct assembly *assembly, const struct event *event, uint64_t now);
// To be called in each housekeeping.
void window_renew(struct assembly *assembly, uint64_t now);

// block_room.c

// The block of the segment has got its first room.
static inline void block_begun(struct assembly *assembly, struct event *event, struct part *part,
			       const struct segment *segment, uint64_t now)
{
	part->length = segment->length;
	if (++event->n_started == assembly->window.quorum)
		window_confirm(assembly, event, now);
}

// Gives the segment's block a room, in place of what has arrived of it if the segment displaces
// that. Returns PART_TAKEN, or why the segment is refused.
enum segment_cause block_begin(struct assembly *assembly, struct event *event, struct part *part,
			       const struct segment *segment, uint64_t now);
// Lets the segment displace what has arrived of its block. Returns false if it does not.
bool block_displace(struct assembly *assembly, struct event *event, struct part *part,
		    const struct segment *segment);

// event_table.c

// Returns the open event with this id, or NULL.
struct event *event_find(const struct assembly *assembly, uint64_t id);
// Whether the event has been closed. Only the latest CLOSED_SIZE events are remembered.
bool event_was_closed(const struct assembly *assembly, uint64_t id, uint64_t index);
// Opens the event of this first segment in a free slot. NULL if no slot is free.
struct event *event_open(struct assembly *assembly, const struct segment *first, bool on_probation,
			 uint64_t now);
// Removes an event from the table and from the list of deadlines, and remembers it as closed.
void event_remove(struct assembly *assembly, struct event *event);
// Closes one overtaken event if there is any: the one with the fewest sources among the oldest.
void event_close_overtaken(struct assembly *assembly, uint64_t now);
// Adds an event to a list as its newest, and removes it from a list.
void event_append(struct assembly *assembly, struct event_order *order, struct event *event);
void event_unlink(struct assembly *assembly, struct event_order *order, struct event *event);
// Moves an event to the end of the list of deadlines, as if it were opened now.
void event_postpone(struct assembly *assembly, struct event *event, uint64_t now);
// `released`: ticks at which all consumers had released the slot; 0: they never had it.
void slot_free(struct assembly *assembly, uint32_t slot, uint64_t released);
// Starts the deadline of an expected event, whose first segment has arrived.
void event_start(struct assembly *assembly, struct event *event, const struct segment *first,
		 uint64_t now);
// Starts the deadline of an expected event whose data is lost, or does not exist.
void event_overtake(struct assembly *assembly, struct event *event, uint64_t now);
// Opens a granted event in a free slot before its first segment arrives. NULL if no slot is free.
struct event *event_expect(struct assembly *assembly, uint64_t id, uint64_t index, uint64_t now);

// event_close.c

// Closes an open event: publishes, holds or discards it, according to the parameters.
void event_close(struct assembly *assembly, struct event *event, uint64_t now);
// Publishes a closed event to the consumers.
void event_publish(struct assembly *assembly, struct event *event,
		   const struct evring_event *description, uint64_t now);
// Closes the event, or discards it, as if it had never been opened, if it is not one of the run.
void event_end(struct assembly *assembly, struct event *event, uint64_t now);
// Returns the ranges of blocks that are not whole to the pool, and counts these blocks as missing.
// Returns their number.
uint32_t event_settle_missing(struct assembly *assembly, struct event *event);

// differences.c

// Notes how a malformed block differs, and a source whose MFPs have another number of fragments.
void difference_of_block(struct assembly *assembly, const struct event *event, uint32_t source,
			 const uint8_t *bytes, uint32_t length);
void difference_of_fragments(struct assembly *assembly, uint32_t source, uint32_t n_fragments);
// All MFPs of an event that is being closed have fewer fragments than `packing`: notes their
// sources if those of the event before had, too.
void difference_of_event(struct assembly *assembly, const struct event *event);

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
// Reports that the slot of an event is free again. `released` as for slot_free().
void held_report_freed(struct assembly *assembly, uint64_t index, uint32_t slot, uint64_t released);
// Whether a segment may open an event that has no grant yet.
bool held_may_open(const struct assembly *assembly);
// Data of an event without a grant was refused because no slot was free.
void held_refused(struct assembly *assembly, uint64_t index);
