// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Datagrams to a multicast group: handlers receive those to the port's own group, and no others.
#include "rx_bench.h"

#include <string.h>

#include "wire/net.h"

#define OWN_IP    0x0A000002
#define OWN_MAC   0x020000000002
#define GROUP     0xEFFF1301 // 239.255.19.1
#define GROUP_MAC 0x01005E7F1301
#define PORT      4000

static struct rx_bench bench;
static struct frame frame;
static unsigned n_received; // by the handler

static enum rx_verdict take(void *context, struct rx_packet *packet)
{
	(void)context;
	(void)packet;
	n_received++;
	return RX_FREE;
}

static const struct rx_handler handler = {
	.kinds = RX_ACCEPTS(NET_UDP4),
	.udp_ports = { PORT, PORT },
	.counter = offsetof(struct rx_counters, control),
	.receive = take,
};

static void open_with(uint32_t group)
{
	n_received = 0;
	rx_open(&bench, "", ", \"address\": \"10.0.0.2/24\"");
	bench.parameters.handlers = &handler;
	bench.parameters.n_handlers = 1;
	bench.parameters.own_only = true;
	bench.parameters.addresses.group4 = group;
	rx_restart(&bench);
}

static void make(uint16_t port, uint64_t mac, uint32_t ip)
{
	struct frame_segment sent = rx_segment();

	sent.port = port;
	frame_udp(&frame, &sent);
	for (unsigned i = 0; i < 6; i++)
		frame.bytes[i] = (uint8_t)(mac >> 8 * (5 - i));
	store_be32(frame.bytes + 30, ip);
	store_be16(frame.bytes + 24, 0);
	store_be16(frame.bytes + 24,
		   net_checksum_fold(net_checksum_add(0, frame.bytes + 14, NET_IPV4_SIZE)));
	frame_set_udp_checksum(&frame);
}

static void close_bench(void)
{
	rx_restart(&bench);
	rx_close(&bench);
}

static void group__is_received_beside_the_own_address(void **state)
{
	(void)state;
	open_with(GROUP);
	make(PORT, GROUP_MAC, GROUP);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(n_received, 1);
	make(PORT, OWN_MAC, OWN_IP);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(n_received, 2);
	assert_int_equal(rx_counters(&bench)->control, 2);
	close_bench();
}

// Groups whose low 23 bits agree share an Ethernet address, and a frame for the group alone is not
// one to its Ethernet address.
static void group__is_no_other_one(void **state)
{
	static const struct {
		uint64_t mac;
		uint32_t ip;
	} others[] = {
		{ GROUP_MAC, 0xEF7F1301 }, { GROUP_MAC, GROUP + 1 },  { GROUP_MAC, OWN_IP },
		{ GROUP_MAC, UINT32_MAX }, { GROUP_MAC + 1, GROUP },  { OWN_MAC, GROUP },
		{ 0x01005EFF1301, GROUP }, { 0xFFFFFFFFFFFF, GROUP }, { 0, GROUP },
		{ 0x010000000000, GROUP },
	};

	(void)state;
	open_with(GROUP);
	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		make(PORT, others[i].mac, others[i].ip);
		rx_refuse_packet(&bench, &frame, PACKET_NOT_FOR_US);
	}
	assert_int_equal(n_received, 0);
	close_bench();
}

// Segments do not come by multicast.
static void group__brings_no_segments(void **state)
{
	(void)state;
	open_with(GROUP);
	make(19522, GROUP_MAC, GROUP);
	rx_refuse_packet(&bench, &frame, PACKET_NOT_FOR_US);
	rx_take_none(&bench);
	close_bench();
}

static void group__is_none_without_a_configured_one(void **state)
{
	(void)state;
	open_with(0);
	make(PORT, GROUP_MAC, GROUP);
	rx_refuse_packet(&bench, &frame, PACKET_NOT_FOR_US);
	make(PORT, 0x01005E000000, 0); // that of the group 0
	rx_refuse_packet(&bench, &frame, PACKET_NOT_FOR_US);
	assert_int_equal(n_received, 0);
	close_bench();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(group__is_received_beside_the_own_address),
		cmocka_unit_test(group__is_no_other_one),
		cmocka_unit_test(group__brings_no_segments),
		cmocka_unit_test(group__is_none_without_a_configured_one),
	};

	return cmocka_run_group_tests_name("rx group", tests, testbed_start, testbed_stop);
}
