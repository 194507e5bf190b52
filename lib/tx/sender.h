// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The sender, which all roles that send data use: it holds the burst that waits for the tx queue,
// and makes the configured faults between a finished packet and the wire.
//
// Threads: the role's lcore; other threads may read the counters at any time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base/random.h"
#include "pipeline/role.h"
#include "source/generator.h"

struct sender_counters {
	uint64_t packets; // passed to the port
	uint64_t bytes;   // of these packets, without FCS
	// Faults
	uint64_t lost; // packets not sent
	uint64_t duplicated;
	uint64_t corrupted;
	uint64_t reordered; // packets that left after one that was made later
};

struct sender {
	uint16_t port_id, queue;
	struct rte_mempool *copies; // for the faults: mbufs with room for a packet
	struct faults faults;
	struct random random; // of the faults
	struct rte_mbuf *out[4 * ROLE_BURST];
	unsigned n_out;
	struct rte_mbuf *window[FAULTS_MAX_REORDER]; // that packets are shuffled over
	uint64_t window_made[FAULTS_MAX_REORDER];    // serial number of each packet
	unsigned n_window;
	uint64_t made; // serial number of the last packet made
	uint64_t left; // highest serial number of a packet that left
	struct sender_counters counters __rte_cache_aligned;
};

// faults may be NULL: none. `seed` is that of the faults.
void sender_init(struct sender *sender, uint16_t port_id, uint16_t queue,
		 struct rte_mempool *copies, const struct faults *faults, uint64_t seed);

// Whether a poll may make `n` more packets (n <= ROLE_BURST).
static inline bool sender_room(const struct sender *sender, unsigned n)
{
	return sender->n_out + 2 * n <= RTE_DIM(sender->out);
}

// Takes ownership of a packet. Faults corrupt bytes from offset `payload` on. With `exact` the
// packet is sent without faults.
void sender_put(struct sender *sender, struct rte_mbuf *mbuf, uint32_t payload, bool exact);

// Moves packets from the reorder window to the burst while the burst has room; true when the window
// is empty.
bool sender_settle(struct sender *sender);

// Passes the burst to the port; returns the number of packets that the port accepted.
unsigned sender_flush(struct sender *sender);

// Frees the packets that were not sent. Control thread.
void sender_fini(struct sender *sender);
