// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A timing wheel (Carousel, Saeed et al., SIGCOMM 2017): many flows, each with the time at which
// it may send next, in constant time each. Pure: time is ticks that the caller gives, never
// smaller than those given before. Nothing is allocated after init: entries are part of what they
// stand for.
//
// A slot is the largest power of two of ticks that lasts at most 0.5 us. An entry comes out never
// before its time, and at most one slot after it if polled; entries of one slot in the order in
// which they were put. What lies beyond the horizon travels in the last slot and is put anew.
//
// Threads: one owner.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timing_wheel_entry {
	struct timing_wheel_entry *next, *previous; // NULL next: not in a wheel
	uint64_t due;                               // ticks
	uint32_t slot;
};

struct timing_wheel {
	struct timing_wheel_entry *slots; // heads of circular lists
	uint64_t *occupied;               // bit a slot
	uint64_t cursor;                  // absolute number of the next slot to look at
	uint32_t n_slots, mask;
	uint32_t shift;     // a slot is 2^shift ticks
	uint32_t n_entries; // in the wheel
};

// n_slots: a power of two, 64 .. 65536: the horizon is (n_slots - 1) slots. ticks_per_second >= 2
// million. Returns 0, or -1 if memory ran out or an argument is none of these.
int timing_wheel_init(struct timing_wheel *wheel, uint32_t n_slots, uint64_t ticks_per_second,
		      uint64_t now);

// Frees the wheel, not the entries. Does nothing with all zeros.
void timing_wheel_fini(struct timing_wheel *wheel);

// An entry that is in no wheel.
static inline void timing_wheel_entry_init(struct timing_wheel_entry *entry)
{
	entry->next = NULL;
}

static inline bool timing_wheel_holds(const struct timing_wheel_entry *entry)
{
	return entry->next != NULL;
}

// Puts an entry that is in no wheel; a time that has passed comes out with the next poll.
void timing_wheel_put(struct timing_wheel *wheel, struct timing_wheel_entry *entry, uint64_t due);

// Takes an entry out before its time. Does nothing if it is in no wheel.
void timing_wheel_remove(struct timing_wheel *wheel, struct timing_wheel_entry *entry);

// Takes at most `n` entries whose time has come, and returns how many. Looks at most at 2 n entries
// and once around the wheel's bitmap.
unsigned timing_wheel_poll(struct timing_wheel *wheel, uint64_t now,
			   struct timing_wheel_entry **entries, unsigned n);

// Ticks of one slot, and of the whole horizon.
static inline uint64_t timing_wheel_slot_ticks(const struct timing_wheel *wheel)
{
	return 1ull << wheel->shift;
}

static inline uint64_t timing_wheel_horizon_ticks(const struct timing_wheel *wheel)
{
	return (uint64_t)(wheel->n_slots - 1) << wheel->shift;
}
