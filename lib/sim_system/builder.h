// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A builder without payload, with the behaviour of lib/builder towards the network and the control
// protocol. It opens an event when the node announces its grant, or when its first data comes and
// one of the spare slots is free; it counts the bytes of each block, reports the event when it is
// complete or at its deadline, holds it until it may publish it, and frees the slot when the
// consumers return the event.
//
// A builder can be paused, as its thread can: messages and segments wait then, without a limit, and
// are handled in this order when it goes on.
//
// A granted event of which nothing arrives waits for ten deadlines, or for one from the time on at
// which an event that was granted later has all blocks: sources send in the order of the grants.
//
// Data for which there is no slot waits, and blocks the data behind it, for at most half of the
// heartbeat timeout (builder_role.c).
//
// Blocks are counted by their bytes only: the fabric duplicates nothing. If a source sends an event
// a second time to the same builder after a part of the first was lost, bytes of both count as one
// block.
//
// Threads: one. Times are ns.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "packet/causes.h"
#include "packet/event_rules.h"
#include "packet/message.h"
#include "sim_system/pool.h"
#include "sim_system/system.h"

// A segment in the fabric, or one that waits for the grant of its event.
struct sim_segment {
	uint64_t event;
	uint32_t next;    // of a list
	uint32_t size;    // bytes of payload
	uint32_t length;  // of its block
	uint32_t wire;    // bytes on the wire
	uint32_t offset;  // of the payload in its block
	uint16_t source;  // of the system
	uint16_t builder; // of the system
};

enum sim_slot_state {
	SIM_SLOT_FREE,
	SIM_SLOT_OPEN,
	SIM_SLOT_HELD,      // built, not published
	SIM_SLOT_PUBLISHED, // with the consumers
};

struct sim_slot {
	uint64_t event;
	uint64_t at;            // the deadline, or the release by the consumers
	uint64_t first;         // time of the first segment; 0: none
	uint64_t bytes;         // of the built event
	uint64_t payload, wire; // bytes of the blocks that are whole
	uint64_t serial;        // number of events that were opened earlier
	uint32_t older, newer;  // neighbours in the list of expected events
	uint32_t row;           // of the received bytes, POOL_NONE: none
	uint32_t n_begun;       // blocks
	uint32_t n_whole;       // of these
	uint8_t state;
	bool granted;
	bool expected; // granted, no segment has arrived, and not overtaken: in the list
	bool incomplete;
};

#define SIM_INPUTS 2u // from the network, and from readouts of the same node

struct sim_input {
	uint32_t first, last; // segments that wait; POOL_NONE: none
};

struct sim_builder_counters {
	uint64_t complete, incomplete, discarded, payload, event_wire, placed;
	uint64_t refused[SEGMENT_N_CAUSES];
};

// What the builders of a system share.
struct sim_builder_rules {
	unsigned n_sources;
	unsigned n_nodes;
	const uint16_t *node_of_source; // [n_sources]
	uint32_t header_size;           // of a MEP
	uint32_t error_size;            // of an error MFP
	uint64_t deadline;
	uint64_t grant_wait;
	bool discards; // incomplete events
	struct sim_consumer consumer;
	struct pool *segments; // struct sim_segment
	struct pool *rows;     // uint32_t[n_sources]
	struct histogram *built;
	// Passes a message on to the node; it is handled after the present one.
	void (*tell)(void *context, const struct message *message);
	// An event is published.
	void (*published)(void *context, uint64_t event, uint64_t now);
};

struct sim_builder {
	const struct sim_builder_rules *rules;
	void *context; // of the functions in the rules
	struct sim_slot *slots;
	uint32_t n_slots;
	uint32_t spare, n_ungranted, n_used;
	uint32_t oldest, newest; // of the list of expected events; UINT32_MAX: it is empty
	uint64_t n_opened;       // events
	uint64_t newest_granted; // serial of a granted event that lacked nothing
	uint32_t *hints;         // [hint_mask + 1], by event: slot
	uint64_t *closed;        // [closed_mask + 1], by event: event + 1 that was closed last
	uint32_t hint_mask, closed_mask;
	uint64_t *from;         // [n_nodes]: first event in which its sources take part; NULL: all
	uint64_t *workers_free; // [n_workers]: time from which a worker is free
	struct sim_input inputs[SIM_INPUTS];
	uint32_t n_waiting;
	uint64_t ungranted_since; // 0: no data waits
	uint64_t due;             // nothing happens by itself before
	bool awaits;
	bool is_paused;
	struct sim_law consumer;  // time of its consumers per event
	struct message *messages; // [n_messages], that came while it was paused
	size_t n_messages, messages_size;
	struct random random;
	struct sim_builder_counters counters;
};

// False if memory ran out; call sim_builder_free() even then. n_closed: a power of two.
bool sim_builder_make(struct sim_builder *builder, const struct sim_builder_rules *rules,
		      void *context, uint32_t n_slots, uint32_t n_closed, struct random random);
void sim_builder_free(struct sim_builder *builder);

// Takes a segment of the pool, which it frees.
void sim_builder_segment(struct sim_builder *builder, unsigned input, uint32_t segment,
			 uint64_t now);

// Handles a message of the node. False: memory ran out.
bool sim_builder_message(struct sim_builder *builder, const struct message *message, uint64_t now);

// Pauses the builder, or lets it go on.
void sim_builder_pause(struct sim_builder *builder, bool is_paused, uint64_t now);

// Does what is due: deadlines, releases, segments that have waited too long.
void sim_builder_poll(struct sim_builder *builder, uint64_t now);
