// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A link: a ring of mbuf pointers from one producing role to one consuming role, without lock or
// atomic read-modify-write (single producer, single consumer).
//
// The producer of a lossless link calls link_room() first, and takes no input while the link is
// full. The producer of a drop link always takes input, and counts the segments that did not fit
// under the cause link_full.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "pipeline/role.h"

struct link {
	struct rte_ring *ring;
	// Role names, for telemetry. If the link is full, its consumer is the slow role.
	const char *producer, *consumer;
	bool lossless;
	uint32_t depth; // entries

	// Writer: the producer's lcore; readers: any thread.
	struct {
		uint64_t enqueued;
		uint64_t dropped; // drop links only
		uint64_t full;    // polls in which the producer found no room
		uint64_t highest; // largest number of entries so far
	} __rte_cache_aligned counters;
};

// Makes a link of `depth` entries (a power of two) on a NUMA node. Control thread. Returns NULL if
// the name is taken or memory ran out (rte_errno).
struct link *link_create(const char *producer, const char *consumer, uint32_t depth, bool lossless,
			 int numa_node);

// Frees the link and the mbufs that are left in it. NULL is allowed. Control thread.
void link_destroy(struct link *link);

// Whether `n` more entries fit. If they do not fit, increments `full`. Producer only.
static inline bool link_room(struct link *link, unsigned n)
{
	if (likely(rte_ring_free_count(link->ring) >= n))
		return true;
	counter_add(&link->counters.full, 1);
	return false;
}

// Puts up to n mbufs into the link. Returns the number of mbufs that fitted. Producer only.
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

// Takes up to n mbufs out of the link. Returns their number. Consumer only.
static inline unsigned link_dequeue(struct link *link, struct rte_mbuf **mbufs, unsigned n)
{
	return rte_ring_sc_dequeue_burst(link->ring, (void **)mbufs, n, NULL);
}
