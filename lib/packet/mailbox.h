// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A mailbox: a ring of messages (packet/message.h), copied by value, from one producing role to
// one consuming role of the same process. Single producer, single consumer; no lock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "packet/message.h"

struct mailbox {
	struct rte_ring *ring;
};

// Room for `depth` messages (a power of two, less one). Control thread. False if memory ran out or
// the name is taken (rte_errno).
static inline bool mailbox_make(struct mailbox *mailbox, const char *name, uint32_t depth,
				int numa_node)
{
	mailbox->ring = rte_ring_create_elem(name, sizeof(struct message), depth, numa_node,
					     RING_F_SP_ENQ | RING_F_SC_DEQ);
	return mailbox->ring != NULL;
}

static inline void mailbox_free(struct mailbox *mailbox)
{
	rte_ring_free(mailbox->ring);
	mailbox->ring = NULL;
}

// Producer only. False if the mailbox is full: the producer retains the message and tries again
// later.
static inline bool mailbox_put(struct mailbox *mailbox, const struct message *message)
{
	struct message copy = *message; // rte_ring requires a pointer to data that is not const

	return rte_ring_sp_enqueue_elem(mailbox->ring, &copy, sizeof(copy)) == 0;
}

static inline unsigned mailbox_room(const struct mailbox *mailbox)
{
	return rte_ring_free_count(mailbox->ring);
}

static inline bool mailbox_is_empty(const struct mailbox *mailbox)
{
	return rte_ring_empty(mailbox->ring) != 0;
}

// Consumer only. Takes up to n messages and returns how many.
static inline unsigned mailbox_take(struct mailbox *mailbox, struct message *messages, unsigned n)
{
	return rte_ring_sc_dequeue_burst_elem(mailbox->ring, messages, sizeof(*messages), n, NULL);
}
