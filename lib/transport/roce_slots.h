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
// are forgotten when none was let in for a while.
//
// Threads: the rx lcores of all ports, of which each lets in messages of its own.
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

// Whether a message of event `index` of this builder is let in; now: ns of any steady clock.
// `always`: it is, and counted; for messages that cannot be put off.
bool roce_slots_admit(struct roce_slots *slots, unsigned builder, uint64_t index, bool always,
		      uint64_t now);

// A message says that the run ends: the builder will open an event for that, without a slot.
void roce_slots_end(struct roce_slots *slots, unsigned builder);
