// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Bundles: packets with several blocks, which are one entry of a link.
#include "packet/bundle.h"
#include "rx_bench.h"

#include <string.h>

#include "wire/ejfat.h"
#include "wire/net.h"

#define BLOCK_BYTES 30u

// A datagram for builder 0 with whole blocks of these sources, of events 8, 12, ...
static struct frame bundle_of(const uint16_t *ids, unsigned n)
{
	uint8_t payload[BLOCK_BYTES];
	struct frame_segment sent = rx_segment();
	struct frame frame;

	memset(payload, 1, sizeof(payload));
	sent.event_id = 8;
	sent.source_id = ids[0];
	sent.offset = 0;
	sent.length = sent.size = BLOCK_BYTES;
	sent.bytes = payload;
	frame_udp(&frame, &sent);
	for (unsigned i = 1; i < n; i++) {
		const struct ejfat_re re = { .event_number = 8 + 4 * i,
					     .length = BLOCK_BYTES,
					     .data_id = ids[i],
					     .flags = i + 1 < n ? EJFAT_RE_MORE : 0 };

		ejfat_re_encode(frame.bytes + frame.length, &re);
		memset(frame.bytes + frame.length + EJFAT_RE_SIZE, (int)i + 1, BLOCK_BYTES);
		frame.length += EJFAT_RE_SIZE + BLOCK_BYTES;
	}
	frame.bytes[NET_HEADERS_SIZE + 1] |= n > 1 ? EJFAT_RE_MORE : 0;
	net_udp4_set_size(frame.bytes + NET_ETH_SIZE, (uint16_t)(frame.length - NET_HEADERS_SIZE));
	return frame;
}

static void open_for_bundles(struct rx_bench *bench)
{
	rx_open(bench, "", "");
	bench->parameters.takes_bundles = bench->parameters.builder_by_udp_port = true;
	rx_restart(bench);
}

// Takes a bundle and asserts that its blocks are those number `expected` of the datagram.
static void take_blocks(struct rx_bench *bench, const unsigned *expected, unsigned n)
{
	const struct divisor packing = divisor_make(4);
	struct segment *segment;
	struct rte_mbuf *mbuf;

	assert_int_equal(link_dequeue(bench->links[0], &mbuf, 1), 1);
	segment = mbuf_segment(mbuf);
	for (unsigned i = 0; i < n; i++) {
		uint8_t bytes[BLOCK_BYTES], wanted[BLOCK_BYTES];

		if (i > 0)
			assert_true(bundle_next(mbuf, segment, bench->sources, &packing));
		assert_int_equal(segment->event_id, 8 + 4 * expected[i]);
		assert_int_equal(segment->event_index, 2 + expected[i]);
		assert_int_equal(segment->offset, 0);
		assert_int_equal(segment->size, BLOCK_BYTES);
		assert_int_equal(segment->length, BLOCK_BYTES);
		mbuf_copy_payload(bytes, mbuf, segment, COPY_NEXT_UNKNOWN);
		memset(wanted, (int)expected[i] + 1, sizeof(wanted));
		assert_memory_equal(bytes, wanted, sizeof(bytes));
	}
	assert_false(bundle_next(mbuf, segment, bench->sources, &packing));
	rte_pktmbuf_free(mbuf);
}

static void bundle__is_one_entry_of_a_link_with_all_blocks(void **state)
{
	const uint16_t ids[BUNDLE_MOST + 1] = { 3, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5, 6, 7, 1, 2 };
	const unsigned all[BUNDLE_MOST] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_for_bundles(&bench);
	for (unsigned n = 1; n <= BUNDLE_MOST; n++)
		for (uint32_t piece = 40; piece <= 2000; piece *= 7) {
			frame = bundle_of(ids, n);
			rx_feed(&bench, &frame, piece);
			take_blocks(&bench, all, n);
		}
	assert_int_equal(bench.links[0]->counters.enqueued, rx_counters(&bench)->segments);
	frame = bundle_of(ids, BUNDLE_MOST + 1);
	rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	rx_close(&bench);
}

// Blocks of sources that may not send are refused; those around them are not.
static void bundle__blocks_are_refused_one_by_one(void **state)
{
	const uint16_t ids[] = { 3, 8, 2, 99, 4 };
	const unsigned good[] = { 0, 2, 4 };
	struct frame frame = bundle_of(ids, 5);
	struct rx_bench bench;

	(void)state;
	open_for_bundles(&bench);
	rx_feed(&bench, &frame, frame.length);
	take_blocks(&bench, good, 3);
	assert_int_equal(rx_counters(&bench)->segments, 5);
	assert_int_equal(rx_counters(&bench)->bundled, 4);
	assert_int_equal(rx_counters(&bench)->segment_drops[SEGMENT_UNKNOWN_SOURCE], 1);
	assert_int_equal(rx_counters(&bench)->segment_drops[SEGMENT_UNEXPECTED_SOURCE], 1);
	assert_int_equal(rx_role_source_counters(bench.role, 1)->segments, 1);
	rx_close(&bench);
}

static void bundle__malformed_ones_are_dropped_whole(void **state)
{
	const uint16_t ids[] = { 3, 1, 2 };
	const struct frame good = bundle_of(ids, 3);
	const unsigned second = NET_HEADERS_SIZE + EJFAT_RE_SIZE + BLOCK_BYTES;
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_for_bundles(&bench);
	for (unsigned size = NET_HEADERS_SIZE + EJFAT_RE_SIZE + 1; size < good.length; size++) {
		frame = good;
		frame.length = size;
		net_udp4_set_size(frame.bytes + NET_ETH_SIZE, (uint16_t)(size - NET_HEADERS_SIZE));
		rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	}
	frame = good;
	frame.bytes[second] = 0x20; // version
	rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	frame = good;
	frame.bytes[second + 7] = 1; // offset
	rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	frame = good;
	memset(frame.bytes + second + 8, 0xFF, 4); // length
	rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	memset(frame.bytes + second + 8, 0, 4);
	rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	// Only nodes of a system send bundles.
	bench.parameters.takes_bundles = false;
	rx_close(&bench);
	rx_open(&bench, "", "");
	frame = good;
	rx_refuse_segment(&bench, &frame, SEGMENT_MALFORMED);
	rx_close(&bench);
}

// Each block that a full link has no room for is counted, for its source.
static void bundle__link_full(void **state)
{
	const uint16_t ids[] = { 3, 1, 2 };
	const struct frame frame = bundle_of(ids, 3);
	struct rx_bench bench;

	(void)state;
	rx_open(&bench, ", \"links\": {\"policy\": \"drop\"}", "");
	bench.parameters.takes_bundles = bench.parameters.builder_by_udp_port = true;
	rx_restart(&bench);
	for (unsigned i = 0; i < RX_DEPTH + 2; i++)
		rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rx_counters(&bench)->segment_drops[SEGMENT_LINK_FULL], 6);
	assert_int_equal(bench.links[0]->counters.dropped, 6);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(rx_role_source_counters(bench.role, i)->link_full, 2);
	rx_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bundle__is_one_entry_of_a_link_with_all_blocks),
		cmocka_unit_test(bundle__blocks_are_refused_one_by_one),
		cmocka_unit_test(bundle__malformed_ones_are_dropped_whole),
		cmocka_unit_test(bundle__link_full),
	};

	return cmocka_run_group_tests_name("rx_bundle", tests, testbed_start, testbed_stop);
}
