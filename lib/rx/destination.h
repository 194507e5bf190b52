// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Whether a packet is for this port. Ports are promiscuous, so frames for others arrive, too.
#pragma once

#include <stdbool.h>
#include <string.h>

#include "rx/rx_role.h"
#include "wire/net.h"

// What is compared; all zero: nothing.
struct rx_destination {
	uint64_t mac, mac_mask; // of the first 8 bytes of the frame, as load_le64() reads them
	uint32_t ip4, ip4_mask;
	bool has_ip6;
	uint8_t ip6[16];
	uint32_t group4; // 0: none
	struct net_mac group_mac;
};

static inline struct rx_destination rx_destination_make(const struct rx_addresses *own)
{
	struct rx_destination made = {
		.mac = load_le32(own->mac.bytes) | (uint64_t)load_le16(own->mac.bytes + 4) << 32,
		.mac_mask = UINT64_MAX >> 16,
		.ip4 = own->ip4,
		.ip4_mask = own->has_ip4 ? UINT32_MAX : 0,
		.has_ip6 = own->has_ip6,
		.group4 = own->group4,
		.group_mac = net_group_mac(own->group4),
	};

	memcpy(made.ip6, own->ip6, sizeof(made.ip6));
	return made;
}

// False for UDP datagrams and segments to others. Frames of other protocols (ARP, ICMP, pause) are
// their handlers' to judge. `bytes`: the headers of a frame that net_parse() accepted.
static inline bool rx_is_own(const struct rx_destination *own, const uint8_t *bytes,
			     const struct net_frame *frame)
{
	const uint8_t *ip = bytes + frame->l3_offset;
	uint64_t other = (load_le64(bytes) ^ own->mac) & own->mac_mask;

	if (likely(frame->kind == NET_UDP4))
		return (other | ((load_be32(ip + 16) ^ own->ip4) & own->ip4_mask)) == 0;
	if (frame->kind == NET_UDP6)
		return other == 0 &&
		       (!own->has_ip6 || memcmp(ip + 24, own->ip6, sizeof(own->ip6)) == 0);
	return frame->kind != NET_ETHER_PAYLOAD || other == 0;
}

// Whether a UDP datagram is sent to the group that the port receives.
static inline bool rx_is_group(const struct rx_destination *own, const uint8_t *bytes,
			       const struct net_frame *frame)
{
	return own->group4 != 0 && frame->kind == NET_UDP4 &&
	       load_be32(bytes + frame->l3_offset + 16) == own->group4 &&
	       memcmp(bytes, own->group_mac.bytes, sizeof(own->group_mac.bytes)) == 0;
}
