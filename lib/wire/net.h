// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Ethernet II, IEEE 802.1Q VLAN, IPv4 (RFC 791), IPv6 (RFC 8200), UDP (RFC 768), ARP (RFC 826),
// neighbour discovery (RFC 4861) and ICMP echo (RFC 792, RFC 4443). MAC and IPv6
// addresses are in the byte order of the wire; IPv4 addresses and ports are in host order.
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
#define NET_ETH_BESIDE   24u // bytes on the link beside the frame: preamble, FCS, gap

#define NET_TYPE_IPV4 0x0800
#define NET_TYPE_ARP  0x0806
#define NET_TYPE_VLAN 0x8100
#define NET_TYPE_QINQ 0x88A8
#define NET_TYPE_IPV6 0x86DD
#define NET_TYPE_EVB  0x88B5 // IEEE 802 local experimental EtherType 1

#define NET_PROTO_ICMP  1
#define NET_PROTO_IGMP  2
#define NET_PROTO_UDP   17
#define NET_PROTO_ICMP6 58

struct net_mac {
	uint8_t bytes[6];
};

// What a frame is, by its outermost recognised layer.
enum net_kind {
	NET_OTHER,   // a well-formed Ethernet frame of a protocol that evb does not use
	NET_ARP_IP4, // ARP for IPv4 over Ethernet
	NET_ICMP4,   // ICMP over IPv4
	NET_ICMP6,   // ICMPv6
	NET_UDP4,
	NET_UDP6,
	NET_ETHER_PAYLOAD, // the EtherType that the caller gave
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
	// Bytes, from the length fields of IP and UDP. In frames without IP: all bytes up to the
	// frame's end, including the zeros with which Ethernet pads short frames.
	uint32_t payload_size;
	uint8_t dscp_ecn; // IPv4 TOS or IPv6 traffic class
};

// Parses a frame of `length` bytes of which the first `header_bytes` are contiguous. `ether_type`
// is the EtherType that carries segments directly (0: none). Accepts up to two VLAN tags. Checks
// every header length against the frame's length; checks no checksum. Refuses IP fragments as
// UNSUPPORTED. IPv6 with other extension headers is NET_OTHER: hosts send multicast reports with
// them, but boards send no data with them. Errors: TRUNCATED, BAD_VERSION, BAD_LENGTH, UNSUPPORTED;
// *out is then unspecified. header_bytes <= length <= 4 GiB.
enum wire_error net_parse(const uint8_t *frame, size_t header_bytes, size_t length,
			  uint16_t ether_type, struct net_frame *out);

// Internet checksum (RFC 1071). net_checksum_add() continues a partial sum over further bytes; all
// pieces but the last must have an even length, and numbers in host order may simply be added to
// the sum. net_checksum_fold() returns the complement of the sum, folded to 16 bits: the number to
// store big-endian in the header, or 0 if the summed bytes contain the correct checksum already.
uint32_t net_checksum_add(uint32_t sum, const uint8_t *bytes, size_t length);
uint16_t net_checksum_fold(uint32_t sum);

// True if the checksum of an IPv4 header, options included, is correct.
bool net_ipv4_checksum_ok(const uint8_t *ipv4_header);

// Partial sum of the UDP pseudo header of a parsed UDP4 or UDP6 frame. When the UDP header and the
// payload are added, the folded sum of a correct datagram is 0.
uint32_t net_udp_pseudo_sum(const uint8_t *frame, const struct net_frame *parsed);

enum net_checksum {
	NET_CHECKSUM_RIGHT, // or absent, which only UDP over IPv4 allows
	// The folded sum of the pseudo header alone, which a kernel stores for the network card to
	// complete (Linux, CHECKSUM_PARTIAL). Captures at the sender and packets that passed no
	// card have it. It says nothing about the payload.
	NET_CHECKSUM_UNFINISHED,
	NET_CHECKSUM_WRONG,
};

// Judges the UDP checksum of a parsed UDP4 or UDP6 frame. `sum`: that of the UDP header and the
// payload, by net_checksum_add() from 0.
enum net_checksum net_udp_checksum_judge(const uint8_t *frame, const struct net_frame *parsed,
					 uint32_t sum);

// The same for a frame that is contiguous in memory.
enum net_checksum net_udp_checksum(const uint8_t *frame, const struct net_frame *parsed);

struct net_udp4 {
	struct net_mac source_mac, destination_mac;
	uint32_t source_ip, destination_ip; // host order: 10.0.0.1 = 0x0a000001
	uint16_t source_port, destination_port;
	uint16_t vlan_tci; // 0: no tag
	uint8_t dscp_ecn;
};

// Writes Ethernet [+ VLAN] + IPv4 + UDP headers for payload_size bytes and returns their size, 42
// or 46 bytes, for which `bytes` has room. Sets the IPv4 checksum, no UDP checksum (0), DF, TTL 64.
// payload_size <= 65507: the IPv4 length field counts all headers behind Ethernet too.
size_t net_udp4_encode(uint8_t *bytes, const struct net_udp4 *header, uint16_t payload_size);

// Changes the payload's size in IPv4 and UDP headers that net_udp4_encode() has written at `ip`.
void net_udp4_set_size(uint8_t *ip, uint16_t payload_size);

// Writes Ethernet [+ VLAN] header and returns its size, 14 or 18.
size_t net_eth_encode(uint8_t *bytes, const struct net_mac *destination,
		      const struct net_mac *source, uint16_t vlan_tci, uint16_t ether_type);

struct net_arp {
	uint16_t operation; // 1 request, 2 reply
	struct net_mac sender_mac, target_mac;
	uint32_t sender_ip, target_ip; // host order
};

// Decodes the ARP part of an ARP_IP4 frame, which begins at frame + l3_offset. Errors: TRUNCATED,
// BAD_VERSION (not ARP for IPv4 over Ethernet).
enum wire_error net_arp_decode(const uint8_t *arp, size_t length, struct net_arp *out);

// Writes a whole ARP frame, padded to NET_MIN_FRAME bytes. A request is broadcast.
void net_arp_encode(uint8_t frame[NET_MIN_FRAME], const struct net_arp *arp);

// The Ethernet address of an IPv4 multicast group (RFC 1112).
struct net_mac net_group_mac(uint32_t group);

#define NET_IGMP_FRAME NET_MIN_FRAME

// Writes a whole frame with an IGMPv2 membership report (RFC 2236), padded: switches that listen to
// these then forward frames for the group to its sender.
void net_igmp_report_encode(uint8_t frame[NET_IGMP_FRAME], const struct net_mac *source,
			    uint32_t source_ip, uint32_t group);

// The four functions below turn a request to the own address `ip` into its reply, in place in a
// contiguous frame; a VLAN tag stays. They return false and leave the frame unchanged if the frame
// is not such a request or its sender is a group address.

// ARP request into ARP reply.
bool net_arp_answer(uint8_t *frame, const struct net_frame *parsed, size_t length,
		    const struct net_mac *mac, uint32_t ip);

// ICMP echo request into echo reply: swaps the addresses and updates the ICMP checksum. A wrong
// checksum of the request stays wrong in the reply.
bool net_icmp_echo_answer(uint8_t *frame, const struct net_frame *parsed, size_t length,
			  const struct net_mac *mac, uint32_t ip);

// ICMPv6 echo request into echo reply, likewise.
bool net_icmp6_echo_answer(uint8_t *frame, const struct net_frame *parsed, size_t length,
			   const struct net_mac *mac, const uint8_t ip[16]);

// Neighbour solicitation for `ip` into the advertisement. Also returns false if the checksum or the
// hop limit is wrong, or if the solicitation does not contain its sender's Ethernet address (as
// when a host checks whether the address is free).
bool net_neighbour_answer(uint8_t *frame, const struct net_frame *parsed, size_t length,
			  const struct net_mac *mac, const uint8_t ip[16]);

// "10.0.0.1" or "10.0.0.1/24" -> host order address and prefix length (32 if none is given). False
// if the text is malformed; *ip and *prefix_length are then unspecified.
bool net_ipv4_parse(const char *text, uint32_t *ip, unsigned *prefix_length);
