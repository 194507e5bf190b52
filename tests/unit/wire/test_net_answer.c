// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"
#include "frames.h"

#include "wire/net.h"

#define ASKER 0x0A000001
#define SELF  0x0A000002

static const struct net_mac asker_mac = { { 2, 0, 0, 0, 0, 1 } };
static const struct net_mac self_mac = { { 2, 0, 0, 0, 0, 2 } };

static struct bytes parsed_frame(const char *hex, struct net_frame *frame)
{
	struct bytes bytes = bytes_from_hex(hex);

	assert_int_equal(net_parse(bytes.data, bytes.size, bytes.size, 0, frame), WIRE_OK);
	return bytes;
}

// The example of RFC 1071, section 3.
static void checksum__example_of_the_rfc(void **state)
{
	static const uint8_t bytes[] = { 0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7 };

	(void)state;
	assert_int_equal(net_checksum_fold(net_checksum_add(0, bytes, 8)), 0x220D);
	assert_int_equal(net_checksum_fold(net_checksum_add(0, bytes, 0)), 0xFFFF);
	// An odd last byte counts as the high one of a word.
	assert_int_equal(net_checksum_fold(net_checksum_add(0, bytes, 3)),
			 (uint16_t) ~(0x0001 + 0xF200));
}

static void checksum__may_be_continued(void **state)
{
	uint8_t bytes[200];

	(void)state;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(0xFF - i * i);
	for (size_t size = 0; size <= sizeof(bytes); size++) {
		uint32_t simple = 0;

		for (size_t i = 0; i < size; i++)
			simple += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
		simple = (simple & 0xFFFF) + (simple >> 16);
		simple = (simple & 0xFFFF) + (simple >> 16);
		for (size_t first = 0; first <= size; first += 2) {
			uint32_t sum = net_checksum_add(0, bytes, first);

			sum = net_checksum_add(sum, bytes + first, size - first);
			assert_int_equal(net_checksum_fold(sum), (uint16_t)~simple);
		}
	}
}

static void ipv4_checksum__sees_every_changed_byte(void **state)
{
	static const char *const frames[] = { FRAME_UDP4, FRAME_ROUTER_ALERT };
	static const size_t ends[] = { 34, 38 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct bytes bytes = bytes_from_hex(frames[i]);

		assert_true(net_ipv4_checksum_ok(bytes.data + 14));
		for (size_t at = 15; at < ends[i]; at++) {
			bytes.data[at] ^= 0x10;
			assert_false(net_ipv4_checksum_ok(bytes.data + 14));
			bytes.data[at] ^= 0x10;
		}
		bytes_free(&bytes);
	}
}

static void udp_checksum__sees_every_changed_byte(void **state)
{
	static const char *const frames[] = { FRAME_UDP4, FRAME_UDP6, FRAME_ROUTER_ALERT,
					      FRAME_QINQ };
	static const size_t addresses[] = { 26, 22, 26, 34 };

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct net_frame frame;
		struct bytes bytes = parsed_frame(frames[i], &frame);

		assert_int_equal(net_udp_checksum(bytes.data, &frame), NET_CHECKSUM_RIGHT);
		for (size_t at = addresses[i]; at < bytes.size; at++) {
			bool option = i == 2 && at >= 34 && at < 38;

			bytes.data[at] ^= 0x10;
			assert_int_equal(net_udp_checksum(bytes.data, &frame),
					 option ? NET_CHECKSUM_RIGHT : NET_CHECKSUM_WRONG);
			bytes.data[at] ^= 0x10;
		}
		bytes_free(&bytes);
	}
}

static void udp_checksum__none(void **state)
{
	struct net_frame frame;
	struct bytes bytes = parsed_frame(FRAME_UDP4_UNSUMMED, &frame);

	(void)state;
	assert_int_equal(net_udp_checksum(bytes.data, &frame), NET_CHECKSUM_RIGHT);
	bytes_free(&bytes);
	bytes = parsed_frame(FRAME_UDP6, &frame);
	store_be16(bytes.data + 60, 0);
	assert_int_equal(net_udp_checksum(bytes.data, &frame), NET_CHECKSUM_WRONG);
	bytes_free(&bytes);
}

static void udp_checksum__left_to_hardware(void **state)
{
	static const char *const frames[] = { FRAME_UDP4, FRAME_UDP6, FRAME_QINQ };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct net_frame frame;
		struct bytes bytes = parsed_frame(frames[i], &frame);
		uint8_t *stated = bytes.data + frame.l4_offset + 6;

		// As the kernel leaves it: the folded sum of the pseudo header, not complemented.
		store_be16(stated,
			   (uint16_t)~net_checksum_fold(net_udp_pseudo_sum(bytes.data, &frame)));
		assert_int_equal(net_udp_checksum(bytes.data, &frame), NET_CHECKSUM_UNFINISHED);
		bytes.data[bytes.size - 1] ^= 0x10; // no part of it
		assert_int_equal(net_udp_checksum(bytes.data, &frame), NET_CHECKSUM_UNFINISHED);
		stated[1] ^= 1;
		assert_int_equal(net_udp_checksum(bytes.data, &frame), NET_CHECKSUM_WRONG);
		bytes_free(&bytes);
	}
}

// The payload may sum up to nothing: then the two are the same number, and right.
static void udp_checksum__right_and_equal_to_the_pseudo_sum(void **state)
{
	struct net_frame frame;
	struct bytes bytes = parsed_frame(FRAME_UDP4, &frame);
	uint8_t *udp = bytes.data + frame.l4_offset, *last = udp + NET_UDP_SIZE;
	uint32_t pseudo = net_udp_pseudo_sum(bytes.data, &frame);

	(void)state;
	assert_true(frame.payload_size >= 2);
	store_be16(udp + 6, (uint16_t)~net_checksum_fold(pseudo));
	store_be16(last, 0);
	store_be16(last, net_checksum_fold(
			     pseudo + net_checksum_add(0, udp, NET_UDP_SIZE + frame.payload_size)));
	assert_int_equal(net_udp_checksum(bytes.data, &frame), NET_CHECKSUM_RIGHT);
	bytes_free(&bytes);
}

static void udp_pseudo_sum__completes_the_datagram(void **state)
{
	static const char *const frames[] = { FRAME_UDP4, FRAME_UDP6 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct net_frame frame;
		struct bytes bytes = parsed_frame(frames[i], &frame);
		uint32_t sum = net_udp_pseudo_sum(bytes.data, &frame);

		sum = net_checksum_add(sum, bytes.data + frame.l4_offset, NET_UDP_SIZE + 7);
		assert_int_equal(net_checksum_fold(sum), 0);
		bytes_free(&bytes);
	}
}

static void udp4_encode__as_scapy_does(void **state)
{
	struct net_udp4 header = {
		.source_mac = asker_mac,
		.destination_mac = self_mac,
		.source_ip = ASKER,
		.destination_ip = SELF,
		.source_port = 4660,
		.destination_port = 19522,
		.dscp_ecn = 0xB8,
	};
	uint8_t bytes[46];

	(void)state;
	memset(bytes, 0xEE, sizeof(bytes));
	assert_int_equal(net_udp4_encode(bytes, &header, 7), 42);
	expect_hex(bytes, 42, ETHERNET "080045b8002300004000401126100a0000010a000002" UDP_UNSUMMED);
	header.vlan_tci = 0xA064;
	assert_int_equal(net_udp4_encode(bytes, &header, 7), 46);
	expect_hex(bytes, 46,
		   ETHERNET "8100a064080045b8002300004000401126100a0000010a000002" UDP_UNSUMMED);
}

static void udp4_encode__largest_payload(void **state)
{
	const struct net_udp4 header = { .source_ip = ASKER, .destination_ip = SELF };
	uint8_t bytes[46];

	(void)state;
	assert_int_equal(net_udp4_encode(bytes, &header, 65507), 42);
	assert_int_equal(load_be16(bytes + 16), 65535);
	assert_int_equal(load_be16(bytes + 38), 65515);
	assert_true(net_ipv4_checksum_ok(bytes + 14));
}

static void eth_encode__with_and_without_tag(void **state)
{
	uint8_t bytes[18];

	(void)state;
	assert_int_equal(net_eth_encode(bytes, &self_mac, &asker_mac, 0, NET_TYPE_EVB), 14);
	expect_hex(bytes, 14, ETHERNET "88b5");
	assert_int_equal(net_eth_encode(bytes, &self_mac, &asker_mac, 0xA064, NET_TYPE_EVB), 18);
	expect_hex(bytes, 18, ETHERNET "8100a06488b5");
}

static void arp__decode_every_field(void **state)
{
	struct bytes bytes = bytes_from_hex(FRAME_ARP_REPLY);
	struct net_arp arp;

	(void)state;
	assert_int_equal(net_arp_decode(bytes.data + 14, 27, &arp), WIRE_TRUNCATED);
	assert_int_equal(net_arp_decode(bytes.data + 14, 28, &arp), WIRE_OK);
	assert_int_equal(arp.operation, 2);
	assert_memory_equal(arp.sender_mac.bytes, self_mac.bytes, 6);
	assert_memory_equal(arp.target_mac.bytes, asker_mac.bytes, 6);
	assert_int_equal(arp.sender_ip, SELF);
	assert_int_equal(arp.target_ip, ASKER);
	bytes.data[18] = 8;
	assert_int_equal(net_arp_decode(bytes.data + 14, 28, &arp), WIRE_BAD_VERSION);
	bytes_free(&bytes);
}

#define ARP_PADDING "000000000000000000000000000000000000"

static void arp__encode_as_scapy_does(void **state)
{
	const struct net_arp request = {
		.operation = 1,
		.sender_mac = asker_mac,
		.sender_ip = ASKER,
		.target_ip = SELF,
	};
	const struct net_arp reply = {
		.operation = 2,
		.sender_mac = self_mac,
		.sender_ip = SELF,
		.target_mac = asker_mac,
		.target_ip = ASKER,
	};
	uint8_t frame[NET_MIN_FRAME];

	(void)state;
	memset(frame, 0xEE, sizeof(frame));
	net_arp_encode(frame, &request);
	expect_hex(frame, sizeof(frame), FRAME_ARP_REQUEST ARP_PADDING);
	net_arp_encode(frame, &reply);
	expect_hex(frame, sizeof(frame), FRAME_ARP_REPLY ARP_PADDING);
}

static void arp_answer__to_a_request(void **state)
{
	struct net_frame frame;
	struct bytes bytes = parsed_frame(FRAME_ARP_REQUEST, &frame);

	(void)state;
	assert_true(net_arp_answer(bytes.data, &frame, bytes.size, &self_mac, SELF));
	expect_hex(bytes.data, bytes.size, FRAME_ARP_REPLY);
	bytes_free(&bytes);
}

static void arp_answer__keeps_the_tag(void **state)
{
	struct net_frame frame;
	struct bytes bytes = parsed_frame("ffffffffffff0200000000018100a064080600010800060400010200"
					  "000000010a0000010000000000000a000002",
					  &frame);

	(void)state;
	assert_true(net_arp_answer(bytes.data, &frame, bytes.size, &self_mac, SELF));
	expect_hex(bytes.data, bytes.size,
		   "0200000000010200000000028100a064080600010800060400020200000000020a0000020200000"
		   "000010a000001");
	bytes_free(&bytes);
}

// Tries to reply as the host with the address `own`.
typedef bool (*attempt)(const struct bytes *bytes, const struct net_frame *frame, const void *own);

// With one bit of a byte changed.
static void expect_no_answer(attempt try, const char *hex, size_t change_at, const void *own)
{
	struct net_frame frame;
	struct bytes bytes = bytes_from_hex(hex), before;

	bytes.data[change_at] ^= 1;
	before = bytes_copy(bytes.data, bytes.size);
	assert_int_equal(net_parse(bytes.data, bytes.size, bytes.size, 0, &frame), WIRE_OK);
	assert_false(try(&bytes, &frame, own));
	assert_memory_equal(bytes.data, before.data, before.size);
	bytes_free(&before);
	bytes_free(&bytes);
}

static bool arp_answer(const struct bytes *bytes, const struct net_frame *frame, const void *own)
{
	return net_arp_answer(bytes->data, frame, bytes->size, &self_mac, *(const uint32_t *)own);
}

static void expect_no_arp_answer(const char *hex, size_t change_at, uint32_t ip)
{
	expect_no_answer(arp_answer, hex, change_at, &ip);
}

static void arp_answer__to_nothing_else(void **state)
{
	struct net_frame frame;
	struct bytes bytes = parsed_frame(FRAME_ARP_REQUEST, &frame);

	(void)state;
	assert_false(net_arp_answer(bytes.data, &frame, 41, &self_mac, SELF));
	assert_false(net_arp_answer(bytes.data, &frame, 13, &self_mac, SELF));
	bytes_free(&bytes);
	expect_no_arp_answer(FRAME_ARP_REQUEST, 0, SELF + 1);
	expect_no_arp_answer(FRAME_ARP_REQUEST, 41, SELF); // for another address
	expect_no_arp_answer(FRAME_ARP_REQUEST, 22, SELF); // from a group address
	expect_no_arp_answer(FRAME_ARP_REQUEST, 20, SELF); // another operation
	expect_no_arp_answer(FRAME_ARP_REPLY, 0, ASKER);
	expect_no_arp_answer(FRAME_PING, 0, SELF);
}

static void expect_echo(const char *request, const char *reply)
{
	struct net_frame frame;
	struct bytes bytes = parsed_frame(request, &frame);

	assert_true(net_icmp_echo_answer(bytes.data, &frame, bytes.size, &self_mac, SELF));
	expect_hex(bytes.data, bytes.size, reply);
	bytes_free(&bytes);
}

static void icmp_echo_answer__as_scapy_does(void **state)
{
	(void)state;
	expect_echo(FRAME_PING, FRAME_PONG);
	expect_echo(FRAME_PING_OF_ZEROS, FRAME_PONG_OF_ZEROS);
}

// For every value of the request's checksum the reply's is right.
static void icmp_echo_answer__checksum_is_always_right(void **state)
{
	struct net_frame frame;
	struct bytes request = parsed_frame(FRAME_PING, &frame);

	(void)state;
	for (unsigned number = 0; number <= UINT16_MAX; number++) {
		struct bytes bytes = bytes_copy(request.data, request.size);
		uint8_t *icmp = bytes.data + frame.l4_offset;

		store_be16(icmp + 6, (uint16_t)number);
		store_be16(icmp + 2, 0);
		store_be16(icmp + 2, net_checksum_fold(net_checksum_add(0, icmp, 13)));
		assert_true(net_icmp_echo_answer(bytes.data, &frame, bytes.size, &self_mac, SELF));
		assert_int_equal(icmp[0], 0);
		assert_int_equal(net_checksum_fold(net_checksum_add(0, icmp, 13)), 0);
		bytes_free(&bytes);
	}
	bytes_free(&request);
}

static bool echo_answer(const struct bytes *bytes, const struct net_frame *frame, const void *own)
{
	return net_icmp_echo_answer(bytes->data, frame, bytes->size, &self_mac,
				    *(const uint32_t *)own);
}

static void expect_no_echo(const char *hex, size_t change_at, uint32_t ip)
{
	expect_no_answer(echo_answer, hex, change_at, &ip);
}

static void icmp_echo_answer__to_nothing_else(void **state)
{
	struct net_frame frame;
	struct bytes bytes = parsed_frame(FRAME_PING, &frame);

	(void)state;
	assert_false(net_icmp_echo_answer(bytes.data, &frame, bytes.size - 1, &self_mac, SELF));
	frame.payload_size = 7;
	assert_false(net_icmp_echo_answer(bytes.data, &frame, bytes.size, &self_mac, SELF));
	bytes_free(&bytes);
	expect_no_echo(FRAME_PING, 46, SELF + 1);
	expect_no_echo(FRAME_PING, 33, SELF); // to another address
	expect_no_echo(FRAME_PING, 6, SELF);  // from a group address
	expect_no_echo(FRAME_PING, 34, SELF); // another type
	expect_no_echo(FRAME_PING, 35, SELF); // another code
	expect_no_echo(FRAME_PONG, 46, ASKER);
	expect_no_echo(FRAME_UDP4, 46, SELF);
}

static void ipv4_parse__accepts(void **state)
{
	static const struct {
		const char *text;
		uint32_t ip;
		unsigned prefix_length;
	} cases[] = {
		{ "10.0.0.1", 0x0A000001, 32 },           { "10.0.0.1/24", 0x0A000001, 24 },
		{ "255.255.255.255/32", 0xFFFFFFFF, 32 }, { "0.0.0.0/0", 0, 0 },
		{ "192.168.1.200/08", 0xC0A801C8, 8 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t ip;
		unsigned prefix_length;

		assert_true(net_ipv4_parse(cases[i].text, &ip, &prefix_length));
		assert_int_equal(ip, cases[i].ip);
		assert_int_equal(prefix_length, cases[i].prefix_length);
	}
}

static void ipv4_parse__refuses(void **state)
{
	static const char *const texts[] = {
		"",
		"10.0.0",
		"10.0.0.256",
		"10.0.0.1.1",
		"10.0.0.1 ",
		" 10.0.0.1",
		"10.0.0.1/",
		"10.0.0.1/33",
		"10.0.0.1/100",
		"10.0.0.1/-1",
		"10.0.0.1/ 8",
		"10.0.0.1/8 ",
		"10.0.0.1/8/8",
		"0x0a.0.0.1",
		"10",
		"/24",
		"fd00::1",
		"10.0.0.1000000000000000/24",
	};
	uint32_t ip;
	unsigned prefix_length;

	(void)state;
	for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(net_ipv4_parse(texts[i], &ip, &prefix_length));
}

// --- IPv6 ---

static const uint8_t self6[16] = { 0xFD, [15] = 2 };

static bool neighbour_answer(const struct bytes *bytes, const struct net_frame *frame,
			     const void *own)
{
	return net_neighbour_answer(bytes->data, frame, bytes->size, &self_mac, own);
}

static bool echo6_answer(const struct bytes *bytes, const struct net_frame *frame, const void *own)
{
	return net_icmp6_echo_answer(bytes->data, frame, bytes->size, &self_mac, own);
}

static void expect_answer6(attempt try, const char *request, const char *reply)
{
	struct net_frame frame;
	struct bytes bytes = parsed_frame(request, &frame);

	assert_int_equal(frame.kind, NET_ICMP6);
	assert_true(try(&bytes, &frame, self6));
	expect_hex(bytes.data, bytes.size, reply);
	bytes_free(&bytes);
}

static void neighbour_answer__as_scapy_does(void **state)
{
	(void)state;
	expect_answer6(neighbour_answer, FRAME_SOLICIT, FRAME_ADVERTISE);
}

static void neighbour_answer__to_nothing_else(void **state)
{
	struct net_frame frame;
	struct bytes bytes = parsed_frame(FRAME_SOLICIT, &frame);

	(void)state;
	for (size_t size = 0; size < bytes.size; size++)
		assert_false(net_neighbour_answer(bytes.data, &frame, size, &self_mac, self6));
	// Its hop limit, addresses, and all of its message: the checksum is wrong then.
	for (size_t at = 21; at < bytes.size; at++)
		expect_no_answer(neighbour_answer, FRAME_SOLICIT, at, self6);
	expect_no_answer(neighbour_answer, FRAME_SOLICIT, 6, self6); // from a group address
	expect_no_answer(neighbour_answer, FRAME_IS_IT_FREE, 7, self6);
	expect_no_answer(neighbour_answer, FRAME_ADVERTISE, 7, self6);
	expect_no_answer(neighbour_answer, FRAME_PING6, 7, self6);
	expect_no_answer(neighbour_answer, FRAME_UDP6, 7, self6);
	bytes_free(&bytes);
}

static void icmp6_echo_answer__as_scapy_does(void **state)
{
	(void)state;
	expect_answer6(echo6_answer, FRAME_PING6, FRAME_PONG6);
}

// For every value of the request's checksum the reply's is right.
static void icmp6_echo_answer__checksum_is_always_right(void **state)
{
	struct net_frame frame;
	struct bytes request = parsed_frame(FRAME_PING6, &frame);
	uint32_t pseudo = net_checksum_add(13 + NET_PROTO_ICMP6, request.data + 22, 32);

	(void)state;
	for (unsigned number = 0; number <= UINT16_MAX; number++) {
		struct bytes bytes = bytes_copy(request.data, request.size);
		uint8_t *icmp = bytes.data + frame.l4_offset;

		store_be16(icmp + 6, (uint16_t)number);
		store_be16(icmp + 2, 0);
		store_be16(icmp + 2, net_checksum_fold(net_checksum_add(pseudo, icmp, 13)));
		assert_true(
		    net_icmp6_echo_answer(bytes.data, &frame, bytes.size, &self_mac, self6));
		assert_int_equal(icmp[0], 129);
		assert_int_equal(net_checksum_fold(net_checksum_add(pseudo, icmp, 13)), 0);
		bytes_free(&bytes);
	}
	bytes_free(&request);
}

static void icmp6_echo_answer__to_nothing_else(void **state)
{
	(void)state;
	expect_no_answer(echo6_answer, FRAME_PING6, 53, self6); // for another address
	expect_no_answer(echo6_answer, FRAME_PING6, 54, self6); // another type
	expect_no_answer(echo6_answer, FRAME_PING6, 55, self6); // another code
	expect_no_answer(echo6_answer, FRAME_PING6, 6, self6);  // from a group address
	expect_no_answer(echo6_answer, FRAME_PONG6, 7, self6);
	expect_no_answer(echo6_answer, FRAME_UDP6, 7, self6);
	expect_no_answer(echo6_answer, FRAME_PING, 7, self6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checksum__example_of_the_rfc),
		cmocka_unit_test(checksum__may_be_continued),
		cmocka_unit_test(ipv4_checksum__sees_every_changed_byte),
		cmocka_unit_test(udp_checksum__sees_every_changed_byte),
		cmocka_unit_test(udp_checksum__none),
		cmocka_unit_test(udp_checksum__left_to_hardware),
		cmocka_unit_test(udp_checksum__right_and_equal_to_the_pseudo_sum),
		cmocka_unit_test(udp_pseudo_sum__completes_the_datagram),
		cmocka_unit_test(udp4_encode__as_scapy_does),
		cmocka_unit_test(udp4_encode__largest_payload),
		cmocka_unit_test(eth_encode__with_and_without_tag),
		cmocka_unit_test(arp__decode_every_field),
		cmocka_unit_test(arp__encode_as_scapy_does),
		cmocka_unit_test(arp_answer__to_a_request),
		cmocka_unit_test(arp_answer__keeps_the_tag),
		cmocka_unit_test(arp_answer__to_nothing_else),
		cmocka_unit_test(icmp_echo_answer__as_scapy_does),
		cmocka_unit_test(icmp_echo_answer__checksum_is_always_right),
		cmocka_unit_test(icmp_echo_answer__to_nothing_else),
		cmocka_unit_test(ipv4_parse__accepts),
		cmocka_unit_test(ipv4_parse__refuses),
		cmocka_unit_test(neighbour_answer__as_scapy_does),
		cmocka_unit_test(neighbour_answer__to_nothing_else),
		cmocka_unit_test(icmp6_echo_answer__as_scapy_does),
		cmocka_unit_test(icmp6_echo_answer__checksum_is_always_right),
		cmocka_unit_test(icmp6_echo_answer__to_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
