// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Messages between the control role of a node and its builders and readouts, passed by value
// through mailboxes (packet/mailbox.h). The comment of each kind ends with the fields that it
// carries.
#pragma once

#include <stdint.h>

enum message_kind {
	// to a builder
	MESSAGE_EXPECT = 1, // an event was granted to it: event, attempt
	MESSAGE_PUBLISH,    // the event counts as built here: publish it to the consumers: event,
			    // slot, flags
	MESSAGE_DISCARD,    // another builder builds the event: drop it; MESSAGE_GRANTED: open or
			    // held, otherwise if held in this slot: event, slot, flags
	MESSAGE_AWAIT, // state 1: a silent source is waited for, deadlines stand still; state 0: it
		       // is back, and all open events have one more deadline
	// The sources of a node take part in the granted events from `event` on, UINT64_MAX: in
	// none; other events do not wait for them: event, node
	MESSAGE_SOURCES,
	// from a builder
	MESSAGE_BUILT, // the event is ready and held, granted or not yet: event, flags, bytes,
		       // slot, n_missing
	MESSAGE_PUBLISHED, // the event is published: event
	MESSAGE_FREED,     // the slot of the event is free again: event, slot, time
	MESSAGE_DROPPED,   // the response to MESSAGE_DISCARD with MESSAGE_GRANTED: event
	MESSAGE_REFUSED, // no slot is free for an expected event, or was when its data arrived, or
			 // the event to be published is not held: event
	// Mode static: state 1: some of its events are open, or data waits for a slot; state 0:
	// none.
	MESSAGE_OPEN,
	// to a readout
	// send an event: event, builder, attempt, round, position, n_positions, bytes (rate); for
	// RDMA WRITE also address, size and rkey of its place
	MESSAGE_SEND,
	MESSAGE_RELEASE, // events below `event` are finished, their MFPs may be freed: event
	// The state of the run (enum ctrl_run_state) has changed: state, run, event. The first
	// message of a run starts it, and `event` is the first event of this readout. In the state
	// draining, `event` is the end of the run: the readout drops the MFPs from this event on,
	// still announces those before it, and then sends MESSAGE_LAST.
	MESSAGE_RUN,
	// The readout nodes share their source: the next events of this readout that have no index
	// get those from `event` on: event, bytes (their number)
	MESSAGE_ASSIGN,
	// The event was discarded, and nobody publishes it; before MESSAGE_RELEASE, to nodes that
	// send built events: event, flags
	MESSAGE_UNPUBLISHED,
	MESSAGE_THROTTLE, // state 1: announce nothing new; state 0: announce again
	// Timed shift, also to a builder: the manager's clock was bytes (us modulo 2^32) at the
	// time `event`, ticks: event, bytes
	MESSAGE_CLOCK,
	// from a readout
	// events below `event` are present, or, where the source is shared, so many; flags
	// MESSAGE_LAST: no more will come, MESSAGE_UNSENT
	MESSAGE_ANNOUNCE,
	// Also to a readout. Of the phases of the grants with MESSAGE_BARRIER in this session: the
	// readout has finished those below; to a readout: all nodes have: event (phase modulo
	// 2^32), state (session)
	MESSAGE_PHASE,
	MESSAGE_SENT, // an event has been sent, or is missing: event, builder, attempt
	// a block of an event may be read: event, run, builder, attempt, source, address, size,
	// rkey
	MESSAGE_OFFER,
	// to a builder's port
	MESSAGE_READ, // read a block: event, builder (of the node), node, source, address, size,
		      // rkey
};

#define MESSAGE_LAST      1u // of MESSAGE_ANNOUNCE
#define MESSAGE_DISCARDED 2u // of MESSAGE_BUILT: incomplete, and given up as configured
#define MESSAGE_REQUESTED 4u // of MESSAGE_SEND: a builder requested it: respond with MESSAGE_SENT
// Of MESSAGE_PUBLISH and MESSAGE_UNPUBLISHED: the event may have been published before.
#define MESSAGE_REPEATED 8u
#define MESSAGE_GRANTED  16u // of MESSAGE_DISCARD: a grant ends: respond with MESSAGE_DROPPED
// With MESSAGE_LAST, in mode static: not all of the events have been sent yet.
#define MESSAGE_UNSENT 32u
// Of MESSAGE_SEND: its phase begins as MESSAGE_PHASE allows (pacing/phase_gate.h); `state` is the
// session.
#define MESSAGE_BARRIER 64u
// Of MESSAGE_BUILT: the builder had not taken MESSAGE_EXPECT when it closed the event.
#define MESSAGE_UNGRANTED 128u

struct message {
	uint64_t event; // index
	// MESSAGE_BUILT: size; MESSAGE_SEND: rate in bytes/s, 0: unlimited; MESSAGE_ASSIGN: events;
	// MESSAGE_CLOCK: us
	uint64_t bytes;
	union {
		uint64_t round;
		// MESSAGE_FREED: of the release by consumers, 0: they never had the slot. TSC from
		// the builder; the control role converts it to ns of its clock for the logic.
		uint64_t time;
	};
	uint32_t run;
	uint32_t
	    slot; // of the event: MESSAGE_BUILT, MESSAGE_PUBLISH, MESSAGE_DISCARD, MESSAGE_FREED
	uint16_t kind;    // enum message_kind
	uint16_t flags;   // MESSAGE_LAST, ...
	uint16_t builder; // system-wide number
	uint16_t attempt;
	union {
		struct {
			uint16_t position, n_positions;
		};
		struct {
			uint16_t node;   // MESSAGE_READ: node that has the block; MESSAGE_SOURCES
			uint16_t source; // MESSAGE_OFFER, MESSAGE_READ: id
		};
	};
	uint16_t state;
	uint16_t n_missing; // MESSAGE_BUILT: sources, 0: complete
	uint64_t address;   // for RDMA; valid if rkey is not 0
	uint32_t size;      // bytes at this address
	uint32_t rkey;
};

_Static_assert(sizeof(struct message) == 64, "one cache line");
