// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sched/policy.h"

static void layout(struct selector *selector, struct carver *carver, uint32_t most_key)
{
	struct policy_random *set = &selector->random;

	(void)most_key;
	set->items = carve(carver, selector->n_items, sizeof(*set->items));
	set->place = carve(carver, selector->n_items, sizeof(*set->place));
}

static void start(struct selector *selector, uint64_t seed)
{
	selector->random.random = random_fork(seed, 0);
	selector->random.n = 0;
}

static void enter(struct selector *selector, uint32_t item, uint32_t key)
{
	struct policy_random *set = &selector->random;

	(void)key;
	set->place[item] = set->n;
	set->items[set->n++] = item;
}

static void leave(struct selector *selector, uint32_t item)
{
	struct policy_random *set = &selector->random;
	uint32_t last = set->items[--set->n];

	set->items[set->place[item]] = last;
	set->place[last] = set->place[item];
}

static void rekey(struct selector *selector, uint32_t item, uint32_t key)
{
	(void)selector;
	(void)item;
	(void)key;
}

static uint32_t choose(struct selector *selector)
{
	struct policy_random *set = &selector->random;
	uint64_t high = random_next(&set->random) >> 32;

	return set->items[high * set->n >> 32];
}

static void passed(struct selector *selector, uint32_t item)
{
	(void)selector;
	(void)item;
}

const struct policy policy_random = {
	.layout = layout,
	.start = start,
	.enter = enter,
	.leave = leave,
	.rekey = rekey,
	.choose = choose,
	.passed = passed,
};
