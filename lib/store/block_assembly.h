// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Puts the blocks of the sources of a store together from segments, which arrive in any order, and
// passes whole blocks to the window of the store. It uses no DPDK port and reads no clock.
//
// For each segment the caller
//   1. calls block_assembly_admit(), which returns the address for the payload, or a cause of
//      refusal;
//   2. copies the payload to that address;
//   3. calls block_assembly_commit().
//
// A block gets its room (store/block_memory.h), of its own length, when its first segment arrives.
// If there is no room, the store is full.
//
// An event is given up at the deadline after the first sign of it: its first segment, or one of a
// later event that half of the sources (at least two) have begun. Events of fewer sources wait
// until the others follow, or have been silent for 2 deadlines, or for 10 if one of three or more
// sources, or none, has begun the event: one source with wrong event ids does not cost the data of
// the others. Blocks that arrive for an event that is ready are late.
//
// Blocks are taken also before a run begins; beginning the first run drops those of events before
// its first event. A later run that goes on with higher events keeps them, too.
//
// Times are ticks of a counter that never goes back. Thread: the role's lcore; any thread may read
// the counters.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "block/part.h"
#include "packet/event_index.h"
#include "store/block_memory.h"
#include "store/block_window.h"

struct block_assembly_parameters {
	const uint16_t *ids; // [n_sources], ascending; outlive the assembly
	unsigned n_sources;
	uint32_t packing;
	uint64_t first_event; // event id of event index 0
	uint32_t max_block;   // bytes
	uint8_t *memory;      // [size], aligned to 64 bytes; the caller's
	uint64_t size;        // bytes, at least 8 of the largest blocks, at most 256 GiB
	bool mfps;            // blocks are MFPs and are validated
	bool ends;            // end-of-run blocks of all sources end the store
	bool holds_back;      // the caller tries a segment again for which there is no room
	uint64_t deadline;    // ticks
};

struct block_assembly_counters {
	uint64_t segments; // received
	uint64_t placed;
	uint64_t placed_bytes;
	uint64_t drops[SEGMENT_N_CAUSES];
	uint64_t blocks;    // whole
	uint64_t malformed; // whole, but no valid MFP: an error MFP is sent in its place
};

struct block_assembly_source_counters {
	uint64_t placed;
	uint64_t placed_bytes;
	uint64_t drops[SEGMENT_N_CAUSES];
};

struct block_assembly {
	struct block_window window; // the first member, for the operations of the store
	struct block_assembly_parameters parameters;
	uint64_t mask;      // capacity of the window - 1
	struct part *parts; // [capacity][n_sources]; whole parts stay until their event is released
	uint32_t *n_begun;  // [capacity]: sources that have begun the event
	uint64_t *since;    // [capacity]: own time of the first sign
	uint64_t newest;    // first event without a sign; any thread may read it
	uint64_t freed;     // store.released, for other threads
	uint64_t front;     // first event that the quorum has not begun, nor a later one
	uint64_t moved;     // own time when the front moved
	uint32_t quorum;
	struct range_pool pool;
	uint32_t *ranges; // [n_sources]: that each source uses

	struct block_memory memory;
	struct divisor packing;
	uint32_t error_size;
	uint64_t latest_id, latest_event; // of the segment before
	struct part *admitted;            // of the segment that was admitted last; NULL: end of run
	uint8_t *end_memory;              // receives the payload of end-of-run blocks
	bool *has_ended;                  // [n_sources]
	unsigned n_ended;
	bool is_running;    // a run has begun
	bool begins;        // deadlines start at the next poll
	uint64_t paused;    // ticks that do not count
	uint64_t last_poll; // ticks

	struct block_assembly_counters counters;
	struct block_assembly_source_counters *sources; // [n_sources]
};

// Bytes that an assembly allocates besides `memory`. Any thread.
uint64_t block_assembly_memory(unsigned n_sources);

// Control thread. False if memory ran out; call block_assembly_free() even then.
bool block_assembly_make(struct block_assembly *assembly,
			 const struct block_assembly_parameters *parameters);
void block_assembly_free(struct block_assembly *assembly);

// Returns the address for the segment's `size` bytes of payload. NULL if the segment is refused,
// with the reason in *cause. The refusal has been counted then, except for SEGMENT_STORE_FULL of an
// assembly that holds back. `source`: index into ids.
uint8_t *block_assembly_admit(struct block_assembly *assembly, const struct segment *segment,
			      unsigned source, enum segment_cause *cause);

// Counts a segment as refused, under the cause.
void block_assembly_refuse(struct block_assembly *assembly, unsigned source,
			   enum segment_cause cause);

// The payload of the segment that was admitted last has been copied.
void block_assembly_commit(struct block_assembly *assembly, const struct segment *segment,
			   unsigned source);

// To be called once per poll, before the segments. `waits`: a segment has waited for room since the
// last call. Deadlines stand still in this time while the store has events that are ready, because
// data of the other events wait behind the segment.
void block_assembly_tick(struct block_assembly *assembly, uint64_t now, bool waits);

// Gives events up whose deadline has passed, and ends the store if all sources have ended; bounded
// work. To be called once per poll, behind the segments.
void block_assembly_expire(struct block_assembly *assembly);

// For the operations of a store whose first member is the assembly.
void block_assembly_begin(struct block_store *store, uint64_t first);
void block_assembly_release(struct block_store *store, uint64_t event);
void block_assembly_housekeep(struct block_store *store);
