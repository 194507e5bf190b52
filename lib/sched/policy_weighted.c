// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Each item has a time of its own, of which a turn takes the more the less its weight is. The item
// whose time is the earliest is next; the time now is the latest at which a turn began. Times are
// sorted by tick. An item that comes back keeps its time, within limits: not much more than the
// lightest's turn behind now, so that it does not make up for all that it has missed, nor more than
// a turn ahead.
#include "sched/policy.h"

#define TURN      (UINT64_C(1) << 20) // time that a turn takes at weight 1
#define TICK      (TURN / 256)
#define TICKS     1024u // four turns: times in the set lie in three and a bit
#define MOST_LATE (2 * TURN)

static void layout(struct selector *selector, struct carver *carver, uint32_t most_key)
{
	struct policy_weighted *set = &selector->weighted;

	(void)most_key;
	key_lists_layout(&set->ticks, carver, selector->n_items, TICKS);
	set->time = carve(carver, selector->n_items, sizeof(*set->time));
	set->turn = carve(carver, selector->n_items, sizeof(*set->turn));
	bitmap_layout(&set->in, carver, selector->n_items);
}

static void start(struct selector *selector, uint64_t seed)
{
	struct policy_weighted *set = &selector->weighted;

	(void)seed;
	set->now = MOST_LATE;
	for (uint32_t i = 0; i < selector->n_items; i++) {
		set->time[i] = set->now;
		set->turn[i] = TURN;
	}
}

static uint32_t tick_of(uint64_t time)
{
	return (uint32_t)(time / TICK % TICKS);
}

static void limit_time(struct policy_weighted *set, uint32_t item)
{
	uint64_t earliest = set->now - TURN - set->turn[item], latest = set->now + set->turn[item];

	if (set->time[item] < earliest)
		set->time[item] = earliest;
	if (set->time[item] > latest)
		set->time[item] = latest;
}

static void enter(struct selector *selector, uint32_t item, uint32_t key)
{
	struct policy_weighted *set = &selector->weighted;

	set->turn[item] = TURN / key;
	limit_time(set, item);
	bitmap_set(&set->in, item);
	key_lists_add(&set->ticks, item, tick_of(set->time[item]));
}

static void leave(struct selector *selector, uint32_t item)
{
	bitmap_clear(&selector->weighted.in, item);
	key_lists_remove(&selector->weighted.ticks, item);
}

static void rekey(struct selector *selector, uint32_t item, uint32_t key)
{
	selector->weighted.turn[item] = TURN / key;
}

static void passed(struct selector *selector, uint32_t item)
{
	struct policy_weighted *set = &selector->weighted;
	bool in = bitmap_test(&set->in, item);

	if (in)
		key_lists_remove(&set->ticks, item);
	limit_time(set, item);
	if (set->time[item] > set->now)
		set->now = set->time[item];
	set->time[item] += set->turn[item];
	if (in)
		key_lists_add(&set->ticks, item, tick_of(set->time[item]));
}

static uint32_t choose(struct selector *selector)
{
	struct policy_weighted *set = &selector->weighted;
	uint32_t tick = bitmap_next_around(&set->ticks.keys, tick_of(set->now - MOST_LATE));
	uint32_t item = set->ticks.first[tick];

	passed(selector, item);
	return item;
}

const struct policy policy_weighted = {
	.layout = layout,
	.start = start,
	.enter = enter,
	.leave = leave,
	.rekey = rekey,
	.choose = choose,
	.passed = passed,
};
