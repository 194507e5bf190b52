// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Frames for RoCE packets that are sent: the Ethernet, IPv4 or IPv6 and UDP headers before the
// packet, and the padding and ICRC after it. No state and no I/O; it allocates mbufs.
#pragma once

#include <rte_mbuf.h>

#include "roce/queue_pair.h"

// The addresses of a peer and of our port, for frames to that peer.
struct roce_address_handle {
	struct qp_address own, peer; // IPv4 as ::ffff:a.b.c.d
	uint8_t own_mac[6];
	uint8_t dscp;
	// A receiver compares these with each packet (rdma/roce_port_internal.h).
	uint8_t peer_mac[6] __attribute__((aligned(2)));
	uint16_t source_port; // UDP, from 49152 on; one per queue pair, so that switches balance
			      // the load
	uint16_t vlan_tci; // 0: no tag
};

// The UDP source port of a queue pair with this number, from 49152 on.
static inline uint16_t roce_source_port(uint32_t number)
{
	return (uint16_t)(49152u + number % 16384u);
}

// The number of bytes that roce_frame_headers() writes.
size_t roce_frame_headers_size(const struct roce_address_handle *handle);

// Writes the headers for `size` bytes from BTH to ICRC, sent to UDP port 4791. The IPv6 UDP
// checksum is 0, as RoCE's annex A17 allows. Returns their size.
size_t roce_frame_headers(uint8_t *bytes, const struct roce_address_handle *handle, uint32_t size);

// Makes a packet in one mbuf: RoCE headers of `headers_size` bytes, then a copy of the payload,
// then padding and ICRC. NULL if no mbuf is free or it is too small.
struct rte_mbuf *roce_frame_make(struct rte_mempool *pool, const struct roce_address_handle *handle,
				 const uint8_t *headers, size_t headers_size,
				 const uint8_t *payload, size_t payload_size);
