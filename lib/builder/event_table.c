// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "builder/assembly_internal.h"

#include "wire/mfp.h"

#define OVERTAKEN_LOOK 16u // oldest events among which one is chosen

static uint32_t *bucket_of(const struct assembly *assembly, uint64_t index)
{
	return &assembly->buckets[index & assembly->bucket_mask];
}

struct event *event_find(const struct assembly *assembly, uint64_t id, uint64_t index)
{
	uint32_t at = *bucket_of(assembly, index);

	while (at != NO_EVENT) {
		struct event *event = &assembly->events[at];

		if (event->id == id)
			return event;
		at = event->chain;
	}
	return NULL;
}

bool event_was_closed(const struct assembly *assembly, uint64_t id, uint64_t index)
{
	if (id == MFP_END_OF_RUN)
		return assembly->ended;
	return assembly->closed[index % CLOSED_SIZE] == id + 1;
}

static void append_newest(struct assembly *assembly, struct event *event, uint64_t now)
{
	uint32_t slot = event_slot(assembly, event);

	event->opened = now - assembly->waited;
	event->older = assembly->newest;
	event->newer = NO_EVENT;
	if (assembly->newest != NO_EVENT)
		assembly->events[assembly->newest].newer = slot;
	else
		assembly->oldest = slot;
	assembly->newest = slot;
}

static void unlink_order(struct assembly *assembly, struct event *event)
{
	if (event->older != NO_EVENT)
		assembly->events[event->older].newer = event->newer;
	else
		assembly->oldest = event->newer;
	if (event->newer != NO_EVENT)
		assembly->events[event->newer].older = event->older;
	else
		assembly->newest = event->older;
}

static uint32_t take_slot(struct assembly *assembly)
{
	uint32_t slot = assembly->free_slots[assembly->free_head];

	if (++assembly->free_head == assembly->n_slots)
		assembly->free_head = 0;
	assembly->n_free--;
	evring_begin(assembly->parameters.ring, slot);
	return slot;
}

struct event *event_open(struct assembly *assembly, const struct segment *first, uint64_t now)
{
	uint32_t *bucket = bucket_of(assembly, first->event_index);
	bool ends = first->event_id == MFP_END_OF_RUN;
	struct event *event;
	uint32_t slot;

	if (!ends && assembly->n_free == 0)
		return NULL;
	slot = ends ? assembly->n_slots : take_slot(assembly);
	event = &assembly->events[slot];
	*event = (struct event){
		.id = first->event_id,
		.index = first->event_index,
		.first = first->arrival,
		// Room 0 means none, so that of the end of run begins behind a unit too.
		.used = ends ? ROOM_UNIT : assembly->header_size,
		.serial = assembly->counters.events_opened,
		.chain = *bucket,
	};
	*bucket = slot;
	append_newest(assembly, event, now);
	memset(event_parts(assembly, event), 0, assembly->n_sources * sizeof(struct part));
	assembly->n_open++;
	count(&assembly->counters.events_opened, 1);
	return event;
}

void event_remove(struct assembly *assembly, struct event *event)
{
	uint32_t slot = event_slot(assembly, event);
	uint32_t *link = bucket_of(assembly, event->index);

	while (*link != slot)
		link = &assembly->events[*link].chain;
	*link = event->chain;
	unlink_order(assembly, event);
	assembly->n_open--;
	if (!is_end_of_run(event))
		assembly->closed[event->index % CLOSED_SIZE] = event->id + 1;
}

void event_postpone(struct assembly *assembly, struct event *event, uint64_t now)
{
	unlink_order(assembly, event);
	append_newest(assembly, event, now);
}

void slot_free(struct assembly *assembly, uint32_t slot)
{
	uint32_t at = assembly->free_head + assembly->n_free;

	if (at >= assembly->n_slots)
		at -= assembly->n_slots;
	assembly->free_slots[at] = slot;
	assembly->n_free++;
}

void event_close_overtaken(struct assembly *assembly, uint64_t now)
{
	struct event *chosen = NULL;
	uint32_t at = assembly->oldest;

	for (unsigned i = 0; i < OVERTAKEN_LOOK && at != NO_EVENT; i++) {
		struct event *event = &assembly->events[at];

		// It has not been overtaken, nor have the younger ones that follow.
		if (event->serial >= assembly->newest_complete)
			break;
		if (!is_end_of_run(event) &&
		    (chosen == NULL || event->n_started < chosen->n_started))
			chosen = event;
		at = event->newer;
	}
	if (chosen == NULL)
		return;
	count(&assembly->counters.events_overtaken, 1);
	event_close(assembly, chosen, now);
}
