// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A mailbox: a ring of messages (packet/message.h), copied by value, from one producing role to
// one consuming role of the same process. Single producer, single consumer; no lock. The consumer
// reads the messages in the ring.
//
// Not an rte_ring: this would copy a message in words of 4 bytes, into the ring and out of it
// again, which costs 100 instructions per message more.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "packet/message.h"

// Numbers of messages count from 0 modulo 2^32. Each side has a cache line that only it writes.
struct mailbox_ring {
	uint32_t mask; // number of places - 1
	struct {
		atomic_uint n_put; // messages that were ever put
		uint32_t seen;     // n_taken when the producer last read it
	} producer __attribute__((aligned(RTE_CACHE_LINE_SIZE)));
	struct {
		atomic_uint n_taken; // messages that were ever taken
	} consumer __attribute__((aligned(RTE_CACHE_LINE_SIZE)));
	struct message messages[] __attribute__((aligned(RTE_CACHE_LINE_SIZE)));
};

struct mailbox {
	struct mailbox_ring *ring;
};

// Room for `depth` messages (a power of two) on a NUMA node. Control thread. False if memory ran
// out (rte_errno).
static inline bool mailbox_make(struct mailbox *mailbox, uint32_t depth, int numa_node)
{
	mailbox->ring = rte_zmalloc_socket(
	    "mailbox", sizeof(struct mailbox_ring) + depth * sizeof(struct message),
	    RTE_CACHE_LINE_SIZE, numa_node);
	if (mailbox->ring == NULL) {
		rte_errno = ENOMEM;
		return false;
	}
	mailbox->ring->mask = depth - 1;
	return true;
}

static inline void mailbox_free(struct mailbox *mailbox)
{
	rte_free(mailbox->ring);
	mailbox->ring = NULL;
}

// Producer only: how many messages can be put now.
static inline unsigned mailbox_room(struct mailbox *mailbox)
{
	struct mailbox_ring *ring = mailbox->ring;

	ring->producer.seen = atomic_load_explicit(&ring->consumer.n_taken, memory_order_acquire);
	return ring->mask + 1 -
	       (atomic_load_explicit(&ring->producer.n_put, memory_order_relaxed) -
		ring->producer.seen);
}

// Producer only. False if the mailbox is full: the producer retains the message and tries again
// later.
static inline bool mailbox_put(struct mailbox *mailbox, const struct message *message)
{
	struct mailbox_ring *ring = mailbox->ring;
	const uint32_t at = atomic_load_explicit(&ring->producer.n_put, memory_order_relaxed);

	if (unlikely(at - ring->producer.seen > ring->mask) && mailbox_room(mailbox) == 0)
		return false;
	ring->messages[at & ring->mask] = *message;
	atomic_store_explicit(&ring->producer.n_put, at + 1, memory_order_release);
	return true;
}

// Producer only.
static inline bool mailbox_is_empty(struct mailbox *mailbox)
{
	return mailbox_room(mailbox) == mailbox->ring->mask + 1;
}

// Consumer only. The first messages in the ring, *n of them, and at most `most`; there may be more.
// They are the consumer's until mailbox_pass().
static inline struct message *mailbox_look(struct mailbox *mailbox, unsigned most, unsigned *n)
{
	struct mailbox_ring *ring = mailbox->ring;
	const uint32_t at = atomic_load_explicit(&ring->consumer.n_taken, memory_order_relaxed);
	const uint32_t first = at & ring->mask, until_end = ring->mask + 1 - first;

	*n = atomic_load_explicit(&ring->producer.n_put, memory_order_acquire) - at;
	if (*n > most)
		*n = most;
	if (*n > until_end)
		*n = until_end;
	return &ring->messages[first];
}

// Consumer only: has done with the first n messages.
static inline void mailbox_pass(struct mailbox *mailbox, unsigned n)
{
	struct mailbox_ring *ring = mailbox->ring;
	const uint32_t at = atomic_load_explicit(&ring->consumer.n_taken, memory_order_relaxed);

	atomic_store_explicit(&ring->consumer.n_taken, at + n, memory_order_release);
}

// Consumer only. Copies and passes up to n messages, and returns how many.
static inline unsigned mailbox_take(struct mailbox *mailbox, struct message *messages, unsigned n)
{
	unsigned done = 0, found;

	do {
		const struct message *first = mailbox_look(mailbox, n - done, &found);

		for (unsigned i = 0; i < found; i++)
			messages[done++] = first[i];
		mailbox_pass(mailbox, found);
	} while (found > 0);
	return done;
}
