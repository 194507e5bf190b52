// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Ethernet II, IEEE 802.1Q VLAN, IPv4 (RFC 791), IPv6 (RFC 8200), UDP (RFC 768), ARP (RFC 826),
// neighbour discovery (RFC 4861) and ICMP echo (RFC 792, RFC 4443). Addresses are kept as they
// stand on the wire.
#pragma once

#include "wire/wire.h"

#define NET_ETH_SIZE     14u
#define NET_VLAN_SIZE    4u
#define NET_IPV4_SIZE    20u // without options
#define NET_IPV6_SIZE    40u
#define NET_UDP_SIZE     8u
#define NET_ARP_SIZE     28u
#define NET_HEADERS_SIZE (NET_ETH_SIZE + NET_IPV4_SIZE + NET_UDP_SIZE)
#define NET_MIN_FRAME    60u // bytes, without FCS
#define NET_ETH_BESIDE   24u // what a frame takes of a link beside its bytes: preamble, FCS, gap

#define NET_TYPE_IPV4 0x0800
#define NET_TYPE_ARP  0x0806
#define NET_TYPE_VLAN 0x8100
#define NET_TYPE_QINQ 0x88A8
#define NET_TYPE_IPV6 0x86DD
#define NET_TYPE_EVB  0x88B5 // IEEE 802 local experimental EtherType 1

#define NET_PROTO_ICMP  1
#define NET_PROTO_UDP   17
#define NET_PROTO_ICMP6 58

struct net_mac {
	uint8_t bytes[6];
};

// What a frame is, by its outermost recognised layer.
enum net_kind {
	NET_OTHER,   // a well-formed Ethernet frame that evb does not speak
	NET_ARP_IP4, // ARP for IPv4 over Ethernet
	NET_ICMP4,   // ICMP over IPv4
	NET_ICMP6,   // ICMPv6
	NET_UDP4,
	NET_UDP6,
	NET_ETHER_PAYLOAD, // the EtherType that the caller asked for
};

struct net_frame {
	enum net_kind kind;
	uint16_t ether_type;     // innermost, behind VLAN tags
	uint16_t vlan_tci;       // outermost tag, 0 if none
	uint16_t l3_offset;      // behind Ethernet and VLAN tags
	uint16_t l4_offset;      // of IP frames; 0 in others
	uint16_t payload_offset; // behind UDP, else behind IP, else behind the EtherType
	uint16_t source_port;    // UDP kinds only
	uint16_t destination_port;
	// Bytes by the IP headers' own lengths; of frames without IP all up to the frame's end,
	// with the zeros that Ethernet pads short frames with.
	uint32_t payload_size;
	uint8_t dscp_ecn; // IPv4 TOS or IPv6 traffic class
};

// Parses a frame of `length` bytes of which the first `header_bytes` are at hand contiguously.
// `ether_type` is the EtherType that carries segments directly (0: none). Up to two VLAN tags.
// Checks every header length against the frame's length; checks no checksum. IP fragments are
// refused as UNSUPPORTED; IPv6 with other extension headers is NET_OTHER (hosts send multicast
// reports that way, boards send no data). Errors: TRUNCATED, BAD_VERSION, BAD_LENGTH, UNSUPPORTED;
// *out is then unspecified. header_bytes <= length <= 4 GiB.
enum wire_error net_parse(const uint8_t *frame, size_t header_bytes, size_t length,
			  uint16_t ether_type, struct net_frame *out);

// Internet checksum (RFC 1071): partial sum of bytes, to be continued over further pieces (all but
// the last of even length; numbers in host order may simply be added), and its complement folded to
// 16 bits: the number to store big-endian in the header, or 0 if the summed bytes held it already.
uint32_t net_checksum_add(uint32_t sum, const uint8_t *bytes, size_t length);
uint16_t net_checksum_fold(uint32_t sum);

// True if the checksum of an IPv4 header, options included, is right.
bool net_ipv4_checksum_ok(const uint8_t *ipv4_header);

// Partial sum of the UDP pseudo header of a parsed UDP4 or UDP6 frame; add the UDP header and its
// payload, fold, and a correct datagram gives 0.
uint32_t net_udp_pseudo_sum(const uint8_t *frame, const struct net_frame *parsed);

// True if a parsed UDP4 or UDP6 frame that is contiguous in memory has a right UDP checksum, or,
// for IPv4, none (0; IPv6 demands one).
bool net_udp_checksum_ok(const uint8_t *frame, const struct net_frame *parsed);

struct net_udp4 {
	struct net_mac source_mac, destination_mac;
	uint32_t source_ip, destination_ip; // host order: 10.0.0.1 = 0x0a000001
	uint16_t source_port, destination_port;
	uint16_t vlan_tci; // 0: no tag
	uint8_t dscp_ecn;
};

// Writes Ethernet [+ VLAN] + IPv4 + UDP headers for payload_size bytes and returns their size, 42
// or
// 46. IPv4 checksum set, UDP checksum 0 (none), DF set, TTL 64. `bytes` has room for 46;
// payload_size <= 65507, for the IPv4 length field holds all.
size_t net_udp4_encode(uint8_t *bytes, const struct net_udp4 *header, uint16_t payload_size);

// Writes Ethernet [+ VLAN] header and returns its size, 14 or 18.
size_t net_eth_encode(uint8_t *bytes, const struct net_mac *destination,
		      const struct net_mac *source, uint16_t vlan_tci, uint16_t ether_type);

struct net_arp {
	uint16_t operation; // 1 request, 2 reply
	struct net_mac sender_mac, target_mac;
	uint32_t sender_ip, target_ip; // host order
};

// Decodes an ARP_IP4 frame's ARP part at frame + l3_offset. Errors: TRUNCATED, BAD_VERSION (not for
// IPv4 over Ethernet).
enum wire_error net_arp_decode(const uint8_t *arp, size_t length, struct net_arp *out);
// Writes a whole ARP frame padded to NET_MIN_FRAME bytes: request is broadcast.
void net_arp_encode(uint8_t frame[NET_MIN_FRAME], const struct net_arp *arp);

// Turns an ARP request for `ip` into the reply, in place in a contiguous frame; a VLAN tag stays.
// False, and the frame untouched, if it does not ask for it or its sender is a group address.
bool net_arp_answer(uint8_t *frame, const struct net_frame *parsed, size_t length,
		    const struct net_mac *mac, uint32_t ip);

// Turns an ICMP echo request addressed to `ip` into the reply, in place: addresses swapped, ICMP
// checksum corrected. The frame is contiguous. False, and the frame untouched, if it is something
// else or its sender is a group address.
bool net_icmp_echo_answer(uint8_t *frame, const struct net_frame *parsed, size_t length,
			  const struct net_mac *mac, uint32_t ip);

// The same for ICMPv6.
bool net_icmp6_echo_answer(uint8_t *frame, const struct net_frame *parsed, size_t length,
			   const struct net_mac *mac, const uint8_t ip[16]);

// Turns a neighbour solicitation for `ip` into the advertisement, in place in a contiguous frame.
// False, and the frame untouched, if it is something else, its checksum or hop limit is wrong, or
// it does not say its sender's Ethernet address (as one does that looks whether the address is
// free).
bool net_neighbour_answer(uint8_t *frame, const struct net_frame *parsed, size_t length,
			  const struct net_mac *mac, const uint8_t ip[16]);

// "02:00:00:00:00:01" -> MAC; "10.0.0.1" or "10.0.0.1/24" -> host order address and prefix length
// (32 if none). False if malformed; what is behind the pointers is then unspecified.
bool net_mac_parse(const char *text, struct net_mac *mac);
bool net_ipv4_parse(const char *text, uint32_t *ip, unsigned *prefix_length);
