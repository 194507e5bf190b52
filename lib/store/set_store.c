// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "store/set_store.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "packet/event_index.h"

#define ODIN_SCRATCH 65536u // bytes: largest ODIN block that is made afresh for each event

struct set_store {
	struct block_store store;
	const struct source_set *set;
	uint64_t first_event;
	struct divisor cycle;
	bool odin_valid;     // odin_block holds the ODIN block of odin_event
	uint64_t odin_event; // index
	uint8_t *odin_block;
};

// An ODIN block states the event ids in its payload, so it is made afresh for each event.
static void make_odin(struct set_store *store, const struct source_block *block, uint64_t event)
{
	if (store->odin_valid && store->odin_event == event)
		return;
	memcpy(store->odin_block, block->bytes, block->size);
	(void)source_set_patch_odin(store->odin_block, block->size,
				    store->first_event + event * store->set->packing);
	store->odin_event = event;
	store->odin_valid = true;
}

static struct store_block find(struct block_store *base, uint64_t event, unsigned source)
{
	struct set_store *store = (struct set_store *)base;
	const struct source_block *block =
	    source_set_block(store->set, (unsigned)remainder_of(event, &store->cycle), source);

	if ((int)source != store->set->odin_source || block->size > ODIN_SCRATCH)
		return (struct store_block){ .bytes = block->bytes, .size = block->size };
	make_odin(store, block, event);
	return (struct store_block){
		.bytes = store->odin_block,
		.size = block->size,
		.is_temporary = true,
	};
}

static void destroy(struct block_store *base)
{
	struct set_store *store = (struct set_store *)base;

	free(store->odin_block);
	free(store);
}

static const struct block_store_operations operations = {
	.find = find,
	.destroy = destroy,
};

static uint32_t largest_block(const struct source_set *set)
{
	uint32_t largest = 1;

	for (size_t i = 0; i < (size_t)set->n_cycle * set->n_sources; i++)
		if (set->blocks[i].size > largest)
			largest = set->blocks[i].size;
	return largest;
}

struct block_store *set_store_create(const struct source_set *set, uint64_t first_event)
{
	struct set_store *store = calloc(1, sizeof(*store));

	if (store == NULL)
		return NULL;
	store->set = set;
	store->first_event = first_event;
	store->cycle = divisor_make(set->n_cycle > 0 ? set->n_cycle : 1);
	store->store = (struct block_store){
		.operations = &operations,
		.ids = set->ids,
		.n_sources = set->n_sources,
		.packing = set->packing,
		.largest = largest_block(set),
		.capacity = UINT64_MAX,
		.ready = UINT64_MAX,
		.end = set->once ? set->n_cycle : UINT64_MAX,
	};
	if (set->odin_source >= 0)
		store->odin_block = malloc(ODIN_SCRATCH);
	if (set->odin_source >= 0 && store->odin_block == NULL) {
		destroy(&store->store);
		return NULL;
	}
	return &store->store;
}
