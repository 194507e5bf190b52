// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Credits: which slots of a builder are free, and the list of events in flight to it, in the order
// of their grants.
#include "sched/sched_internal.h"

void credits_layout(struct sched *sched, struct carver *carver,
		    const struct sched_builder_parameters *builders)
{
	struct sched_builder measured = { 0 };

	for (uint32_t i = 0; i < sched->parameters.n_builders; i++) {
		struct sched_builder *builder =
		    carver->memory != NULL ? &sched->builders[i] : &measured;

		builder->slots = carve(carver, builders[i].slots, sizeof(*builder->slots));
		bitmap_layout(&builder->free_slots, carver, builders[i].slots);
		builder->most_slots = builders[i].slots;
		builder->oldest = SCHED_NONE;
		builder->newest = SCHED_NONE;
	}
}

enum sched_result credits_take(struct sched *sched, struct sched_builder *builder, uint32_t slot,
			       uint32_t generation)
{
	struct sched_slot *place;

	if (slot >= builder->n_slots)
		return SCHED_UNKNOWN;
	place = &builder->slots[slot];
	if (place->state != SCHED_SLOT_UNKNOWN) {
		if (generation == place->generation)
			return SCHED_DUPLICATE;
		if (place->state != SCHED_SLOT_USED ||
		    (int32_t)(generation - place->generation) < 0)
			return SCHED_STALE;
	}
	place->state = SCHED_SLOT_FREE;
	place->generation = generation;
	bitmap_set(&builder->free_slots, slot);
	builder->free++;
	candidates_free_changed(sched, builder);
	return SCHED_OK;
}

uint32_t credits_grant(struct sched *sched, struct sched_builder *builder)
{
	uint32_t slot = bitmap_next(&builder->free_slots, 0);

	builder->slots[slot].state = SCHED_SLOT_GRANTED;
	bitmap_clear(&builder->free_slots, slot);
	builder->free--;
	candidates_free_changed(sched, builder);
	return slot;
}

void credits_purge(struct sched *sched, struct sched_builder *builder)
{
	for (uint32_t i = 0; i < builder->n_slots; i++) {
		builder->slots[i].state = SCHED_SLOT_UNKNOWN;
		bitmap_clear(&builder->free_slots, i);
	}
	sched->counters.purged_credits += builder->free;
	builder->free = 0;
	candidates_free_changed(sched, builder);
}

void credits_join(struct sched *sched, struct sched_builder *builder, uint64_t event)
{
	struct sched_event *place = events_place(sched, event);
	uint32_t index = event & sched->events.mask;

	place->next = SCHED_NONE;
	place->previous = builder->newest;
	if (builder->newest != SCHED_NONE)
		sched->events.places[builder->newest].next = index;
	else
		builder->oldest = index;
	builder->newest = index;
	builder->granted++;
	builder->in_flight += place->bytes;
}

void credits_part(struct sched *sched, struct sched_builder *builder, uint64_t event)
{
	const struct sched_event *place = events_place(sched, event);

	if (place->previous != SCHED_NONE)
		sched->events.places[place->previous].next = place->next;
	else
		builder->oldest = place->next;
	if (place->next != SCHED_NONE)
		sched->events.places[place->next].previous = place->previous;
	else
		builder->newest = place->previous;
	builder->granted--;
	builder->in_flight -= place->bytes;
	builder->slots[place->slot].state = SCHED_SLOT_USED;
}
