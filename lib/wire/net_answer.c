// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/net.h"

#define ARP_HARDWARE_ETHERNET 1
#define ARP_REQUEST           1
#define ARP_REPLY             2

#define ICMP_SIZE         8u // bytes of an echo message without its data
#define ICMP_ECHO_REQUEST 8
#define ICMP_ECHO_REPLY   0

#define ICMP6_ECHO_REQUEST 128
#define ICMP6_ECHO_REPLY   129
#define ICMP6_SOLICIT      135
#define ICMP6_ADVERTISE    136
#define ICMP6_OF_SENDER    1           // option: Ethernet address of the sender
#define ICMP6_OF_TARGET    2           // option: Ethernet address of the target
#define ICMP6_FLAGS        0x60000000u // solicited, override (RFC 4861 section 4.4)
#define SOLICIT_SIZE       32u         // bytes with the option of the sender
#define HOP_LIMIT          255         // so no router has forwarded the message

static const struct net_mac broadcast = { { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF } };

// No reply can be sent to a group address.
static bool is_group_address(const uint8_t *mac)
{
	return mac[0] & 1;
}

enum wire_error net_arp_decode(const uint8_t *arp, size_t length, struct net_arp *out)
{
	if (length < NET_ARP_SIZE)
		return WIRE_TRUNCATED;
	if (load_be16(arp) != ARP_HARDWARE_ETHERNET || load_be16(arp + 2) != NET_TYPE_IPV4 ||
	    arp[4] != 6 || arp[5] != 4)
		return WIRE_BAD_VERSION;
	out->operation = load_be16(arp + 6);
	memcpy(out->sender_mac.bytes, arp + 8, 6);
	out->sender_ip = load_be32(arp + 14);
	memcpy(out->target_mac.bytes, arp + 18, 6);
	out->target_ip = load_be32(arp + 24);
	return WIRE_OK;
}

static void write_arp(uint8_t *bytes, const struct net_arp *arp)
{
	store_be16(bytes, ARP_HARDWARE_ETHERNET);
	store_be16(bytes + 2, NET_TYPE_IPV4);
	bytes[4] = 6;
	bytes[5] = 4;
	store_be16(bytes + 6, arp->operation);
	memcpy(bytes + 8, arp->sender_mac.bytes, 6);
	store_be32(bytes + 14, arp->sender_ip);
	memcpy(bytes + 18, arp->target_mac.bytes, 6);
	store_be32(bytes + 24, arp->target_ip);
}

void net_arp_encode(uint8_t frame[NET_MIN_FRAME], const struct net_arp *arp)
{
	const struct net_mac *to = arp->operation == ARP_REQUEST ? &broadcast : &arp->target_mac;

	memset(frame, 0, NET_MIN_FRAME);
	write_arp(frame + net_eth_encode(frame, to, &arp->sender_mac, 0, NET_TYPE_ARP), arp);
}

bool net_arp_answer(uint8_t *frame, const struct net_frame *parsed, size_t length,
		    const struct net_mac *mac, uint32_t ip)
{
	struct net_arp arp;

	if (parsed->kind != NET_ARP_IP4 || length < parsed->l3_offset ||
	    net_arp_decode(frame + parsed->l3_offset, length - parsed->l3_offset, &arp))
		return false;
	if (arp.operation != ARP_REQUEST || arp.target_ip != ip ||
	    is_group_address(arp.sender_mac.bytes))
		return false;
	arp = (struct net_arp){
		.operation = ARP_REPLY,
		.sender_mac = *mac,
		.sender_ip = ip,
		.target_mac = arp.sender_mac,
		.target_ip = arp.sender_ip,
	};
	memcpy(frame, arp.target_mac.bytes, 6);
	memcpy(frame + 6, arp.sender_mac.bytes, 6);
	write_arp(frame + parsed->l3_offset, &arp);
	return true;
}

bool net_icmp_echo_answer(uint8_t *frame, const struct net_frame *parsed, size_t length,
			  const struct net_mac *mac, uint32_t ip)
{
	uint8_t *header = frame + parsed->l3_offset, *icmp = frame + parsed->l4_offset;
	uint32_t sender, checksum;

	if (parsed->kind != NET_ICMP4 || parsed->payload_size < ICMP_SIZE ||
	    length < parsed->l4_offset + (size_t)parsed->payload_size)
		return false;
	if (icmp[0] != ICMP_ECHO_REQUEST || icmp[1] != 0 || load_be32(header + 16) != ip ||
	    is_group_address(frame + 6))
		return false;
	sender = load_be32(header + 12);
	memcpy(frame, frame + 6, 6);
	memcpy(frame + 6, mac->bytes, 6);
	store_be32(header + 12, ip);
	store_be32(header + 16, sender);
	icmp[0] = ICMP_ECHO_REPLY;
	// RFC 1624: the sum of the message decreases by 8 in the high byte, as the type changes
	// from 8 to 0. A wrong checksum stays wrong, so that the sender notices it.
	checksum = load_be16(icmp + 2) + (ICMP_ECHO_REQUEST << 8);
	store_be16(icmp + 2, (uint16_t)(checksum + (checksum >> 16)));
	return true;
}

// The sum of an ICMPv6 message with its pseudo header; that of a correct message folds to 0.
static uint32_t sum_icmp6(const uint8_t *ip, const uint8_t *icmp, uint32_t size)
{
	uint32_t sum = net_checksum_add(size + NET_PROTO_ICMP6, ip + 8, 32);

	return net_checksum_add(sum, icmp, size);
}

// True if the frame is a complete ICMPv6 message of this type and least size, with a reply address.
static bool is_icmp6_request(const uint8_t *frame, const struct net_frame *parsed, size_t length,
			     uint8_t type, uint32_t size)
{
	const uint8_t *icmp = frame + parsed->l4_offset;

	return parsed->kind == NET_ICMP6 && parsed->payload_size >= size &&
	       length >= parsed->l4_offset + (size_t)parsed->payload_size && icmp[0] == type &&
	       icmp[1] == 0 && !is_group_address(frame + 6);
}

// Addresses the frame to its sender, from `ip`.
static void turn_round(uint8_t *frame, uint8_t *header, const struct net_mac *mac,
		       const uint8_t ip[16])
{
	memcpy(frame, frame + 6, 6);
	memcpy(frame + 6, mac->bytes, 6);
	memcpy(header + 24, header + 8, 16);
	memcpy(header + 8, ip, 16);
}

bool net_icmp6_echo_answer(uint8_t *frame, const struct net_frame *parsed, size_t length,
			   const struct net_mac *mac, const uint8_t ip[16])
{
	uint8_t *header = frame + parsed->l3_offset, *icmp = frame + parsed->l4_offset;
	uint32_t checksum;

	if (!is_icmp6_request(frame, parsed, length, ICMP6_ECHO_REQUEST, ICMP_SIZE) ||
	    memcmp(header + 24, ip, 16) != 0)
		return false;
	turn_round(frame, header, mac, ip);
	icmp[0] = ICMP6_ECHO_REPLY;
	// As above: the type increases by 1, and the sum of the addresses stays the same.
	checksum = load_be16(icmp + 2) + (uint32_t)(0xFFFF - (1u << 8));
	store_be16(icmp + 2, (uint16_t)(checksum + (checksum >> 16)));
	return true;
}

bool net_neighbour_answer(uint8_t *frame, const struct net_frame *parsed, size_t length,
			  const struct net_mac *mac, const uint8_t ip[16])
{
	static const uint8_t unspecified[16];
	uint8_t *header = frame + parsed->l3_offset, *icmp = frame + parsed->l4_offset;

	if (!is_icmp6_request(frame, parsed, length, ICMP6_SOLICIT, SOLICIT_SIZE) ||
	    header[7] != HOP_LIMIT || memcmp(icmp + 8, ip, 16) != 0 ||
	    icmp[24] != ICMP6_OF_SENDER || icmp[25] != 1 || is_group_address(icmp + 26) ||
	    header[8] == 0xFF || memcmp(header + 8, unspecified, sizeof(unspecified)) == 0 ||
	    net_checksum_fold(sum_icmp6(header, icmp, parsed->payload_size)) != 0)
		return false;
	turn_round(frame, header, mac, ip);
	memcpy(frame, icmp + 26, 6); // the address in the option
	icmp[0] = ICMP6_ADVERTISE;
	store_be32(icmp + 4, ICMP6_FLAGS);
	icmp[24] = ICMP6_OF_TARGET;
	memcpy(icmp + 26, mac->bytes, 6);
	store_be16(icmp + 2, 0);
	// Other options stay unchanged.
	store_be16(icmp + 2, net_checksum_fold(sum_icmp6(header, icmp, parsed->payload_size)));
	return true;
}
