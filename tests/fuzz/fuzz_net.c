// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as an Ethernet frame, and as the text of an address: what parses lies inside the frame,
// needs only its headers at hand, and answers to it are frames that say what they should.
#include "fuzz.h"

#include "wire/net.h"

#define OWN_IP 0x0A000002u

static const struct net_mac own_mac = { { 2, 0, 0, 0, 0, 2 } };

static void check_inside(const struct net_frame *frame, size_t size)
{
	FUZZ_CHECK(frame->l3_offset >= NET_ETH_SIZE);
	FUZZ_CHECK(frame->l3_offset <= NET_ETH_SIZE + 2 * NET_VLAN_SIZE);
	FUZZ_CHECK(frame->payload_offset >= frame->l3_offset);
	FUZZ_CHECK(frame->payload_offset >= frame->l4_offset);
	FUZZ_CHECK((size_t)frame->payload_offset + frame->payload_size <= size);
}

static void check_headers_suffice(const uint8_t *data, size_t size, const struct net_frame *frame)
{
	const size_t at_hand =
	    frame->kind == NET_ARP_IP4 ? frame->l3_offset + NET_ARP_SIZE : frame->payload_offset;
	uint8_t *copy = fuzz_copy(data, at_hand);
	struct net_frame again;

	if (frame->ether_type != NET_TYPE_ARP || frame->kind == NET_ARP_IP4) {
		FUZZ_CHECK(net_parse(copy, at_hand, size, NET_TYPE_EVB, &again) == WIRE_OK);
		FUZZ_CHECK(again.kind == frame->kind);
		FUZZ_CHECK(again.payload_offset == frame->payload_offset);
		FUZZ_CHECK(again.payload_size == frame->payload_size);
		FUZZ_CHECK(again.destination_port == frame->destination_port);
	}
	fuzz_free(copy);
}

// The same datagram in a frame of our own.
static void check_udp(const uint8_t *data, const struct net_frame *frame)
{
	const struct net_udp4 header = {
		.source_ip = 1,
		.destination_ip = OWN_IP,
		.source_port = frame->source_port,
		.destination_port = frame->destination_port,
		.vlan_tci = frame->vlan_tci,
		.dscp_ecn = frame->dscp_ecn,
	};
	size_t size = NET_HEADERS_SIZE + NET_VLAN_SIZE + frame->payload_size;
	uint8_t *bytes = fuzz_allocate(size, 1);
	struct net_frame again;

	net_udp_checksum(data, frame);
	if (frame->payload_size <= UINT16_MAX - NET_IPV4_SIZE - NET_UDP_SIZE) {
		size = net_udp4_encode(bytes, &header, (uint16_t)frame->payload_size);
		FUZZ_CHECK(net_parse(bytes, size, size + frame->payload_size, 0, &again) ==
			   WIRE_OK);
		FUZZ_CHECK(again.kind == NET_UDP4);
		FUZZ_CHECK(again.payload_offset == size);
		FUZZ_CHECK(again.payload_size == frame->payload_size);
		FUZZ_CHECK(again.source_port == frame->source_port);
		FUZZ_CHECK(again.destination_port == frame->destination_port);
		FUZZ_CHECK(again.vlan_tci == frame->vlan_tci);
		FUZZ_CHECK(again.dscp_ecn == frame->dscp_ecn);
		FUZZ_CHECK(net_ipv4_checksum_ok(bytes + again.l3_offset));
		FUZZ_CHECK(net_udp_checksum(bytes, &again) == NET_CHECKSUM_RIGHT);
	}
	fuzz_free(bytes);
}

static void check_arp_answer(const uint8_t *data, size_t size, const struct net_frame *frame)
{
	uint8_t *bytes = fuzz_copy(data, size);
	struct net_frame parsed;
	struct net_arp asked, answer;

	if (net_arp_answer(bytes, frame, size, &own_mac, OWN_IP)) {
		FUZZ_CHECK(frame->kind == NET_ARP_IP4);
		FUZZ_CHECK(!net_arp_decode(data + frame->l3_offset, NET_ARP_SIZE, &asked));
		FUZZ_CHECK(net_parse(bytes, size, size, 0, &parsed) == WIRE_OK);
		FUZZ_CHECK(!net_arp_decode(bytes + parsed.l3_offset, NET_ARP_SIZE, &answer));
		FUZZ_CHECK(answer.operation == 2 && answer.sender_ip == OWN_IP);
		FUZZ_CHECK(answer.target_ip == asked.sender_ip);
		FUZZ_CHECK(memcmp(bytes, &asked.sender_mac, 6) == 0);
		FUZZ_CHECK(!net_arp_answer(bytes, &parsed, size, &own_mac, OWN_IP));
	} else {
		FUZZ_CHECK(size == 0 || memcmp(bytes, data, size) == 0);
	}
	fuzz_free(bytes);
}

static bool icmp_sum_ok(const uint8_t *bytes, const struct net_frame *frame)
{
	return net_checksum_fold(
		   net_checksum_add(0, bytes + frame->l4_offset, frame->payload_size)) == 0;
}

static void check_echo_answer(const uint8_t *data, size_t size, const struct net_frame *frame)
{
	uint8_t *bytes = fuzz_copy(data, size);

	if (net_icmp_echo_answer(bytes, frame, size, &own_mac, OWN_IP)) {
		FUZZ_CHECK(frame->kind == NET_ICMP4);
		FUZZ_CHECK(load_be32(bytes + frame->l3_offset + 12) == OWN_IP);
		FUZZ_CHECK(icmp_sum_ok(bytes, frame) == icmp_sum_ok(data, frame));
		FUZZ_CHECK(net_ipv4_checksum_ok(bytes + frame->l3_offset) ==
			   net_ipv4_checksum_ok(data + frame->l3_offset));
		FUZZ_CHECK(!net_icmp_echo_answer(bytes, frame, size, &own_mac, OWN_IP));
	} else {
		FUZZ_CHECK(size == 0 || memcmp(bytes, data, size) == 0);
	}
	fuzz_free(bytes);
}

static bool icmp6_sum_ok(const uint8_t *bytes, const struct net_frame *frame)
{
	uint32_t sum = net_checksum_add(frame->payload_size + NET_PROTO_ICMP6,
					bytes + frame->l3_offset + 8, 32);

	return net_checksum_fold(
		   net_checksum_add(sum, bytes + frame->l4_offset, frame->payload_size)) == 0;
}

// Neighbour solicitations and echoes for whatever address the frame names.
static void check_icmp6_answers(const uint8_t *data, size_t size, const struct net_frame *frame)
{
	uint8_t *bytes = fuzz_copy(data, size);
	uint8_t own[16] = { 0xFD };

	if (frame->kind == NET_ICMP6) {
		memcpy(own, data + frame->l3_offset + 24, sizeof(own));
		if (frame->payload_size >= 24 && data[frame->l4_offset] == 135)
			memcpy(own, data + frame->l4_offset + 8, sizeof(own));
	}
	if (net_neighbour_answer(bytes, frame, size, &own_mac, own)) {
		FUZZ_CHECK(frame->kind == NET_ICMP6 && icmp6_sum_ok(bytes, frame));
		FUZZ_CHECK(!net_neighbour_answer(bytes, frame, size, &own_mac, own));
	} else if (net_icmp6_echo_answer(bytes, frame, size, &own_mac, own)) {
		FUZZ_CHECK(icmp6_sum_ok(bytes, frame) == icmp6_sum_ok(data, frame));
		FUZZ_CHECK(!net_icmp6_echo_answer(bytes, frame, size, &own_mac, own));
	} else {
		FUZZ_CHECK(size == 0 || memcmp(bytes, data, size) == 0);
	}
	fuzz_free(bytes);
}

static void check_text(const uint8_t *data, size_t size)
{
	char *text = fuzz_allocate(size + 1, 1);
	uint32_t ip;
	unsigned prefix_length;

	if (size > 0)
		memcpy(text, data, size);
	if (net_ipv4_parse(text, &ip, &prefix_length))
		FUZZ_CHECK(prefix_length <= 32);
	fuzz_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_frame frame;

	check_text(data, size);
	if (net_parse(data, size, size, NET_TYPE_EVB, &frame) != WIRE_OK)
		return 0;
	check_inside(&frame, size);
	check_headers_suffice(data, size, &frame);
	if (frame.kind == NET_UDP4 || frame.kind == NET_UDP6)
		check_udp(data, &frame);
	check_arp_answer(data, size, &frame);
	check_echo_answer(data, size, &frame);
	check_icmp6_answers(data, size, &frame);
	return 0;
}
