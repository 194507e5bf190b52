// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Decides whether a builder has a slot for a message that begins; if not, an RC message gets an RNR
// NAK. A message is admitted if its event was admitted before. Otherwise the builder needs a free
// slot beyond those for the events in flight, which are admitted but not opened. So a builder never
// needs a slot that it does not have, and slower sources can always finish the events that others
// have begun.
//
// Sources send in order. If a later event was admitted before and this one was not, it is *passed*:
// the other sources sent it to an earlier process of the builder, or never, and it will not be
// complete. Without a free slot it is dropped: waiting would hold back events that can be complete.
//
// The builders report their free slots and the number of events that they have opened, as counters
// that may be slightly outdated. Admitted events that are never opened (a builder dropped their
// first message) are forgotten after some time without an admission. A message of an event far from
// the newest does not change the newest event, unless many such messages follow each other: one
// wrong event number must not admit all other events.
//
// Where an event manager grants events, a granted event has its slot, and its messages are
// admitted. The data of other sources may arrive before the grant. It is admitted while slots are
// free; otherwise it is delayed until the grant arrives or a time limit has passed (then the event
// belongs to another builder).
//
// Threads: the rx lcores of all ports call roce_slots_admit() and roce_slots_end(); the control
// role calls roce_slots_expect().
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct roce_slots_state {
	uint32_t free;   // slots
	uint64_t opened; // events, since the start
};

// Reports the state of a builder.
typedef struct roce_slots_state (*roce_slots_query)(void *context, unsigned builder);

enum roce_slots_verdict {
	ROCE_SLOTS_ADMITTED,
	ROCE_SLOTS_WAIT,   // until a slot is free
	ROCE_SLOTS_PASSED, // there is no slot, and the event is to be dropped
};

struct roce_slots;

// NULL if memory ran out.
struct roce_slots *roce_slots_create(unsigned n_builders, roce_slots_query query, void *context);
void roce_slots_destroy(struct roce_slots *slots);

// Remembers the admitted events, to recognize passed ones. Without it a message behind the newest
// event is always admitted, and not counted: for a store that counts only the newest event. Call it
// before all others. False if memory ran out.
bool roce_slots_remember(struct roce_slots *slots);

// Declares that events are granted. At most `events`, a power of two, lie between the oldest and
// the newest event in progress. Call it before all others. False if memory ran out.
bool roce_slots_granted(struct roce_slots *slots, uint32_t events);
// Records that this event has been granted to the builder.
void roce_slots_expect(struct roce_slots *slots, unsigned builder, uint64_t index);

// Whether a message of event `index` of this builder is admitted, with all packets of the message.
// `now` is ns of any steady clock. With `always` it is admitted and counted even without a slot:
// for messages that cannot be delayed.
enum roce_slots_verdict roce_slots_admit(struct roce_slots *slots, unsigned builder, uint64_t index,
					 bool always, uint64_t now);

// The run ends with this message: the builder opens an event for it without a slot.
void roce_slots_end(struct roce_slots *slots, unsigned builder);
