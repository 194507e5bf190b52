// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The IP and UDP checksums of received datagrams: as the port reports them, else in software.
#pragma once

#include <stdbool.h>

#include <rte_mbuf.h>

#include "base/counter.h"
#include "packet/causes.h"
#include "rx/counters.h"
#include "wire/net.h"

// Judges the UDP checksum in software. `bytes`: the packet's headers, contiguous, as net_parse()
// parsed them.
enum net_checksum rx_udp_checksum(const struct rte_mbuf *mbuf, const uint8_t *bytes,
				  const struct net_frame *frame);

// Verifies the IP and UDP checksums of a UDP datagram. Returns PACKET_N_CAUSES if they are right or
// the UDP checksum is unfinished, which it counts. in_hardware: the port's offloads verify both;
// what they did not verify is computed.
static inline enum packet_cause rx_check_sums(bool in_hardware, struct rx_counters *counters,
					      const struct rte_mbuf *mbuf, const uint8_t *bytes,
					      const struct net_frame *frame)
{
	uint64_t reported = in_hardware ? mbuf->ol_flags : 0;
	uint64_t ip = reported & RTE_MBUF_F_RX_IP_CKSUM_MASK;
	uint64_t udp = reported & RTE_MBUF_F_RX_L4_CKSUM_MASK;
	enum net_checksum judged;

	if (ip == RTE_MBUF_F_RX_IP_CKSUM_BAD ||
	    (ip == RTE_MBUF_F_RX_IP_CKSUM_UNKNOWN && frame->kind == NET_UDP4 &&
	     !net_ipv4_checksum_ok(bytes + frame->l3_offset)))
		return PACKET_IP_CHECKSUM;
	if (udp != RTE_MBUF_F_RX_L4_CKSUM_BAD && udp != RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN)
		return PACKET_N_CAUSES;
	judged = rx_udp_checksum(mbuf, bytes, frame);
	if (unlikely(judged == NET_CHECKSUM_UNFINISHED)) {
		counter_add(&counters->checksums_unfinished, 1);
		return PACKET_N_CAUSES;
	}
	// The port has seen the packet on the wire: "wrong" from it counts.
	if (unlikely(judged == NET_CHECKSUM_WRONG || udp == RTE_MBUF_F_RX_L4_CKSUM_BAD))
		return PACKET_UDP_CHECKSUM;
	return PACKET_N_CAUSES;
}
