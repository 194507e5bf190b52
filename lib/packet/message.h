// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Messages between the control role of a node and its builders and readouts, passed by value
// through mailboxes (packet/mailbox.h).
#pragma once

#include <stdint.h>

enum message_kind {
	// to a builder
	MESSAGE_EXPECT = 1, // an event was granted to it: event, attempt
	MESSAGE_PUBLISH,    // the manager counts the event as built here: hand it to the consumers
	MESSAGE_DISCARD,    // the event is built elsewhere: forget it, open or held
	// from a builder
	MESSAGE_BUILT, // the event is ready and held, granted or not yet: event, flags, bytes,
		       // slot, n_missing
	MESSAGE_PUBLISHED, // consumers have it: event
	MESSAGE_FREED,     // the event's slot is free again, or it had none; also the response to
			   // MESSAGE_DISCARD
	MESSAGE_REFUSED,   // there is no slot for an expected event; or no event that is to be
			   // published
	// to a readout
	// send an event: event, builder, attempt, round, position, n_positions, rate; address, size
	// and rkey, where RDMA WRITE is to put it
	MESSAGE_SEND,
	MESSAGE_RELEASE, // events below `event` are finished: their MFPs may go
	// state (enum ctrl_run_state), run number, event. The first of a run is its start: event is
	// the first that this readout has. Draining: event is the end: the readout drops the MFPs
	// from it on, still announces those before it, and then sends MESSAGE_LAST.
	MESSAGE_RUN,
	MESSAGE_THROTTLE, // state: 1: announce nothing new; 0: go on
	// from a readout
	MESSAGE_ANNOUNCE, // events below `event` are present; flags MESSAGE_LAST: no more will come
	MESSAGE_SENT,     // an event has been sent, or is missing: event, builder, attempt
	// a block of it may be read: event, builder, attempt, source, address, size, rkey
	MESSAGE_OFFER,
	// to a builder's port
	MESSAGE_READ, // read a block: event, builder (of the node), node, source, address, size,
		      // rkey
};

#define MESSAGE_LAST      1u // of MESSAGE_ANNOUNCE
#define MESSAGE_DISCARDED 2u // of MESSAGE_BUILT: incomplete, and given up as configured
#define MESSAGE_REQUESTED 4u // of MESSAGE_SEND: a builder requested it: respond with MESSAGE_SENT
#define MESSAGE_REPEATED  8u // of MESSAGE_PUBLISH: the event may have been handed out before

struct message {
	uint64_t event; // index
	uint64_t bytes; // MESSAGE_BUILT: of the event; MESSAGE_SEND: rate, bytes/s, 0: unlimited
	uint64_t round;
	uint32_t run;
	uint32_t
	    slot; // MESSAGE_BUILT: where it lies; MESSAGE_PUBLISH and MESSAGE_DISCARD say the same
	uint16_t kind;    // enum message_kind
	uint16_t flags;   // MESSAGE_LAST, ...
	uint16_t builder; // system-wide number
	uint16_t attempt;
	union {
		struct {
			uint16_t position, n_positions;
		};
		struct {
			uint16_t node;   // MESSAGE_READ: that has it
			uint16_t source; // MESSAGE_OFFER, MESSAGE_READ: id
		};
	};
	uint16_t state;
	uint16_t n_missing; // MESSAGE_BUILT: sources, 0: complete
	uint64_t address;   // for RDMA, if rkey is not 0, as are the next two
	uint32_t size;      // bytes at that address
	uint32_t rkey;
};

_Static_assert(sizeof(struct message) == 64, "one cache line");
