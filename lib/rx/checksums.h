// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The IP and UDP checksums of received datagrams: as the port reports them, else in software.
#pragma once

#include <stdbool.h>

#include <rte_mbuf.h>

#include "packet/causes.h"
#include "wire/net.h"

struct rx_checksums {
	bool in_hardware; // the port's offloads verify IP and UDP checksums
	// A sender on this host may leave the UDP checksum to hardware. The field then contains
	// only the sum of the pseudo header, so that the datagram itself cannot be verified.
	bool may_be_partial;
};

// Verifies the UDP checksum in software. `bytes`: the packet's headers, contiguous, as net_parse()
// parsed them.
bool rx_udp_checksum_ok(const struct rx_checksums *checksums, const struct rte_mbuf *mbuf,
			const uint8_t *bytes, const struct net_frame *frame);

// Verifies the IP and UDP checksums of a UDP datagram. Returns PACKET_N_CAUSES if they are right.
// Checksums that the port did not verify are computed.
static inline enum packet_cause rx_check_sums(const struct rx_checksums *checksums,
					      const struct rte_mbuf *mbuf, const uint8_t *bytes,
					      const struct net_frame *frame)
{
	uint64_t reported = checksums->in_hardware ? mbuf->ol_flags : 0;
	uint64_t ip = reported & RTE_MBUF_F_RX_IP_CKSUM_MASK;
	uint64_t udp = reported & RTE_MBUF_F_RX_L4_CKSUM_MASK;

	if (ip == RTE_MBUF_F_RX_IP_CKSUM_BAD ||
	    (ip == RTE_MBUF_F_RX_IP_CKSUM_UNKNOWN && frame->kind == NET_UDP4 &&
	     !net_ipv4_checksum_ok(bytes + frame->l3_offset)))
		return PACKET_IP_CHECKSUM;
	if (udp == RTE_MBUF_F_RX_L4_CKSUM_BAD ||
	    (udp == RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN &&
	     !rx_udp_checksum_ok(checksums, mbuf, bytes, frame)))
		return PACKET_UDP_CHECKSUM;
	return PACKET_N_CAUSES;
}
