// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// RoCE packets of blocks: one mbuf with the headers, one that points into the block, one with
// padding and ICRC. The payload is not copied; its bytes are read for the ICRC.
//
// Thread: the role's lcore.
#pragma once

#include "rdma/roce_frame.h"
#include "roce/requester.h"
#include "source/source_set.h"

struct roce_pools {
	struct rte_mempool *headers;  // mbufs with room for a packet's headers, or a copied packet
	struct rte_mempool *payloads; // mbufs without room, which point into blocks
};

// What a message consists of.
struct roce_block {
	struct source_block block;
	uint64_t event_id; // that the MFP header of the packet shall show
	bool is_temporary; // the bytes are overwritten soon: they must be copied
};

// The packet that the requester describes, of a message that consists of the block. NULL if mbufs
// are short.
struct rte_mbuf *roce_packets_make(const struct roce_pools *pools,
				   const struct roce_address_handle *handle,
				   const struct requester_packet *packet,
				   const struct roce_block *message);
