// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rx/checksums.h"

#include <rte_ip.h>

// Computes the sum of the Internet checksum (RFC 1071) over bytes of a packet, in host order.
// offset + length <= packet length. DPDK's rte_raw_cksum_mbuf() is not used, because it loses
// carries after a buffer of odd length.
static uint16_t sum_bytes(const struct rte_mbuf *mbuf, uint32_t offset, uint32_t length)
{
	bool odd = false;
	uint32_t sum = 0;

	for (; length > 0; mbuf = mbuf->next) {
		uint32_t n;
		uint16_t part;

		if (offset >= mbuf->data_len) {
			offset -= mbuf->data_len;
			continue;
		}
		n = RTE_MIN(length, (uint32_t)mbuf->data_len - offset);
		part = rte_raw_cksum(rte_pktmbuf_mtod_offset(mbuf, const void *, offset), n);
		sum += odd ? rte_bswap16(part) : part;
		sum = (sum & 0xFFFF) + (sum >> 16);
		odd ^= n % 2 != 0;
		length -= n;
		offset = 0;
	}
	return rte_be_to_cpu_16((uint16_t)sum);
}

enum net_checksum rx_udp_checksum(const struct rte_mbuf *mbuf, const uint8_t *bytes,
				  const struct net_frame *frame)
{
	if (load_be16(bytes + frame->l4_offset + 6) == 0 && frame->kind == NET_UDP4)
		return NET_CHECKSUM_RIGHT;
	return net_udp_checksum_judge(
	    bytes, frame, sum_bytes(mbuf, frame->l4_offset, NET_UDP_SIZE + frame->payload_size));
}
