// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// From where a source may send: the rules of the configuration, and sources that move.
#include "rx_bench.h"

#include <string.h>

#include "rx/strangers.h"
#include "wire/net.h"

#define SILENCE  (100ull << ADMISSION_TICK_SHIFT) // cycles
#define OTHER_IP (FRAME_SOURCE_IP + 6)

static void make_udp(struct frame *frame, uint32_t source_ip, uint16_t source_port,
		     uint16_t vlan_tci)
{
	struct frame_segment sent = rx_segment();
	uint8_t *ip;

	sent.vlan_tci = vlan_tci;
	frame_udp(frame, &sent);
	ip = frame->bytes + NET_ETH_SIZE + (vlan_tci != 0 ? NET_VLAN_SIZE : 0);
	store_be32(ip + 12, source_ip);
	store_be16(ip + 10, 0);
	store_be16(ip + 10, net_checksum_fold(net_checksum_add(0, ip, NET_IPV4_SIZE)));
	store_be16(ip + NET_IPV4_SIZE, source_port);
}

static void open_with(struct rx_bench *bench, const char *extra, struct admission *admission,
		      const struct source_from *from, unsigned n_from)
{
	rx_open(bench, extra, "");
	assert_true(admission_make(admission, bench->sources, from, n_from, SILENCE));
	bench->parameters.admission = admission;
	rx_restart(bench);
}

// The same, with the source's own frame and that of another sender.
static void open_rivals(struct rx_bench *bench, struct admission *admission,
			const struct source_from *from, unsigned n_from, struct frame *own,
			struct frame *other)
{
	open_with(bench, "", admission, from, n_from);
	make_udp(own, FRAME_SOURCE_IP, 1000, 0);
	make_udp(other, OTHER_IP, 1000, 0);
}

static void close_with(struct rx_bench *bench, struct admission *admission)
{
	rx_close(bench);
	admission_free(admission);
}

static void assert_admitted(struct rx_bench *bench, const struct frame *frame)
{
	struct frame_segment sent = rx_segment();

	rx_feed(bench, frame, frame->length);
	(void)rx_take(bench, 1, sent.bytes);
}

static unsigned n_strangers(const struct rx_bench *bench)
{
	struct stranger stranger;
	unsigned n = 0;

	for (unsigned i = 0; i < STRANGERS_MOST; i++)
		n += strangers_read(rx_role_strangers(bench->role), i, &stranger);
	return n;
}

static struct stranger stranger_at(const struct rx_bench *bench, uint32_t ip)
{
	struct stranger stranger;

	for (unsigned i = 0; i < STRANGERS_MOST; i++)
		if (strangers_read(rx_role_strangers(bench->role), i, &stranger) &&
		    load_be32(origin_to_address(&stranger.origin).bytes) == ip)
			return stranger;
	fail();
	return stranger;
}

static void source__is_refused_from_a_second_address(void **state)
{
	struct admission admission;
	struct rx_bench bench;
	struct frame own, other;

	(void)state;
	open_rivals(&bench, &admission, NULL, 0, &own, &other);
	assert_admitted(&bench, &own);
	for (unsigned i = 0; i < 5; i++) {
		rx_refuse_segment(&bench, &other, SEGMENT_MOVED_SOURCE);
		bench.now += SILENCE / 2;
		assert_admitted(&bench, &own);
	}
	assert_int_equal(stranger_at(&bench, OTHER_IP).segments, 5);
	assert_int_equal(stranger_at(&bench, OTHER_IP).source, 3);
	assert_int_equal(stranger_at(&bench, OTHER_IP).cause, SEGMENT_MOVED_SOURCE);
	make_udp(&own, FRAME_SOURCE_IP, 2000, 7 << 13 | 5); // ports and VLANs may change
	assert_admitted(&bench, &own);
	assert_int_equal(n_strangers(&bench), 1);
	// Refused segments do not count as a sign of life of the first address.
	bench.now += SILENCE / 2;
	rx_refuse_segment(&bench, &other, SEGMENT_MOVED_SOURCE);
	bench.now += SILENCE;
	assert_admitted(&bench, &other);
	rx_refuse_segment(&bench, &own, SEGMENT_MOVED_SOURCE);
	close_with(&bench, &admission);
}

// The bytes of an IPv6 address where IPv4 has the addresses of the source's own segments.
static void source__is_refused_over_ipv6(void **state)
{
	struct frame_segment sent = rx_segment();
	struct admission admission;
	struct rx_bench bench;
	struct frame own, other;

	(void)state;
	open_with(&bench, "", &admission, NULL, 0);
	make_udp(&own, FRAME_SOURCE_IP, 1000, 0);
	rx_udp6(&other, &sent);
	memcpy(other.bytes + 26, own.bytes + 26, 8);
	frame_set_udp_checksum(&other);
	assert_admitted(&bench, &own);
	for (unsigned i = 0; i < 5; i++) {
		rx_refuse_segment(&bench, &other, SEGMENT_MOVED_SOURCE);
		assert_admitted(&bench, &own);
	}
	close_with(&bench, &admission);
}

// One that sends often is judged once per tick only, and counts as alive all the same.
static void source__that_sends_often_does_not_move(void **state)
{
	struct admission admission;
	struct rx_bench bench;
	struct frame own, other;

	(void)state;
	open_rivals(&bench, &admission, NULL, 0, &own, &other);
	for (unsigned i = 0; i < 1000; i++) {
		assert_admitted(&bench, &own);
		bench.now += SILENCE / 400;
		rx_refuse_segment(&bench, &other, SEGMENT_MOVED_SOURCE);
	}
	frame_set_udp_checksum(&own);
	own.bytes[NET_HEADERS_SIZE + 50] ^= 1; // a wrong checksum is no sign of life
	for (unsigned i = 0; i < 2; i++) {
		bench.now += SILENCE;
		rx_refuse_packet(&bench, &own, PACKET_UDP_CHECKSUM);
	}
	assert_admitted(&bench, &other);
	close_with(&bench, &admission);
}

static void source__may_move_where_that_is_allowed(void **state)
{
	static const struct source_from from = {
		.addresses = { { SOURCE_ADDRESS_IP4, { 10, 0, 0 }, 24 } },
		.n_addresses = 1,
	};
	struct admission admission;
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_with(&bench, "", &admission, &from, 1);
	bench.parameters.source_moves = SOURCE_MOVES_ALLOWED;
	rx_restart(&bench);
	for (unsigned i = 0; i < 8; i++) {
		make_udp(&frame, FRAME_SOURCE_IP + i % 2 * 6, 1000, 0);
		assert_admitted(&bench, &frame);
	}
	make_udp(&frame, 0x0A000101, 1000, 0);
	rx_refuse_segment(&bench, &frame, SEGMENT_NOT_ADMITTED);
	close_with(&bench, &admission);
}

// The forger comes first, and while the source is silent.
static void source__sends_from_configured_addresses_only(void **state)
{
	static const struct source_from from[] = {
		{ .ids = { { 1, 2 } },
		  .n_ids = 1,
		  .addresses = { { SOURCE_ADDRESS_IP4, { 10, 0, 0, 7 }, 32 } },
		  .n_addresses = 1 },
		{ .ids = { { 2, 2 }, { 3, 4 } },
		  .n_ids = 2,
		  .addresses = { { SOURCE_ADDRESS_MAC, { 10 }, 0 },
				 { SOURCE_ADDRESS_IP6, { 10, 0, 0, 1 }, 32 },
				 { SOURCE_ADDRESS_IP4, { 10, 0, 0, 0 }, 31 } },
		  .n_addresses = 3 },
	};
	struct admission admission;
	struct rx_bench bench;
	struct frame own, other;

	(void)state;
	open_rivals(&bench, &admission, from, 2, &own, &other);
	for (unsigned i = 0; i < 3; i++) {
		rx_refuse_segment(&bench, &other, SEGMENT_NOT_ADMITTED);
		assert_admitted(&bench, &own);
		bench.now += 2 * SILENCE;
	}
	own.bytes[NET_HEADERS_SIZE + 3] = 5; // a source without a rule
	other.bytes[NET_HEADERS_SIZE + 3] = 5;
	assert_admitted(&bench, &other);
	rx_refuse_segment(&bench, &own, SEGMENT_MOVED_SOURCE);
	close_with(&bench, &admission);
}

// 1000, 5000, 20 000 and 100 000 forged packets per second beside 500 segments per second.
static void source__with_addresses_is_not_harmed_by_a_flood(void **state)
{
	static const struct source_from from = {
		.addresses = { { SOURCE_ADDRESS_IP4, { 10, 0, 0, 1 }, 32 } },
		.n_addresses = 1,
	};
	static const unsigned rates[] = { 2, 10, 40, 200 };
	struct admission admission;
	struct rx_bench bench;
	struct frame own, other;
	unsigned n_forged = 0;

	(void)state;
	open_rivals(&bench, &admission, &from, 1, &own, &other);
	for (unsigned i = 0; i < 4 * 50; i++) {
		for (unsigned j = 0; j < rates[i % 4]; j++, n_forged++)
			rx_refuse_segment(&bench, &other, SEGMENT_NOT_ADMITTED);
		assert_admitted(&bench, &own);
		bench.now += SILENCE / 100;
	}
	assert_int_equal(rx_counters(&bench)->segment_drops[SEGMENT_NOT_ADMITTED], n_forged);
	close_with(&bench, &admission);
}

static void source__sends_from_configured_ports_and_vlans_only(void **state)
{
	static const struct source_from from = {
		.has_udp_port = true, .udp_port = 1000, .udp_ports = 2, .has_vlan = true, .vlan = 5
	};
	struct admission admission;
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_with(&bench, "", &admission, &from, 1);
	make_udp(&frame, FRAME_SOURCE_IP, 1000, 7 << 13 | 5);
	assert_admitted(&bench, &frame);
	assert_admitted(&bench, &frame);
	make_udp(&frame, FRAME_SOURCE_IP, 1002, 5);
	rx_refuse_segment(&bench, &frame, SEGMENT_NOT_ADMITTED);
	make_udp(&frame, FRAME_SOURCE_IP, 999, 5);
	rx_refuse_segment(&bench, &frame, SEGMENT_NOT_ADMITTED);
	make_udp(&frame, FRAME_SOURCE_IP, 1000, 6);
	rx_refuse_segment(&bench, &frame, SEGMENT_NOT_ADMITTED);
	make_udp(&frame, FRAME_SOURCE_IP, 1000, 0);
	rx_refuse_segment(&bench, &frame, SEGMENT_NOT_ADMITTED);
	make_udp(&frame, FRAME_SOURCE_IP, 1001, 5); // allowed, but another than before
	rx_refuse_segment(&bench, &frame, SEGMENT_MOVED_SOURCE);
	close_with(&bench, &admission);
}

static void source__of_ethernet_frames(void **state)
{
	static const struct source_from from = {
		.addresses = { { SOURCE_ADDRESS_MAC, { 2, 0, 0, 0, 0, 1 }, 48 },
			       { SOURCE_ADDRESS_MAC, { 2, 0, 0, 0, 0, 9 }, 48 } },
		.n_addresses = 2,
	};
	struct frame_segment sent = rx_segment();
	struct admission admission;
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_with(&bench, ", \"transport\": {\"kind\": \"eth\"}", &admission, &from, 1);
	frame_ethernet(&frame, &sent);
	memcpy(frame.bytes + 6, (const uint8_t[]){ 2, 0, 0, 0, 0, 1 }, 6);
	assert_admitted(&bench, &frame);
	assert_admitted(&bench, &frame);
	frame.bytes[11] = 9;
	rx_refuse_segment(&bench, &frame, SEGMENT_MOVED_SOURCE);
	frame.bytes[11] = 8;
	rx_refuse_segment(&bench, &frame, SEGMENT_NOT_ADMITTED);
	close_with(&bench, &admission);
}

// Segments of a handler, as those of RoCE.
static enum rx_verdict take(void *context, struct rx_packet *packet)
{
	struct segment *segment = mbuf_segment(packet->mbuf);

	(void)context;
	*segment = (struct segment){ .source = 2, .payload = 62, .size = 100, .builder = 1 };
	return RX_SEGMENT;
}

static void source__of_a_handler(void **state)
{
	static const struct rx_handler handler = {
		.kinds = RX_ACCEPTS(NET_UDP4),
		.udp_ports = { 4791, 4791 },
		.receive = take,
	};
	struct admission admission;
	struct rx_bench bench;
	struct frame own, other;

	(void)state;
	open_rivals(&bench, &admission, NULL, 0, &own, &other);
	bench.parameters.handlers = &handler;
	bench.parameters.n_handlers = 1;
	rx_restart(&bench);
	store_be16(own.bytes + 36, 4791);
	store_be16(other.bytes + 36, 4791);
	assert_admitted(&bench, &own);
	rx_refuse_segment(&bench, &other, SEGMENT_MOVED_SOURCE);
	close_with(&bench, &admission);
}

static void strangers__are_bounded(void **state)
{
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	make_udp(&frame, OTHER_IP, 1000, 0);
	frame.bytes[NET_HEADERS_SIZE + 3] = 99;
	for (unsigned i = 0; i < 10; i++)
		rx_refuse_segment(&bench, &frame, SEGMENT_UNKNOWN_SOURCE);
	for (uint32_t ip = 1; ip < 1000; ip++) {
		make_udp(&frame, 0x0B000000 + ip, 1000, 0);
		frame.bytes[NET_HEADERS_SIZE + 3] = 8;
		rx_refuse_segment(&bench, &frame, SEGMENT_UNEXPECTED_SOURCE);
	}
	assert_int_equal(n_strangers(&bench), STRANGERS_MOST);
	assert_int_equal(stranger_at(&bench, OTHER_IP).segments, 10);
	assert_int_equal(stranger_at(&bench, OTHER_IP).source, 99);
	assert_int_equal(stranger_at(&bench, OTHER_IP).cause, SEGMENT_UNKNOWN_SOURCE);
	rx_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(source__is_refused_from_a_second_address),
		cmocka_unit_test(source__is_refused_over_ipv6),
		cmocka_unit_test(source__that_sends_often_does_not_move),
		cmocka_unit_test(source__may_move_where_that_is_allowed),
		cmocka_unit_test(source__sends_from_configured_addresses_only),
		cmocka_unit_test(source__with_addresses_is_not_harmed_by_a_flood),
		cmocka_unit_test(source__sends_from_configured_ports_and_vlans_only),
		cmocka_unit_test(source__of_ethernet_frames),
		cmocka_unit_test(source__of_a_handler),
		cmocka_unit_test(strangers__are_bounded),
	};

	return cmocka_run_group_tests_name("rx admission", tests, testbed_start, testbed_stop);
}
