// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Policies: which of a set of items is next. The items are the builders of a group, or the groups;
// those that can be granted are in the set. Every operation takes a time that does not depend on
// the number of items.
//
// Threads: a selector belongs to one thread.
#pragma once

#include <stdint.h>

#include "base/random.h"
#include "sched/bitmap.h"
#include "sched/carver.h"
#include "sched/key_lists.h"

struct policy_in_turn {
	struct bitmap in;
	uint32_t cursor; // first item that has not had its turn
	uint64_t turns;  // times the cursor has come around
	uint64_t skips;  // items passed without taking their turn
};

struct policy_weighted {
	struct key_lists ticks;
	uint64_t now;
	uint64_t *time; // of each item
	uint64_t *turn; // how much of it a turn takes
	struct bitmap in;
};

struct policy_random {
	struct random random;
	uint32_t n;      // items in the set
	uint32_t *items; // those
	uint32_t *place; // of each item among them
};

struct selector {
	uint32_t n_items;
	union {
		struct policy_in_turn in_turn;
		struct key_lists occupancy; // the key is the policy's
		struct policy_weighted weighted;
		struct policy_random random;
	};
};

struct policy {
	// Takes memory, all zero, for items whose keys are at most most_key.
	void (*layout)(struct selector *selector, struct carver *carver, uint32_t most_key);
	// Makes the set empty; `seed` differs between selectors.
	void (*start)(struct selector *selector, uint64_t seed);
	// An item that is not in the set enters it, one that is in leaves it, has another key.
	void (*enter)(struct selector *selector, uint32_t item, uint32_t key);
	void (*leave)(struct selector *selector, uint32_t item);
	void (*rekey)(struct selector *selector, uint32_t item, uint32_t key);
	// The next item of a set that is not empty; it has had its turn.
	uint32_t (*choose)(struct selector *selector);
	// An item has had its turn by another rule; it need not be in the set.
	void (*passed)(struct selector *selector, uint32_t item);
};

// Keys have no meaning.
extern const struct policy policy_round_robin;
// The key is the number of free slots; 0 is a key like any other.
extern const struct policy policy_occupancy;
// The key is the weight, at least 1.
extern const struct policy policy_weighted;
// Keys have no meaning.
extern const struct policy policy_random;

// The highest key in a set that is not empty.
static inline uint32_t policy_occupancy_top(const struct selector *selector)
{
	return bitmap_last(&selector->occupancy.keys);
}

// How often it has been an item's turn, whether it took it or was skipped.
static inline uint64_t policy_in_turn_count(const struct selector *selector, uint32_t item)
{
	return selector->in_turn.turns + (item < selector->in_turn.cursor);
}
