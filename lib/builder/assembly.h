// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The assembly builds events in the slots of one event ring, from segments that arrive in any
// order, and publishes the built events on the ring. It uses no DPDK and reads no clock.
//
// For each segment the caller
//   1. calls assembly_admit(), which returns the address for the payload, or a cause of refusal;
//   2. copies the payload to that address: evb makes no other copy of it;
//   3. calls assembly_commit(), which returns whether the event is complete now;
//   4. if it is complete, calls assembly_complete(), which publishes the event.
//
// While an event is built, its slot begins with space for the MEP header. The rooms of the blocks
// follow, in the order in which the first segments of the blocks arrived; the size of each room is
// a multiple of 8 bytes. Space for the error MFPs of all sources that have not started is reserved,
// so an event can be closed at any time.
//
// Times are ticks of a counter that never goes back; the caller passes the current time as `now`.
// Threads: the builder's thread calls all functions, unless stated otherwise. Any thread may read
// the counters.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/tick_clock.h"
#include "evring/evring.h"
#include "packet/causes.h"
#include "packet/event_rules.h"
#include "packet/segment.h"
#include "packet/source_table.h"

struct assembly;

struct assembly_parameters {
	struct evring *ring;                // slots; outlives the assembly
	const struct source_table *sources; // outlives the assembly
	uint32_t packing;                   // most fragments of an MFP
	enum payload_kind payload;
	enum on_incomplete on_incomplete;
	uint64_t deadline; // ticks after an event's first segment
	uint64_t ticks_per_second;
	struct tick_moment start; // time of the creation
	// An event manager grants the events (assembly_held.c). If false, the next two are ignored.
	bool granted;
	uint32_t spare; // slots for events whose data arrives before their grant
	// Whether a source may be forged or broken: then no source gets more than its share, see
	// event_window.c and block_room.c. Ignored for granted events and for a single source.
	bool guarded;
	// With `guarded`: whether a source that is ahead of the others is held back when no slot is
	// free.
	bool held_back;
	// Ticks that a granted event waits for its first segment; `deadline` once all sources have
	// sent a later event.
	uint64_t patience;
	uint64_t grace; // ticks for which events wait for a source after it ceased to take part
};

// Sums over all sources. Writer: the builder's thread.
struct assembly_counters {
	uint64_t segments; // received
	uint64_t placed;
	uint64_t placed_bytes;
	uint64_t drops[SEGMENT_N_CAUSES]; // the causes that the builder counts
	uint64_t events_opened;
	uint64_t events_complete;
	uint64_t events_incomplete; // published with flags
	uint64_t events_discarded;  // incomplete, not published
	uint64_t events_flushed;    // incomplete or discarded: closed by the end of the run
	uint64_t events_overtaken;  // incomplete or discarded: closed early, see assembly_admit()
	uint64_t events_withdrawn;  // complete or incomplete: held and then not published
	uint64_t events_repeated;   // complete or incomplete: published as possibly repeated
	uint64_t bytes_built;       // bytes of published MEPs
	uint64_t blocks_whole;      // all bytes have arrived; without the blocks of the end of run
	uint64_t blocks_malformed;  // whole, but not a valid MFP
	uint64_t blocks_missing;    // not whole when the event was closed
	// End-of-run events. Opened = complete + incomplete + discarded + ends of run + open.
	uint64_t ends_of_run;
};

struct assembly_source_counters {
	uint64_t segments;
	uint64_t placed;
	uint64_t placed_bytes;
	uint64_t blocks;    // whole
	uint64_t malformed; // whole, but not a valid MFP
	uint64_t missing;   // events that were closed before the block was whole
	uint64_t drops[SEGMENT_N_CAUSES];
};

// How what a source sends differs from what the configuration says of it.
enum source_difference_kind {
	SOURCE_SENDS_NO_MFP, // no header of one; sources.payload is mfp
	SOURCE_ALIGNMENT,    // beyond what evb accepts, log2 of bytes
	SOURCE_OTHER_ID,     // the source id in the MFP is not that of its segments
	SOURCE_OTHER_EVENT,  // the same for the event id
	SOURCE_FRAGMENTS,    // number of fragments; expected: sources.packing
	SOURCE_SIZES,        // packet size; expected: that of the block
};

struct source_difference {
	uint32_t source; // index
	enum source_difference_kind kind;
	uint64_t sent, expected;
};

struct assembly_latency {
	struct histogram complete;  // first segment to completion
	struct histogram released;  // first segment to the release by all consumers
	struct histogram consumers; // publication to the release by all consumers
	// Granted events, counted when they are published, incomplete ones too:
	// Grant to first segment; 0 if the segment arrived first. An event of which no segment has
	// arrived counts as if the first one had when it was closed.
	struct histogram first_segment;
	// Completion, or grant if that was later, to publication: the event may be published
	struct histogram published;
};

// Bytes that the assembly allocates in addition to the ring. Any thread.
uint64_t assembly_memory(uint32_t slots, unsigned n_sources);

// Bytes of the smallest slot that can hold an event of n sources, all of them missing. Any thread.
uint64_t assembly_smallest_slot(unsigned n_sources, uint32_t packing);

// Control thread. NULL if memory ran out or the slots are smaller than assembly_smallest_slot().
struct assembly *assembly_create(const struct assembly_parameters *parameters);
void assembly_destroy(struct assembly *assembly);

// Returns the address to which the caller copies the segment's `size` bytes of payload. Returns
// NULL if the segment is refused, and stores the reason in *cause. The refusal has been counted
// then, except for SEGMENT_NO_SLOT: the caller may try again later, or count it with
// assembly_refuse().
//
// If no slot is free for a new event and consumers are not busy, waiting would not help. Then an
// overtaken event is closed before its deadline: an open event that is older than a complete one.
// Sources send in order, so the missing data of this event is lost, or a packet with a wrong event
// id opened it. Granted events are not closed so, since a grant comes with a slot.
uint8_t *assembly_admit(struct assembly *assembly, const struct segment *segment, uint64_t now,
			enum segment_cause *cause);

// Returns the place that assembly_admit() gives the segment, if its block has begun and nothing is
// wrong with it; NULL if it has not begun. Nothing changes: the caller fetches the place into the
// cache, and does not write there.
const uint8_t *assembly_place_of(const struct assembly *assembly, const struct segment *segment);

// Counts a segment as refused, under the cause.
void assembly_refuse(struct assembly *assembly, const struct segment *segment,
		     enum segment_cause cause);

// The caller has copied the payload of the segment that was admitted last. Returns true if the
// segment's event is complete.
bool assembly_commit(struct assembly *assembly, const struct segment *segment);

// Publishes the event that the last assembly_commit() reported as complete. `now` becomes the time
// of its completion.
void assembly_complete(struct assembly *assembly, uint64_t now);

// Collects released slots, and closes events whose deadline has passed. The work is bounded.
// `waited`: the ticks since the last call during which the caller waited for a free slot. They do
// not count towards deadlines.
void assembly_housekeep(struct assembly *assembly, uint64_t now, uint64_t waited);

// Whether it is worth waiting until consumers release slots: they hold at least one, and not for
// longer than a deadline and twice the longest recent hold (at first: 10 deadlines). A consumer
// that has stopped is not waited for beyond that.
bool assembly_consumers_are_busy(struct assembly *assembly, uint64_t now);

// Adjusts the clock with which ticks become CLOCK_MONOTONIC times for consumers. To be called
// several times per second.
void assembly_renew_clock(struct assembly *assembly, struct tick_moment moment);

// Collects released slots. Returns the number of free slots.
uint32_t assembly_reclaim(struct assembly *assembly, uint64_t now);

// Closes all open events, for the end of the run.
void assembly_flush(struct assembly *assembly, uint64_t now);

// Whether the run has ended: the end-of-run blocks of all sources have arrived, or those of more
// than half of the sources, and then no source has sent data for a deadline. The block of a source
// that sends data a deadline after it does not count.
bool assembly_end_of_run(const struct assembly *assembly);
// The number of sources whose end-of-run blocks had arrived when the run ended.
uint32_t assembly_ended_sources(const struct assembly *assembly);

// --- granted events ------------------------------------------------------------------------------
//
// If an event manager grants the events, a built event is held until the manager has counted it.
// So an event that was granted again to another builder is not published twice.

// A report on an event. freed is false: the event is built, and holds its slot until
// assembly_publish() or assembly_withdraw(). freed is true: its slot is free again.
struct assembly_report {
	uint64_t index;
	uint64_t bytes;     // of a built event
	uint32_t slot;      // ASSEMBLY_NO_SLOT: the event is incomplete and has been discarded
	uint16_t n_missing; // of a built event: sources that are missing or malformed
	bool freed;
	bool ungranted; // of a built event: it was not expected when it was closed
	uint64_t
	    released; // freed: ticks at which all consumers had released it; 0: never published
};

#define ASSEMBLY_NO_SLOT UINT32_MAX

// Opens a granted event before its first segment arrives. Returns true also if the event is open or
// held already. Returns false if no slot is free, or if data of the event was refused before
// because none was (SEGMENT_NO_SLOT): the event would stay incomplete, and has to be granted again,
// which makes the sources send all of its data again.
bool assembly_expect(struct assembly *assembly, uint64_t id, uint64_t index, uint64_t now);

// A source takes part in the granted events from index `from` on, UINT64_MAX: in none; at first in
// all. Other granted events do not wait for its blocks: they are closed once those of all other
// sources are whole. Events that are open now wait for `grace` before, because data may still
// arrive.
void assembly_set_source(struct assembly *assembly, uint32_t source, uint64_t from, uint64_t now);

// Removes the oldest of the waiting reports and returns it, or NULL if none is waiting. It is valid
// until the next call of any function of this assembly.
const struct assembly_report *assembly_take_report(struct assembly *assembly);

// Publishes a held event. `repeated`: another builder may have published it before. Returns false
// if the slot does not hold this event.
bool assembly_publish(struct assembly *assembly, uint32_t slot, uint64_t index, bool repeated,
		      uint64_t now);

// Drops a held event and frees its slot. Returns false if the slot does not hold this event.
bool assembly_withdraw(struct assembly *assembly, uint32_t slot, uint64_t index);

// Drops an open or held event, because another builder builds it. Returns false if the event is
// neither open nor held.
bool assembly_forget(struct assembly *assembly, uint64_t id, uint64_t index);

const struct assembly_counters *assembly_counters(const struct assembly *assembly);
// One entry per expected source.
const struct assembly_source_counters *assembly_source_counters(const struct assembly *assembly);
const struct assembly_latency *assembly_latency(const struct assembly *assembly);

// The first difference of each source that has one: stores the list, which only grows, and returns
// its length. Malformed blocks that were displaced do not count, nor does a single event of fewer
// fragments, as at the end of a run: two in a row do. Any thread.
uint32_t assembly_differences(const struct assembly *assembly,
			      const struct source_difference **differences);
// Writes what the source sends and what is expected, and what to correct.
#define SOURCE_DIFFERENCE_SIZE 128
void source_difference_text(const struct source_difference *difference, uint16_t id,
			    char sentence[SOURCE_DIFFERENCE_SIZE],
			    char remedy[SOURCE_DIFFERENCE_SIZE]);

uint32_t assembly_open_events(const struct assembly *assembly);
uint32_t assembly_free_slots(const struct assembly *assembly);
