// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A mailbox: a ring of messages (packet/message.h), copied by value, from one producing role to
// one consuming role of the same process. Single producer, single consumer; no lock. The consumer
// reads the messages in the ring.
//
// Not an rte_ring: this would copy a message in words of 4 bytes, into the ring and out of it
// again, which costs 100 instructions per message more. And it would go round all of its memory,
// which has room for the most messages that may ever wait: each message would be written to a line
// that is in no near cache. Here an empty mailbox continues at its first place.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "packet/message.h"

#define MAILBOX_NEAR 64u // places that are used while the consumer keeps up
#define MAILBOX_PART 8u  // behind them, it may return to the first place after each so many

// Places are counted from 0 modulo 2^32, including those that are left out when the mailbox returns
// to the first. Each side has a cache line that only it writes.
struct mailbox_ring {
	uint32_t mask; // number of places - 1
	struct {
		atomic_uint n_put; // places that were used or left out
		// The places from n_taken to before `start` are left out. Written before n_put.
		atomic_uint start;
		uint32_t seen; // n_taken when the producer last read it
		uint32_t next; // of mailbox_place(), until mailbox_commit()
	} producer __attribute__((aligned(RTE_CACHE_LINE_SIZE)));
	struct {
		atomic_uint n_taken; // places whose messages were taken, or that were left out
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

// The first place of which the message was not taken, `taken` or behind those that are left out.
// Both sides may call it.
static inline uint32_t mailbox_first(struct mailbox *mailbox, uint32_t taken, uint32_t put)
{
	const uint32_t start =
	    atomic_load_explicit(&mailbox->ring->producer.start, memory_order_relaxed);

	// For the consumer `start` may be newer than `put`: then the mailbox is empty for it.
	return (int32_t)(start - taken) > 0 && (int32_t)(put - start) > 0 ? start : taken;
}

// Producer only: how many messages can be put now.
static inline unsigned mailbox_room(struct mailbox *mailbox)
{
	struct mailbox_ring *ring = mailbox->ring;
	const uint32_t put = atomic_load_explicit(&ring->producer.n_put, memory_order_relaxed);

	ring->producer.seen = mailbox_first(
	    mailbox, atomic_load_explicit(&ring->consumer.n_taken, memory_order_acquire), put);
	return ring->mask + 1 - (put - ring->producer.seen);
}

// Producer only. Returns the place of the next message: `at`, or, if the mailbox is empty, the
// first place of the ring.
static inline uint32_t mailbox_begin_anew(struct mailbox *mailbox, uint32_t at)
{
	struct mailbox_ring *ring = mailbox->ring;

	if (mailbox_room(mailbox) <= ring->mask)
		return at;
	at = (at | ring->mask) + 1;
	ring->producer.seen = at;
	atomic_store_explicit(&ring->producer.start, at, memory_order_relaxed);
	return at;
}

// Producer only. The place of the next message, with the fields of an earlier message in it; NULL
// if the mailbox is full. The producer writes the message there and calls mailbox_commit(). A copy
// of a message whose fields were written a moment before would wait until they have left the
// processor's store buffer.
static inline struct message *mailbox_place(struct mailbox *mailbox)
{
	struct mailbox_ring *ring = mailbox->ring;
	uint32_t at = atomic_load_explicit(&ring->producer.n_put, memory_order_relaxed);

	if (unlikely(at - ring->producer.seen > ring->mask) && mailbox_room(mailbox) == 0)
		return NULL;
	if (unlikely((at & ring->mask) >= MAILBOX_NEAR && at % MAILBOX_PART == 0))
		at = mailbox_begin_anew(mailbox, at);
	ring->producer.next = at;
	return &ring->messages[at & ring->mask];
}

// Producer only. Puts the message that mailbox_place() made place for.
static inline void mailbox_commit(struct mailbox *mailbox)
{
	struct mailbox_ring *ring = mailbox->ring;

	atomic_store_explicit(&ring->producer.n_put, ring->producer.next + 1, memory_order_release);
}

// Producer only. False if the mailbox is full: the producer retains the message and tries again
// later.
static inline bool mailbox_put(struct mailbox *mailbox, const struct message *message)
{
	struct message *place = mailbox_place(mailbox);

	if (unlikely(place == NULL))
		return false;
	*place = *message;
	mailbox_commit(mailbox);
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
	const uint32_t taken = atomic_load_explicit(&ring->consumer.n_taken, memory_order_relaxed);
	const uint32_t put = atomic_load_explicit(&ring->producer.n_put, memory_order_acquire);
	const uint32_t at = mailbox_first(mailbox, taken, put);
	const uint32_t first = at & ring->mask, until_end = ring->mask + 1 - first;

	if (unlikely(at != taken))
		atomic_store_explicit(&ring->consumer.n_taken, at, memory_order_relaxed);
	*n = put - at;
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
