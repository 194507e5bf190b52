// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What can be asked of a scheduler, and its level cleared.
#include "sched/sched_internal.h"

uint64_t sched_released(const struct sched *sched)
{
	return sched->events.released;
}

uint64_t sched_announced(const struct sched *sched)
{
	return sched->events.frontier;
}

uint64_t sched_outstanding(const struct sched *sched)
{
	return sched->events.outstanding;
}

uint64_t sched_waiting(const struct sched *sched)
{
	return events_waiting(sched);
}

uint32_t sched_level(const struct sched *sched)
{
	return sched->events.level;
}

void sched_clear_level(struct sched *sched)
{
	sched->events.level = 0;
}

bool sched_throttled(const struct sched *sched)
{
	return sched->events.throttled;
}

uint32_t sched_distance(const struct sched *sched)
{
	return sched->candidates.distance;
}

uint32_t sched_n_positions(const struct sched *sched)
{
	return sched->rounds.n_positions;
}

const struct sched_counters *sched_counters(const struct sched *sched)
{
	return &sched->counters;
}

// Turns of a builder within its group, and of a group that has no other, without a grant.
static uint64_t skips_of(const struct sched *sched, const struct sched_builder *builder)
{
	const struct sched_candidates *candidates = &sched->candidates;
	const struct sched_group *group = &candidates->groups[builder->group];
	uint64_t skips = policy_in_turn_count(&group->selector, builder->item) - builder->grants;

	if (candidates->n_groups > 1 && group->selector.n_items == 1)
		skips += policy_in_turn_count(&candidates->fresh, builder->group) - builder->grants;
	return skips;
}

void sched_view(const struct sched *sched, uint32_t index, struct sched_builder_view *view)
{
	const struct sched_builder *builder = &sched->builders[index];

	*view = (struct sched_builder_view){
		.registered = (builder->blocks & SCHED_BLOCK_ABSENT) == 0,
		.excluded = (builder->blocks & SCHED_BLOCK_EXCLUDED) != 0,
		.paused = (builder->blocks & SCHED_BLOCK_PAUSED) != 0,
		.session = builder->session,
		.slots = builder->n_slots,
		.free = builder->free,
		.granted = builder->granted,
		.in_flight_bytes = builder->in_flight,
		.window = builder->window,
		.rate = builder->rate,
		.rate_share = builder->share,
		.paused_share = builder->paused_share,
		.mean_bytes = pace_estimate(builder),
		.grants = builder->grants,
		.oldest_event = SCHED_NEVER,
	};
	if (sched->parameters.policy == SCHED_ROUND_ROBIN && sched->parameters.mode != SCHED_STATIC)
		view->skips = skips_of(sched, builder);
	if (builder->oldest != SCHED_NONE) {
		view->oldest_event = events_at(sched, builder->oldest);
		view->oldest_since = sched->events.places[builder->oldest].granted_ns;
	}
}
