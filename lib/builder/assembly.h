// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Assembly of events in slots: pure logic over the memory of one event ring, no DPDK, no clock of
// its own. Segments go in, in any order; built events are published on the ring.
//
// For each segment the caller
//   1. asks assembly_admit() where its payload belongs, or why it is refused;
//   2. copies the payload there, the only copy that evb makes of it;
//   3. tells assembly_commit(), which completes the block and says whether the event is complete;
//   4. if so, has it published by assembly_complete().
//
// A slot while its event is being built: room for the MEP header, then the blocks' rooms, each a
// multiple of 8 bytes, in the order in which the first segment of each block came. Space for the
// error MFPs of sources that have not come yet stays reserved, so an event can always be closed.
//
// Times are ticks of any steady counter, given by the caller as `now`; see assembly_parameters.
// Threads: one, the builder's. The counters may be read by others at any time.
#pragma once

#include <stdbool.h>
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
	uint64_t deadline; // ticks from an event's first segment
	uint64_t ticks_per_second;
	struct tick_moment start; // of the creation
	// Events are granted by an event manager (assembly_held.c); else the next two mean nothing.
	bool granted;
	uint32_t spare;    // slots that events may take whose grant has not come yet
	uint64_t patience; // ticks that a granted event waits for its first segment
};

// Sum over the sources, and per source below. One writer: the builder.
struct assembly_counters {
	uint64_t segments; // seen
	uint64_t placed;
	uint64_t placed_bytes;
	uint64_t drops[SEGMENT_N_CAUSES]; // the causes that the builder counts
	uint64_t events_opened;
	uint64_t events_complete;
	uint64_t events_incomplete; // published with flags
	uint64_t events_discarded;  // incomplete, not published
	uint64_t events_flushed;    // of the two before: closed by the end of the run
	uint64_t events_overtaken;  // of the same two: closed early, see assembly_admit()
	uint64_t events_withdrawn;  // of the first two, held and then not published
	uint64_t events_repeated;   // of the first two, published as possibly repeated
	uint64_t bytes_built;       // of published MEPs
	uint64_t blocks_whole;      // of events; end-of-run blocks are not counted as blocks
	uint64_t blocks_malformed;  // whole, but no valid MFP
	uint64_t blocks_missing;    // of closed events, malformed ones not included
	// End-of-run events. Opened = complete + incomplete + discarded + ends of run + open.
	uint64_t ends_of_run;
};

struct assembly_source_counters {
	uint64_t segments;
	uint64_t placed;
	uint64_t placed_bytes;
	uint64_t blocks;    // whole
	uint64_t malformed; // whole, but no valid MFP
	uint64_t missing;   // events closed without it
	uint64_t drops[SEGMENT_N_CAUSES];
};

struct assembly_latency {
	struct histogram complete; // first segment to completion
	struct histogram released; // first segment to the slot's return from all consumers
};

// Bytes that the assembly allocates beside the ring, for the plan.
uint64_t assembly_memory(uint32_t slots, unsigned n_sources);

// Smallest slot that can hold an event of n sources, all missing. Control thread.
uint64_t assembly_smallest_slot(unsigned n_sources, uint32_t packing);

// Control thread. NULL if memory ran out or the slots are smaller than assembly_smallest_slot().
struct assembly *assembly_create(const struct assembly_parameters *parameters);
void assembly_destroy(struct assembly *assembly);

// Where the segment's `size` bytes of payload are to be copied. NULL if it is refused: *cause then
// says why, and it has been counted, except for SEGMENT_NO_SLOT: the caller may wait and come
// again, or count it with assembly_refuse().
//
// When a new event finds no free slot and consumers hold none either, so that waiting would not
// help, an open event that later ones have overtaken (one opened after it is already complete) is
// closed before its deadline: sources send in order, so what it misses is lost, or it was opened by
// a packet that names a wrong event. Not so with granted events: those have a slot.
uint8_t *assembly_admit(struct assembly *assembly, const struct segment *segment, uint64_t now,
			enum segment_cause *cause);

// Counts a segment as refused for a cause.
void assembly_refuse(struct assembly *assembly, const struct segment *segment,
		     enum segment_cause cause);

// The payload of the segment admitted last is in its place. Returns true if its event is complete.
bool assembly_commit(struct assembly *assembly, const struct segment *segment);

// Publishes the event that the segment committed last made complete; `now` counts as the time of
// its completion.
void assembly_complete(struct assembly *assembly, uint64_t now);

// Collects released slots, and closes events whose deadline has passed. Bounded work. `waited` is
// how many ticks the caller has been unable to take segments for want of a slot since the last
// call: they do not count towards deadlines.
void assembly_housekeep(struct assembly *assembly, uint64_t now, uint64_t waited);

// Some times a second, from the same thread: the times that consumers are told follow
// CLOCK_MONOTONIC.
void assembly_renew_clock(struct assembly *assembly, struct tick_moment moment);

// Collects released slots; returns how many are free.
uint32_t assembly_reclaim(struct assembly *assembly, uint64_t now);

// Closes all open events as the end of the run does.
void assembly_flush(struct assembly *assembly, uint64_t now);

// True once the end-of-run blocks of all sources have come, or of some, while the others have been
// silent for a deadline.
bool assembly_end_of_run(const struct assembly *assembly);

// --- Events that an event manager grants: built events are held until the manager has counted
// them, so that an event that was granted again elsewhere is not handed out twice. ---

// What became of an event: it is ready, and keeps its slot until assembly_publish() or
// assembly_withdraw(); or its slot came back.
struct assembly_news {
	uint64_t index;
	uint64_t bytes;     // of an event that is ready
	uint32_t slot;      // of one that is ready; ASSEMBLY_NO_SLOT: discarded as configured
	uint16_t n_missing; // of one that is ready: sources that are missing or malformed
	bool freed;
};

#define ASSEMBLY_NO_SLOT UINT32_MAX

// Opens a granted event before its first segment. True if it is open or held already; false if no
// slot is free.
bool assembly_expect(struct assembly *assembly, uint64_t id, uint64_t index, uint64_t now);

// Takes up to max of the news since the last call, in their order; returns how many.
unsigned assembly_take_news(struct assembly *assembly, struct assembly_news *news, unsigned max);

// Publishes a held event, `repeated` if it may have been published before, elsewhere. False if the
// slot does not hold this event.
bool assembly_publish(struct assembly *assembly, uint32_t slot, uint64_t index, bool repeated);

// Gives a held event up. False if the slot does not hold this event.
bool assembly_withdraw(struct assembly *assembly, uint32_t slot, uint64_t index);

// Gives up an event, open or held, that is built elsewhere. False if it is neither.
bool assembly_forget(struct assembly *assembly, uint64_t id, uint64_t index);

const struct assembly_counters *assembly_counters(const struct assembly *assembly);
// One entry an expected source.
const struct assembly_source_counters *assembly_source_counters(const struct assembly *assembly);
const struct assembly_latency *assembly_latency(const struct assembly *assembly);
uint32_t assembly_open_events(const struct assembly *assembly);
uint32_t assembly_free_slots(const struct assembly *assembly);
