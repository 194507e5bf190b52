// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The mean time for which a builder holds a slot, from its grant to its next credit. By Little's
// law, it is the integral over time of the number of held slots, divided by the number of slots
// that became free. Both are taken over periods of PERIOD_NS.
#include "sched/sched_internal.h"

#define PERIOD_NS  UINT64_C(1000000000)
#define LONGEST_NS (UINT64_C(1) << 46) // times SCHED_MAX_SLOTS is below 2^64

// The integral from the start of the period to now, in slots x ns.
static uint64_t held(const struct sched_holding *holding, uint64_t now)
{
	uint64_t since = now - holding->changed_at;

	return holding->held + (since < LONGEST_NS ? since : LONGEST_NS) * holding->slots;
}

static uint64_t mean(const struct sched_holding *holding, uint64_t now)
{
	return held(holding, now) / (holding->freed > 0 ? holding->freed : 1);
}

static bool is_over(const struct sched_holding *holding, uint64_t now)
{
	return now - holding->began_at >= PERIOD_NS;
}

static void advance(struct sched_holding *holding, uint64_t now)
{
	if (!is_over(holding, now)) {
		holding->held = held(holding, now);
	} else {
		holding->mean = mean(holding, now);
		holding->began_at = now;
		holding->held = holding->freed = 0;
	}
	holding->changed_at = now;
}

void holding_begin(struct sched_holding *holding, uint64_t now)
{
	*holding = (struct sched_holding){ .began_at = now, .changed_at = now };
}

void holding_take(struct sched_holding *holding, uint64_t now)
{
	advance(holding, now);
	holding->slots++;
}

void holding_free(struct sched_holding *holding, uint64_t now)
{
	advance(holding, now);
	holding->slots--;
	holding->freed++;
}

uint64_t holding_mean(const struct sched_holding *holding, uint64_t now)
{
	return is_over(holding, now) ? mean(holding, now) : holding->mean;
}

void sched_slow_add(struct sched_slow *slow, uint32_t builder,
		    const struct sched_builder_view *view)
{
	if (!view->registered || view->excluded || view->slots == 0)
		return;
	slow->n++;
	slow->sum += (double)view->slot_ns;
	if (view->slot_ns <= slow->longest)
		return;
	slow->longest = view->slot_ns;
	slow->builder = builder;
	slow->is_short = 2 * (uint64_t)view->free < view->slots;
}

bool sched_slow_is_found(const struct sched_slow *slow)
{
	const double others = slow->sum - (double)slow->longest;

	return slow->n > 1 && slow->is_short &&
	       (double)slow->longest > 2 * others / (double)(slow->n - 1);
}
