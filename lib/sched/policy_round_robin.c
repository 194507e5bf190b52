// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sched/policy.h"

static void layout(struct selector *selector, struct carver *carver, uint32_t most_key)
{
	(void)most_key;
	bitmap_layout(&selector->in_turn.in, carver, selector->n_items);
}

static void start(struct selector *selector, uint64_t seed)
{
	(void)seed;
	selector->in_turn.cursor = 0;
	selector->in_turn.turns = 0;
	selector->in_turn.skips = 0;
}

static void enter(struct selector *selector, uint32_t item, uint32_t key)
{
	(void)key;
	bitmap_set(&selector->in_turn.in, item);
}

static void leave(struct selector *selector, uint32_t item)
{
	bitmap_clear(&selector->in_turn.in, item);
}

static void rekey(struct selector *selector, uint32_t item, uint32_t key)
{
	(void)selector;
	(void)item;
	(void)key;
}

static void passed(struct selector *selector, uint32_t item)
{
	struct policy_in_turn *turn = &selector->in_turn;

	if (item < turn->cursor) {
		turn->skips += selector->n_items - turn->cursor + item;
		turn->turns++;
	} else {
		turn->skips += item - turn->cursor;
	}
	turn->cursor = item + 1;
	if (turn->cursor == selector->n_items) {
		turn->cursor = 0;
		turn->turns++;
	}
}

static uint32_t choose(struct selector *selector)
{
	uint32_t item = bitmap_next_around(&selector->in_turn.in, selector->in_turn.cursor);

	passed(selector, item);
	return item;
}

const struct policy policy_round_robin = {
	.layout = layout,
	.start = start,
	.enter = enter,
	.leave = leave,
	.rekey = rekey,
	.choose = choose,
	.passed = passed,
};
