// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A link: a ring of mbuf pointers from one producing role to one consuming role, without lock or
// atomic read-modify-write (single producer, single consumer).
//
// A lossless link makes its producer look at link_room() before it takes input; a drop link lets
// it go on, and the producer counts what did not fit under the cause link_full.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "pipeline/role.h"

struct link {
	struct rte_ring *ring;
	const char
	    *producer; // role names, for telemetry: the consumer of a full link is the slow one
	const char *consumer;
	bool lossless;
	uint32_t depth; // entries

	// Producer's lcore writes, telemetry reads.
	struct {
		uint64_t enqueued;
		uint64_t dropped; // drop links only
		uint64_t full;    // polls in which the producer found no room
		uint64_t highest; // most entries seen
	} __rte_cache_aligned counters;
};

// Makes a link of `depth` entries (a power of two) on a NUMA node. Control thread. Returns NULL if
// the name is taken or memory ran out (rte_errno).
struct link *link_create(const char *producer, const char *consumer, uint32_t depth, bool lossless,
			 int numa_node);

// Frees the link and the mbufs that are left in it. NULL is allowed. Control thread.
void link_destroy(struct link *link);

// Whether `n` more entries fit; if not it is counted. Producer only.
static inline bool link_room(struct link *link, unsigned n)
{
	if (likely(rte_ring_free_count(link->ring) >= n))
		return true;
	counter_add(&link->counters.full, 1);
	return false;
}

// Puts up to n mbufs in and returns how many went. Producer only.
static inline unsigned link_enqueue(struct link *link, struct rte_mbuf **mbufs, unsigned n)
{
	unsigned room;
	unsigned done = rte_ring_sp_enqueue_burst(link->ring, (void **)mbufs, n, &room);
	uint64_t used = link->depth - room;

	counter_add(&link->counters.enqueued, done);
	if (unlikely(used > link->counters.highest))
		counter_add(&link->counters.highest, used - link->counters.highest);
	return done;
}

// Takes up to n mbufs out. Consumer only.
static inline unsigned link_dequeue(struct link *link, struct rte_mbuf **mbufs, unsigned n)
{
	return rte_ring_sc_dequeue_burst(link->ring, (void **)mbufs, n, NULL);
}
