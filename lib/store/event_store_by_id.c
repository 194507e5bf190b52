// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Events whose index follows from their id. They come in any order, and lie in a window, which
// knows each that has come. The store takes all events that the rings have, because the group holds
// their slots in any case: so an event that others wait for finds room here as soon as it is built.
#include "store/event_store_internal.h"

#include "base/counter.h"

// --- slots back to the rings ---

// The event is not needed any more, except for packets that point into its slot.
static void retire(struct event_store *store, struct held_event *held)
{
	held->is_held = false;
	held->next = NULL;
	*store->last = held;
	store->last = &held->next;
}

static struct ring_slots *ring_of(struct event_store *store, const struct held_event *held)
{
	return &store->rings[held->event.builder % EVB_MAX_BUILDERS];
}

static void free_retired(struct event_store *store)
{
	while (store->retired != NULL && block_hold_is_free(&store->retired->hold)) {
		struct held_event *held = store->retired;

		store->retired = held->next;
		if (store->retired == NULL)
			store->last = &store->retired;
		// Fails only if the slot was taken from this process: then nothing is to be done.
		(void)evb_reader_release(store->reader, &held->event);
		ring_of(store, held)->held--;
		held->next = store->unused;
		store->unused = held;
		store->n_used--;
	}
}

// --- events in ---

// Notes the least id of the events that came before the first one for which the window had room.
static void note_far(struct event_store *store, uint64_t id)
{
	if (!store->has_put && id < atomic_load_explicit(&store->far_id, memory_order_relaxed))
		atomic_store_explicit(&store->far_id, id, memory_order_relaxed);
}

static void put_into_window(struct event_store *store, struct held_event *held)
{
	const struct window_block block = {
		.bytes = held->event.data,
		.size = (uint32_t)held->event.length,
		.hold = &held->hold,
	};

	switch (block_window_put_unordered(&store->window, held->index, 0, &block)) {
	case WINDOW_TAKEN:
		store->has_put = true;
		break;
	case WINDOW_FULL:
		note_far(store, held->event.event_id);
		held->next = store->ahead;
		store->ahead = held;
		break;
	case WINDOW_LATE:
		retire(store, held);
		break;
	}
}

// The event at store->unused is one more.
static void add_event(struct event_store *store)
{
	struct held_event *held = store->unused;
	const uint64_t offset = held->event.event_id - store->parameters.first_event;

	store->unused = held->next;
	store->n_used++;
	ring_of(store, held)->held++;
	event_store_describe(store, held);
	held->is_held = true;
	if (held->event.event_id < store->parameters.first_event ||
	    offset % store->parameters.packing != 0) {
		counter_add(&store->window.store.counters.unknown, 1);
		retire(store, held);
		return;
	}
	held->index = offset / store->parameters.packing;
	put_into_window(store, held);
}

// Events that were ahead of the window may be in it now.
static void put_again(struct event_store *store)
{
	struct held_event *held = store->ahead;

	store->ahead = NULL;
	while (held != NULL) {
		struct held_event *next = held->next;

		put_into_window(store, held);
		held = next;
	}
}

// An event may not have come because this store holds the slots behind a gap, and the builder has
// none for it: then only the gap is given up. The others have the deadline when slots are free.
static void expire(struct event_store *store, uint64_t now)
{
	const uint64_t deadline = store->parameters.deadline_cycles;
	const uint64_t ready = store->window.store.ready;

	for (unsigned i = 0; i < store->n_rings; i++)
		store->is_short |= 2 * store->rings[i].held > store->rings[i].n;
	block_window_expire(&store->window, now, deadline, store->is_short);
	store->is_short &= store->window.store.ready == ready;
}

static void poll(struct block_store *base, uint64_t now)
{
	struct event_store *store = event_store_of(base);
	bool has_more = true;
	unsigned n = 0;

	if (!store->has_begun || !event_store_is_open(store))
		return;
	free_retired(store);
	while (has_more && n++ < EVENT_STORE_TAKEN_MOST && store->unused != NULL) {
		has_more = evb_reader_poll(store->reader, &store->unused->event);
		if (has_more)
			add_event(store);
	}
	// What an earlier process had taken has returned to the group before the rings were opened.
	base->is_inheriting &= has_more;
	expire(store, now);
}

// The control thread closes the rings of a dead appliance when nothing points to them any more.
static void finish(struct event_store *store)
{
	if (evb_reader_has_ended(store->reader)) {
		if (store->ahead == NULL)
			block_window_end(&store->window, store->window.newest);
	} else if (store->n_used == 0) {
		atomic_store_explicit(&store->owner, OWNER_CONTROL, memory_order_release);
	}
}

static void housekeep(struct block_store *base)
{
	struct event_store *store = event_store_of(base);

	if (!store->has_begun || !event_store_is_open(store))
		return;
	if (!store->is_over && store->unused != NULL &&
	    event_store_take_or_end(store, &store->unused->event))
		add_event(store);
	if (store->is_over)
		finish(store);
}

// --- what the role asks for ---

static struct held_event *held_of(struct block_store *base, uint64_t event)
{
	// The hold is the first member of the event.
	return (struct held_event *)(void *)block_window_find(base, event, 0).hold;
}

static struct store_block find(struct block_store *base, uint64_t event, unsigned source)
{
	struct store_block block = block_window_find(base, event, source);

	if (block.hold != NULL)
		block.is_repeated = ((struct held_event *)(void *)block.hold)->is_repeated;
	return block;
}

static void release(struct block_store *base, uint64_t event)
{
	struct event_store *store = event_store_of(base);

	for (uint64_t i = base->released; i < event && i < base->ready; i++) {
		struct held_event *held = held_of(base, i);

		if (held != NULL)
			retire(store, held);
	}
	block_window_release(base, event);
	put_again(store);
}

// The events that the store holds keep their indices. Those that were announced may have been sent.
static void begin(struct block_store *base, uint64_t first)
{
	struct event_store *store = event_store_of(base);
	const uint64_t announced = base->ready;

	block_window_begin(base, first);
	store->has_begun = true;
	store->ahead = NULL;
	for (uint64_t i = 0; i <= store->mask && store->n_used > 0; i++) {
		struct held_event *held = &store->held[i];

		if (!held->is_held)
			continue;
		held->is_repeated |= held->index < announced;
		put_into_window(store, held);
	}
}

// No other event of the next stage may have its index: it is not offered again.
static void unpublished(struct block_store *base, uint64_t event, bool repeated)
{
	struct held_event *held = held_of(base, event);

	(void)repeated;
	if (held == NULL)
		return;
	counter_add(&base->counters.given_up, !held->is_unpublished);
	held->is_unpublished = true;
}

// --- creation ---

static const struct block_store_operations by_id = {
	.find = find,
	.begin = begin,
	.poll = poll,
	.housekeep = housekeep,
	.release = release,
	.unpublished = unpublished,
	.destroy = event_store_destroy,
};

bool event_store_make_by_id(struct event_store *store)
{
	const struct event_store_parameters *p = &store->parameters;
	const struct block_window_parameters window = {
		.ids = p->id,
		.n_sources = 1,
		.packing = p->packing,
		.largest = p->max_event,
		.capacity = store->mask + 1,
	};

	if (!block_window_make(&store->window, &window))
		return false;
	for (uint64_t i = 0; i <= store->mask; i++) {
		store->held[i].next = store->unused;
		store->unused = &store->held[i];
	}
	store->last = &store->retired;
	atomic_init(&store->far_id, UINT64_MAX);
	store->window.store.operations = &by_id;
	store->window.store.capacity = store->mask + 1;
	store->window.store.resumes = store->window.store.is_inheriting = true;
	store->window.store.resumes_at = UINT64_MAX;
	return true;
}
