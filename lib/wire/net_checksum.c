// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/net.h"

// The one's complement sum of the 16-bit words of a number, in 16 bits.
static uint16_t fold(uint64_t sum)
{
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & 0xFFFF) + (sum >> 16 & 0xFFFF) + (sum >> 32); // at most 0x1FFFE
	return (uint16_t)((sum & 0xFFFF) + (sum >> 16));
}

uint32_t net_checksum_add(uint32_t sum, const uint8_t *bytes, size_t length)
{
	// RFC 1071 section 2(B): a sum of byte-swapped words is the byte-swapped sum. So 32-bit
	// words are added in the byte order of the machine and the result is swapped once.
	uint64_t words = 0;
	size_t i;

	for (i = 0; i + 4 <= length; i += 4)
		words += load_le32(bytes + i);
	if (i + 2 <= length) {
		words += load_le16(bytes + i);
		i += 2;
	}
	if (i < length)
		words += bytes[i];
	return sum + __builtin_bswap16(fold(words));
}

uint16_t net_checksum_fold(uint32_t sum)
{
	return (uint16_t)~fold(sum);
}

bool net_ipv4_checksum_ok(const uint8_t *ipv4_header)
{
	size_t size = 4 * (size_t)(ipv4_header[0] & 0x0F);
	// A header without options, the usual case, needs no loop. The sum of a correct header is
	// all ones in either byte order.
	uint64_t sum = (uint64_t)load_le32(ipv4_header) + load_le32(ipv4_header + 4) +
		       load_le32(ipv4_header + 8) + load_le32(ipv4_header + 12) +
		       load_le32(ipv4_header + 16);

	if (size == NET_IPV4_SIZE)
		return fold(sum) == 0xFFFF;
	return net_checksum_fold(net_checksum_add(0, ipv4_header, size)) == 0;
}

uint32_t net_udp_pseudo_sum(const uint8_t *frame, const struct net_frame *parsed)
{
	const uint8_t *ip = frame + parsed->l3_offset;
	uint32_t sum = NET_PROTO_UDP + NET_UDP_SIZE + parsed->payload_size;

	// the source address and the destination address behind it
	if (parsed->kind == NET_UDP6)
		return net_checksum_add(sum, ip + 8, 2 * 16);
	return net_checksum_add(sum, ip + 12, 2 * 4);
}

enum net_checksum net_udp_checksum_judge(const uint8_t *frame, const struct net_frame *parsed,
					 uint32_t sum)
{
	uint16_t stated = load_be16(frame + parsed->l4_offset + 6);
	uint32_t pseudo = net_udp_pseudo_sum(frame, parsed);

	if (stated == 0) // IPv6 has no "none", RFC 8200 section 8.1
		return parsed->kind == NET_UDP4 ? NET_CHECKSUM_RIGHT : NET_CHECKSUM_WRONG;
	if (net_checksum_fold(pseudo + sum) == 0)
		return NET_CHECKSUM_RIGHT;
	return stated == fold(pseudo) ? NET_CHECKSUM_UNFINISHED : NET_CHECKSUM_WRONG;
}

enum net_checksum net_udp_checksum(const uint8_t *frame, const struct net_frame *parsed)
{
	uint32_t sum =
	    net_checksum_add(0, frame + parsed->l4_offset, NET_UDP_SIZE + parsed->payload_size);

	return net_udp_checksum_judge(frame, parsed, sum);
}
