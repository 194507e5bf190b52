// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "packet/decision_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/counter.h"

#define INBOX_SIZE 65536u

static void *make(size_t size)
{
	void *made = aligned_alloc(64, (size + 63) / 64 * 64);

	if (made != NULL)
		memset(made, 0, size);
	return made;
}

// Decisions that are not written yet are about `window` consecutive events. One that is added
// later may be written earlier and is freed behind it, so there may be nearly twice as many.
struct decision_outbox *decision_outbox_create(uint32_t window, uint32_t packing)
{
	struct decision_outbox *outbox = make(sizeof(*outbox));

	if (outbox == NULL)
		return NULL;
	outbox->mask = 2 * window - 1;
	outbox->packing = packing;
	outbox->results = calloc(2 * (size_t)window, sizeof(outbox->results[0]));
	if (outbox->results != NULL)
		return outbox;
	free(outbox);
	return NULL;
}

uint64_t decision_outbox_memory(uint32_t window)
{
	return sizeof(struct decision_outbox) +
	       2 * (uint64_t)window * sizeof(struct decision_result);
}

void decision_outbox_destroy(struct decision_outbox *outbox)
{
	if (outbox == NULL)
		return;
	free(outbox->results);
	free(outbox);
}

bool decision_outbox_put(struct decision_outbox *outbox, const struct decision_result *result)
{
	const uint64_t added = atomic_load_explicit(&outbox->added, memory_order_relaxed);

	if (added - atomic_load_explicit(&outbox->freed, memory_order_acquire) > outbox->mask ||
	    result->event_id / outbox->packing >=
		atomic_load_explicit(&outbox->limit, memory_order_relaxed))
		return false;
	outbox->results[added & outbox->mask] = *result;
	atomic_store_explicit(&outbox->added, added + 1, memory_order_release);
	return true;
}

// Before anything is written there is no limit yet, and in mode static ids begin anywhere.
bool decision_outbox_is_valid(const struct decision_outbox *outbox, uint64_t event_id)
{
	const uint64_t limit = atomic_load_explicit(&outbox->limit, memory_order_relaxed);

	return limit == 0 || limit > UINT64_MAX - DECISION_FARTHEST ||
	       event_id / outbox->packing < limit + DECISION_FARTHEST;
}

uint64_t decision_outbox_waiting(const struct decision_outbox *outbox)
{
	const uint64_t freed = atomic_load_explicit(&outbox->freed, memory_order_acquire);

	return atomic_load_explicit(&outbox->added, memory_order_acquire) - freed;
}

const struct decision_result *decision_outbox_at(const struct decision_outbox *outbox,
						 uint64_t number)
{
	return number < atomic_load_explicit(&outbox->added, memory_order_acquire)
		   ? &outbox->results[number & outbox->mask]
		   : NULL;
}

void decision_outbox_free(struct decision_outbox *outbox, uint64_t number, uint64_t written)
{
	uint64_t freed = atomic_load_explicit(&outbox->freed, memory_order_relaxed);

	while (freed < number &&
	       outbox->results[freed & outbox->mask].event_id / outbox->packing < written)
		freed++;
	atomic_store_explicit(&outbox->freed, freed, memory_order_release);
}

// --- the results node ---

struct decision_inbox *decision_inbox_create(uint32_t window, uint32_t packing, unsigned n_nodes)
{
	struct decision_inbox *inbox = make(sizeof(*inbox));

	if (inbox == NULL)
		return NULL;
	inbox->mask = INBOX_SIZE - 1;
	inbox->window_mask = window - 1;
	inbox->n_nodes = n_nodes;
	inbox->packing = packing;
	inbox->arrivals = calloc(INBOX_SIZE, sizeof(inbox->arrivals[0]));
	inbox->builders = calloc(window, sizeof(inbox->builders[0]));
	inbox->received = calloc(n_nodes, sizeof(inbox->received[0]));
	if (inbox->arrivals != NULL && inbox->builders != NULL && inbox->received != NULL)
		return inbox;
	decision_inbox_destroy(inbox);
	return NULL;
}

uint64_t decision_inbox_memory(uint32_t window, unsigned n_nodes)
{
	return sizeof(struct decision_inbox) + INBOX_SIZE * sizeof(struct decision_arrival) +
	       window * sizeof(uint16_t) + n_nodes * sizeof(uint64_t);
}

void decision_inbox_destroy(struct decision_inbox *inbox)
{
	if (inbox == NULL)
		return;
	free(inbox->arrivals);
	free(inbox->builders);
	free(inbox->received);
	free(inbox);
}

uint32_t decision_inbox_size(const struct decision_inbox *inbox)
{
	return inbox->mask + 1;
}

bool decision_inbox_put(struct decision_inbox *inbox, unsigned node,
			const struct decision_result *result)
{
	const uint64_t put = atomic_load_explicit(&inbox->put, memory_order_relaxed);

	if (put - atomic_load_explicit(&inbox->taken, memory_order_acquire) > inbox->mask)
		return false;
	inbox->arrivals[put & inbox->mask] = (struct decision_arrival){ *result, (uint16_t)node };
	atomic_store_explicit(&inbox->put, put + 1, memory_order_release);
	return true;
}

void decision_inbox_begin(struct decision_inbox *inbox, uint64_t first)
{
	inbox->first = first;
	atomic_store_explicit(&inbox->known, first, memory_order_relaxed);
	atomic_store_explicit(&inbox->seen, first, memory_order_relaxed);
	atomic_store_explicit(&inbox->written, first, memory_order_relaxed);
	atomic_store_explicit(&inbox->begun, true, memory_order_release);
}

// What is known of an event is stored until the results role has seen it, and expected there from
// the first event that is not written on.
uint64_t decision_inbox_know_limit(const struct decision_inbox *inbox)
{
	const uint64_t seen = atomic_load_explicit(&inbox->seen, memory_order_acquire);
	const uint64_t written = atomic_load_explicit(&inbox->written, memory_order_acquire);

	return (seen < written ? seen : written) + inbox->window_mask + 1;
}

bool decision_inbox_know(struct decision_inbox *inbox, uint16_t builder)
{
	const uint64_t known = atomic_load_explicit(&inbox->known, memory_order_relaxed);

	if (known >= decision_inbox_know_limit(inbox))
		return false;
	inbox->builders[known & inbox->window_mask] = builder;
	atomic_store_explicit(&inbox->known, known + 1, memory_order_release);
	return true;
}

const struct decision_arrival *decision_inbox_front(const struct decision_inbox *inbox)
{
	const uint64_t taken = atomic_load_explicit(&inbox->taken, memory_order_relaxed);

	return taken < atomic_load_explicit(&inbox->put, memory_order_acquire)
		   ? &inbox->arrivals[taken & inbox->mask]
		   : NULL;
}

void decision_inbox_pop(struct decision_inbox *inbox)
{
	const uint64_t taken = atomic_load_explicit(&inbox->taken, memory_order_relaxed);

	counter_add(&inbox->received[inbox->arrivals[taken & inbox->mask].node], 1);
	atomic_store_explicit(&inbox->taken, taken + 1, memory_order_release);
}

bool decision_inbox_next(struct decision_inbox *inbox, uint64_t *event, uint16_t *builder)
{
	const uint64_t seen = atomic_load_explicit(&inbox->seen, memory_order_relaxed);

	if (seen >= atomic_load_explicit(&inbox->known, memory_order_acquire))
		return false;
	*event = seen;
	*builder = inbox->builders[seen & inbox->window_mask];
	atomic_store_explicit(&inbox->seen, seen + 1, memory_order_release);
	return true;
}
