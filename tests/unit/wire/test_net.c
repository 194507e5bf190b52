// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"
#include "frames.h"

#include "wire/net.h"

static enum wire_error parse(const char *hex, struct net_frame *frame)
{
	struct bytes bytes = bytes_from_hex(hex);
	enum wire_error error = net_parse(bytes.data, bytes.size, bytes.size, NET_TYPE_EVB, frame);

	bytes_free(&bytes);
	return error;
}

// The result of parsing a frame after one byte was changed.
static enum wire_error parse_with(const char *hex, size_t at, uint8_t value)
{
	struct bytes bytes = bytes_from_hex(hex);
	struct net_frame frame;
	enum wire_error error;

	bytes.data[at] = value;
	error = net_parse(bytes.data, bytes.size, bytes.size, NET_TYPE_EVB, &frame);
	bytes_free(&bytes);
	return error;
}

static void expect_segment(const struct net_frame *frame, enum net_kind kind, size_t l4_offset)
{
	assert_int_equal(frame->kind, kind);
	assert_int_equal(frame->l4_offset, l4_offset);
	assert_int_equal(frame->payload_offset, l4_offset + NET_UDP_SIZE);
	assert_int_equal(frame->payload_size, 7);
	assert_int_equal(frame->source_port, 4660);
	assert_int_equal(frame->destination_port, 19522);
}

static void parse__udp4(void **state)
{
	struct net_frame frame;

	(void)state;
	assert_int_equal(parse(FRAME_UDP4, &frame), WIRE_OK);
	expect_segment(&frame, NET_UDP4, 34);
	assert_int_equal(frame.ether_type, NET_TYPE_IPV4);
	assert_int_equal(frame.vlan_tci, 0);
	assert_int_equal(frame.l3_offset, 14);
	assert_int_equal(frame.dscp_ecn, 0xB8);
}

static void parse__udp4_with_ethernet_padding(void **state)
{
	struct net_frame frame;

	(void)state;
	assert_int_equal(parse(FRAME_UDP4 "0000000000000000000000", &frame), WIRE_OK);
	expect_segment(&frame, NET_UDP4, 34);
}

static void parse__vlan(void **state)
{
	struct net_frame frame;

	(void)state;
	assert_int_equal(parse(FRAME_VLAN, &frame), WIRE_OK);
	expect_segment(&frame, NET_UDP4, 38);
	assert_int_equal(frame.ether_type, NET_TYPE_IPV4);
	assert_int_equal(frame.vlan_tci, 0xA064);
	assert_int_equal(frame.l3_offset, 18);
}

static void parse__two_vlan_tags(void **state)
{
	struct net_frame frame;

	(void)state;
	assert_int_equal(parse(FRAME_QINQ, &frame), WIRE_OK);
	expect_segment(&frame, NET_UDP4, 42);
	assert_int_equal(frame.ether_type, NET_TYPE_IPV4);
	assert_int_equal(frame.vlan_tci, 0x60C8); // the outer one
	assert_int_equal(frame.l3_offset, 22);
}

static void parse__three_vlan_tags_are_not_spoken(void **state)
{
	struct net_frame frame;

	(void)state;
	assert_int_equal(parse(FRAME_THREE_TAGS, &frame), WIRE_OK);
	assert_int_equal(frame.kind, NET_OTHER);
	assert_int_equal(frame.ether_type, NET_TYPE_VLAN);
}

static void parse__ipv4_options(void **state)
{
	struct net_frame frame;

	(void)state;
	assert_int_equal(parse(FRAME_ROUTER_ALERT, &frame), WIRE_OK);
	expect_segment(&frame, NET_UDP4, 38);
	assert_int_equal(frame.dscp_ecn, 0);
}

static void parse__udp6(void **state)
{
	struct net_frame frame;

	(void)state;
	assert_int_equal(parse(FRAME_UDP6, &frame), WIRE_OK);
	expect_segment(&frame, NET_UDP6, 54);
	assert_int_equal(frame.ether_type, NET_TYPE_IPV6);
	assert_int_equal(frame.l3_offset, 14);
	assert_int_equal(frame.dscp_ecn, 0xB8);
}

static void parse__fragments_are_refused(void **state)
{
	struct net_frame frame;

	(void)state;
	assert_int_equal(parse(FRAME_FIRST_FRAGMENT, &frame), WIRE_UNSUPPORTED);
	assert_int_equal(parse(FRAME_MIDDLE_FRAGMENT, &frame), WIRE_UNSUPPORTED);
	assert_int_equal(parse(FRAME_LAST_FRAGMENT, &frame), WIRE_UNSUPPORTED);
	assert_int_equal(parse_with(FRAME_UDP4, 20, 0x40), WIRE_OK); // do not fragment
}

static void parse__ipv6_extensions_are_other(void **state)
{
	static const uint8_t next_headers[] = { 0, 43, 50, 51, 58, 60, 135, 139, 140 };
	struct net_frame frame;

	(void)state;
	assert_int_equal(parse(FRAME_UDP6_HOP_BY_HOP, &frame), WIRE_OK);
	assert_int_equal(frame.kind, NET_OTHER);
	for (unsigned i = 0; i < sizeof(next_headers); i++)
		assert_int_equal(parse_with(FRAME_UDP6, 20, next_headers[i]), WIRE_OK);
	assert_int_equal(parse_with(FRAME_UDP6, 20, 44), WIRE_UNSUPPORTED); // fragment
}

static void parse__other_protocols(void **state)
{
	struct net_frame frame;

	(void)state;
	assert_int_equal(parse(FRAME_TCP4, &frame), WIRE_OK);
	assert_int_equal(frame.kind, NET_OTHER);
	assert_int_equal(frame.ether_type, NET_TYPE_IPV4);
	assert_int_equal(frame.l4_offset, 34);
	assert_int_equal(parse(FRAME_TCP6, &frame), WIRE_OK);
	assert_int_equal(frame.kind, NET_OTHER);
	assert_int_equal(frame.ether_type, NET_TYPE_IPV6);
	assert_int_equal(frame.l4_offset, 54);
	assert_int_equal(parse(FRAME_LLC, &frame), WIRE_OK);
	assert_int_equal(frame.kind, NET_OTHER);
	assert_int_equal(frame.ether_type, 38);
	assert_int_equal(frame.payload_offset, 14);
	assert_int_equal(frame.payload_size, 38);
}

static void parse__icmp(void **state)
{
	struct net_frame frame;

	(void)state;
	assert_int_equal(parse(FRAME_PING, &frame), WIRE_OK);
	assert_int_equal(frame.kind, NET_ICMP4);
	assert_int_equal(frame.l4_offset, 34);
	assert_int_equal(frame.payload_offset, 34);
	assert_int_equal(frame.payload_size, 13);
}

static void parse__arp(void **state)
{
	struct net_frame frame;

	(void)state;
	assert_int_equal(parse(FRAME_ARP_REQUEST, &frame), WIRE_OK);
	assert_int_equal(frame.kind, NET_ARP_IP4);
	assert_int_equal(frame.l3_offset, 14);
	// ARP for another kind of hardware, network, or length of address
	for (size_t at = 14; at < 20; at++) {
		struct bytes bytes = bytes_from_hex(FRAME_ARP_REQUEST);

		bytes.data[at] ^= 2;
		assert_int_equal(net_parse(bytes.data, bytes.size, bytes.size, 0, &frame), WIRE_OK);
		assert_int_equal(frame.kind, NET_OTHER);
		bytes_free(&bytes);
	}
}

static void parse__ether_type_of_segments(void **state)
{
	struct bytes bytes = bytes_from_hex(FRAME_EVB);
	struct net_frame frame;

	(void)state;
	assert_int_equal(net_parse(bytes.data, bytes.size, bytes.size, NET_TYPE_EVB, &frame),
			 WIRE_OK);
	assert_int_equal(frame.kind, NET_ETHER_PAYLOAD);
	assert_int_equal(frame.ether_type, NET_TYPE_EVB);
	assert_int_equal(frame.vlan_tci, 0xA064);
	assert_int_equal(frame.payload_offset, 18);
	assert_int_equal(frame.payload_size, 7);
	assert_int_equal(net_parse(bytes.data, bytes.size, bytes.size, 0x88B6, &frame), WIRE_OK);
	assert_int_equal(frame.kind, NET_OTHER);
	assert_int_equal(net_parse(bytes.data, bytes.size, bytes.size, 0, &frame), WIRE_OK);
	assert_int_equal(frame.kind, NET_OTHER);
	store_be16(bytes.data + 16, 0); // no caller's EtherType is 0
	assert_int_equal(net_parse(bytes.data, bytes.size, bytes.size, 0, &frame), WIRE_OK);
	assert_int_equal(frame.kind, NET_OTHER);
	bytes_free(&bytes);
}

static void parse__ipv4_contradictions_are_named(void **state)
{
	(void)state;
	assert_int_equal(parse_with(FRAME_UDP4, 14, 0x55), WIRE_BAD_VERSION);
	assert_int_equal(parse_with(FRAME_UDP4, 14, 0x35), WIRE_BAD_VERSION);
	assert_int_equal(parse_with(FRAME_UDP4, 14, 0x44), WIRE_BAD_LENGTH);
	assert_int_equal(parse_with(FRAME_UDP4, 14, 0x49), WIRE_BAD_LENGTH); // header > total
	assert_int_equal(parse_with(FRAME_UDP4, 17, 0x13), WIRE_BAD_LENGTH); // total < header
	assert_int_equal(parse_with(FRAME_TCP4, 17, 0x14), WIRE_OK);         // a header alone
	assert_int_equal(parse_with(FRAME_UDP4, 17, 0x24), WIRE_TRUNCATED);  // total > frame
	assert_int_equal(parse_with(FRAME_UDP4, 17, 0x22), WIRE_BAD_LENGTH); // total < UDP
	assert_int_equal(parse_with(FRAME_UDP4, 39, 0x10), WIRE_BAD_LENGTH); // UDP > total
	assert_int_equal(parse_with(FRAME_UDP4, 39, 0x07), WIRE_BAD_LENGTH); // UDP < its header
	assert_int_equal(parse_with(FRAME_UDP4, 39, 0x08), WIRE_OK);         // empty datagram
}

static void parse__ipv6_contradictions_are_named(void **state)
{
	(void)state;
	assert_int_equal(parse_with(FRAME_UDP6, 14, 0x4B), WIRE_BAD_VERSION);
	assert_int_equal(parse_with(FRAME_UDP6, 19, 0x10), WIRE_TRUNCATED);
	assert_int_equal(parse_with(FRAME_UDP6, 19, 0x0E), WIRE_BAD_LENGTH);
	assert_int_equal(parse_with(FRAME_UDP6, 19, 0x00), WIRE_BAD_LENGTH);
	assert_int_equal(parse_with(FRAME_UDP6, 59, 0x07), WIRE_BAD_LENGTH);
	assert_int_equal(parse_with(FRAME_UDP6, 59, 0x10), WIRE_BAD_LENGTH);
}

static void expect_truncated(const uint8_t *bytes, size_t size)
{
	struct net_frame frame;

	assert_int_equal(net_parse(bytes, size, size, 0, &frame), WIRE_TRUNCATED);
}

static void parse__every_truncation_is_refused(void **state)
{
	static const char *const frames[] = {
		FRAME_UDP4, FRAME_VLAN, FRAME_QINQ,        FRAME_ROUTER_ALERT,
		FRAME_UDP6, FRAME_PING, FRAME_ARP_REQUEST, FRAME_TCP4,
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct bytes bytes = bytes_from_hex(frames[i]);

		each_truncation(&bytes, expect_truncated);
		bytes_free(&bytes);
	}
}

// Of a whole frame only the headers need to be at hand; fewer bytes are not read beyond.
static void expect_needs_headers(const char *hex, size_t headers)
{
	struct bytes bytes = bytes_from_hex(hex);

	for (size_t at_hand = 0; at_hand <= bytes.size; at_hand++) {
		struct bytes prefix = bytes_copy(bytes.data, at_hand);
		struct net_frame frame;

		assert_int_equal(net_parse(prefix.data, prefix.size, bytes.size, 0, &frame),
				 at_hand < headers ? WIRE_TRUNCATED : WIRE_OK);
		bytes_free(&prefix);
	}
	bytes_free(&bytes);
}

static void parse__needs_only_the_headers_at_hand(void **state)
{
	(void)state;
	expect_needs_headers(FRAME_UDP4, 42);
	expect_needs_headers(FRAME_VLAN, 46);
	expect_needs_headers(FRAME_QINQ, 50);
	expect_needs_headers(FRAME_ROUTER_ALERT, 46);
	expect_needs_headers(FRAME_UDP6, 62);
	expect_needs_headers(FRAME_TCP6, 54);
	expect_needs_headers(FRAME_PING, 34);
	expect_needs_headers(FRAME_ARP_REQUEST, 42);
	expect_needs_headers(FRAME_LLC, 14);
	expect_needs_headers(FRAME_EVB, 18);
}

static void use(const uint8_t *bytes, size_t size)
{
	struct bytes copy = bytes_copy(bytes, size);
	const struct net_mac mac = { { 2 } };
	struct net_frame frame;

	if (net_parse(copy.data, copy.size, copy.size, NET_TYPE_EVB, &frame) == WIRE_OK) {
		expect_inside(copy.data, copy.size, copy.data + frame.payload_offset,
			      frame.payload_size);
		assert_true(frame.l3_offset <= frame.payload_offset);
		if (frame.kind == NET_UDP4)
			net_ipv4_checksum_ok(copy.data + frame.l3_offset);
		if (frame.kind == NET_UDP4 || frame.kind == NET_UDP6)
			net_udp_checksum(copy.data, &frame);
		net_arp_answer(copy.data, &frame, copy.size, &mac, 0x0A000002);
		net_icmp_echo_answer(copy.data, &frame, copy.size, &mac, 0x0A000002);
	}
	bytes_free(&copy);
}

static void parse__no_mutation_leads_outside(void **state)
{
	static const char *const frames[] = {
		FRAME_UDP4, FRAME_QINQ, FRAME_ROUTER_ALERT, FRAME_UDP6,
		FRAME_PING, FRAME_EVB,  FRAME_ARP_REQUEST,  FRAME_UDP6_HOP_BY_HOP,
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct bytes bytes = bytes_from_hex(frames[i]);

		each_mutation(&bytes, use);
		bytes_free(&bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse__udp4),
		cmocka_unit_test(parse__udp4_with_ethernet_padding),
		cmocka_unit_test(parse__vlan),
		cmocka_unit_test(parse__two_vlan_tags),
		cmocka_unit_test(parse__three_vlan_tags_are_not_spoken),
		cmocka_unit_test(parse__ipv4_options),
		cmocka_unit_test(parse__udp6),
		cmocka_unit_test(parse__fragments_are_refused),
		cmocka_unit_test(parse__ipv6_extensions_are_other),
		cmocka_unit_test(parse__other_protocols),
		cmocka_unit_test(parse__icmp),
		cmocka_unit_test(parse__arp),
		cmocka_unit_test(parse__ether_type_of_segments),
		cmocka_unit_test(parse__ipv4_contradictions_are_named),
		cmocka_unit_test(parse__ipv6_contradictions_are_named),
		cmocka_unit_test(parse__every_truncation_is_refused),
		cmocka_unit_test(parse__needs_only_the_headers_at_hand),
		cmocka_unit_test(parse__no_mutation_leads_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
