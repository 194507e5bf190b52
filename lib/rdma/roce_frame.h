// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Frames of RoCE packets that leave: Ethernet, IPv4 or IPv6 and UDP headers in front, padding and
// ICRC behind. Pure but for mbufs.
#pragma once

#include <rte_mbuf.h>

#include "roce/queue_pair.h"

// The way to a peer.
struct roce_address_handle {
	uint8_t own_mac[6], peer_mac[6];
	struct qp_address own, peer; // IPv4 as ::ffff:a.b.c.d
	uint16_t source_port; // UDP, from 49152 on: one a queue pair, so that switches balance
	uint16_t vlan_tci;    // 0: no tag
	uint8_t dscp;
};

// Bytes that roce_frame_headers() will write.
size_t roce_frame_headers_size(const struct roce_address_handle *handle);

// Writes the headers in front of `size` bytes from BTH to ICRC, to UDP port 4791. The IPv6 UDP
// checksum is 0, as RoCE's annex A17 allows.
size_t roce_frame_headers(uint8_t *bytes, const struct roce_address_handle *handle, uint32_t size);

// A packet in one buffer: RoCE headers of `headers_size` bytes, then the payload, which is copied;
// padding and ICRC are added. NULL if no mbuf is there or it is too small.
struct rte_mbuf *roce_frame_make(struct rte_mempool *pool, const struct roce_address_handle *handle,
				 const uint8_t *headers, size_t headers_size,
				 const uint8_t *payload, size_t payload_size);
