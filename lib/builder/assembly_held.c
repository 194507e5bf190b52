// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Events that an event manager grants. A granted event has its slot from the grant on; when it is
// built it is held until the manager has counted it, and only then handed to consumers. So an event
// that was granted again, because this node was thought dead, is handed out once.
//
// Nothing here is done for each segment.
#include "builder/assembly_internal.h"

#include <stdlib.h>

#include "evring/evb_reader.h"

bool held_make(struct assembly *assembly)
{
	struct held *held = &assembly->held;
	size_t n = assembly->n_slots;

	// Each slot's event is ready and then gone, and may have been so before; discarded ones
	// have no slot.
	held->news_size = (uint32_t)(4 * n);
	held->descriptions = calloc(n, sizeof(*held->descriptions));
	held->is_held = calloc(n, sizeof(*held->is_held));
	held->news = calloc(held->news_size, sizeof(*held->news));
	return held->descriptions != NULL && held->is_held != NULL && held->news != NULL;
}

void held_free(struct assembly *assembly)
{
	free(assembly->held.descriptions);
	free(assembly->held.is_held);
	free(assembly->held.news);
}

bool held_may_open(const struct assembly *assembly)
{
	return assembly->held.n_ungranted < assembly->parameters.spare;
}

// Where nobody takes them, there is nobody to be told.
static void add_news(struct held *held, const struct assembly_news *news)
{
	if (held->n_news < held->news_size)
		held->news[(held->news_head + held->n_news++) % held->news_size] = *news;
}

void held_add(struct assembly *assembly, const struct event *event, uint32_t slot,
	      uint32_t n_missing, const struct evring_event *description)
{
	struct held *held = &assembly->held;
	const struct assembly_news news = {
		.index = event->index,
		.bytes = event->used,
		.slot = slot,
		.n_missing = (uint16_t)n_missing,
	};

	if (slot != ASSEMBLY_NO_SLOT) {
		held->descriptions[slot] = *description;
		held->is_held[slot] = true;
	}
	add_news(held, &news);
}

void held_note_freed(struct assembly *assembly, uint64_t index)
{
	const struct assembly_news news = { .index = index, .freed = true };

	add_news(&assembly->held, &news);
}

// The held event of this index, or NULL.
static struct event *find_held(const struct assembly *assembly, uint64_t index)
{
	for (uint32_t slot = 0; slot < assembly->n_slots; slot++)
		if (assembly->held.is_held[slot] && assembly->events[slot].index == index)
			return &assembly->events[slot];
	return NULL;
}

bool assembly_expect(struct assembly *assembly, uint64_t id, uint64_t index, uint64_t now)
{
	struct event *event = event_find(assembly, id, index);

	if (event == NULL)
		event = find_held(assembly, index);
	if (event != NULL) {
		assembly->held.n_ungranted -= !event->granted;
		event->granted = true;
		return true;
	}
	if (assembly->n_free == 0)
		(void)assembly_reclaim(assembly, now);
	return event_expect(assembly, id, index, now) != NULL;
}

unsigned assembly_take_news(struct assembly *assembly, struct assembly_news *news, unsigned max)
{
	struct held *held = &assembly->held;
	unsigned n = 0;

	while (n < max && held->n_news > 0) {
		news[n++] = held->news[held->news_head];
		held->news_head = (held->news_head + 1) % held->news_size;
		held->n_news--;
	}
	return n;
}

// False if the slot does not hold this event.
static bool let_go(struct assembly *assembly, uint32_t slot, uint64_t index)
{
	struct held *held = &assembly->held;

	if (slot >= assembly->n_slots || !held->is_held[slot] ||
	    assembly->events[slot].index != index)
		return false;
	held->is_held[slot] = false;
	return true;
}

bool assembly_publish(struct assembly *assembly, uint32_t slot, uint64_t index, bool repeated)
{
	struct evring_event *description;

	if (!let_go(assembly, slot, index))
		return false;
	description = &assembly->held.descriptions[slot];
	if (repeated) {
		description->flags |= EVB_EVENT_REPEATED;
		count(&assembly->counters.events_repeated, 1);
	}
	assembly->events[slot].published = true;
	evring_publish(assembly->parameters.ring, slot, description);
	return true;
}

bool assembly_withdraw(struct assembly *assembly, uint32_t slot, uint64_t index)
{
	if (!let_go(assembly, slot, index))
		return false;
	count(&assembly->counters.events_withdrawn, 1);
	slot_free(assembly, slot);
	return true;
}

// Takes a slot's event out of what is still to be told.
static void untell(struct assembly *assembly, uint32_t slot)
{
	struct held *held = &assembly->held;
	uint32_t n = 0;

	for (uint32_t i = 0; i < held->n_news; i++) {
		struct assembly_news news = held->news[(held->news_head + i) % held->news_size];

		if (news.freed || news.slot != slot)
			held->news[(held->news_head + n++) % held->news_size] = news;
	}
	held->n_news = n;
}

bool assembly_forget(struct assembly *assembly, uint64_t id, uint64_t index)
{
	struct event *event = event_find(assembly, id, index);

	if (event != NULL) {
		event_remove(assembly, event);
		(void)event_settle_missing(assembly, event);
		count(&assembly->counters.events_discarded, 1);
		slot_free(assembly, event_slot(assembly, event));
		return true;
	}
	event = find_held(assembly, index);
	if (event == NULL)
		return false;
	untell(assembly, event_slot(assembly, event));
	return assembly_withdraw(assembly, event_slot(assembly, event), index);
}
