// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the rx role makes of packets: segments for the builders, answers, or one count of one cause.
#include "rx_bench.h"

#include <string.h>
#include <sys/mman.h>

#include <rte_ethdev.h>

#include "wire/ejfat.h"
#include "wire/net.h"

static void segment__goes_to_the_builder_of_its_event(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct segment segment;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	for (uint64_t id = 0; id < 40; id++) {
		sent.event_id = id;
		frame_udp(&frame, &sent);
		rx_feed(&bench, &frame, frame.length);
		segment = rx_take(&bench, id / 4 % 2, sent.bytes);
		assert_int_equal(segment.event_id, id);
		assert_int_equal(segment.event_index, id / 4);
		assert_int_equal(segment.arrival, bench.now);
		assert_int_equal(segment.offset, 200);
		assert_int_equal(segment.size, 100);
		assert_int_equal(segment.length, 1000);
		assert_int_equal(segment.source, 2);
		assert_int_equal(segment.payload, NET_HEADERS_SIZE + EJFAT_RE_SIZE);
		assert_int_equal(segment.flags, 0);
	}
	assert_int_equal(rx_role_source_counters(bench.role, 2)->segments, 40);
	sent.event_id = UINT64_MAX; // end of run
	frame_udp(&frame, &sent);
	rx_feed(&bench, &frame, frame.length);
	segment = rx_take(&bench, UINT64_MAX / 4 % 2, sent.bytes);
	assert_int_equal(segment.event_index, UINT64_MAX / 4);
	rx_close(&bench);
}

static void segment__of_a_block_that_was_sent_before(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	frame_udp(&frame, &sent);
	frame.bytes[NET_HEADERS_SIZE + 1] = EJFAT_RE_REPEATED;
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rx_take(&bench, sent.event_id / 4 % 2, sent.bytes).flags,
			 SEGMENT_REPEATED);
	rx_close(&bench);
}

// --- bundles ---

// The payload behind headers that have a buffer of their own is not read: it is in no cache yet.
static void segment__payload_in_another_buffer_is_not_read(void **state)
{
	const uint32_t headers = NET_HEADERS_SIZE + EJFAT_RE_SIZE;
	struct frame_segment sent = rx_segment();
	struct rte_mbuf *parts[2], *taken;
	struct rx_bench bench;
	struct frame frame;
	void *buffer, *unreadable;

	(void)state;
	rx_open(&bench, "", "");
	frame_udp(&frame, &sent);
	unreadable = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(unreadable, MAP_FAILED);
	assert_int_equal(rte_pktmbuf_alloc_bulk(bench.pool, parts, 2), 0);
	memcpy(rte_pktmbuf_append(parts[0], headers), frame.bytes, headers);
	buffer = parts[1]->buf_addr;
	assert_non_null(rte_pktmbuf_append(parts[1], frame.length - headers));
	assert_int_equal(rte_pktmbuf_chain(parts[0], parts[1]), 0);
	parts[1]->buf_addr = unreadable;
	assert_int_equal(rte_eth_tx_burst(bench.wire.port.id, 0, parts, 1), 1);
	assert_int_equal(role_poll(bench.role, ++bench.now), 1);
	assert_int_equal(link_dequeue(bench.links[1], &taken, 1), 1);
	assert_int_equal(mbuf_segment(taken)->payload, headers);
	taken->next->buf_addr = buffer;
	rte_pktmbuf_free(taken);
	munmap(unreadable, 4096);
	rx_close(&bench);
}

static void segment__behind_vlan_tags_and_load_balancer_headers(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	sent.vlan_tci = 0xA064;
	frame_udp(&frame, &sent);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rx_take(&bench, 1, sent.bytes).payload, 42 + 4 + 20);
	sent.load_balancer_header = true;
	frame_udp(&frame, &sent);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rx_take(&bench, 1, sent.bytes).payload, 42 + 4 + 16 + 20);
	rx_close(&bench);
}

static void segment__in_any_number_of_buffers(void **state)
{
	static const uint32_t pieces[] = {
		1, 7, 14, 41, 42, 43, 61, 62, 63, 81, 82, 135, 136, 137
	};
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	sent.load_balancer_header = true;
	frame_udp(&frame, &sent);
	frame_set_udp_checksum(&frame);
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct segment segment;

		rx_feed(&bench, &frame, pieces[i]);
		segment = rx_take(&bench, 1, sent.bytes);
		assert_int_equal(segment.payload, 78);
		assert_int_equal(segment.size, 100);
	}
	frame.bytes[150] ^= 1;
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		rx_feed(&bench, &frame, pieces[i]);
		rx_take_none(&bench);
		assert_int_equal(rx_counters(&bench)->packet_drops[PACKET_UDP_CHECKSUM], i + 1);
	}
	rx_close(&bench);
}

static void segment__of_one_byte_and_of_all(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	sent.offset = 999;
	sent.size = 1;
	frame_udp(&frame, &sent);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rx_take(&bench, 1, sent.bytes).size, 1);
	// Ethernet pads the frame; the UDP header knows better.
	memset(frame.bytes + frame.length, 0, 100);
	frame.length += 100;
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rx_take(&bench, 1, sent.bytes).size, 1);
	sent.bytes -= 200;
	sent.offset = 0;
	sent.size = 1000;
	frame_udp(&frame, &sent);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rx_take(&bench, 1, sent.bytes).size, 1000);
	rx_close(&bench);
}

// A UDP datagram over IPv6 with a right checksum.
static void segment__over_ipv6(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	rx_udp6(&frame, &sent);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rx_take(&bench, 1, sent.bytes).payload, 54 + 8 + 20);
	frame.bytes[100] ^= 0x10;
	rx_refuse_packet(&bench, &frame, PACKET_UDP_CHECKSUM);
	store_be16(frame.bytes + 54 + 6, 0); // may not be absent
	rx_refuse_packet(&bench, &frame, PACKET_UDP_CHECKSUM);
	rx_close(&bench);
}

static void checksums__in_software(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	for (sent.size = 1; sent.size < 40; sent.size++) {
		frame_udp(&frame, &sent);
		frame_set_udp_checksum(&frame);
		rx_feed(&bench, &frame, frame.length);
		rx_take(&bench, 1, sent.bytes);
		frame.bytes[frame.length - 1] ^= 0x80;
		rx_refuse_packet(&bench, &frame, PACKET_UDP_CHECKSUM);
		frame.bytes[frame.length - 1] ^= 0x80;
		frame.bytes[30] ^= 1; // destination address: in the IP header's sum and in UDP's
		rx_refuse_packet(&bench, &frame, PACKET_IP_CHECKSUM);
	}
	rx_close(&bench);
}

// Makes the checksum what the kernel leaves there: the folded sum of the pseudo header.
static void unfinish_checksum(struct frame *frame)
{
	struct net_frame parsed;

	assert_int_equal(net_parse(frame->bytes, frame->length, frame->length, 0, &parsed), 0);
	store_be16(frame->bytes + parsed.l4_offset + 6,
		   (uint16_t)~net_checksum_fold(net_udp_pseudo_sum(frame->bytes, &parsed)));
}

static void checksums__left_to_hardware_by_the_sender(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	frame_udp(&frame, &sent);
	unfinish_checksum(&frame);
	for (uint32_t piece = frame.length; piece > 0; piece /= 3) {
		rx_feed(&bench, &frame, piece);
		rx_take(&bench, 1, sent.bytes);
	}
	assert_int_equal(rx_counters(&bench)->checksums_unfinished, 5);
	frame.bytes[41] ^= 1;
	rx_refuse_packet(&bench, &frame, PACKET_UDP_CHECKSUM);
	frame_set_udp_checksum(&frame);
	rx_feed(&bench, &frame, frame.length);
	rx_take(&bench, 1, sent.bytes);
	assert_int_equal(rx_counters(&bench)->checksums_unfinished, 5);
	rx_close(&bench);
}

static void checksums__not_verified_where_configured(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", ", \"verify_checksums\": false");
	frame_udp(&frame, &sent);
	store_be16(frame.bytes + 40, 0x1234);
	frame.bytes[24] ^= 1; // the IP header's checksum
	rx_feed(&bench, &frame, frame.length);
	rx_take(&bench, 1, sent.bytes);
	rx_close(&bench);
}

static void feed_flagged(struct rx_bench *bench, const struct frame *frame, uint64_t flags)
{
	struct rte_mbuf *mbuf = frame_to_mbuf(frame, bench->pool, frame->length);

	mbuf->ol_flags |= flags;
	assert_int_equal(rte_eth_tx_burst(bench->wire.port.id, 0, &mbuf, 1), 1);
	assert_int_equal(role_poll(bench->role, ++bench->now), 1);
}

static void checksums__verified_by_the_port(void **state)
{
	const uint64_t ip_good = RTE_MBUF_F_RX_IP_CKSUM_GOOD, ip_bad = RTE_MBUF_F_RX_IP_CKSUM_BAD;
	const uint64_t udp_good = RTE_MBUF_F_RX_L4_CKSUM_GOOD, udp_bad = RTE_MBUF_F_RX_L4_CKSUM_BAD;
	struct frame_segment sent = rx_segment();
	struct frame right, wrong;
	struct rx_bench bench;
	const uint64_t *drops;

	(void)state;
	rx_open(&bench, "", "");
	bench.parameters.checksums_in_hardware = true;
	rx_restart(&bench);
	drops = rx_counters(&bench)->packet_drops;
	frame_udp(&right, &sent);
	frame_set_udp_checksum(&right);
	wrong = right;
	wrong.bytes[24] ^= 1;
	wrong.bytes[40] ^= 1;
	// What the port says holds.
	feed_flagged(&bench, &wrong, ip_good | udp_good);
	rx_take(&bench, 1, sent.bytes);
	feed_flagged(&bench, &right, ip_bad | udp_good);
	assert_int_equal(drops[PACKET_IP_CHECKSUM], 1);
	feed_flagged(&bench, &right, ip_good | udp_bad);
	assert_int_equal(drops[PACKET_UDP_CHECKSUM], 1);
	feed_flagged(&bench, &right, ip_bad | udp_bad);
	assert_int_equal(drops[PACKET_IP_CHECKSUM], 2);
	// What it says nothing of is looked at, and what is not finished is not wrong.
	feed_flagged(&bench, &right, 0);
	rx_take(&bench, 1, sent.bytes);
	feed_flagged(&bench, &wrong, 0);
	assert_int_equal(drops[PACKET_IP_CHECKSUM], 3);
	unfinish_checksum(&right);
	feed_flagged(&bench, &right, ip_good | udp_bad);
	rx_take(&bench, 1, sent.bytes);
	assert_int_equal(rx_counters(&bench)->checksums_unfinished, 1);
	feed_flagged(&bench, &wrong, ip_good);
	assert_int_equal(drops[PACKET_UDP_CHECKSUM], 2);
	rx_take_none(&bench);
	rx_close(&bench);
}

static void packet__malformed(void **state)
{
	struct frame_segment sent = rx_segment();
	struct frame frame, shorter;
	struct rx_bench bench;

	(void)state;
	rx_open(&bench, "", "");
	frame_udp(&frame, &sent);
	for (uint32_t length = 1; length < frame.length; length++) {
		shorter = frame;
		shorter.length = length;
		rx_refuse_packet(&bench, &shorter, PACKET_MALFORMED_FRAME);
	}
	shorter = frame;
	store_be16(shorter.bytes + 38, 7); // UDP length
	rx_refuse_packet(&bench, &shorter, PACKET_MALFORMED_FRAME);
	rx_close(&bench);
}

static void packet__ip_fragment(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	frame_udp(&frame, &sent);
	frame.bytes[20] = 0x20; // more fragments
	rx_refuse_packet(&bench, &frame, PACKET_IP_FRAGMENT);
	frame.bytes[20] = 0;
	frame.bytes[21] = 5; // offset
	rx_refuse_packet(&bench, &frame, PACKET_IP_FRAGMENT);
	rx_close(&bench);
}

static void packet__of_ports_in_the_range_alone(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, ", \"transport\": {\"udp_port\": 19522, \"udp_ports\": 4}", "");
	for (uint16_t port = 19522; port < 19526; port++) {
		sent.port = port;
		frame_udp(&frame, &sent);
		rx_feed(&bench, &frame, frame.length);
		rx_take(&bench, 1, sent.bytes);
	}
	for (unsigned i = 0; i < 4; i++) {
		static const uint16_t ports[] = { 19521, 19526, 1, 65535 };

		sent.port = ports[i];
		frame_udp(&frame, &sent);
		rx_refuse_packet(&bench, &frame, PACKET_UNKNOWN_PORT);
	}
	rx_close(&bench);
}

static void packet__of_another_kind(void **state)
{
	static const uint8_t tcp = 6;
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	frame_ethernet(&frame, &sent); // segments come in UDP here
	rx_feed(&bench, &frame, frame.length);
	frame_udp(&frame, &sent);
	frame.bytes[23] = tcp;
	rx_feed(&bench, &frame, 50);
	rx_take_none(&bench);
	assert_int_equal(rx_counters(&bench)->other, 2);
	rx_close(&bench);
}

// Changes the destinations of a frame whose UDP checksum is absent.
static void set_destination(struct frame *frame, uint64_t mac, uint32_t ip)
{
	store_be16(frame->bytes, (uint16_t)(mac >> 32));
	store_be32(frame->bytes + 2, (uint32_t)mac);
	store_be32(frame->bytes + 30, ip);
	store_be16(frame->bytes + 24, 0);
	store_be16(frame->bytes + 24,
		   net_checksum_fold(net_checksum_add(0, frame->bytes + 14, NET_IPV4_SIZE)));
}

static void open_own(struct rx_bench *bench, const char *extra, const char *port_extra)
{
	rx_open(bench, extra, port_extra);
	bench->parameters.own_only = true;
	rx_restart(bench);
}

#define OWN_MAC 0x020000000002u

static void packet__to_others(void **state)
{
	static const struct {
		uint64_t mac;
		uint32_t ip;
	} others[] = {
		{ 0x020000000003, FRAME_DESTINATION_IP },
		{ 0x030000000002, FRAME_DESTINATION_IP },
		{ 0xFFFFFFFFFFFF, FRAME_DESTINATION_IP },
		{ 0x01005E000001, FRAME_DESTINATION_IP },
		{ 0xFFFFFFFFFFFF, UINT32_MAX },
		{ 0, FRAME_DESTINATION_IP },
		{ OWN_MAC, FRAME_DESTINATION_IP + 1 },
		{ OWN_MAC, 0x7F000001 },
		{ OWN_MAC, UINT32_MAX },
		{ OWN_MAC, 0x0A0000FF },
		{ OWN_MAC, 0xE0000001 },
		{ OWN_MAC, 0 },
	};
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_own(&bench, "", ", \"address\": \"10.0.0.2/24\"");
	for (unsigned i = 0; i < 240; i++) {
		if (i >= 120 && i % 12 == 0) { // beside the source's own
			sent.port = 19522;
			frame_udp(&frame, &sent);
			set_destination(&frame, OWN_MAC, FRAME_DESTINATION_IP);
			rx_feed(&bench, &frame, frame.length);
			rx_take(&bench, 1, sent.bytes);
		}
		sent.port = i % 2 == 0 ? 19522 : 9; // segments, and other datagrams
		frame_udp(&frame, &sent);
		set_destination(&frame, others[i % 12].mac, others[i % 12].ip);
		rx_refuse_packet(&bench, &frame, PACKET_NOT_FOR_US);
	}
	rx_close(&bench);
}

static void packet__to_any_ip_of_a_port_without_address(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_own(&bench, "", "");
	frame_udp(&frame, &sent);
	set_destination(&frame, OWN_MAC, 0x7F000001);
	rx_feed(&bench, &frame, frame.length);
	rx_take(&bench, 1, sent.bytes);
	set_destination(&frame, OWN_MAC + 1, 0x7F000001);
	rx_refuse_packet(&bench, &frame, PACKET_NOT_FOR_US);
	rx_close(&bench);
}

static void packet__to_others_over_ipv6(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_own(&bench, "", ", \"address6\": \"fd00::2\"");
	rx_udp6(&frame, &sent);
	memcpy(frame.bytes, bench.parameters.addresses.mac.bytes, 6);
	rx_feed(&bench, &frame, frame.length);
	rx_take(&bench, 1, sent.bytes);
	for (unsigned at = 38; at < 54; at++) {
		frame.bytes[at] ^= 1;
		rx_refuse_packet(&bench, &frame, PACKET_NOT_FOR_US);
		frame.bytes[at] ^= 1;
	}
	frame.bytes[5] ^= 1;
	rx_refuse_packet(&bench, &frame, PACKET_NOT_FOR_US);
	rx_close(&bench);
}

static void ethernet__to_others(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_own(&bench, ", \"transport\": {\"kind\": \"eth\"}", "");
	frame_ethernet(&frame, &sent);
	memcpy(frame.bytes, bench.parameters.addresses.mac.bytes, 6);
	rx_feed(&bench, &frame, frame.length);
	rx_take(&bench, 1, sent.bytes);
	memset(frame.bytes, 0xFF, 6);
	rx_refuse_packet(&bench, &frame, PACKET_NOT_FOR_US);
	store_be16(frame.bytes + 12, 0x88CC); // LLDP, which has a multicast address
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rx_counters(&bench)->other, 1);
	rx_close(&bench);
}

static void segment__malformed(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	frame_udp(&frame, &sent);
	frame.bytes[42] = 0x20; // version of the RE header
	rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	sent.size = 0;
	frame_udp(&frame, &sent);
	rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	sent.size = 100;
	sent.offset = 901;
	frame_udp(&frame, &sent);
	rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	sent.offset = UINT32_MAX;
	sent.length = UINT32_MAX;
	frame_udp(&frame, &sent);
	rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	// Datagrams too short for the headers.
	sent = rx_segment();
	for (unsigned size = 0; size < EJFAT_RE_SIZE; size++) {
		frame_udp(&frame, &sent);
		store_be16(frame.bytes + 38, (uint16_t)(NET_UDP_SIZE + size));
		rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	}
	sent.load_balancer_header = true;
	frame_udp(&frame, &sent);
	frame.bytes[44] = 9; // version of the LB header
	rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	rx_close(&bench);
}

static void segment__of_a_source_that_is_not_expected(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	sent.source_id = 8;
	frame_udp(&frame, &sent);
	rx_refuse_segment(&bench, &frame, SEGMENT_UNEXPECTED_SOURCE);
	sent.source_id = 9;
	frame_udp(&frame, &sent);
	rx_refuse_segment(&bench, &frame, SEGMENT_UNKNOWN_SOURCE);
	sent.source_id = 0;
	frame_udp(&frame, &sent);
	rx_refuse_segment(&bench, &frame, SEGMENT_UNKNOWN_SOURCE);
	sent.source_id = 65535;
	frame_udp(&frame, &sent);
	rx_refuse_segment(&bench, &frame, SEGMENT_UNKNOWN_SOURCE);
	rx_close(&bench);
}

static void open_ethernet(struct rx_bench *bench)
{
	rx_open(bench, ", \"transport\": {\"kind\": \"eth\"}", "");
}

static void ethernet__segments(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_ethernet(&bench);
	frame_ethernet(&frame, &sent);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rx_take(&bench, 1, sent.bytes).payload, 14 + 20);
	rx_feed(&bench, &frame, 9);
	rx_take(&bench, 1, sent.bytes);
	sent.vlan_tci = 100;
	sent.load_balancer_header = true;
	frame_ethernet(&frame, &sent);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rx_take(&bench, 1, sent.bytes).payload, 18 + 16 + 20);
	sent.size = 801;
	frame_ethernet(&frame, &sent);
	rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	frame_udp(&frame, &sent);
	rx_refuse_packet(&bench, &frame, PACKET_UNKNOWN_PORT);
	rx_close(&bench);
}

// Network cards pad frames to 60 bytes; the last segment of a block is often shorter.
static void ethernet__padding_is_no_payload(void **state)
{
	struct frame_segment sent = rx_segment();
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_ethernet(&bench);
	for (uint32_t size = 1; size <= 40; size++) {
		for (unsigned kind = 0; kind < 4; kind++) {
			struct segment segment;

			sent.vlan_tci = kind & 1;
			sent.load_balancer_header = kind & 2;
			sent.offset = 1000 - size;
			sent.size = size;
			frame_ethernet(&frame, &sent);
			if (frame.length < NET_MIN_FRAME) {
				memset(frame.bytes + frame.length, 0xEE,
				       NET_MIN_FRAME - frame.length);
				frame.length = NET_MIN_FRAME;
			}
			rx_feed(&bench, &frame, size);
			segment = rx_take(&bench, 1, sent.bytes);
			assert_int_equal(segment.size, size);
			assert_int_equal(segment.offset, 1000 - size);
		}
	}
	// Not at all a segment, or one that lies behind its block.
	sent = rx_segment();
	frame_ethernet(&frame, &sent);
	memset(frame.bytes + 14, 0, 46);
	frame.length = 60;
	rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	sent.size = 26;
	for (sent.offset = 1000; sent.offset < 1050; sent.offset++) {
		frame_ethernet(&frame, &sent);
		rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	}
	rx_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segment__goes_to_the_builder_of_its_event),
		cmocka_unit_test(segment__of_a_block_that_was_sent_before),
		cmocka_unit_test(segment__payload_in_another_buffer_is_not_read),
		cmocka_unit_test(segment__behind_vlan_tags_and_load_balancer_headers),
		cmocka_unit_test(segment__in_any_number_of_buffers),
		cmocka_unit_test(segment__of_one_byte_and_of_all),
		cmocka_unit_test(segment__over_ipv6),
		cmocka_unit_test(checksums__in_software),
		cmocka_unit_test(checksums__left_to_hardware_by_the_sender),
		cmocka_unit_test(checksums__not_verified_where_configured),
		cmocka_unit_test(checksums__verified_by_the_port),
		cmocka_unit_test(packet__malformed),
		cmocka_unit_test(packet__ip_fragment),
		cmocka_unit_test(packet__of_ports_in_the_range_alone),
		cmocka_unit_test(packet__of_another_kind),
		cmocka_unit_test(packet__to_others),
		cmocka_unit_test(packet__to_any_ip_of_a_port_without_address),
		cmocka_unit_test(packet__to_others_over_ipv6),
		cmocka_unit_test(ethernet__to_others),
		cmocka_unit_test(segment__malformed),
		cmocka_unit_test(segment__of_a_source_that_is_not_expected),
		cmocka_unit_test(ethernet__segments),
		cmocka_unit_test(ethernet__padding_is_no_payload),
	};

	return cmocka_run_group_tests_name("rx_role", tests, testbed_start, testbed_stop);
}
