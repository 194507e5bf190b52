// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sched/policy.h"

static void layout(struct selector *selector, struct carver *carver, uint32_t most_key)
{
	key_lists_layout(&selector->occupancy, carver, selector->n_items, most_key + 1);
}

static void start(struct selector *selector, uint64_t seed)
{
	(void)selector;
	(void)seed;
}

static void enter(struct selector *selector, uint32_t item, uint32_t key)
{
	key_lists_add(&selector->occupancy, item, key);
}

static void leave(struct selector *selector, uint32_t item)
{
	key_lists_remove(&selector->occupancy, item);
}

static void rekey(struct selector *selector, uint32_t item, uint32_t key)
{
	if (selector->occupancy.key[item] == key)
		return;
	key_lists_remove(&selector->occupancy, item);
	key_lists_add(&selector->occupancy, item, key);
}

static uint32_t choose(struct selector *selector)
{
	return selector->occupancy.first[policy_occupancy_top(selector)];
}

static void passed(struct selector *selector, uint32_t item)
{
	(void)selector;
	(void)item;
}

const struct policy policy_occupancy = {
	.layout = layout,
	.start = start,
	.enter = enter,
	.leave = leave,
	.rekey = rekey,
	.choose = choose,
	.passed = passed,
};
