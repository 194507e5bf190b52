// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Policies: they choose the next item of a set. The items are the builders of a congestion group,
// or the groups. A selector holds the state of one such set.
//
// Threads: one thread uses a selector.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "sched/ranking.h"
#include "sched/sched.h"
#include "sched/set.h"

// State of one item for the policy `weighted`. Times have no unit, see policy.c.
struct share {
	uint64_t time; // time at which the item's next turn is due
	uint32_t turn; // time between two turns, inversely proportional to the weight
	uint32_t weight;
};

struct selector {
	struct set *in;      // the members; other selectors may use other numbers of this set
	uint32_t first, end; // the items are the numbers from first to end - 1
	// round-robin
	uint32_t cursor; // the first item that has not had its turn in this cycle
	uint64_t turns;  // number of completed cycles of the cursor
	// occupancy, weighted: keys of the members, indexed by number - first
	struct ranking ranking;
	uint64_t now;         // occupancy: number of changes of keys; weighted: the present time
	struct share *shares; // weighted
	struct random random; // random
};

// A function that a policy does not need is NULL.
struct policy {
	// An item has become a member, or the number that the policy uses has changed: for
	// `occupancy` the number of free slots, for `weighted` the weight, at least 1.
	void (*rank)(struct selector *selector, uint32_t item, uint32_t number);
	// Returns the next member of a set that is not empty.
	uint32_t (*next)(struct selector *selector);
	// An item has had its turn. It need not be a member.
	void (*passed)(struct selector *selector, uint32_t item);
};

const struct policy *policy_of(enum sched_policy policy);

// Starts a selector without members. `nodes` is memory for the ranking, see ranking_start();
// `shares` has one element per item.
void selector_start(struct selector *selector, struct set *in, uint32_t first, uint32_t end,
		    uint64_t *nodes, struct share *shares, uint64_t seed);

static inline void selector_enter(const struct policy *policy, struct selector *selector,
				  uint32_t item, uint32_t number)
{
	set_add(selector->in, item);
	if (policy->rank != NULL)
		policy->rank(selector, item, number);
}

static inline void selector_leave(const struct policy *policy, struct selector *selector,
				  uint32_t item)
{
	set_remove(selector->in, item);
	if (policy->rank != NULL)
		ranking_put(&selector->ranking, item - selector->first, RANKING_OUT);
}

static inline void selector_passed(const struct policy *policy, struct selector *selector,
				   uint32_t item)
{
	if (policy->passed != NULL)
		policy->passed(selector, item);
}

// With `occupancy`: the largest number of free slots of a member; the set is not empty.
uint32_t selector_most_free(const struct selector *selector);

// With `round-robin`: the number of an item's turns, used or skipped.
static inline uint64_t selector_turns(const struct selector *selector, uint32_t item)
{
	return selector->turns + (item < selector->cursor);
}
