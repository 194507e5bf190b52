// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"

#include "wire/icrc.h"

// A CNP that a ConnectX-4 Lx sent: Ethernet, IPv4 with TOS 0xC2, UDP, BTH, 16 zero bytes, ICRC.
#define CNP                                                        \
	"e41d2dab2bc27cfe90643b320800"                             \
	"45c2003c718c4000401191610a0011010a001201000012b700280000" \
	"8100ffff4000011800000000"                                 \
	"00000000000000000000000000000000"                         \
	"82fd002a"
// A UC packet from IPv4 on, whose IP and UDP lengths are its own, and the ICRC of just these bytes.
#define UC                                                         \
	"45010040047840004011b4d5c0a80007c0a80007c00012b7002caca2" \
	"2460ffff000000d300cf171046"                               \
	"30818be28935d90e9a95505401be885e500000"
#define UC_ICRC 0xF353F378u // 78 F3 53 F3

#define CNP_IP 14u // offset

// A frame, and how it parses. The payload ends where the frame does.
struct packet {
	struct bytes frame;
	struct net_frame parsed;
};

static struct packet packet_of(struct bytes frame)
{
	struct packet packet = { .frame = frame };

	assert_int_equal(net_parse(frame.data, frame.size, frame.size, 0, &packet.parsed), WIRE_OK);
	assert_true(packet.parsed.kind == NET_UDP4 || packet.parsed.kind == NET_UDP6);
	return packet;
}

static size_t ip_size_of(const struct packet *packet)
{
	return (size_t)packet->parsed.l4_offset - packet->parsed.l3_offset;
}

// A packet with payload_size bytes behind the BTH, and its ICRC. ip_size: 40 makes it IPv6, more
// than 20 adds options to IPv4.
static struct packet make_packet(size_t ip_size, uint16_t vlan_tci, size_t payload_size)
{
	const struct net_mac mac = { { 2, 0, 0, 0, 0, 1 } };
	const bool is_ipv6 = ip_size == NET_IPV6_SIZE;
	const struct roce_packet roce = {
		.opcode = ROCE_RC_SEND_MIDDLE,
		.partition_key = ROCE_DEFAULT_P_KEY,
		.destination_qpn = 0x123456,
		.psn = 0x654321,
	};
	size_t udp_payload = ROCE_BTH_SIZE + payload_size + ROCE_ICRC_SIZE;
	size_t l3 = NET_ETH_SIZE + (vlan_tci ? NET_VLAN_SIZE : 0);
	struct bytes frame = bytes_of_zeros(l3 + ip_size + NET_UDP_SIZE + udp_payload);
	uint8_t *ip = frame.data + l3, *udp = ip + ip_size, *bth = udp + NET_UDP_SIZE;

	assert_int_equal(net_eth_encode(frame.data, &mac, &mac, vlan_tci,
					is_ipv6 ? NET_TYPE_IPV6 : NET_TYPE_IPV4),
			 l3);
	for (size_t i = 0; i < ip_size; i++)
		ip[i] = (uint8_t)(i * 17 + 1);
	if (is_ipv6) {
		ip[0] = 0x61;
		store_be16(ip + 4, (uint16_t)(NET_UDP_SIZE + udp_payload));
		ip[6] = NET_PROTO_UDP;
	} else {
		ip[0] = (uint8_t)(0x40 | ip_size / 4);
		store_be16(ip + 2, (uint16_t)(ip_size + NET_UDP_SIZE + udp_payload));
		store_be16(ip + 6, 0x4000);
		ip[9] = NET_PROTO_UDP;
	}
	store_be16(udp, 0xC123);
	store_be16(udp + 2, ROCE_UDP_PORT);
	store_be16(udp + 4, (uint16_t)(NET_UDP_SIZE + udp_payload));
	store_be16(udp + 6, 0);
	roce_headers_encode(bth, &roce);
	for (size_t i = 0; i < payload_size; i++)
		bth[ROCE_BTH_SIZE + i] = (uint8_t)(i * 31 + i / 256);
	icrc_append(ip, ip_size, udp_payload);
	return packet_of(frame);
}

static void icrc__of_real_hardware(void **state)
{
	struct packet cnp = packet_of(bytes_from_hex(CNP));
	struct bytes again = bytes_copy(cnp.frame.data, cnp.frame.size);

	(void)state;
	assert_true(icrc_verify(cnp.frame.data, &cnp.parsed));
	memset(again.data + again.size - 4, 0, 4);
	icrc_append(again.data + CNP_IP, NET_IPV4_SIZE, cnp.parsed.payload_size);
	assert_memory_equal(again.data, cnp.frame.data, again.size);
	bytes_free(&cnp.frame);
	bytes_free(&again);
}

static void icrc__of_bytes_that_end_anywhere(void **state)
{
	struct bytes uc = bytes_from_hex(UC);

	(void)state;
	assert_int_equal(icrc_end(icrc_begin(uc.data, NET_IPV4_SIZE, uc.size)), UC_ICRC);
	bytes_free(&uc);
}

// True for a byte's bits that the ICRC must not see.
static uint8_t masked_bits(size_t offset, size_t ip_size, bool is_ipv6)
{
	if (offset == ip_size + 6 || offset == ip_size + 7)
		return 0xFF; // UDP checksum
	if (offset == ip_size + NET_UDP_SIZE + 4)
		return 0xFF; // FECN, BECN, reserved
	if (is_ipv6) {
		if (offset == 0)
			return 0x0F;
		return (offset >= 1 && offset <= 3) || offset == 7 ? 0xFF : 0;
	}
	return offset == 1 || offset == 8 || offset == 10 || offset == 11 ? 0xFF : 0;
}

static void expect_cover(size_t ip_size, size_t payload_size)
{
	struct packet packet = make_packet(ip_size, 0, payload_size);
	uint8_t *ip = packet.frame.data + packet.parsed.l3_offset;
	size_t size = packet.frame.size - packet.parsed.l3_offset;

	assert_true(icrc_verify(packet.frame.data, &packet.parsed));
	for (size_t bit = 0; bit < 8 * size; bit++) {
		const uint8_t change = (uint8_t)(1u << bit % 8);
		const bool is_masked =
		    masked_bits(bit / 8, ip_size, ip_size == NET_IPV6_SIZE) & change;

		if (bit / 8 == 0 && !is_masked)
			continue; // IP version and header size are needed to find the rest
		ip[bit / 8] ^= change;
		assert_int_equal(icrc_verify(packet.frame.data, &packet.parsed), is_masked);
		ip[bit / 8] ^= change;
	}
	bytes_free(&packet.frame);
}

static void icrc__covers_just_what_routers_leave_alone(void **state)
{
	(void)state;
	expect_cover(NET_IPV4_SIZE, 0);
	expect_cover(NET_IPV4_SIZE, 4);
	expect_cover(NET_IPV4_SIZE, 100);
	expect_cover(NET_IPV6_SIZE, 0);
	expect_cover(NET_IPV6_SIZE, 100);
	expect_cover(NET_IPV4_SIZE + 4, 20);
	expect_cover(NET_IPV4_SIZE + 24, 60);
	expect_cover(60, 0);
	expect_cover(60, 60);
}

static void icrc__does_not_see_vlan_tags(void **state)
{
	const size_t ip_sizes[] = { NET_IPV4_SIZE, NET_IPV6_SIZE };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct packet without = make_packet(ip_sizes[i], 0, 256);
		struct packet with = make_packet(ip_sizes[i], 0x6123, 256);

		assert_int_equal(with.frame.size, without.frame.size + NET_VLAN_SIZE);
		assert_memory_equal(with.frame.data + with.parsed.l3_offset,
				    without.frame.data + without.parsed.l3_offset,
				    without.frame.size - NET_ETH_SIZE);
		assert_true(icrc_verify(with.frame.data, &with.parsed));
		bytes_free(&without.frame);
		bytes_free(&with.frame);
	}
}

static void icrc__too_short_to_have_one(void **state)
{
	struct packet packet = make_packet(NET_IPV4_SIZE, 0, 0);
	struct icrc_piece piece = { packet.frame.data, packet.frame.size };

	(void)state;
	assert_int_equal(packet.parsed.payload_size, ROCE_BTH_SIZE + ROCE_ICRC_SIZE);
	for (; packet.parsed.payload_size > 0; packet.parsed.payload_size--) {
		bool is_whole = packet.parsed.payload_size == ROCE_BTH_SIZE + ROCE_ICRC_SIZE;

		assert_int_equal(icrc_verify(packet.frame.data, &packet.parsed), is_whole);
		assert_int_equal(icrc_verify_pieces(&piece, 1, &packet.parsed), is_whole);
	}
	bytes_free(&packet.frame);
}

// The first `cut` bytes in one allocation, then up to `second_cut` in another, then the rest.
static bool verify_cut(const struct packet *packet, size_t cut, size_t second_cut)
{
	const struct bytes *frame = &packet->frame;
	struct bytes a = bytes_copy(frame->data, cut);
	struct bytes b = bytes_copy(frame->data + cut, second_cut - cut);
	struct bytes c = bytes_copy(frame->data + second_cut, frame->size - second_cut);
	const struct icrc_piece pieces[] = { { a.data, a.size },
					     { b.data, b.size },
					     { c.data, c.size } };
	bool is_right = icrc_verify_pieces(pieces, 3, &packet->parsed);

	bytes_free(&a);
	bytes_free(&b);
	bytes_free(&c);
	return is_right;
}

static void expect_any_cut(size_t ip_size, uint16_t vlan_tci, size_t payload_size)
{
	struct packet packet = make_packet(ip_size, vlan_tci, payload_size);
	size_t first = packet.parsed.payload_offset + ROCE_BTH_SIZE, size = packet.frame.size;

	for (size_t cut = first; cut <= size; cut++) {
		for (size_t length = 0; length < 24 && cut + length <= size; length++)
			assert_true(verify_cut(&packet, cut, cut + length));
	}
	assert_false(verify_cut(&packet, first - 1, first));
	packet.frame.data[size - 1] ^= 1;
	for (size_t cut = first; cut <= size; cut++)
		assert_false(verify_cut(&packet, cut, size));
	bytes_free(&packet.frame);
}

static void verify_pieces__cut_anywhere(void **state)
{
	(void)state;
	expect_any_cut(NET_IPV4_SIZE, 0, 0);
	expect_any_cut(NET_IPV4_SIZE, 0, 300);
	expect_any_cut(NET_IPV6_SIZE, 0x0001, 300);
	expect_any_cut(60, 0, 40);
}

static void verify_pieces__not_all_of_it(void **state)
{
	struct packet packet = make_packet(NET_IPV4_SIZE, 0, 100);
	const size_t size = packet.frame.size;
	struct icrc_piece pieces[] = { { packet.frame.data, size - 10 },
				       { packet.frame.data + size - 10, 10 } };

	(void)state;
	assert_true(icrc_verify_pieces(pieces, 2, &packet.parsed));
	assert_false(icrc_verify_pieces(pieces, 1, &packet.parsed));
	assert_false(icrc_verify_pieces(pieces, 0, &packet.parsed));
	pieces[1].size = 9;
	assert_false(icrc_verify_pieces(pieces, 2, &packet.parsed));
	bytes_free(&packet.frame);
}

static void verify_pieces__bytes_behind_the_trailer(void **state)
{
	struct packet packet = make_packet(NET_IPV4_SIZE, 0, 0);
	uint8_t zeros[8] = { 0 };
	const struct icrc_piece pieces[] = { { packet.frame.data, packet.frame.size - 2 },
					     { packet.frame.data + packet.frame.size - 2, 2 },
					     { zeros, sizeof(zeros) } };

	(void)state;
	assert_true(icrc_verify_pieces(pieces, 3, &packet.parsed));
	bytes_free(&packet.frame);
}

// What a sender does whose payload lies elsewhere.
static void icrc_begin__goes_on_with_any_pieces(void **state)
{
	struct packet packet = make_packet(NET_IPV6_SIZE, 0, 1024);
	const uint8_t *ip = packet.frame.data + packet.parsed.l3_offset;
	const size_t ip_size = ip_size_of(&packet);
	const size_t headers = ip_size + NET_UDP_SIZE + ROCE_BTH_SIZE;
	const size_t all = packet.frame.size - packet.parsed.l3_offset - ROCE_ICRC_SIZE;

	(void)state;
	for (size_t at_hand = headers; at_hand <= all; at_hand += 4) {
		uint32_t crc = icrc_begin(ip, ip_size, at_hand);

		crc = crc_add(crc, ip + at_hand, all - at_hand);
		assert_int_equal(icrc_end(crc), load_le32(ip + all));
	}
	bytes_free(&packet.frame);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(icrc__of_real_hardware),
		cmocka_unit_test(icrc__of_bytes_that_end_anywhere),
		cmocka_unit_test(icrc__covers_just_what_routers_leave_alone),
		cmocka_unit_test(icrc__does_not_see_vlan_tags),
		cmocka_unit_test(icrc__too_short_to_have_one),
		cmocka_unit_test(verify_pieces__cut_anywhere),
		cmocka_unit_test(verify_pieces__not_all_of_it),
		cmocka_unit_test(verify_pieces__bytes_behind_the_trailer),
		cmocka_unit_test(icrc_begin__goes_on_with_any_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
