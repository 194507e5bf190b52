// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Small blocks for one builder that leave in one packet (packet/bundle.h). A packet costs driver,
// kernel and links as much as the bytes of several such blocks, so each block is copied behind the
// one before. A bundle is open for one poll: nothing waits for it.
//
// Threads: one, the role's lcore.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "packet/bundle.h"
#include "pipeline/role.h"
#include "tx/block_packets.h"

#define BUNDLE_BLOCK 1024u // bytes of a block, at most

// An open bundle.
struct bundle {
	struct rte_mbuf *mbuf;
	struct packet_destination to;
	uint32_t last; // offset of the last RE header in the mbuf
	uint16_t builder;
	uint16_t n; // blocks
	bool is_local;
	struct segment first;
};

struct bundles {
	const struct block_packets *packets;
	struct rte_mempool *pool; // NULL: each block leaves in packets of its own
	const uint16_t *indices;  // by source of the store: index among the run's expected sources
	struct bundle open[ROLE_BURST];
	unsigned n_open;
};

// Bytes of room that the pool's mbufs need.
uint32_t bundles_buffer_size(uint32_t mtu);

enum bundles_result {
	BUNDLES_TAKEN,
	BUNDLES_ALONE, // the block must leave in packets of its own: it is large, or no buffer is
		       // free
	BUNDLES_FULL, // the bundle of its builder must leave first
};

// Puts a block into the open bundle of its builder, or begins one.
enum bundles_result bundles_put(struct bundles *bundles, const struct packet_segment *at,
				const struct store_block *block, unsigned builder, bool is_local,
				const struct packet_destination *to, uint64_t now);

// The open bundle of a builder; NULL: there is none.
struct bundle *bundles_find(struct bundles *bundles, unsigned builder);

// Completes the packet of an open bundle, which stays open.
void bundles_finish(const struct bundles *bundles, struct bundle *bundle);

// Removes an open bundle, whose mbuf is the caller's now.
void bundles_remove(struct bundles *bundles, struct bundle *bundle);

// Frees the open bundles. Control thread.
void bundles_free(struct bundles *bundles);
