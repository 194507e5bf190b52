// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "store/ring_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "producer/producer_layout.h"
#include "producer/producer_ring.h"
#include "store/ring_store_internal.h"

static struct region *region_at(struct ring_store *store, uint64_t number)
{
	return &store->regions[number & (REGIONS - 1)];
}

// --- blocks in, and memory back ---

static void free_region(struct ring_store *store, struct region *region)
{
	for (uint32_t i = 0; i < region->n; i++)
		producer_ring_release(store->ring, region->sequences[i]);
	region->n = 0;
	region->bytes = 0;
}

static void free_regions(struct ring_store *store)
{
	while (block_hold_is_free(&region_at(store, store->oldest)->hold)) {
		free_region(store, region_at(store, store->oldest));
		if (store->oldest == store->current)
			return;
		store->oldest++;
	}
}

// The region for one more block; NULL if all are in use.
static struct region *room_for(struct ring_store *store, uint32_t size)
{
	struct region *region = region_at(store, store->current);

	if (region->n == 0 || (region->n < REGION_BLOCKS &&
			       region->bytes + size <= store->parameters.ring.size / PARTS))
		return region;
	if (store->current - store->oldest == REGIONS - 1)
		return NULL;
	return region_at(store, ++store->current);
}

// False if there is no room now.
static bool put_block(struct ring_store *store, const struct producer_block *from)
{
	const uint64_t offset = from->event_id - store->parameters.first_event;
	const uint32_t packing = store->parameters.packing;
	struct region *region = room_for(store, from->length);
	struct window_block block = { .bytes = from->data, .size = from->length };

	if (region == NULL)
		return false;
	block.hold = &region->hold;
	if (from->event_id < store->parameters.first_event || offset % packing != 0)
		counter_add(&store->window.store.counters.unknown, 1);
	else if (block_window_put(&store->window, offset / packing, from->source_index, &block) ==
		 WINDOW_FULL)
		return false;
	region->sequences[region->n++] = from->sequence;
	region->bytes += from->length;
	return true;
}

static void take_more(struct ring_store *store)
{
	if (store->n_put < store->n_taken)
		return;
	store->n_put = 0;
	store->n_taken = producer_ring_take(store->ring, store->taken, TAKEN_MOST);
}

static void take_blocks(struct ring_store *store)
{
	take_more(store);
	while (store->n_put < store->n_taken && put_block(store, &store->taken[store->n_put]))
		store->n_put++;
}

static bool is_finished(const struct ring_store *store)
{
	return store->n_put == store->n_taken && producer_ring_is_finished(store->ring);
}

static void poll(struct block_store *base, uint64_t now)
{
	struct ring_store *store = ring_store_of(base);

	if (!store->has_begun)
		return;
	free_regions(store);
	if (base->end != UINT64_MAX)
		return;
	take_blocks(store);
	// What does not fit now had not been taken by the last process either.
	if (store->n_put < store->n_taken || producer_ring_has_inherited(store->ring))
		base->is_inheriting = false;
	block_window_expire(&store->window, now, store->parameters.deadline_cycles, false);
	if (is_finished(store))
		block_window_end(&store->window, store->window.newest);
}

static void begin(struct block_store *base, uint64_t first)
{
	ring_store_of(base)->has_begun = true;
	base->resumes_at = UINT64_MAX;
	block_window_begin(base, first);
}

static void housekeep(struct block_store *base)
{
	struct ring_store *store = ring_store_of(base);
	uint64_t used = producer_ring_used(store->ring);

	__atomic_store_n(&store->fill.used, used, __ATOMIC_RELAXED);
	if (used > store->fill.highest)
		__atomic_store_n(&store->fill.highest, used, __ATOMIC_RELAXED);
	producer_ring_housekeep(store->ring);
}

static void destroy(struct block_store *base)
{
	struct ring_store *store = ring_store_of(base);

	if (store->unregister != NULL)
		store->unregister(store);
	if (store->ring != NULL &&
	    (store->is_discarded || is_finished(store) || !producer_ring_was_used(store->ring)))
		producer_ring_destroy(store->ring);
	else
		producer_ring_close(store->ring);
	block_window_free(&store->window);
	free(store->regions);
	free(store);
}

static const struct block_store_operations operations = {
	.find = block_window_find,
	.begin = begin,
	.poll = poll,
	.housekeep = housekeep,
	.release = block_window_release,
	.destroy = destroy,
};

// --- room ---

struct ring_store_room ring_store_room(uint64_t size, uint32_t blocks, uint64_t block)
{
	uint64_t together = size / PARTS / block;
	struct ring_store_room room = {
		.bytes = producer_room_of(block),
		.most = producer_descriptors(blocks) - 1,
	};

	together = together < 1 ? 1 : together > REGION_BLOCKS ? REGION_BLOCKS : together;
	room.lag = together - 1;
	room.blocks = size / room.bytes;
	if (room.blocks > room.most + 1)
		room.blocks = room.most + 1;
	room.blocks -= together < room.blocks ? together : room.blocks;
	room.ready = (REGIONS - 1) * together;
	if (room.ready > room.blocks)
		room.ready = room.blocks;
	return room;
}

// --- creation ---

static int open_ring(struct ring_store *store, char *error)
{
	struct producer_ring_parameters parameters = store->parameters.ring;

	if (store->parameters.mfps)
		parameters.packing = (uint16_t)store->parameters.packing;
	return producer_ring_open(&store->ring, &parameters, error);
}

// The ring of a dead process has what it announced and did not release.
static void resume(struct ring_store *store)
{
	struct block_store *base = &store->window.store;
	const uint64_t first = store->parameters.first_event;
	const uint32_t packing = store->parameters.packing;
	const uint64_t oldest = producer_ring_oldest(store->ring);

	base->resumes = producer_ring_is_adopted(store->ring);
	base->is_inheriting = producer_ring_inherited(store->ring) > 0;
	base->resumes_at = UINT64_MAX;
	if (oldest >= first && oldest != UINT64_MAX)
		base->resumes_at = (oldest - first + packing - 1) / packing;
}

static bool make(struct ring_store *store, char *error, int *rc)
{
	const struct ring_store_parameters *p = &store->parameters;
	const struct block_window_parameters window = {
		.ids = p->ring.sources,
		.n_sources = p->ring.n_sources,
		.packing = p->packing,
		.largest = p->ring.max_block,
		.capacity = block_window_capacity(p->ring.n_sources),
		.mfps = p->mfps,
	};

	snprintf(error, EVRING_ERROR_SIZE, "out of memory");
	store->regions = aligned_alloc(BLOCK_HOLD_LINE, REGIONS * sizeof(*store->regions));
	if (store->regions == NULL || !block_window_make(&store->window, &window))
		return false;
	memset(store->regions, 0, REGIONS * sizeof(*store->regions));
	store->window.store.operations = &operations;
	*rc = open_ring(store, error);
	if (*rc != 0)
		return false;
	store->fill.size = producer_ring_size(store->ring);
	resume(store);
	return true;
}

uint64_t ring_store_memory(unsigned n_sources)
{
	return sizeof(struct ring_store) + REGIONS * sizeof(struct region) +
	       block_window_memory(n_sources);
}

struct block_store *ring_store_create(const struct ring_store_parameters *parameters, char *error)
{
	struct ring_store *store = calloc(1, sizeof(*store));
	int rc = -ENOMEM;

	snprintf(error, EVRING_ERROR_SIZE, "out of memory");
	if (store == NULL)
		return NULL;
	store->parameters = *parameters;
	if (make(store, error, &rc))
		return &store->window.store;
	destroy(&store->window.store);
	errno = -rc;
	return NULL;
}

bool ring_store_is_finished(const struct block_store *store)
{
	return is_finished((const struct ring_store *)store);
}

void ring_store_end(struct block_store *store)
{
	producer_ring_end(ring_store_of(store)->ring);
}

bool ring_store_next(struct block_store *base, uint64_t *event)
{
	struct ring_store *store = ring_store_of(base);

	take_more(store);
	if (store->n_put == store->n_taken)
		return false;
	*event = (store->taken[store->n_put].event_id - store->parameters.first_event) /
		 store->parameters.packing;
	return true;
}

void ring_store_discard(struct block_store *store)
{
	ring_store_of(store)->is_discarded = true;
}

const struct ring_store_fill *ring_store_fill(const struct block_store *store)
{
	return store->operations == &operations ? &((const struct ring_store *)store)->fill : NULL;
}

uint64_t ring_store_inherited(const struct block_store *store)
{
	return producer_ring_inherited(((const struct ring_store *)store)->ring);
}

bool ring_store_watch(struct block_store *base, uint32_t *pid)
{
	struct ring_store *store = ring_store_of(base);

	*pid = 0;
	if (!producer_ring_watch(store->ring))
		return false;
	if (!producer_ring_attached(store->ring, pid))
		*pid = 0;
	return true;
}
