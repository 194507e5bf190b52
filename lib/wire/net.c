// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/net.h"

#define MAX_VLAN_TAGS 2

// The first byte of an IPv4 header: version 4, header of 5 to 15 words.
#define IPV4_FIRST_MIN 0x45
#define IPV4_FIRST_MAX 0x4F
#define IPV6_FRAGMENT  44     // next header
#define IPV4_FRAGMENT  0x3FFF // more fragments, fragment offset

#define likely(condition)   __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

static bool is_vlan(uint16_t ether_type)
{
	return ether_type == NET_TYPE_VLAN || ether_type == NET_TYPE_QINQ;
}

static enum wire_error skip_vlan_tags(const uint8_t *frame, size_t header_bytes,
				      struct net_frame *out)
{
	for (unsigned tag = 0; tag < MAX_VLAN_TAGS && is_vlan(out->ether_type); tag++) {
		if (header_bytes < out->l3_offset + NET_VLAN_SIZE)
			return WIRE_TRUNCATED;
		if (tag == 0)
			out->vlan_tci = load_be16(frame + out->l3_offset);
		out->ether_type = load_be16(frame + out->l3_offset + 2);
		out->l3_offset = (uint16_t)(out->l3_offset + NET_VLAN_SIZE);
	}
	return WIRE_OK;
}

// `room`: bytes after the IP header, from its length field.
static enum wire_error parse_udp(const uint8_t *frame, size_t header_bytes, size_t room,
				 enum net_kind kind, struct net_frame *out)
{
	const uint8_t *udp = frame + out->l4_offset;
	size_t udp_length;

	if (unlikely(header_bytes < out->l4_offset + NET_UDP_SIZE))
		return WIRE_TRUNCATED;
	udp_length = load_be16(udp + 4);
	if (unlikely(udp_length < NET_UDP_SIZE || udp_length > room))
		return WIRE_BAD_LENGTH;
	out->kind = kind;
	out->source_port = load_be16(udp);
	out->destination_port = load_be16(udp + 2);
	out->payload_offset = (uint16_t)(out->l4_offset + NET_UDP_SIZE);
	out->payload_size = (uint32_t)(udp_length - NET_UDP_SIZE);
	return WIRE_OK;
}

static enum wire_error parse_ipv4(const uint8_t *frame, size_t header_bytes, size_t length,
				  struct net_frame *out)
{
	const uint8_t *ip = frame + out->l3_offset;
	size_t ip_header, total;

	if (unlikely(header_bytes < out->l3_offset + NET_IPV4_SIZE))
		return WIRE_TRUNCATED;
	if (unlikely(ip[0] < IPV4_FIRST_MIN || ip[0] > IPV4_FIRST_MAX))
		return ip[0] >> 4 == 4 ? WIRE_BAD_LENGTH : WIRE_BAD_VERSION;
	ip_header = 4 * (size_t)(ip[0] & 0x0F);
	total = load_be16(ip + 2);
	if (unlikely(total < ip_header))
		return WIRE_BAD_LENGTH;
	if (unlikely(length < out->l3_offset + total || header_bytes < out->l3_offset + ip_header))
		return WIRE_TRUNCATED;
	if (unlikely(load_be16(ip + 6) & IPV4_FRAGMENT))
		return WIRE_UNSUPPORTED;
	out->dscp_ecn = ip[1];
	out->l4_offset = (uint16_t)(out->l3_offset + ip_header);
	out->payload_offset = out->l4_offset;
	out->payload_size = (uint32_t)(total - ip_header);
	if (likely(ip[9] == NET_PROTO_UDP))
		return parse_udp(frame, header_bytes, total - ip_header, NET_UDP4, out);
	if (ip[9] == NET_PROTO_ICMP)
		out->kind = NET_ICMP4;
	return WIRE_OK;
}

static enum wire_error parse_ipv6(const uint8_t *frame, size_t header_bytes, size_t length,
				  struct net_frame *out)
{
	const uint8_t *ip = frame + out->l3_offset;
	size_t room;

	if (header_bytes < out->l3_offset + NET_IPV6_SIZE)
		return WIRE_TRUNCATED;
	if (ip[0] >> 4 != 6)
		return WIRE_BAD_VERSION;
	room = load_be16(ip + 4);
	if (length < out->l3_offset + NET_IPV6_SIZE + room)
		return WIRE_TRUNCATED;
	if (ip[6] == IPV6_FRAGMENT)
		return WIRE_UNSUPPORTED;
	out->dscp_ecn = (uint8_t)(load_be16(ip) >> 4);
	out->l4_offset = (uint16_t)(out->l3_offset + NET_IPV6_SIZE);
	out->payload_offset = out->l4_offset;
	out->payload_size = (uint32_t)room;
	if (ip[6] == NET_PROTO_UDP)
		return parse_udp(frame, header_bytes, room, NET_UDP6, out);
	if (ip[6] == NET_PROTO_ICMP6)
		out->kind = NET_ICMP6;
	return WIRE_OK;
}

static enum wire_error parse_arp(const uint8_t *frame, size_t header_bytes, struct net_frame *out)
{
	struct net_arp arp;
	enum wire_error error =
	    net_arp_decode(frame + out->l3_offset, header_bytes - out->l3_offset, &arp);

	if (error == WIRE_TRUNCATED)
		return error;
	if (error == WIRE_OK)
		out->kind = NET_ARP_IP4;
	return WIRE_OK; // a well-formed ARP frame for other networks is NET_OTHER
}

enum wire_error net_parse(const uint8_t *frame, size_t header_bytes, size_t length,
			  uint16_t ether_type, struct net_frame *out)
{
	if (unlikely(header_bytes < NET_ETH_SIZE))
		return WIRE_TRUNCATED;
	*out = (struct net_frame){
		.ether_type = load_be16(frame + 12),
		.l3_offset = NET_ETH_SIZE,
	};
	if (unlikely(is_vlan(out->ether_type))) {
		enum wire_error error = skip_vlan_tags(frame, header_bytes, out);

		if (error)
			return error;
	}
	if (likely(out->ether_type == NET_TYPE_IPV4))
		return parse_ipv4(frame, header_bytes, length, out);
	out->payload_offset = out->l3_offset;
	out->payload_size = (uint32_t)(length - out->l3_offset);
	if (out->ether_type == NET_TYPE_IPV6)
		return parse_ipv6(frame, header_bytes, length, out);
	if (out->ether_type == NET_TYPE_ARP)
		return parse_arp(frame, header_bytes, out);
	if (ether_type != 0 && out->ether_type == ether_type)
		out->kind = NET_ETHER_PAYLOAD;
	return WIRE_OK;
}
