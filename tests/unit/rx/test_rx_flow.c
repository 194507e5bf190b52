// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The rx role's dealings with the port and the links: bursts, full links, answers, the drain.
#include "rx_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>

#include "evring/evring.h"

static void send_events(struct rx_bench *bench, unsigned first, unsigned n)
{
	struct frame_segment sent = rx_segment();
	struct frame frame;

	for (unsigned i = first; i < first + n; i++) {
		sent.event_id = 4 * i;
		frame_udp(&frame, &sent);
		frame_send(&frame, bench->pool, frame.length, bench->wire.port.id, 0);
	}
}

static void poll__takes_a_burst_in_order(void **state)
{
	struct rte_mbuf *mbufs[RX_DEPTH];
	struct rx_bench bench;

	(void)state;
	rx_open(&bench, "", "");
	send_events(&bench, 0, 40);
	assert_int_equal(role_poll(bench.role, 1), ROLE_BURST);
	assert_int_equal(role_poll(bench.role, 2), 40 - ROLE_BURST);
	assert_int_equal(role_poll(bench.role, 3), 0);
	assert_false(bench.role->backpressured);
	for (unsigned link = 0; link < RX_BUILDERS; link++) {
		assert_int_equal(link_dequeue(bench.links[link], mbufs, RX_DEPTH), 20);
		for (unsigned i = 0; i < 20; i++)
			assert_int_equal(mbuf_segment(mbufs[i])->event_id, 4 * (2 * i + link));
		rte_pktmbuf_free_bulk(mbufs, 20);
	}
	rx_close(&bench);
}

static void lossless_link__stops_the_intake(void **state)
{
	struct rte_mbuf *mbufs[RX_DEPTH];
	struct rx_bench bench;

	(void)state;
	rx_open(&bench, "", "");
	// 2 x 32 go to link 1, and fill it.
	for (unsigned i = 0; i < RX_DEPTH; i++)
		send_events(&bench, 1, 1);
	assert_int_equal(role_poll(bench.role, 1), ROLE_BURST);
	assert_int_equal(role_poll(bench.role, 2), ROLE_BURST);
	send_events(&bench, 0, 3);
	assert_int_equal(role_poll(bench.role, 3), 0);
	assert_true(bench.role->backpressured);
	assert_int_equal(bench.links[1]->counters.full, 1);
	assert_int_equal(rx_counters(&bench)->packets, RX_DEPTH);
	// Room for less than a burst is not enough.
	assert_int_equal(link_dequeue(bench.links[1], mbufs, ROLE_BURST - 1), ROLE_BURST - 1);
	assert_int_equal(role_poll(bench.role, 4), 0);
	assert_int_equal(link_dequeue(bench.links[1], mbufs + ROLE_BURST - 1, 1), 1);
	rte_pktmbuf_free_bulk(mbufs, ROLE_BURST);
	assert_int_equal(role_poll(bench.role, 5), 3);
	assert_int_equal(rx_counters(&bench)->segment_drops[SEGMENT_LINK_FULL], 0);
	assert_int_equal(bench.links[1]->counters.dropped, 0);
	rx_close(&bench);
}

static void drop_link__counts_what_does_not_fit(void **state)
{
	struct rx_bench bench;

	(void)state;
	rx_open(&bench, ", \"links\": {\"policy\": \"drop\"}", "");
	for (unsigned i = 0; i < RX_DEPTH + 10; i++)
		send_events(&bench, 1, 1);
	send_events(&bench, 2, 1); // the other link has room
	for (unsigned i = 0; i < 3; i++)
		role_poll(bench.role, i);
	assert_false(bench.role->backpressured);
	assert_int_equal(rx_counters(&bench)->packets, RX_DEPTH + 11);
	assert_int_equal(rx_counters(&bench)->segments, RX_DEPTH + 11);
	assert_int_equal(rx_counters(&bench)->segment_drops[SEGMENT_LINK_FULL], 10);
	assert_int_equal(bench.links[1]->counters.dropped, 10);
	assert_int_equal(bench.links[0]->counters.enqueued, 1);
	assert_int_equal(rx_role_source_counters(bench.role, 2)->link_full, 10);
	assert_int_equal(rte_mempool_in_use_count(bench.pool), RX_DEPTH + 1);
	rx_close(&bench);
}

// 10.0.0.1 asks for 10.0.0.2.
#define ARP_REQUEST \
	"ffffffffffff020000000001080600010800060400010200000000010a0000010000000000000a000002"
#define ARP_REPLY \
	"020000000001020000000002080600010800060400020200000000020a0000020200000000010a000001"
#define PING                                                                                       \
	"02000000000202000000000108004500002100090000400166d10a0000010a0000020800e5f9123400017069" \
	"6e6721"
#define PONG                                                                                       \
	"02000000000102000000000208004500002100090000400166d10a0000020a0000010000edf9123400017069" \
	"6e6721"

// What the role answered, as hexadecimal text.
static void assert_answered(struct rx_bench *bench, const char *expected)
{
	struct rte_mbuf *mbuf;
	char text[512];

	assert_int_equal(rte_eth_rx_burst(bench->wire.port.id, 1, &mbuf, 1), 1);
	for (unsigned i = 0; i < mbuf->data_len; i++)
		snprintf(text + 2 * i, 3, "%02x", rte_pktmbuf_mtod(mbuf, uint8_t *)[i]);
	assert_string_equal(text, expected);
	rte_pktmbuf_free(mbuf);
}

static void assert_not_answered(struct rx_bench *bench)
{
	struct rte_mbuf *mbuf;

	assert_int_equal(rte_eth_rx_burst(bench->wire.port.id, 1, &mbuf, 1), 0);
	assert_int_equal(rte_mempool_in_use_count(bench->pool), 0);
}

static const char with_address[] = ", \"address\": \"10.0.0.2/24\"";

static void answers__arp_and_echo(void **state)
{
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", with_address);
	frame_from_hex(&frame, ARP_REQUEST);
	rx_feed(&bench, &frame, frame.length);
	assert_answered(&bench, ARP_REPLY);
	frame_from_hex(&frame, PING);
	rx_feed(&bench, &frame, frame.length);
	assert_answered(&bench, PONG);
	assert_int_equal(rx_counters(&bench)->arp, 1);
	assert_int_equal(rx_counters(&bench)->icmp_echo, 1);
	assert_int_equal(rx_counters(&bench)->other, 0);
	rx_close(&bench);
}

static void answers__nothing_that_is_for_others(void **state)
{
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", ", \"address\": \"10.0.0.3/24\"");
	frame_from_hex(&frame, ARP_REQUEST);
	rx_feed(&bench, &frame, frame.length);
	assert_not_answered(&bench);
	frame_from_hex(&frame, PING);
	rx_feed(&bench, &frame, frame.length);
	assert_not_answered(&bench);
	frame_from_hex(&frame, ARP_REPLY);
	rx_feed(&bench, &frame, frame.length);
	assert_not_answered(&bench);
	assert_int_equal(rx_counters(&bench)->arp, 2);
	assert_int_equal(rx_counters(&bench)->icmp_echo, 0);
	assert_int_equal(rx_counters(&bench)->other, 1);
	rx_close(&bench);
}

static void answers__nothing_without_an_address(void **state)
{
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	frame_from_hex(&frame, ARP_REQUEST);
	rx_feed(&bench, &frame, frame.length);
	frame_from_hex(&frame, PING);
	rx_feed(&bench, &frame, frame.length);
	assert_not_answered(&bench);
	assert_int_equal(rx_counters(&bench)->arp, 1);
	assert_int_equal(rx_counters(&bench)->other, 1);
	rx_close(&bench);
}

static void answers__nothing_without_a_queue_or_in_pieces(void **state)
{
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", with_address);
	frame_from_hex(&frame, ARP_REQUEST);
	rx_feed(&bench, &frame, 20);
	frame_from_hex(&frame, PING);
	rx_feed(&bench, &frame, 20);
	assert_not_answered(&bench);
	assert_int_equal(rx_counters(&bench)->other, 1);
	bench.parameters.reply_queue = -1;
	rx_restart(&bench);
	frame_from_hex(&frame, ARP_REQUEST);
	rx_feed(&bench, &frame, frame.length);
	assert_not_answered(&bench);
	frame_from_hex(&frame, PING);
	rx_feed(&bench, &frame, frame.length);
	assert_not_answered(&bench);
	assert_int_equal(rx_counters(&bench)->arp, 1);
	assert_int_equal(rx_counters(&bench)->icmp_echo, 1);
	rx_close(&bench);
}

static void answers__are_dropped_when_the_port_is_full(void **state)
{
	struct rte_mbuf *mbufs[128];
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", with_address);
	assert_int_equal(rte_pktmbuf_alloc_bulk(bench.pool, mbufs, 128), 0);
	assert_int_equal(rte_eth_tx_burst(bench.wire.port.id, 1, mbufs, 128), 128);
	frame_from_hex(&frame, ARP_REQUEST);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rte_mempool_in_use_count(bench.pool), 128);
	assert_int_equal(rx_counters(&bench)->arp, 1);
	assert_int_equal(rte_eth_rx_burst(bench.wire.port.id, 1, mbufs, 128), 128);
	rte_pktmbuf_free_bulk(mbufs, 128);
	rx_close(&bench);
}

static void drain__ends_when_the_port_is_quiet(void **state)
{
	struct rx_bench bench;
	struct role *role;

	(void)state;
	rx_open(&bench, "", "");
	role = bench.role;
	send_events(&bench, 0, 1);
	assert_false(role->operations->drain(role, 10000));
	assert_int_equal(rx_counters(&bench)->packets, 1);
	assert_false(role->operations->drain(role, 10090));
	send_events(&bench, 0, 1);
	assert_false(role->operations->drain(role, 10100));
	assert_int_equal(rx_counters(&bench)->packets, 2);
	assert_false(role->operations->drain(role, 10200));
	assert_true(role->operations->drain(role, 10201));
	rx_close(&bench);
}

static void drain__ends_though_the_port_is_never_quiet(void **state)
{
	struct rx_bench bench;
	struct role *role;

	(void)state;
	rx_open(&bench, ", \"links\": {\"policy\": \"drop\"}", "");
	role = bench.role;
	for (uint64_t now = 5000; now <= 6000; now += 50) {
		send_events(&bench, 0, 1);
		assert_false(role->operations->drain(role, now));
	}
	send_events(&bench, 0, 1);
	assert_true(role->operations->drain(role, 6001));
	assert_int_equal(rx_counters(&bench)->packets, 22);
	rx_close(&bench);
}

// Nodes of a system are never silent: their heartbeats, and ARP, do not keep one from leaving.
static void drain__does_not_wait_for_silence_of_control(void **state)
{
	struct rx_bench bench;
	struct frame frame;
	struct role *role;

	(void)state;
	rx_open(&bench, "", "");
	role = bench.role;
	frame_from_hex(&frame, ARP_REQUEST);
	send_events(&bench, 0, 1);
	for (uint64_t now = 5000; now <= 5100; now += 50) {
		frame_send(&frame, bench.pool, frame.length, bench.wire.port.id, 0);
		assert_false(role->operations->drain(role, now));
	}
	frame_send(&frame, bench.pool, frame.length, bench.wire.port.id, 0);
	assert_true(role->operations->drain(role, 5101));
	assert_int_equal(rx_counters(&bench)->packets, 5);
	assert_int_equal(rx_counters(&bench)->arp, 4);
	rx_close(&bench);
}

// What waits behind a full link is not quiet.
static void drain__waits_for_a_full_link(void **state)
{
	struct rte_mbuf *mbufs[RX_DEPTH];
	struct rx_bench bench;
	struct role *role;

	(void)state;
	rx_open(&bench, "", "");
	role = bench.role;
	for (unsigned i = 0; i < RX_DEPTH + 1; i++)
		send_events(&bench, 1, 1);
	assert_false(role->operations->drain(role, 5000));
	assert_false(role->operations->drain(role, 5001));
	assert_false(role->operations->drain(role, 5500)); // full
	assert_int_equal(link_dequeue(bench.links[1], mbufs, RX_DEPTH), RX_DEPTH);
	rte_pktmbuf_free_bulk(mbufs, RX_DEPTH);
	assert_false(role->operations->drain(role, 5590));
	assert_int_equal(rx_counters(&bench)->packets, RX_DEPTH + 1);
	assert_true(role->operations->drain(role, 5691));
	rx_close(&bench);
}

// A bench whose port has soft flow control of priority 3: XOFF above 80 %, XON below 60 %.
struct flow_bench {
	struct rx_bench rx;
	struct evring *rings[RX_BUILDERS];
	struct flow_control *flow_control;
};

#define FLOW_SLOTS 100u

static void make_flow_rings(struct flow_bench *bench)
{
	static const char *const group = "main";
	char error[EVRING_ERROR_SIZE];

	for (unsigned i = 0; i < RX_BUILDERS; i++) {
		const struct evring_parameters parameters = {
			.name = "rx-flow",
			.directory = testbed_directory(),
			.builder = i,
			.n_builders = RX_BUILDERS,
			.slots = FLOW_SLOTS,
			.slot_size = 4096,
			.groups = &group,
			.n_groups = 1,
		};

		if (evring_create(&bench->rings[i], &parameters, error) != 0)
			fail_msg("%s", error);
	}
}

static void open_flow(struct flow_bench *bench)
{
	struct flow_control_parameters parameters = {
		.port_name = "wire",
		.tx_queue = 1,
		.mode = FLOW_CONTROL_SOFT,
		.pause = {
			.priority = 3,
			.high_water = PAUSE_FULL / 10 * 8,
			.low_water = PAUSE_FULL / 10 * 6,
			.quanta = 65535,
			.bits_per_second = 10000000000ull,
			.ticks_per_second = 1000000000ull,
		},
	};
	char error[FLOW_CONTROL_TEXT_SIZE];

	rx_open(&bench->rx, "", "");
	make_flow_rings(bench);
	parameters.port_id = bench->rx.wire.port.id;
	bench->flow_control = aligned_alloc(PAUSE_CACHE_LINE, sizeof(*bench->flow_control));
	assert_non_null(bench->flow_control);
	if (flow_control_open(bench->flow_control, &parameters, error) != 0)
		fail_msg("%s", error);
	bench->rx.parameters.flow_control = bench->flow_control;
	bench->rx.parameters.data_priority = 3;
	bench->rx.parameters.rings = (const struct evring *const *)bench->rings;
	bench->rx.parameters.pool = bench->rx.pool;
	rx_restart(&bench->rx);
}

static struct pause_counters counters_of(const struct flow_bench *bench)
{
	struct pause_counters counters;

	flow_control_priority_counters(bench->flow_control, 3, &counters);
	return counters;
}

static void drop_frames(const struct flow_bench *bench)
{
	struct rte_mbuf *mbufs[ROLE_BURST];
	uint16_t n;

	while ((n = rte_eth_rx_burst(bench->rx.wire.port.id, 1, mbufs, ROLE_BURST)) > 0)
		rte_pktmbuf_free_bulk(mbufs, n);
}

static void close_flow(struct flow_bench *bench)
{
	drop_frames(bench);
	rx_close(&bench->rx);
	flow_control_close(bench->flow_control);
	free(bench->flow_control);
	for (unsigned i = 0; i < RX_BUILDERS; i++)
		evring_destroy(bench->rings[i]);
}

static void poll_often(struct flow_bench *bench, uint64_t now)
{
	for (unsigned i = 0; i < 64; i++)
		role_poll(bench->rx.role, now);
}

static void pause__by_slots_links_and_pool(void **state)
{
	struct rte_mbuf *mbufs[2000];
	struct flow_bench bench;

	(void)state;
	open_flow(&bench);
	poll_often(&bench, 1);
	assert_int_equal(counters_of(&bench).xoff_sent, 0);
	evring_set_used(bench.rings[1], FLOW_SLOTS * 9 / 10);
	poll_often(&bench, 2);
	assert_int_equal(counters_of(&bench).xoff_sent, 1);
	evring_set_used(bench.rings[1], 0);
	poll_often(&bench, 3);
	assert_int_equal(counters_of(&bench).xon_sent, 1);
	send_events(&bench.rx, 1, 1);
	for (unsigned i = 0; i < RX_DEPTH * 9 / 10; i++)
		send_events(&bench.rx, 1, 1);
	poll_often(&bench, 4);
	assert_int_equal(counters_of(&bench).xoff_sent, 2);
	rte_pktmbuf_free_bulk(mbufs, link_dequeue(bench.rx.links[1], mbufs, RX_DEPTH));
	poll_often(&bench, 5);
	assert_int_equal(counters_of(&bench).xon_sent, 2);
	// Nothing but the receive buffers runs out.
	assert_int_equal(rte_pktmbuf_alloc_bulk(bench.rx.pool, mbufs, 1800), 0);
	poll_often(&bench, 6);
	assert_int_equal(counters_of(&bench).xoff_sent, 3);
	rte_pktmbuf_free_bulk(mbufs, 1800);
	poll_often(&bench, 7);
	assert_int_equal(counters_of(&bench).xon_sent, 3);
	close_flow(&bench);
}

// Behind a port for boards is the link to a readout, and no slots.
static void pause__by_a_link_to_a_readout(void **state)
{
	struct rte_mbuf *mbufs[RX_DEPTH];
	struct flow_bench bench;

	(void)state;
	open_flow(&bench);
	bench.rx.parameters.rings = NULL;
	rx_restart(&bench.rx);
	poll_often(&bench, 1);
	assert_int_equal(counters_of(&bench).xoff_sent, 0);
	for (unsigned i = 0; i < RX_DEPTH * 9 / 10 + 1; i++)
		send_events(&bench.rx, 1, 1);
	poll_often(&bench, 2);
	assert_int_equal(counters_of(&bench).xoff_sent, 1);
	rte_pktmbuf_free_bulk(mbufs, link_dequeue(bench.rx.links[1], mbufs, RX_DEPTH));
	poll_often(&bench, 3);
	assert_int_equal(counters_of(&bench).xon_sent, 1);
	close_flow(&bench);
}

// The peer is held as long as there is no room, and is let go once, when nothing is received any
// more.
static void drain__releases_the_peer_once_at_the_end(void **state)
{
	struct flow_bench bench;
	struct role *role;
	uint64_t now;

	(void)state;
	open_flow(&bench);
	role = bench.rx.role;
	evring_set_used(bench.rings[0], FLOW_SLOTS);
	poll_often(&bench, 1);
	assert_int_equal(counters_of(&bench).xoff_sent, 1);
	for (now = 5000; now <= 6000; now += 5)
		assert_false(role->operations->drain(role, now));
	assert_int_equal(counters_of(&bench).xoff_sent, 1);
	assert_int_equal(counters_of(&bench).xon_sent, 0);
	assert_true(role->operations->drain(role, now));
	assert_int_equal(counters_of(&bench).xoff_sent, 1);
	assert_int_equal(counters_of(&bench).xon_sent, 1);
	close_flow(&bench);
}

// A peer that we stop is not quiet: its packets come when there is room again.
static void drain__waits_for_a_peer_that_is_held(void **state)
{
	struct flow_bench bench;
	struct role *role;

	(void)state;
	open_flow(&bench);
	role = bench.rx.role;
	evring_set_used(bench.rings[0], FLOW_SLOTS);
	poll_often(&bench, 1);
	assert_false(role->operations->drain(role, 5000));
	assert_false(role->operations->drain(role, 5500));
	evring_set_used(bench.rings[0], 0);
	for (unsigned i = 0; i < 20; i++)
		assert_false(role->operations->drain(role, 5501));
	assert_int_equal(counters_of(&bench).xon_sent, 1);
	send_events(&bench.rx, 0, 1);
	assert_false(role->operations->drain(role, 5600));
	assert_int_equal(rx_counters(&bench.rx)->segments, 1);
	assert_true(role->operations->drain(role, 5701));
	assert_int_equal(counters_of(&bench).xon_sent, 1);
	close_flow(&bench);
}

// What is in the queue when the gate is ordered to open may be of the run before.
static void gate__opens_when_the_queue_was_empty(void **state)
{
	struct frame_segment sent = rx_segment();
	struct run_gate gate = { .wanted = false };
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", "");
	bench.parameters.gate = &gate;
	rx_restart(&bench);
	frame_udp(&frame, &sent);
	rx_refuse_segment(&bench, &frame, SEGMENT_OUTSIDE_RUN);
	for (unsigned i = 0; i < ROLE_BURST + 1; i++)
		frame_send(&frame, bench.pool, frame.length, bench.wire.port.id, 0);
	atomic_store(&gate.wanted, true);
	assert_int_equal(role_poll(bench.role, ++bench.now), ROLE_BURST);
	assert_false(atomic_load(&gate.is_open));
	assert_int_equal(role_poll(bench.role, ++bench.now), 1);
	assert_true(atomic_load(&gate.is_open));
	rx_take_none(&bench);
	assert_int_equal(rx_counters(&bench)->segment_drops[SEGMENT_OUTSIDE_RUN], ROLE_BURST + 2);

	rx_feed(&bench, &frame, frame.length);
	(void)rx_take(&bench, sent.event_id / 4 % 2, sent.bytes);
	atomic_store(&gate.wanted, false);
	rx_refuse_segment(&bench, &frame, SEGMENT_OUTSIDE_RUN);
	assert_false(atomic_load(&gate.is_open));
	rx_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(poll__takes_a_burst_in_order),
		cmocka_unit_test(lossless_link__stops_the_intake),
		cmocka_unit_test(drop_link__counts_what_does_not_fit),
		cmocka_unit_test(answers__arp_and_echo),
		cmocka_unit_test(answers__nothing_that_is_for_others),
		cmocka_unit_test(answers__nothing_without_an_address),
		cmocka_unit_test(answers__nothing_without_a_queue_or_in_pieces),
		cmocka_unit_test(answers__are_dropped_when_the_port_is_full),
		cmocka_unit_test(gate__opens_when_the_queue_was_empty),
		cmocka_unit_test(drain__ends_when_the_port_is_quiet),
		cmocka_unit_test(drain__ends_though_the_port_is_never_quiet),
		cmocka_unit_test(drain__does_not_wait_for_silence_of_control),
		cmocka_unit_test(drain__waits_for_a_full_link),
		cmocka_unit_test(pause__by_slots_links_and_pool),
		cmocka_unit_test(pause__by_a_link_to_a_readout),
		cmocka_unit_test(drain__releases_the_peer_once_at_the_end),
		cmocka_unit_test(drain__waits_for_a_peer_that_is_held),
	};

	return cmocka_run_group_tests_name("rx_flow", tests, testbed_start, testbed_stop);
}
