// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "store/block_window.h"

#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "wire/mfp.h"

#define CAPACITY_LEAST  1024u      // events
#define CAPACITY_MOST   16384u     // events
#define CAPACITY_BLOCKS (1u << 20) // of all sources, about

static struct window_event *event_at(const struct block_window *window, uint64_t event)
{
	return &window->events[event & window->mask];
}

static struct window_block *blocks_of(const struct block_window *window, uint64_t event)
{
	return &window->blocks[(event & window->mask) * window->parameters.n_sources];
}

static void show_held(struct block_window *window)
{
	struct block_store *store = &window->store;

	__atomic_store_n(&store->counters.events, window->newest - store->released,
			 __ATOMIC_RELAXED);
}

// Moves on over the events of which everything is known.
static void advance(struct block_window *window)
{
	struct block_store *store = &window->store;
	unsigned n_sources = window->parameters.n_sources;

	while (store->ready < window->newest &&
	       event_at(window, store->ready)->n_decided == n_sources) {
		counter_add(&store->counters.missing,
			    n_sources - event_at(window, store->ready)->n_present);
		store->ready++;
	}
}

// The source has no more blocks below `end`, which is not above released + capacity.
static void decide(struct block_window *window, unsigned source, uint64_t end)
{
	uint64_t event = window->next[source];

	if (event < window->store.released)
		event = window->store.released;
	for (; event < end; event++)
		event_at(window, event)->n_decided +=
		    blocks_of(window, event)[source].bytes == NULL;
	if (window->next[source] < end)
		window->next[source] = end;
	if (window->newest < end)
		window->newest = end;
}

// The event is in the window, and nothing is decided about its block.
static void place(struct block_window *window, uint64_t event, unsigned source,
		  const struct window_block *block)
{
	blocks_of(window, event)[source] = *block;
	if (block->hold != NULL)
		block->hold->blocks++;
	event_at(window, event)->n_present++;
	event_at(window, event)->n_decided++;
	if (window->newest <= event)
		window->newest = event + 1;
}

enum window_put block_window_put(struct block_window *window, uint64_t event, unsigned source,
				 const struct window_block *block)
{
	struct block_store *store = &window->store;
	uint64_t limit = store->released + window->parameters.capacity;

	if (event < window->next[source]) {
		counter_add(&store->counters.late, 1);
		return WINDOW_LATE;
	}
	if (event >= limit) {
		decide(window, source, limit);
		advance(window);
		return WINDOW_FULL;
	}
	place(window, event, source, block);
	decide(window, source, event + 1);
	advance(window);
	show_held(window);
	return WINDOW_TAKEN;
}

enum window_put block_window_put_unordered(struct block_window *window, uint64_t event,
					   unsigned source, const struct window_block *block)
{
	struct block_store *store = &window->store;
	uint64_t limit = store->released + window->parameters.capacity;

	if (event >= limit) {
		window->newest = limit;
		show_held(window);
		return WINDOW_FULL;
	}
	if (event < window->next[source] || event < store->ready ||
	    blocks_of(window, event)[source].bytes != NULL) {
		counter_add(&store->counters.late, 1);
		return WINDOW_LATE;
	}
	place(window, event, source, block);
	advance(window);
	show_held(window);
	return WINDOW_TAKEN;
}

static void decide_all(struct block_window *window, uint64_t end)
{
	for (unsigned i = 0; i < window->parameters.n_sources; i++)
		decide(window, i, end);
	advance(window);
}

void block_window_give_up(struct block_window *window)
{
	uint64_t event = window->store.ready;

	if (event == window->store.released + window->parameters.capacity)
		return;
	decide_all(window, event + 1);
}

// Whether the events below idle_newest have had a sign for the deadline, and nothing else was left.
static bool is_overdue(struct block_window *window, uint64_t now, uint64_t deadline)
{
	struct block_store *store = &window->store;

	if (store->released < store->ready || store->ready == window->newest) {
		window->idle_since = 0;
	} else if (window->idle_since == 0) {
		window->idle_since = now;
		window->idle_newest = window->newest;
	} else if (now - window->idle_since > deadline) {
		return true;
	}
	return false;
}

void block_window_expire(struct block_window *window, uint64_t now, uint64_t deadline,
			 bool only_gap)
{
	uint64_t end = only_gap ? window->store.ready : window->idle_newest;

	if (!is_overdue(window, now, deadline))
		return;
	while (end < window->idle_newest && event_at(window, end)->n_present == 0)
		end++;
	decide_all(window, end);
	window->idle_since = 0;
}

void block_window_end(struct block_window *window, uint64_t event)
{
	struct block_store *store = &window->store;
	uint64_t limit = store->released + window->parameters.capacity;

	decide_all(window, event < limit ? event : limit);
	store->end = event;
}

struct store_block block_window_find(struct block_store *store, uint64_t event, unsigned source)
{
	struct block_window *window = (struct block_window *)store;
	const struct block_window_parameters *p = &window->parameters;
	size_t error_size = mfp_error_size(p->packing);
	const struct window_block *block;

	if (event < store->released || event >= store->ready)
		return (struct store_block){ .is_missing = true };
	block = &blocks_of(window, event)[source];
	if (block->bytes != NULL)
		return (struct store_block){
			.bytes = block->bytes,
			.size = block->size,
			.hold = block->hold,
		};
	if (!p->mfps)
		return (struct store_block){ .is_missing = true };
	// Cannot fail: the buffer has this size. The sender writes the event id.
	(void)mfp_encode_error(window->error_mfp, error_size, 0, p->ids[source], p->packing,
			       MFP_TYPE_FRAGMENT_MISSING);
	return (struct store_block){
		.bytes = window->error_mfp,
		.size = (uint32_t)error_size,
		.is_missing = true,
		.is_temporary = true,
	};
}

static void drop_event(struct block_window *window, uint64_t event)
{
	struct window_block *blocks = blocks_of(window, event);

	for (unsigned i = 0; i < window->parameters.n_sources; i++) {
		if (blocks[i].bytes != NULL && blocks[i].hold != NULL)
			blocks[i].hold->blocks--;
		blocks[i].bytes = NULL;
	}
	*event_at(window, event) = (struct window_event){ 0 };
}

void block_window_release(struct block_store *store, uint64_t event)
{
	struct block_window *window = (struct block_window *)store;

	if (event > store->ready)
		event = store->ready;
	for (; store->released < event; store->released++)
		drop_event(window, store->released);
	show_held(window);
}

void block_window_begin(struct block_store *store, uint64_t first)
{
	struct block_window *window = (struct block_window *)store;

	for (uint64_t event = store->released; event < window->newest; event++)
		drop_event(window, event);
	for (unsigned i = 0; i < window->parameters.n_sources; i++)
		window->next[i] = first;
	store->released = store->ready = window->newest = first;
	store->end = UINT64_MAX;
	window->idle_since = 0;
	show_held(window);
}

uint64_t block_window_capacity(unsigned n_sources)
{
	uint64_t events = CAPACITY_LEAST;

	while (events < CAPACITY_MOST && 2 * events * n_sources <= CAPACITY_BLOCKS)
		events *= 2;
	return events;
}

uint64_t block_window_memory(unsigned n_sources)
{
	const uint64_t events = block_window_capacity(n_sources);

	return events * sizeof(struct window_event) +
	       n_sources * (events * sizeof(struct window_block) + sizeof(uint64_t));
}

bool block_window_make(struct block_window *window,
		       const struct block_window_parameters *parameters)
{
	const struct block_window_parameters *p = parameters;
	size_t error_size = mfp_error_size(p->packing);

	window->parameters = *parameters;
	window->mask = p->capacity - 1;
	window->events = calloc(p->capacity, sizeof(*window->events));
	window->blocks = calloc(p->capacity * p->n_sources, sizeof(*window->blocks));
	window->next = calloc(p->n_sources, sizeof(*window->next));
	window->error_mfp = calloc(1, error_size);
	window->store.ids = p->ids;
	window->store.n_sources = p->n_sources;
	window->store.packing = p->packing;
	window->store.largest = p->largest > error_size ? p->largest : (uint32_t)error_size;
	window->store.end = UINT64_MAX;
	return window->events != NULL && window->blocks != NULL && window->next != NULL &&
	       window->error_mfp != NULL;
}

void block_window_free(struct block_window *window)
{
	free(window->events);
	free(window->blocks);
	free(window->next);
	free(window->error_mfp);
}
