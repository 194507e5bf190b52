// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A manager that takes over learns from builders what they have.
#include "sched/sched_internal.h"

static enum sched_result adopt_built(struct sched *sched, uint64_t event)
{
	const struct sched_event *place = events_place(sched, event);

	if (place->state == SCHED_EVENT_FINISHED)
		return SCHED_DUPLICATE;
	if (place->state == SCHED_EVENT_GRANTED) {
		sched_part(sched, event);
		sched->counters.superseded++;
	}
	events_finish(sched, event);
	sched->counters.adopted_built++;
	return SCHED_OK;
}

static enum sched_result adopt_open(struct sched *sched, uint64_t event,
				    struct sched_builder *builder, uint32_t slot,
				    uint32_t generation, uint32_t attempt)
{
	struct sched_event *place = events_place(sched, event);
	struct sched_slot *held = &builder->slots[slot];

	if (place->state == SCHED_EVENT_GRANTED && attempt == place->attempt &&
	    builder == &sched->builders[place->builder] && slot == place->slot &&
	    generation == place->generation)
		return SCHED_DUPLICATE;
	if (place->state == SCHED_EVENT_FINISHED || held->state != SCHED_SLOT_UNKNOWN ||
	    attempt < place->attempt ||
	    (attempt == place->attempt && place->state == SCHED_EVENT_GRANTED))
		return SCHED_STALE;
	if (place->state == SCHED_EVENT_GRANTED) {
		sched_part(sched, event);
		sched->counters.superseded++;
	} else {
		events_adopt(sched, event);
	}
	place->attempt = attempt;
	place->round = SCHED_NEVER;
	held->state = SCHED_SLOT_GRANTED;
	held->generation = generation;
	sched_join(sched, builder, event, slot);
	candidates_block(sched, builder,
			 builder->blocks | sched_events_block(sched, builder) |
			     pace_window(builder));
	sched->counters.adopted++;
	return SCHED_OK;
}

enum sched_result sched_adopt(struct sched *sched, uint64_t event, uint32_t builder, uint32_t slot,
			      uint32_t generation, uint32_t attempt, enum sched_adopted what,
			      uint64_t now)
{
	sched_advance_clock(sched, now);
	if (!sched_is_registered(sched, builder) || event > INT64_MAX - 1)
		return SCHED_UNKNOWN;
	if (event < sched->events.released)
		return what == SCHED_ADOPT_BUILT ? SCHED_DUPLICATE : SCHED_STALE;
	if (event - sched->events.released > sched->events.mask)
		return SCHED_UNKNOWN;
	if (what == SCHED_ADOPT_BUILT)
		return adopt_built(sched, event);
	if (slot >= sched->builders[builder].n_slots)
		return SCHED_UNKNOWN;
	return adopt_open(sched, event, &sched->builders[builder], slot, generation, attempt);
}
