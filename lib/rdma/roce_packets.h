// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// RoCE packets of blocks. A packet consists of an mbuf with the headers, an mbuf that points into
// the block, and an mbuf with padding and ICRC. The payload is not copied, but its bytes are read
// for the ICRC.
//
// Thread: the role's lcore.
#pragma once

#include "rdma/roce_frame.h"
#include "roce/requester.h"
#include "store/block_store.h"

struct roce_pools {
	struct rte_mempool *headers;  // mbufs with room for the headers or for a copied packet
	struct rte_mempool *payloads; // mbufs without buffer, which point into blocks
};

// The content of a message.
struct roce_block {
	struct store_block block;
	uint64_t event_id; // event id that is written into the MFP header of the packet
};

// Makes the packet that the requester describes, from the block of its message. NULL if no mbuf is
// free, or the block is shorter.
struct rte_mbuf *roce_packets_make(const struct roce_pools *pools,
				   const struct roce_address_handle *handle,
				   const struct requester_packet *packet,
				   const struct roce_block *message);
