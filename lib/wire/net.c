// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/net.h"

#include <arpa/inet.h>

#define IGMP_IPV4_SIZE    (NET_IPV4_SIZE + 4u) // with an option
#define IGMP_SIZE         8u
#define IGMP_REPORT       0x16       // of version 2
#define IGMP_TOS          0xC0       // DSCP CS6
#define IPV4_ROUTER_ALERT 0x94040000 // RFC 2113
#define MAX_VLAN_TAGS     2

// The first byte of an IPv4 header: version 4, header of 5 to 15 words.
#define IPV4_FIRST_MIN 0x45
#define IPV4_FIRST_MAX 0x4F
#define IPV6_FRAGMENT  44     // next header
#define IPV4_FRAGMENT  0x3FFF // more fragments, fragment offset

// What net_udp4_encode() writes.
#define IPV4_DONT_FRAGMENT 0x4000
#define IPV4_TTL           64

#define MAX_PREFIX_LENGTH 32u

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

void net_udp4_set_size(uint8_t *ip, uint16_t payload_size)
{
	store_be16(ip + 2, (uint16_t)(NET_IPV4_SIZE + NET_UDP_SIZE + payload_size));
	store_be16(ip + 10, 0);
	store_be16(ip + 10, net_checksum_fold(net_checksum_add(0, ip, NET_IPV4_SIZE)));
	store_be16(ip + NET_IPV4_SIZE + 4, (uint16_t)(NET_UDP_SIZE + payload_size));
}

size_t net_udp4_encode(uint8_t *bytes, const struct net_udp4 *header, uint16_t payload_size)
{
	size_t size = net_eth_encode(bytes, &header->destination_mac, &header->source_mac,
				     header->vlan_tci, NET_TYPE_IPV4);
	uint8_t *ip = bytes + size, *udp = ip + NET_IPV4_SIZE;

	ip[0] = IPV4_FIRST_MIN;
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

struct net_mac net_group_mac(uint32_t group)
{
	return (struct net_mac){ { 0x01, 0x00, 0x5E, (uint8_t)(group >> 16 & 0x7F),
				   (uint8_t)(group >> 8), (uint8_t)group } };
}

void net_igmp_report_encode(uint8_t frame[NET_IGMP_FRAME], const struct net_mac *source,
			    uint32_t source_ip, uint32_t group)
{
	const struct net_mac destination = net_group_mac(group);
	uint8_t *ip = frame + net_eth_encode(frame, &destination, source, 0, NET_TYPE_IPV4);
	uint8_t *igmp = ip + IGMP_IPV4_SIZE;

	memset(ip, 0, NET_IGMP_FRAME - NET_ETH_SIZE);
	ip[0] = 0x40 | IGMP_IPV4_SIZE / 4;
	ip[1] = IGMP_TOS;
	store_be16(ip + 2, IGMP_IPV4_SIZE + IGMP_SIZE);
	ip[8] = 1; // TTL: routers do not forward it
	ip[9] = NET_PROTO_IGMP;
	store_be32(ip + 12, source_ip);
	store_be32(ip + 16, group);
	store_be32(ip + 20, IPV4_ROUTER_ALERT);
	store_be16(ip + 10, net_checksum_fold(net_checksum_add(0, ip, IGMP_IPV4_SIZE)));
	igmp[0] = IGMP_REPORT;
	store_be32(igmp + 4, group);
	store_be16(igmp + 2, net_checksum_fold(net_checksum_add(0, igmp, IGMP_SIZE)));
}

// Accepts one or two decimal digits and nothing else.
static bool parse_prefix_length(const char *text, unsigned *prefix_length)
{
	unsigned value = 0;
	size_t n = strspn(text, "0123456789");

	if (n < 1 || n > 2 || text[n] != '\0')
		return false;
	while (*text)
		value = value * 10 + (unsigned)(*text++ - '0');
	*prefix_length = value;
	return value <= MAX_PREFIX_LENGTH;
}

bool net_ipv4_parse(const char *text, uint32_t *ip, unsigned *prefix_length)
{
	char address[INET_ADDRSTRLEN];
	size_t n = strcspn(text, "/");
	struct in_addr parsed;

	if (n >= sizeof(address))
		return false;
	memcpy(address, text, n);
	address[n] = '\0';
	if (inet_pton(AF_INET, address, &parsed) != 1)
		return false;
	*ip = ntohl(parsed.s_addr);
	*prefix_length = MAX_PREFIX_LENGTH;
	return text[n] == '\0' || parse_prefix_length(text + n + 1, prefix_length);
}
