// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sched/policy.h"

// --- round-robin ---

static uint32_t next_in_turn(struct selector *selector)
{
	return set_next_around(selector->in, selector->cursor, selector->first, selector->end);
}

static void passed_in_turn(struct selector *selector, uint32_t item)
{
	selector->turns += item < selector->cursor;
	selector->cursor = item + 1;
	if (selector->cursor == selector->end) {
		selector->cursor = selector->first;
		selector->turns++;
	}
}

// --- occupancy ---

// The key has three fields, from the highest bits on: SCHED_MAX_SLOTS minus the number of free
// slots; the count of changes at the item's last change, so that of equal items the item whose
// number has not changed for the longest time comes first; and the item. When the count overflows,
// after 2^37 changes, equal items change their order once.
#define ITEM_BITS   10 // SET_SIZE
#define CHANGE_BITS 37
#define FREE_SHIFT  (ITEM_BITS + CHANGE_BITS)

static void rank_by_occupancy(struct selector *selector, uint32_t item, uint32_t free)
{
	uint64_t missing = SCHED_MAX_SLOTS - free, change;

	item -= selector->first;
	if (ranking_key(&selector->ranking, item) >> FREE_SHIFT == missing)
		return;
	change = selector->now++ % (UINT64_C(1) << CHANGE_BITS);
	ranking_put(&selector->ranking, item, missing << FREE_SHIFT | change << ITEM_BITS | item);
}

static uint32_t next_by_occupancy(struct selector *selector)
{
	return selector->first + (uint32_t)(ranking_least(&selector->ranking) % SET_SIZE);
}

uint32_t selector_most_free(const struct selector *selector)
{
	return SCHED_MAX_SLOTS - (uint32_t)(ranking_least(&selector->ranking) >> FREE_SHIFT);
}

// --- weighted ---

// Each item has its own virtual time. A turn advances it by an amount that is inversely
// proportional to the item's weight. The item with the earliest time is next. The selector's time
// is the latest time at which a turn began.
#define TURN      (UINT64_C(1) << 20) // at weight 1
#define MOST_LATE (2 * TURN)

// An item that becomes a member again retains its time within limits, so that it does not get all
// turns that it has missed, and does not wait for more than one turn.
static void limit_time(const struct selector *selector, struct share *share)
{
	uint64_t earliest = selector->now - TURN - share->turn;
	uint64_t latest = selector->now + share->turn;

	if (share->time < earliest)
		share->time = earliest;
	if (share->time > latest)
		share->time = latest;
}

static void rank_by_weight(struct selector *selector, uint32_t item, uint32_t weight)
{
	struct share *share = &selector->shares[item - selector->first];

	if (share->weight != weight) {
		share->weight = weight;
		share->turn = (uint32_t)(TURN / weight);
	}
	if (ranking_key(&selector->ranking, item - selector->first) != RANKING_OUT)
		return;
	limit_time(selector, share);
	ranking_put(&selector->ranking, item - selector->first, share->time);
}

static uint32_t next_by_weight(struct selector *selector)
{
	return selector->first + ranking_first(&selector->ranking);
}

static void passed_by_weight(struct selector *selector, uint32_t item)
{
	struct share *share = &selector->shares[item - selector->first];

	limit_time(selector, share);
	if (share->time > selector->now)
		selector->now = share->time;
	share->time += share->turn;
	if (ranking_key(&selector->ranking, item - selector->first) != RANKING_OUT)
		ranking_put(&selector->ranking, item - selector->first, share->time);
}

// --- random ---

// Draws an item at random, and returns the first member at or after it.
static uint32_t next_at_random(struct selector *selector)
{
	uint64_t n = selector->end - selector->first, drawn = random_next(&selector->random) >> 32;

	return set_next_around(selector->in, selector->first + (uint32_t)(drawn * n >> 32),
			       selector->first, selector->end);
}

const struct policy *policy_of(enum sched_policy policy)
{
	static const struct policy policies[] = {
		[SCHED_ROUND_ROBIN] = { NULL, next_in_turn, passed_in_turn },
		[SCHED_OCCUPANCY] = { rank_by_occupancy, next_by_occupancy, NULL },
		[SCHED_WEIGHTED] = { rank_by_weight, next_by_weight, passed_by_weight },
		[SCHED_RANDOM] = { NULL, next_at_random, NULL },
	};

	return &policies[policy];
}

void selector_start(struct selector *selector, struct set *in, uint32_t first, uint32_t end,
		    uint64_t *nodes, struct share *shares, uint64_t seed)
{
	*selector = (struct selector){
		.in = in,
		.first = first,
		.end = end,
		.cursor = first,
		.now = MOST_LATE,
		.shares = shares,
		.random = random_fork(seed, 0),
	};
	ranking_start(&selector->ranking, nodes, end - first);
	for (uint32_t i = 0; i < end - first; i++)
		shares[i] = (struct share){ .time = MOST_LATE, .turn = TURN, .weight = 1 };
}
