// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Policies: which item of a set is next. The items are the builders of a congestion group, or the
// groups. A selector holds the state of one such set.
//
// Threads: a selector belongs to one thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "sched/ranking.h"
#include "sched/sched.h"
#include "sched/set.h"

// Of the policy `weighted`, per item.
struct share {
	uint64_t time; // at which the item's next turn is due
	uint32_t turn; // time that a turn takes: inversely proportional to the weight
	uint32_t weight;
};

struct selector {
	struct set *in;      // members; may be shared with other selectors
	uint32_t first, end; // the items are the numbers from first to end - 1
	// round-robin
	uint32_t cursor; // the first item that has not had its turn
	uint64_t turns;  // how often the cursor has come around
	// occupancy, weighted: keys of the members, by number - first
	struct ranking ranking;
	uint64_t now;         // occupancy: changes of keys so far; weighted: time
	struct share *shares; // weighted
	struct random random; // random
};

// A function that a policy does not need is NULL.
struct policy {
	// An item has become a member, or the number that the policy looks at has changed: with
	// `occupancy` the free slots, with `weighted` the weight, at least 1.
	void (*rank)(struct selector *selector, uint32_t item, uint32_t number);
	// The next member of a set that is not empty.
	uint32_t (*next)(struct selector *selector);
	// An item, which need not be a member, has had its turn.
	void (*passed)(struct selector *selector, uint32_t item);
};

const struct policy *policy_of(enum sched_policy policy);

// Starts an empty set. `nodes` is memory for the ranking, `shares` has one per item.
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

// With `occupancy`: the most free slots of any member of a set that is not empty.
uint32_t selector_most_free(const struct selector *selector);

// With `round-robin`: how often an item's turn has come, whether it was used or skipped.
static inline uint64_t selector_turns(const struct selector *selector, uint32_t item)
{
	return selector->turns + (item < selector->cursor);
}
