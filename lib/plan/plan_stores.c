// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The stores that other processes or boards fill: how much they hold, and what a spill needs.
#include "plan/plan.h"

#include <math.h>

#include <rte_common.h>

#include "pacing/spill.h"
#include "store/block_memory.h"
#include "store/block_window.h"
#include "store/ring_store.h"
#include "system/event_rate.h"

// A store with blocks of one length.
struct capacity {
	uint64_t room;   // bytes of memory that a block takes
	uint64_t blocks; // that fit at any time
	uint64_t ready;  // of these, that can be in events that are ready
	uint64_t lag;    // blocks that keep their memory although nobody needs them, at most
	uint64_t most;   // blocks of any length
};

struct maker {
	const struct config *config;
	const struct config_generator *generator;
	unsigned index;
	bool is_ring;
	uint64_t n_sources;
	uint64_t window; // events that may have blocks which the store has taken
	struct plan_store *store;
	char *error;
};

#define fail(m, key, format, ...)                                                              \
	error_line((m)->error, PLAN_ERROR_SIZE, "generators[%u].%s: " format, (m)->index, key, \
		   ##__VA_ARGS__)

static struct capacity capacity_of(const struct maker *m, uint64_t block)
{
	const struct config_producer *producer = &m->generator->producer;
	const struct config_listen *listen = &m->generator->listen;

	if (m->is_ring) {
		const struct ring_store_room room =
		    ring_store_room(producer->size, producer->blocks, block);

		return (struct capacity){ room.bytes, room.blocks, room.ready, room.lag,
					  room.most };
	}
	const struct block_memory_capacity memory =
	    block_memory_capacity(listen->size, listen->max_block, block);

	return (struct capacity){ memory.bytes, memory.blocks, memory.blocks, memory.lag,
				  UINT64_MAX };
}

// A round of static mode has as many events as there are builders, and is sent when all are there
// (readout/readout_logic.h).
static int check_static(const struct maker *m, const struct capacity *capacity)
{
	uint64_t n_builders = m->config->cluster.n_builders;
	uint64_t events = RTE_MIN(capacity->ready / m->n_sources, m->window);

	if (!m->is_ring || m->config->event_manager.sched.mode != SCHED_STATIC ||
	    m->config->cluster.n_nodes == 0 || events >= n_builders)
		return 0;
	return fail(m, "producer",
		    "room for %llu events with blocks of max_block, mode static needs room for "
		    "%llu, one per builder",
		    (unsigned long long)events, (unsigned long long)n_builders);
}

// --- spills ---

// Events per second that leave.
static double rate_of(const struct maker *m, uint64_t block)
{
	const struct config *config = m->config;
	const struct sched_parameters *sched = &config->event_manager.sched;
	const struct event_rate_parameters parameters = {
		.wire = config_on_wire_parameters(config),
		.target = sched->target_utilisation,
		.sending = sched->shaping == SCHED_TIMED_SHIFT
			       ? (double)sched->send_window_ns /
				     (double)(sched->send_window_ns + sched->idle_window_ns) *
				     cluster_shift_of(&config->cluster).share
			       : 1,
		.block = block,
	};
	double rate = event_rate(&parameters);

	return m->generator->rate > 0 ? fmin(rate, m->generator->rate) : rate;
}

// The key of the store's size.
static const char *size_key(const struct maker *m)
{
	return m->is_ring ? "producer.size" : "listen.size";
}

// Whether the store has room for a spill that leaves so many events.
static int check_room(const struct maker *m, const struct capacity *capacity, double events)
{
	double blocks = ceil(events) * (double)m->n_sources;

	if (blocks + (double)capacity->lag > (double)capacity->most)
		return fail(m, "producer.blocks",
			    "a spill fills the ring with up to %.0f blocks, it has room for %llu",
			    blocks + (double)capacity->lag, (unsigned long long)capacity->most);
	if (blocks > (double)capacity->blocks)
		return fail(m, size_key(m),
			    "a spill fills the store with up to %.0f bytes, it has %llu",
			    (blocks + (double)capacity->lag + 1) * (double)capacity->room,
			    (unsigned long long)m->store->size);
	if (!m->is_ring && ceil(events) > (double)m->window)
		return fail(m, "spill.events",
			    "a spill fills the store with up to %.0f events, it has room for %llu",
			    ceil(events), (unsigned long long)m->window);
	return 0;
}

static int make_spill(const struct maker *m)
{
	const struct config_spill *config = &m->generator->spill;
	const struct spill spill = { (double)config->events, (double)config->duration_ns * 1e-9,
				     (double)config->period_ns * 1e-9 };
	uint64_t n_blocks = config->events * m->n_sources;
	uint64_t block = (config->size + n_blocks - 1) / n_blocks;
	struct capacity capacity;
	struct spill_fill fill;
	double rate, bytes = (double)config->size / (double)config->events;

	if (m->config->event_manager.sched.mode == SCHED_STATIC)
		return fail(m, "spill", "in mode static nobody limits the rate of the readouts");
	rate = rate_of(m, block);
	if (isinf(rate))
		return fail(m, "spill",
			    "no port with a link_rate carries the blocks, so nothing tells how "
			    "fast they leave");
	fill = spill_fill(&spill, rate);
	if (!fill.carried)
		return fail(m, "spill",
			    "spills bring %.3f MB/s on average, the links carry %.3f MB/s",
			    bytes * spill.amount / spill.period * 1e-6, bytes * rate * 1e-6);
	capacity = capacity_of(m, block);
	if (check_room(m, &capacity, fill.highest) != 0)
		return -1;
	m->store->spill_highest =
	    ((uint64_t)ceil(fill.highest) * m->n_sources + capacity.lag + 1) * capacity.room;
	m->store->spill_empty = fill.empty;
	m->store->mean_rate = bytes * spill.amount / spill.period;
	m->store->link_rate = bytes * rate;
	return 0;
}

// Of RoCE boards as many events may begin as fill half of the memory with their largest blocks:
// port_store_room(), block_memory_blocks(). `largest` is the store with such blocks.
static uint64_t window_of_roce(const struct maker *m, const struct capacity *largest)
{
	uint64_t spare = largest->lag + 2;
	uint64_t blocks = largest->blocks > spare ? largest->blocks - spare : 0;

	return RTE_MIN(m->window, blocks / (2 * m->n_sources));
}

int plan_store_make(struct plan_store *store, const struct config *config, unsigned index,
		    char *error)
{
	const struct config_generator *generator = &config->generators[index];
	const struct source_set_parameters set = config_source_set(config, generator);
	struct maker m = {
		.config = config,
		.generator = generator,
		.index = index,
		.is_ring = generator->kind == GENERATOR_PRODUCER,
		.n_sources = set.n_ids,
		.window = block_window_capacity(set.n_ids),
		.store = store,
		.error = error,
	};
	struct capacity largest, smallest;

	*store = (struct plan_store){ 0 };
	if (generator->kind != GENERATOR_PRODUCER && generator->kind != GENERATOR_PORT)
		return 0;
	store->size = m.is_ring ? generator->producer.size : generator->listen.size;
	largest = capacity_of(&m, m.is_ring ? generator->producer.max_block
					    : generator->listen.max_block);
	smallest = capacity_of(&m, 1);
	if (!m.is_ring && generator->listen.roce)
		m.window = window_of_roce(&m, &largest);
	store->events = RTE_MIN(largest.blocks / set.n_ids, m.is_ring ? UINT64_MAX : m.window);
	store->max_events = RTE_MIN(smallest.blocks / set.n_ids, m.is_ring ? UINT64_MAX : m.window);
	if (check_static(&m, &largest) != 0)
		return -1;
	return generator->spill.size > 0 ? make_spill(&m) : 0;
}
