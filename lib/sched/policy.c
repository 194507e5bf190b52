// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sched/policy.h"

// The lowest bits of a key are the item, so that the least key names the item that comes first.
#define ITEM_BITS 10 // SET_SIZE

static uint32_t next_in_ranking(struct selector *selector)
{
	return selector->first + (uint32_t)(ranking_least(&selector->ranking) % SET_SIZE);
}

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

uint32_t selector_most_free(const struct selector *selector)
{
	return SCHED_MAX_SLOTS - (uint32_t)(ranking_least(&selector->ranking) >> FREE_SHIFT);
}

// --- weighted ---

// Each item has its own virtual time. A turn advances it by an amount that is inversely
// proportional to the item's weight. The item with the earliest time is next. The selector's time
// is the latest time at which a turn began. A key is a time and an item; before a time no longer
// fits in a key, all times restart from 0.
#define TURN        (UINT64_C(1) << 20) // at weight 1
#define MOST_LATE   (2 * TURN)
#define LATEST_TIME (UINT64_C(1) << (62 - ITEM_BITS))

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

static void rank_by_time(struct selector *selector, uint32_t index)
{
	ranking_put(&selector->ranking, index, selector->shares[index].time << ITEM_BITS | index);
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
	rank_by_time(selector, item - selector->first);
}

// Once in 2^32 turns of an item of weight 1.
static void begin_time_anew(struct selector *selector)
{
	uint64_t passed = selector->now - MOST_LATE;

	selector->now = MOST_LATE;
	for (uint32_t i = 0; i < selector->end - selector->first; i++) {
		struct share *share = &selector->shares[i];

		share->time = share->time > passed ? share->time - passed : 0;
		if (ranking_key(&selector->ranking, i) != RANKING_OUT)
			rank_by_time(selector, i);
	}
}

static void passed_by_weight(struct selector *selector, uint32_t item)
{
	struct share *share = &selector->shares[item - selector->first];

	limit_time(selector, share);
	if (share->time > selector->now)
		selector->now = share->time;
	share->time += share->turn;
	if (ranking_key(&selector->ranking, item - selector->first) != RANKING_OUT)
		rank_by_time(selector, item - selector->first);
	if (selector->now > LATEST_TIME)
		begin_time_anew(selector);
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
		[SCHED_OCCUPANCY] = { rank_by_occupancy, next_in_ranking, NULL },
		[SCHED_WEIGHTED] = { rank_by_weight, next_in_ranking, passed_by_weight },
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
