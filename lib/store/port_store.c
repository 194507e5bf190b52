// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "store/port_store.h"

#include <stdlib.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "base/counter.h"
#include "packet/segment_mbuf.h"

#define BURSTS 2u // in one poll: as many segments come in as packets may leave, and more
#define NONE   UINT16_MAX

struct port_store {
	struct block_assembly assembly; // the first member
	bool holds_back;
	uint16_t *ids;     // those of the store that are expected
	uint16_t *indices; // by index in the source table: index in the store, or NONE
	uint64_t *refused; // likewise: segments of sources that the store does not have
	struct link *links[PORT_STORE_LINKS];
	unsigned n_links, next;
	struct rte_mbuf *taken[ROLE_BURST]; // from a link
	unsigned n_taken, at;
	bool waits; // the segment at `at` waits for room
};

static struct port_store *port_store_of(struct block_store *store)
{
	return (struct port_store *)store;
}

// --- segments in ---

static void refuse_other(struct port_store *store, unsigned source)
{
	struct block_assembly_counters *counters = &store->assembly.counters;

	counter_add(&counters->segments, 1);
	counter_add(&counters->drops[SEGMENT_NOT_ADMITTED], 1);
	counter_add(&store->refused[source], 1);
}

// Places a segment, or counts it as refused. False if it must wait for room.
static bool place(struct port_store *store, struct rte_mbuf *mbuf)
{
	const struct segment *segment = mbuf_segment(mbuf);
	unsigned source = store->indices[segment->source];
	enum segment_cause cause;
	uint8_t *to;

	if (unlikely(source == NONE)) {
		refuse_other(store, segment->source);
		return true;
	}
	to = block_assembly_admit(&store->assembly, segment, source, &cause);
	if (unlikely(to == NULL))
		return cause != SEGMENT_STORE_FULL || !store->holds_back;
	mbuf_copy_payload(to, mbuf, segment, COPY_NEXT_UNKNOWN);
	block_assembly_commit(&store->assembly, segment, source);
	return true;
}

// Places the taken segments, up to the first one that must wait.
static void place_taken(struct port_store *store)
{
	unsigned first = store->at;

	store->waits = false;
	for (; store->at < store->n_taken; store->at++) {
		if (store->at + 1 < store->n_taken)
			rte_prefetch0(mbuf_segment(store->taken[store->at + 1]));
		if (unlikely(!place(store, store->taken[store->at]))) {
			store->waits = true;
			break;
		}
	}
	rte_pktmbuf_free_bulk(store->taken + first, store->at - first);
}

static void take(struct port_store *store)
{
	for (unsigned i = 0; i < store->n_links && store->at == store->n_taken; i++) {
		store->at = 0;
		store->n_taken = link_dequeue(store->links[store->next], store->taken, ROLE_BURST);
		if (++store->next == store->n_links)
			store->next = 0;
	}
}

static void poll(struct block_store *base, uint64_t now)
{
	struct port_store *store = port_store_of(base);

	block_assembly_tick(&store->assembly, now, store->waits);
	for (unsigned i = 0; i < BURSTS; i++) {
		take(store);
		place_taken(store);
		if (store->waits)
			break;
	}
	block_assembly_expire(&store->assembly);
}

// --- life ---

static void destroy(struct block_store *base)
{
	struct port_store *store = port_store_of(base);

	rte_free(store->assembly.parameters.memory);
	block_assembly_free(&store->assembly);
	free(store->ids);
	free(store->indices);
	free(store->refused);
	free(store);
}

static const struct block_store_operations operations = {
	.find = block_window_find,
	.begin = block_assembly_begin,
	.poll = poll,
	.housekeep = block_assembly_housekeep,
	.release = block_assembly_release,
	.destroy = destroy,
};

// Keeps the ids of expected sources only: the others never arrive, and the store would wait for
// them.
static bool make_sources(struct port_store *store, const struct source_table *sources,
			 struct block_assembly_parameters *p)
{
	unsigned n = 0;

	store->ids = malloc(p->n_sources * sizeof(*store->ids));
	store->indices = malloc(sources->n_expected * sizeof(*store->indices));
	store->refused = calloc(sources->n_expected, sizeof(*store->refused));
	if (store->ids == NULL || store->indices == NULL || store->refused == NULL)
		return false;
	for (unsigned i = 0; i < sources->n_expected; i++)
		store->indices[i] = NONE;
	for (unsigned i = 0; i < p->n_sources; i++) {
		uint16_t source = sources->index[p->ids[i]];

		if (source >= SOURCE_UNEXPECTED)
			continue;
		store->indices[source] = (uint16_t)n;
		store->ids[n++] = p->ids[i];
	}
	p->ids = store->ids;
	p->n_sources = n;
	return n > 0;
}

static bool make(struct port_store *store, const struct port_store_parameters *parameters)
{
	struct block_assembly_parameters assembly = parameters->assembly;

	if (!make_sources(store, parameters->sources, &assembly))
		return false;
	assembly.memory =
	    rte_malloc_socket("port_store", assembly.size, BLOCK_HOLD_LINE, parameters->numa_node);
	// Made even without memory, so that destroy() finds all parts.
	return block_assembly_make(&store->assembly, &assembly) && assembly.memory != NULL;
}

struct block_store *port_store_create(const struct port_store_parameters *parameters)
{
	struct port_store *store = calloc(1, sizeof(*store));

	if (store == NULL)
		return NULL;
	store->holds_back = parameters->assembly.holds_back;
	if (!make(store, parameters)) {
		destroy(&store->assembly.window.store);
		return NULL;
	}
	store->assembly.window.store.operations = &operations;
	return &store->assembly.window.store;
}

void port_store_connect(struct block_store *base, struct link *link)
{
	struct port_store *store = port_store_of(base);

	if (store->n_links < PORT_STORE_LINKS)
		store->links[store->n_links++] = link;
}

void port_store_flush(struct block_store *base)
{
	struct port_store *store = port_store_of(base);

	do {
		for (; store->at < store->n_taken; store->at++) {
			struct rte_mbuf *mbuf = store->taken[store->at];
			unsigned source = store->indices[mbuf_segment(mbuf)->source];

			if (source == NONE)
				refuse_other(store, mbuf_segment(mbuf)->source);
			else
				block_assembly_refuse(&store->assembly, source, SEGMENT_LATE);
			rte_pktmbuf_free(mbuf);
		}
		take(store);
	} while (store->at < store->n_taken);
	store->n_links = store->next = 0;
}

// --- telemetry ---

bool port_store_is(const struct block_store *store)
{
	return store->operations == &operations;
}

const struct block_assembly_counters *port_store_counters(const struct block_store *store)
{
	return &((const struct port_store *)store)->assembly.counters;
}

const struct block_memory *port_store_memory(const struct block_store *store)
{
	return &((const struct port_store *)store)->assembly.memory;
}

uint32_t port_store_room(const struct block_store *base, uint64_t *begun)
{
	const struct port_store *store = (const struct port_store *)base;
	uint64_t events = block_memory_blocks(&store->assembly.memory) / (2 * base->n_sources);
	uint64_t used;

	*begun = counter_read(&store->assembly.newest);
	used = *begun - counter_read(&store->assembly.freed);
	if (events > store->assembly.mask)
		events = store->assembly.mask;
	return used < events ? (uint32_t)(events - used) : 0;
}

void port_store_add_source(const struct block_store *base, unsigned source,
			   struct block_assembly_source_counters *sum)
{
	const struct port_store *store = (const struct port_store *)base;
	const struct block_assembly_source_counters *counters;

	sum->drops[SEGMENT_NOT_ADMITTED] += counter_read(&store->refused[source]);
	if (store->indices[source] == NONE)
		return;
	counters = &store->assembly.sources[store->indices[source]];
	sum->placed += counter_read(&counters->placed);
	sum->placed_bytes += counter_read(&counters->placed_bytes);
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		sum->drops[i] += counter_read(&counters->drops[i]);
}
