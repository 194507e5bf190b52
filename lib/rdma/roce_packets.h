// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// RoCE packets of blocks: headers in one buffer, a pointer into the source set, padding and ICRC in
// a third. The payload is not copied; its bytes are read for the ICRC.
//
// Threads: one, the role's lcore.
#pragma once

#include "rdma/roce_frame.h"
#include "roce/requester.h"
#include "tx/block_packets.h"

// Bytes of room that header mbufs need.
#define ROCE_PACKETS_BUFFER 160u

// The packet that the requester wants sent: `block` is what its message consists of, `event_id`
// what the MFP's own header says. `copies`: the bytes of the block change soon. NULL if mbufs are
// short.
struct rte_mbuf *roce_packets_make(const struct block_packets_parameters *parameters,
				   const struct roce_way *way,
				   const struct requester_packet *packet,
				   const struct source_block *block, uint64_t event_id,
				   bool copies);
