// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The invariant CRC that ends a RoCE v2 packet: CRC-32 (crc.h), stored little-endian, over 64 bits
// of ones, then all from the IP header to the padding, with ones in the place of what routers may
// change: IPv4 TOS, TTL, header checksum; IPv6 traffic class, flow label, hop limit; the UDP
// checksum; byte 4 of the BTH (FECN, BECN, reserved). Ethernet and VLAN tags are not covered.
//
// Nothing of the packet is written but the trailer: the masked headers are a copy.
#pragma once

#include "wire/crc.h"
#include "wire/net.h"
#include "wire/roce.h"

// A frame in pieces: a chain of buffers, in order.
struct icrc_piece {
	const uint8_t *bytes;
	size_t size;
};

// CRC state behind the 64 bits of ones and `size` bytes from the IP header on, which lie
// contiguous: IP header (ip_size bytes: 20..60 for IPv4, 40 for IPv6), UDP header, BTH, and as much
// more as the caller has in one piece, but not beyond the padding. size >= ip_size + 20. To be
// continued with crc_add() up to the padding's end and finished with icrc_end().
uint32_t icrc_begin(const uint8_t *ip, size_t ip_size, size_t size);

// The number to store with store_le32() as trailer, or to compare with load_le32() of it.
static inline uint32_t icrc_end(uint32_t state)
{
	return ~state;
}

// True if a contiguous frame that net_parse() found to be UDP4 or UDP6 has a right ICRC; false also
// if the datagram is too short to hold BTH and ICRC.
bool icrc_verify(const uint8_t *frame, const struct net_frame *parsed);

// The same for a frame in n pieces. The first begins with the Ethernet header and holds all up to
// the BTH's end at least, else false. The trailer may lie in two pieces; what follows it (Ethernet
// padding) is not looked at.
bool icrc_verify_pieces(const struct icrc_piece *pieces, size_t n, const struct net_frame *parsed);

// Writes the trailer of a contiguous packet: the last 4 of the UDP payload's bytes. `ip` and
// ip_size as for icrc_begin(); IP and UDP lengths are set and count the trailer; udp_payload_size
// >= 16.
void icrc_append(uint8_t *ip, size_t ip_size, size_t udp_payload_size);
