// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pacing/timing_wheel.h"

#include <stdlib.h>

#define FEWEST_SLOTS       64u // one word of the bitmap
#define MOST_SLOTS         65536u
#define SLOTS_PER_SECOND   2000000u // at least
#define BITS               64u
#define NONE               UINT64_MAX
#define LOOKS_PER_DELIVERY 2u

int timing_wheel_init(struct timing_wheel *wheel, uint32_t n_slots, uint64_t ticks_per_second,
		      uint64_t now)
{
	uint64_t slot_ticks = ticks_per_second / SLOTS_PER_SECOND;

	*wheel = (struct timing_wheel){ 0 };
	if (slot_ticks == 0 || n_slots < FEWEST_SLOTS || n_slots > MOST_SLOTS ||
	    (n_slots & (n_slots - 1)) != 0)
		return -1;
	wheel->slots = calloc(n_slots, sizeof(*wheel->slots));
	wheel->occupied = calloc(n_slots / BITS, sizeof(*wheel->occupied));
	if (wheel->slots == NULL || wheel->occupied == NULL) {
		timing_wheel_fini(wheel);
		return -1;
	}
	for (uint32_t i = 0; i < n_slots; i++)
		wheel->slots[i].next = wheel->slots[i].previous = &wheel->slots[i];
	wheel->n_slots = n_slots;
	wheel->mask = n_slots - 1;
	wheel->shift = BITS - 1 - (uint32_t)__builtin_clzll(slot_ticks);
	wheel->cursor = now >> wheel->shift;
	return 0;
}

void timing_wheel_fini(struct timing_wheel *wheel)
{
	free(wheel->slots);
	free(wheel->occupied);
	*wheel = (struct timing_wheel){ 0 };
}

// The first slot that does not begin before the time.
static uint64_t slot_of(const struct timing_wheel *wheel, uint64_t due)
{
	uint64_t within = due & (timing_wheel_slot_ticks(wheel) - 1);

	return (due >> wheel->shift) + (within != 0);
}

void timing_wheel_put(struct timing_wheel *wheel, struct timing_wheel_entry *entry, uint64_t due)
{
	uint64_t slot = slot_of(wheel, due), last = wheel->cursor + wheel->mask;
	struct timing_wheel_entry *head;

	if (slot < wheel->cursor)
		slot = wheel->cursor;
	if (slot > last)
		slot = last;
	entry->due = due;
	entry->slot = (uint32_t)slot & wheel->mask;
	head = &wheel->slots[entry->slot];
	entry->next = head;
	entry->previous = head->previous;
	head->previous->next = entry;
	head->previous = entry;
	wheel->occupied[entry->slot / BITS] |= 1ull << entry->slot % BITS;
	wheel->n_entries++;
}

void timing_wheel_remove(struct timing_wheel *wheel, struct timing_wheel_entry *entry)
{
	const struct timing_wheel_entry *head = &wheel->slots[entry->slot];

	if (!timing_wheel_holds(entry))
		return;
	entry->previous->next = entry->next;
	entry->next->previous = entry->previous;
	entry->next = NULL;
	if (head->next == head)
		wheel->occupied[entry->slot / BITS] &= ~(1ull << entry->slot % BITS);
	wheel->n_entries--;
}

// The first slot from the cursor to `last` that has entries, or NONE.
static uint64_t next_occupied(const struct timing_wheel *wheel, uint64_t last)
{
	uint64_t at = wheel->cursor;

	while (at <= last) {
		uint32_t bit = (uint32_t)at & wheel->mask;
		uint64_t word = wheel->occupied[bit / BITS] >> bit % BITS;

		if (word != 0) {
			at += (uint64_t)__builtin_ctzll(word);
			return at <= last ? at : NONE;
		}
		at += BITS - bit % BITS;
	}
	return NONE;
}

unsigned timing_wheel_poll(struct timing_wheel *wheel, uint64_t now,
			   struct timing_wheel_entry **entries, unsigned n)
{
	uint64_t target = now >> wheel->shift;
	unsigned taken = 0;

	for (unsigned looks = 0; taken < n && looks < LOOKS_PER_DELIVERY * n; looks++) {
		uint64_t last = wheel->cursor + wheel->mask;
		uint64_t slot = wheel->n_entries != 0
				    ? next_occupied(wheel, target < last ? target : last)
				    : NONE;
		struct timing_wheel_entry *entry;

		if (slot == NONE) {
			if (target > wheel->cursor)
				wheel->cursor = target;
			break;
		}
		wheel->cursor = slot;
		entry = wheel->slots[slot & wheel->mask].next;
		timing_wheel_remove(wheel, entry);
		if (slot_of(wheel, entry->due) > target)
			timing_wheel_put(wheel, entry, entry->due); // from beyond the horizon
		else
			entries[taken++] = entry;
	}
	return taken;
}
