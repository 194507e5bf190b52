// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The life of a store of built events, and the order of arrival.
#include "store/event_store.h"

#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "store/event_store_internal.h"

static struct held_event *held_at(const struct event_store *store, uint64_t number)
{
	return &store->held[number & store->mask];
}

// --- events in, and slots back; the role's lcore ---

// Makes a released event the newest one. There is room, since it leaves its place.
static void offer_again(struct event_store *store, const struct held_event *held)
{
	const struct evb_event event = held->event;
	const bool is_repeated = held->is_repeated;
	const uint8_t again = held->again;
	struct held_event *to = held_at(store, store->taken++);

	to->event = event;
	to->is_repeated = is_repeated;
	to->is_unpublished = false;
	to->again = again + 1;
	to->hold.blocks = 1;
	counter_add(&store->window.store.counters.again, 1);
}

static void free_slots(struct event_store *store)
{
	for (; store->freed < store->released; store->freed++) {
		struct held_event *held = held_at(store, store->freed);

		if (!block_hold_is_free(&held->hold))
			return;
		if (held->is_unpublished && held->again < EVENT_STORE_AGAIN) {
			offer_again(store, held);
			continue;
		}
		counter_add(&store->window.store.counters.given_up, held->is_unpublished);
		// Fails only if the slot was taken from this process: then nothing is to be done.
		(void)evb_reader_release(store->reader, &held->event);
	}
}

static bool has_room(const struct event_store *store)
{
	return store->taken - store->freed < store->parameters.events;
}

// Gives the next events their indices, at most so many.
static void give_indices(struct event_store *store, uint64_t n)
{
	for (; n > 0 && store->indexed < store->taken; n--)
		held_at(store, store->indexed++)->index = store->next++;
}

static void show(struct event_store *store)
{
	if (!store->window.store.is_shared)
		give_indices(store, UINT64_MAX);
	store->window.store.ready = store->next;
	store->window.store.offered = store->taken - store->begun;
	__atomic_store_n(&store->window.store.counters.events, store->taken - store->released,
			 __ATOMIC_RELAXED);
}

// The event at held_at(taken) is one more.
static void add_event(struct event_store *store)
{
	struct held_event *held = held_at(store, store->taken++);

	held->hold.blocks = 1;
	event_store_describe(store, held);
}

static void poll(struct block_store *base, uint64_t now)
{
	struct event_store *store = event_store_of(base);
	unsigned n = 0;

	(void)now;
	if (!store->has_begun || !event_store_is_open(store))
		return;
	free_slots(store);
	while (n++ < EVENT_STORE_TAKEN_MOST && has_room(store) &&
	       evb_reader_poll(store->reader, &held_at(store, store->taken)->event))
		add_event(store);
	show(store);
}

// The control thread closes the rings of a dead appliance when nothing points to them any more.
static void finish(struct event_store *store)
{
	if (store->freed < store->taken)
		return; // events may have to be offered again
	if (evb_reader_has_ended(store->reader))
		store->window.store.end = store->next;
	else
		atomic_store_explicit(&store->owner, OWNER_CONTROL, memory_order_release);
}

static void housekeep(struct block_store *base)
{
	struct event_store *store = event_store_of(base);

	if (!store->has_begun || !event_store_is_open(store))
		return;
	if (!store->is_over && has_room(store) &&
	    event_store_take_or_end(store, &held_at(store, store->taken)->event))
		add_event(store);
	show(store);
	if (store->is_over)
		finish(store);
}

static void release(struct block_store *base, uint64_t event)
{
	struct event_store *store = event_store_of(base);

	for (; store->released < store->indexed && held_at(store, store->released)->index < event;
	     store->released++)
		held_at(store, store->released)->hold.blocks = 0;
	if (base->released < event)
		base->released = event;
	show(store);
}

static void assign(struct block_store *base, uint64_t event, uint64_t n)
{
	struct event_store *store = event_store_of(base);

	store->next = event;
	give_indices(store, n);
	store->next = event + n;
	show(store);
}

// Events that an earlier run took and did not release get the first indices of the new run. Those
// that had an index may have been sent.
static void begin(struct block_store *base, uint64_t first)
{
	struct event_store *store = event_store_of(base);

	for (uint64_t number = store->released; number < store->indexed; number++)
		held_at(store, number)->is_repeated = true;
	store->has_begun = true;
	store->begun = store->indexed = store->released;
	store->next = base->released = base->ready = first;
	base->end = UINT64_MAX;
}

// The event of an index, by bisection; NULL if it is not here.
static struct held_event *held_of(const struct event_store *store, uint64_t event)
{
	uint64_t first = store->released, end = store->indexed;

	while (first < end) {
		const uint64_t middle = first + (end - first) / 2;
		struct held_event *held = held_at(store, middle);

		if (held->index == event)
			return held;
		if (held->index < event)
			first = middle + 1;
		else
			end = middle;
	}
	return NULL;
}

static struct store_block find(struct block_store *base, uint64_t event, unsigned source)
{
	struct event_store *store = event_store_of(base);
	struct held_event *held = held_of(store, event);

	(void)source;
	if (held == NULL)
		return (struct store_block){ .is_missing = true };
	return (struct store_block){
		.bytes = held->event.data,
		.size = (uint32_t)held->event.length,
		.is_repeated = held->is_repeated,
		.hold = &held->hold,
	};
}

static void unpublished(struct block_store *base, uint64_t event, bool repeated)
{
	struct held_event *held = held_of(event_store_of(base), event);

	if (held == NULL)
		return; // that of another node
	held->is_unpublished = true;
	held->is_repeated |= repeated;
}

// --- life ---

void event_store_destroy(struct block_store *base)
{
	struct event_store *store = event_store_of(base);

	event_store_close(store);
	block_window_free(&store->window);
	free(store->held);
	free(store);
}

static const struct block_store_operations by_arrival = {
	.find = find,
	.begin = begin,
	.poll = poll,
	.housekeep = housekeep,
	.release = release,
	.assign = assign,
	.unpublished = unpublished,
	.destroy = event_store_destroy,
};

static void make_by_arrival(struct event_store *store)
{
	const struct event_store_parameters *p = &store->parameters;

	store->window.store = (struct block_store){
		.operations = &by_arrival,
		.ids = p->id,
		.n_sources = 1,
		.packing = p->packing,
		.largest = p->max_event,
		.capacity = p->events,
		.end = UINT64_MAX,
		.is_shared = p->is_shared,
	};
}

static uint64_t places(uint32_t events, bool by_id)
{
	uint64_t n = by_id ? block_window_capacity(1) : 1;

	while (n < events && !by_id)
		n *= 2;
	return n;
}

uint64_t event_store_memory(uint32_t events, bool by_id)
{
	return sizeof(struct event_store) + (by_id ? block_window_memory(1) : 0) +
	       places(events, by_id) * sizeof(*((struct event_store *)NULL)->held);
}

static bool make(struct event_store *store)
{
	const struct event_store_parameters *p = &store->parameters;
	const uint64_t n = places(p->events, p->by_id);

	store->mask = n - 1;
	store->held = aligned_alloc(BLOCK_HOLD_LINE, n * sizeof(*store->held));
	if (store->held == NULL)
		return false;
	memset(store->held, 0, n * sizeof(*store->held));
	if (p->by_id)
		return event_store_make_by_id(store);
	make_by_arrival(store);
	return true;
}

struct block_store *event_store_create(const struct event_store_parameters *parameters)
{
	struct event_store *store = calloc(1, sizeof(*store));

	if (store == NULL)
		return NULL;
	store->parameters = *parameters;
	if (make(store))
		return &store->window.store;
	event_store_destroy(&store->window.store);
	return NULL;
}
