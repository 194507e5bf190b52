// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The sender: what all roles that send share: the burst that waits for its tx queue, and the
// faults on demand between a made packet and the wire.
// Threads: the role's lcore; the counters may be read by others at any time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "config/config.h"
#include "pipeline/role.h"

struct sender_counters {
	uint64_t packets; // handed to the port
	uint64_t bytes;   // of them, without FCS
	uint64_t lost;    // faults: not sent
	uint64_t duplicated;
	uint64_t corrupted;
	uint64_t reordered; // that left after a later made one
};

struct sender {
	uint16_t port_id, queue;
	struct rte_mempool *copies; // for faults: mbufs with room for a packet
	struct faults faults;
	uint64_t random; // state
	struct rte_mbuf *out[4 * ROLE_BURST];
	unsigned n_out;
	struct rte_mbuf *window[FAULTS_MAX_REORDER]; // reordering
	uint64_t window_made[FAULTS_MAX_REORDER];    // serial number of each
	unsigned n_window;
	uint64_t made, left; // serial numbers: made so far, highest that left
	struct sender_counters counters __rte_cache_aligned;
};

void sender_init(struct sender *sender, uint16_t port_id, uint16_t queue,
		 struct rte_mempool *copies, const struct faults *faults, uint64_t seed);

// Whether a poll may make `n` more packets (n <= ROLE_BURST).
static inline bool sender_room(const struct sender *sender, unsigned n)
{
	return sender->n_out + 2 * n <= RTE_DIM(sender->out);
}

// Takes a packet over. `payload` is where it may be corrupted, bytes from its start. With `exact`
// no fault befalls it.
void sender_put(struct sender *sender, struct rte_mbuf *mbuf, uint32_t payload, bool exact);

// Empties the reorder window into the burst, as far as there is room; true when it is empty.
bool sender_settle(struct sender *sender);

// Hands the burst to the port; returns how many packets it took.
unsigned sender_flush(struct sender *sender);

// Frees what was not sent. Control thread.
void sender_fini(struct sender *sender);
