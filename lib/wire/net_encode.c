// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/net.h"

#define IPV4_FIRST         0x45 // version 4, header of 5 words
#define IPV4_DONT_FRAGMENT 0x4000
#define IPV4_TTL           64

size_t net_eth_encode(uint8_t *bytes, const struct net_mac *destination,
		      const struct net_mac *source, uint16_t vlan_tci, uint16_t ether_type)
{
	size_t at = 12;

	memcpy(bytes, destination->bytes, sizeof(destination->bytes));
	memcpy(bytes + 6, source->bytes, sizeof(source->bytes));
	if (vlan_tci != 0) {
		store_be16(bytes + 12, NET_TYPE_VLAN);
		store_be16(bytes + 14, vlan_tci);
		at = 16;
	}
	store_be16(bytes + at, ether_type);
	return at + 2;
}

size_t net_udp4_encode(uint8_t *bytes, const struct net_udp4 *header, uint16_t payload_size)
{
	size_t size = net_eth_encode(bytes, &header->destination_mac, &header->source_mac,
				     header->vlan_tci, NET_TYPE_IPV4);
	uint8_t *ip = bytes + size, *udp = ip + NET_IPV4_SIZE;

	ip[0] = IPV4_FIRST;
	ip[1] = header->dscp_ecn;
	store_be16(ip + 2, (uint16_t)(NET_IPV4_SIZE + NET_UDP_SIZE + payload_size));
	store_be16(ip + 4, 0);
	store_be16(ip + 6, IPV4_DONT_FRAGMENT);
	ip[8] = IPV4_TTL;
	ip[9] = NET_PROTO_UDP;
	store_be16(ip + 10, 0);
	store_be32(ip + 12, header->source_ip);
	store_be32(ip + 16, header->destination_ip);
	store_be16(ip + 10, net_checksum_fold(net_checksum_add(0, ip, NET_IPV4_SIZE)));
	store_be16(udp, header->source_port);
	store_be16(udp + 2, header->destination_port);
	store_be16(udp + 4, (uint16_t)(NET_UDP_SIZE + payload_size));
	store_be16(udp + 6, 0);
	return size + NET_IPV4_SIZE + NET_UDP_SIZE;
}
