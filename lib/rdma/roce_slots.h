// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Whether a builder has a slot for a message that begins: what RNR NAKs go by. A message is taken
// if its event, or a later one of the builder, has been taken before; else there must be a free
// slot beyond those that events on their way to the builder will need. So no slot is asked for that
// is not there, and the sources that are behind can always finish what the others have begun.
//
// The builders say how many slots are free and how many events they have opened, as counters that
// may be a little old. Events that were let in and never opened (a builder dropped what began them)
// are forgotten when none was let in for a while. A message that names an event far from those
// under way does not move them, unless many do in a row: one wrong number must not let in all
// others.
//
// Where an event manager grants events, a granted event has its slot, and its messages are taken.
// The data of others may be faster than their grant: it is taken while slots are free, and else put
// off until the grant comes, or is not to be waited for any longer (the event is another builder's
// by now).
//
// Threads: the rx lcores of all ports, of which each lets in messages of its own; the control
// role's tells of grants.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct roce_slots_of {
	uint32_t free;   // slots
	uint64_t opened; // events, since the start
};

// Tells of builder `builder`.
typedef struct roce_slots_of (*roce_slots_ask)(void *context, unsigned builder);

struct roce_slots;

// NULL if memory ran out.
struct roce_slots *roce_slots_create(unsigned n_builders, roce_slots_ask ask, void *context);
void roce_slots_destroy(struct roce_slots *slots);

// Events are granted, and at most `events`, a power of two, lie between the oldest and the newest
// that can be under way. Before anybody asks. False if memory ran out.
bool roce_slots_granted(struct roce_slots *slots, uint32_t events);
// This event has been granted to the builder.
void roce_slots_expect(struct roce_slots *slots, unsigned builder, uint64_t index);

// Whether a message of event `index` of this builder is let in; now: ns of any steady clock.
// `always`: it is, and counted; for messages that cannot be put off.
bool roce_slots_admit(struct roce_slots *slots, unsigned builder, uint64_t index, bool always,
		      uint64_t now);

// A message says that the run ends: the builder will open an event for that, without a slot.
void roce_slots_end(struct roce_slots *slots, unsigned builder);
