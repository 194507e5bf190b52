// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "builder/assembly_internal.h"

#include "wire/mfp.h"

#define OVERTAKEN_LOOK 16u // number of oldest events among which one is chosen

static uint32_t *bucket_of(const struct assembly *assembly, uint64_t id)
{
	return &assembly->buckets[hash_number(&assembly->hash_key, id) & assembly->bucket_mask];
}

struct event *event_find(const struct assembly *assembly, uint64_t id)
{
	uint32_t at = *bucket_of(assembly, id);

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

static struct event_order *order_of(struct assembly *assembly, const struct event *event)
{
	return event->expected && !event->overtaken ? &assembly->expected : &assembly->order;
}

void event_append(struct assembly *assembly, struct event_order *order, struct event *event)
{
	uint32_t slot = event_slot(assembly, event);

	event->older = order->newest;
	event->newer = NO_EVENT;
	if (order->newest != NO_EVENT)
		assembly->events[order->newest].newer = slot;
	else
		order->oldest = slot;
	order->newest = slot;
}

static void append_newest(struct assembly *assembly, struct event *event, uint64_t now)
{
	event->since = now - assembly->waited;
	event_append(assembly, order_of(assembly, event), event);
}

void event_unlink(struct assembly *assembly, struct event_order *order, struct event *event)
{
	if (event->older != NO_EVENT)
		assembly->events[event->older].newer = event->newer;
	else
		order->oldest = event->newer;
	if (event->newer != NO_EVENT)
		assembly->events[event->newer].older = event->older;
	else
		order->newest = event->older;
}

// Telemetry reads these gauges while the builder's lcore, the only writer, changes them.
static void add_to_gauge(uint32_t *gauge, int32_t n)
{
	__atomic_store_n(gauge, *gauge + (uint32_t)n, __ATOMIC_RELAXED);
}

static uint32_t take_slot(struct assembly *assembly)
{
	uint32_t slot = assembly->free_slots[assembly->free_head];

	if (++assembly->free_head == assembly->n_slots)
		assembly->free_head = 0;
	add_to_gauge(&assembly->n_free, -1);
	evring_begin(assembly->parameters.ring, slot);
	return slot;
}

// Opens an event in a slot, as a copy of `model`.
static struct event *open_in(struct assembly *assembly, uint32_t slot, const struct event *model,
			     uint64_t now)
{
	uint32_t *bucket = bucket_of(assembly, model->id);
	struct event *event = &assembly->events[slot];

	*event = *model;
	event->serial = assembly->counters.events_opened;
	event->chain = *bucket;
	*bucket = slot;
	append_newest(assembly, event, now);
	window_opened(assembly, event);
	memset(event_parts(assembly, event), 0, assembly->n_sources * sizeof(struct part));
	add_to_gauge(&assembly->n_open, 1);
	assembly->held.n_ungranted += !event->granted && !is_end_of_run(event);
	count(&assembly->counters.events_opened, 1);
	return event;
}

struct event *event_open(struct assembly *assembly, const struct segment *first, bool on_probation,
			 uint64_t now)
{
	bool ends = first->event_id == MFP_END_OF_RUN;
	const struct event model = {
		.id = first->event_id,
		.index = first->event_index,
		.first = first->arrival,
		// Room 0 means that there is no room. So the first room of the end of run, which
		// has no header, begins after one unit.
		.used = ends ? ROOM_UNIT : assembly->header_size,
		.opener = first->source,
		.confirmed = ends || !assembly_is_guarded(assembly),
		.on_probation = on_probation,
	};

	assembly->end_is_open |= ends;
	if (ends)
		return open_in(assembly, assembly->n_slots, &model, now);
	if (assembly->n_free == 0 || (assembly->parameters.granted && !held_may_open(assembly)))
		return NULL;
	return open_in(assembly, take_slot(assembly), &model, now);
}

struct event *event_expect(struct assembly *assembly, uint64_t id, uint64_t index, uint64_t now)
{
	const struct event model = {
		.id = id,
		.index = index,
		.first = now,
		.used = assembly->header_size,
		.expected = true,
		.granted = true,
		.granted_at = now,
		.confirmed = true,
	};
	uint64_t *closed = &assembly->closed[index % CLOSED_SIZE];

	if (assembly->n_free == 0)
		return NULL;
	if (*closed == id + 1)
		*closed = 0; // the event is granted again
	return open_in(assembly, take_slot(assembly), &model, now);
}

void event_start(struct assembly *assembly, struct event *event, const struct segment *first,
		 uint64_t now)
{
	event_unlink(assembly, order_of(assembly, event), event);
	event->expected = false;
	event->first = first->arrival;
	append_newest(assembly, event, now);
}

void event_overtake(struct assembly *assembly, struct event *event, uint64_t now)
{
	event_unlink(assembly, order_of(assembly, event), event);
	event->overtaken = true;
	append_newest(assembly, event, now);
}

void event_remove(struct assembly *assembly, struct event *event)
{
	uint32_t slot = event_slot(assembly, event);
	uint32_t *link = bucket_of(assembly, event->id);

	while (*link != slot)
		link = &assembly->events[*link].chain;
	*link = event->chain;
	event_unlink(assembly, order_of(assembly, event), event);
	add_to_gauge(&assembly->n_open, -1);
	window_removed(assembly, event);
	if (assembly->latest == event)
		assembly->latest = NULL;
	if (is_end_of_run(event))
		assembly->end_is_open = false;
	else
		assembly->closed[event->index % CLOSED_SIZE] = event->id + 1;
}

void event_postpone(struct assembly *assembly, struct event *event, uint64_t now)
{
	event_unlink(assembly, order_of(assembly, event), event);
	append_newest(assembly, event, now);
}

void slot_free(struct assembly *assembly, uint32_t slot, uint64_t released)
{
	uint32_t at = assembly->free_head + assembly->n_free;

	if (at >= assembly->n_slots)
		at -= assembly->n_slots;
	assembly->free_slots[at] = slot;
	add_to_gauge(&assembly->n_free, 1);
	assembly->held.n_ungranted -= !assembly->events[slot].granted;
	if (assembly->parameters.granted)
		held_report_freed(assembly, assembly->events[slot].index, slot, released);
}

void event_close_overtaken(struct assembly *assembly, uint64_t now)
{
	struct event *chosen = NULL;
	uint32_t at = assembly->order.oldest;

	for (unsigned i = 0; i < OVERTAKEN_LOOK && at != NO_EVENT; i++) {
		struct event *event = &assembly->events[at];

		// Neither this event nor the newer ones behind it have been overtaken.
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
	event_end(assembly, chosen, now);
}
