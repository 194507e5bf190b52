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

bool held_make(struct assembly *assembly)
{
	struct held *held = &assembly->held;
	size_t n = assembly->n_slots;

	held->descriptions = calloc(n, sizeof(*held->descriptions));
	held->is_held = calloc(n, sizeof(*held->is_held));
	// Discarded events are told without a slot, so there can be more than slots.
	held->built = calloc(2 * n, sizeof(*held->built));
	held->freed = calloc(2 * n, sizeof(*held->freed));
	return held->descriptions != NULL && held->is_held != NULL && held->built != NULL &&
	       held->freed != NULL;
}

void held_free(struct assembly *assembly)
{
	free(assembly->held.descriptions);
	free(assembly->held.is_held);
	free(assembly->held.built);
	free(assembly->held.freed);
}

bool held_may_open(const struct assembly *assembly)
{
	return assembly->held.n_ungranted < assembly->parameters.spare;
}

void held_add(struct assembly *assembly, const struct event *event, uint32_t slot, bool incomplete,
	      const struct evring_event *description)
{
	struct held *held = &assembly->held;
	uint32_t size = 2 * assembly->n_slots;

	if (slot != ASSEMBLY_NO_SLOT) {
		held->descriptions[slot] = *description;
		held->is_held[slot] = true;
	}
	if (held->n_built == size)
		return; // nobody takes them: a discarded event is told to nobody
	held->built[(held->built_head + held->n_built++) % size] = (struct assembly_built){
		.index = event->index,
		.bytes = event->used,
		.slot = slot,
		.incomplete = incomplete,
	};
}

void held_note_freed(struct assembly *assembly, uint64_t index)
{
	struct held *held = &assembly->held;
	uint32_t size = 2 * assembly->n_slots;

	if (held->n_freed < size)
		held->freed[(held->freed_head + held->n_freed++) % size] = index;
}

bool assembly_expect(struct assembly *assembly, uint64_t id, uint64_t index, uint64_t now)
{
	struct event *event = event_find(assembly, id, index);

	if (event != NULL) {
		assembly->held.n_ungranted -= !event->granted;
		event->granted = true;
		return true;
	}
	for (uint32_t slot = 0; slot < assembly->n_slots; slot++)
		if (assembly->held.is_held[slot] && assembly->events[slot].index == index)
			return true;
	if (assembly->n_free == 0)
		(void)assembly_reclaim(assembly, now);
	return event_expect(assembly, id, index, now) != NULL;
}

unsigned assembly_take_built(struct assembly *assembly, struct assembly_built *built, unsigned max)
{
	struct held *held = &assembly->held;
	unsigned n = 0;

	while (n < max && held->n_built > 0) {
		built[n++] = held->built[held->built_head];
		held->built_head = (held->built_head + 1) % (2 * assembly->n_slots);
		held->n_built--;
	}
	return n;
}

bool assembly_settle(struct assembly *assembly, uint32_t slot, uint64_t index, bool publish)
{
	struct held *held = &assembly->held;

	if (slot >= assembly->n_slots || !held->is_held[slot] ||
	    assembly->events[slot].index != index)
		return false;
	held->is_held[slot] = false;
	if (publish) {
		assembly->events[slot].published = true;
		evring_publish(assembly->parameters.ring, slot, &held->descriptions[slot]);
		return true;
	}
	count(&assembly->counters.events_withdrawn, 1);
	slot_free(assembly, slot);
	return true;
}

// Takes a slot's event out of what is still to be told.
static void untell(struct assembly *assembly, uint32_t slot)
{
	struct held *held = &assembly->held;
	uint32_t size = 2 * assembly->n_slots, n = 0;

	for (uint32_t i = 0; i < held->n_built; i++) {
		struct assembly_built built = held->built[(held->built_head + i) % size];

		if (built.slot != slot)
			held->built[(held->built_head + n++) % size] = built;
	}
	held->n_built = n;
}

bool assembly_forget(struct assembly *assembly, uint64_t id, uint64_t index)
{
	struct event *event = event_find(assembly, id, index);

	if (event != NULL) {
		struct part *parts = event_parts(assembly, event);

		event_remove(assembly, event);
		for (uint32_t i = 0; i < assembly->n_sources; i++)
			if (!part_is_whole(&parts[i]))
				islands_release(&assembly->pool, &parts[i].received);
		count(&assembly->counters.events_discarded, 1);
		slot_free(assembly, event_slot(assembly, event));
		return true;
	}
	for (uint32_t slot = 0; slot < assembly->n_slots; slot++) {
		if (assembly->held.is_held[slot] && assembly->events[slot].index == index) {
			untell(assembly, slot);
			return assembly_settle(assembly, slot, index, false);
		}
	}
	return false;
}

unsigned assembly_take_freed(struct assembly *assembly, uint64_t *indices, unsigned max)
{
	struct held *held = &assembly->held;
	unsigned n = 0;

	while (n < max && held->n_freed > 0) {
		indices[n++] = held->freed[held->freed_head];
		held->freed_head = (held->freed_head + 1) % (2 * assembly->n_slots);
		held->n_freed--;
	}
	return n;
}
