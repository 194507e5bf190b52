// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Multicast groups: their Ethernet addresses, and the report of a member.
#include "bytes.h"

#include <string.h>

#include "wire/net.h"

#define SELF  0x0A000002 // 10.0.0.2
#define GROUP 0xEFFF1301 // 239.255.19.1

static const struct net_mac self_mac = { { 2, 0, 0, 0, 0, 2 } };

static void expect_mac(uint32_t group, uint64_t expected)
{
	const struct net_mac mac = net_group_mac(group);

	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(mac.bytes[i], expected >> 8 * (5 - i) & 0xFF);
}

// RFC 1112, section 6.4: the low 23 bits of the group.
static void group_mac__has_the_low_23_bits(void **state)
{
	(void)state;
	expect_mac(0xE0000001, 0x01005E000001);
	expect_mac(GROUP, 0x01005E7F1301);
	expect_mac(0xE07F0203, 0x01005E7F0203);
	expect_mac(0xE0FF0203, 0x01005E7F0203);
	expect_mac(0xEFFFFFFF, 0x01005E7FFFFF);
}

// RFC 2236: type 0x16, to the group itself, TTL 1, with the router alert option of RFC 2113.
static void igmp_report__is_that_of_the_rfc(void **state)
{
	uint8_t frame[NET_IGMP_FRAME];

	(void)state;
	memset(frame, 0xAA, sizeof(frame));
	net_igmp_report_encode(frame, &self_mac, SELF, GROUP);
	expect_hex(frame, sizeof(frame),
		   "01005E7F13010200000000020800"
		   "46C00020000000000102"
		   "17160A000002EFFF130194040000"
		   "1600E6FEEFFF1301"
		   "0000000000000000000000000000");
}

static void igmp_report__has_right_checksums(void **state)
{
	uint8_t frame[NET_IGMP_FRAME];
	struct net_frame parsed;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		const uint32_t group = 0xE0000000 | (i * 2654435761u & 0x0FFFFFFF);

		net_igmp_report_encode(frame, &self_mac, SELF + i, group);
		assert_int_equal(net_parse(frame, sizeof(frame), sizeof(frame), 0, &parsed),
				 WIRE_OK);
		assert_int_equal(parsed.kind, NET_OTHER);
		assert_true(net_ipv4_checksum_ok(frame + NET_ETH_SIZE));
		assert_int_equal(net_checksum_fold(net_checksum_add(0, frame + 38, 8)), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(group_mac__has_the_low_23_bits),
		cmocka_unit_test(igmp_report__is_that_of_the_rfc),
		cmocka_unit_test(igmp_report__has_right_checksums),
	};

	return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
