// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The table of handlers: which packets a handler is called for, and what becomes of them by its
// verdict; and the handlers of the control protocol.
#include "rx_bench.h"

#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "node/control_role.h"
#include "wire/net.h"
#include "wire/wire.h"

#define ARP_REPLY \
	"020000000002020000000001080600010800060400020200000000010a0000010200000000020a000002"
#define OWN_PORT 4000

// A handler that records its calls.
struct probe {
	enum rx_verdict verdict;
	unsigned calls, polls, leaves, sent, not_sent;
	unsigned parts;   // calls with a partial packet, which are answered by RX_MORE_BYTES
	uint32_t at_hand; // in the last call
	struct rte_mbuf *taken;
	struct rte_mempool *pool; // of what poll() sends
	unsigned to_send;
	bool more; // in the last call of poll()
	bool has_left;
};

static enum rx_verdict probe_receive(void *context, struct rx_packet *packet)
{
	struct probe *probe = context;
	struct segment *segment = mbuf_segment(packet->mbuf);

	probe->at_hand = packet->header_bytes;
	if (packet->is_partial) {
		probe->parts++;
		return RX_MORE_BYTES;
	}
	probe->calls++;
	packet->cause = SEGMENT_UNEXPECTED_SOURCE;
	if (probe->verdict == RX_PASSED_ON)
		probe->taken = packet->mbuf;
	if (probe->verdict == RX_SEGMENT) {
		memset(segment, 0, sizeof(*segment));
		segment->event_id = 9;
		segment->payload = packet->frame.payload_offset;
		segment->size = 1;
		segment->builder = 1;
	}
	return probe->verdict;
}

static unsigned probe_poll(void *context, uint64_t now, bool more, struct rte_mbuf **mbufs,
			   unsigned max)
{
	struct probe *probe = context;
	unsigned n = RTE_MIN(probe->to_send, max);

	(void)now;
	probe->polls++;
	probe->more = more;
	for (unsigned i = 0; i < n; i++) {
		mbufs[i] = rte_pktmbuf_alloc(probe->pool);
		assert_non_null(mbufs[i]);
	}
	probe->to_send -= n;
	return n;
}

static void probe_sent(void *context, unsigned sent, unsigned not_sent)
{
	struct probe *probe = context;

	probe->sent += sent;
	probe->not_sent += not_sent;
}

static bool probe_leave(void *context, uint64_t now)
{
	struct probe *probe = context;

	(void)now;
	probe->leaves++;
	return probe->has_left;
}

static struct rx_handler handler_of(struct probe *probe)
{
	return (struct rx_handler){
		.context = probe,
		.kinds = RX_ACCEPTS(NET_UDP4) | RX_ACCEPTS(NET_OTHER),
		.udp_ports = { OWN_PORT, OWN_PORT },
		.counter = offsetof(struct rx_counters, roce),
		.receive = probe_receive,
	};
}

static void open_with(struct rx_bench *bench, const struct rx_handler *handlers, unsigned n)
{
	rx_open(bench, "", "");
	bench->parameters.handlers = handlers;
	bench->parameters.n_handlers = n;
	rx_restart(bench);
}

static void make_datagram(struct frame *frame, uint16_t port)
{
	struct frame_segment sent = rx_segment();

	sent.port = port;
	frame_udp(frame, &sent);
	frame_set_udp_checksum(frame);
}

static void assert_all_freed(const struct rx_bench *bench)
{
	assert_int_equal(rte_mempool_in_use_count(bench->pool), 0);
}

static void receive__only_its_kinds_and_ports(void **state)
{
	struct probe probe = { .verdict = RX_FREE };
	const struct rx_handler handler = handler_of(&probe);
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_with(&bench, &handler, 1);
	make_datagram(&frame, OWN_PORT);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(probe.calls, 1);
	assert_int_equal(rx_counters(&bench)->roce, 1);
	assert_all_freed(&bench);
	make_datagram(&frame, OWN_PORT + 1);
	rx_refuse_packet(&bench, &frame, PACKET_UNKNOWN_PORT);
	store_be16(frame.bytes + 36, 0); // destination port
	frame_set_udp_checksum(&frame);
	rx_refuse_packet(&bench, &frame, PACKET_UNKNOWN_PORT);
	make_datagram(&frame, 19522); // segments do not go to handlers
	rx_feed(&bench, &frame, frame.length);
	rx_take(&bench, 1, rx_segment().bytes);
	frame_from_hex(&frame, ARP_REPLY);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(probe.calls, 1);
	frame.bytes[12] = 0x12; // some EtherType
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(probe.calls, 2);
	rx_restart(&bench);
	bench.links[1]->counters.enqueued = 0;
	rx_close(&bench);
}

static void receive__checksums_unless_it_has_its_own(void **state)
{
	struct probe probe = { .verdict = RX_FREE };
	struct rx_handler handler = handler_of(&probe);
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_with(&bench, &handler, 1);
	make_datagram(&frame, OWN_PORT);
	frame.bytes[frame.length - 1] ^= 1;
	rx_refuse_packet(&bench, &frame, PACKET_UDP_CHECKSUM);
	assert_int_equal(probe.calls, 0);
	handler.has_own_checksum = true;
	rx_restart(&bench);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(probe.calls, 1);
	rx_restart(&bench);
	rx_close(&bench);
}

static void receive__the_first_that_accepts(void **state)
{
	struct probe first = { .verdict = RX_NOT_MINE }, second = { .verdict = RX_FREE };
	const struct rx_handler handlers[] = { handler_of(&first), handler_of(&second) };
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_with(&bench, handlers, 2);
	frame_from_hex(&frame, ARP_REPLY);
	frame.bytes[12] = 0x12;
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(first.calls, 1);
	assert_int_equal(second.calls, 1);
	second.verdict = RX_NOT_MINE;
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(second.calls, 2);
	assert_int_equal(rx_counters(&bench)->other, 1);
	assert_all_freed(&bench);
	rx_restart(&bench);
	rx_close(&bench);
}

// The headers of UDP are in the first buffer, the rest in the second one.
static void receive__a_part_of_the_packet_if_it_says_so(void **state)
{
	struct probe probe = { .verdict = RX_FREE };
	struct rx_handler handler = handler_of(&probe);
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	open_with(&bench, &handler, 1);
	make_datagram(&frame, OWN_PORT);
	rx_feed(&bench, &frame, NET_HEADERS_SIZE);
	assert_int_equal(probe.parts, 0);
	assert_int_equal(probe.calls, 1);
	assert_int_equal(rx_counters(&bench)->roce, 1);
	handler.takes_parts = true;
	rx_restart(&bench);
	rx_feed(&bench, &frame, NET_HEADERS_SIZE);
	assert_int_equal(probe.parts, 1);
	assert_int_equal(probe.calls, 2);
	assert_true(probe.at_hand > NET_HEADERS_SIZE);
	assert_int_equal(rx_counters(&bench)->roce, 1);
	assert_int_equal(rx_counters(&bench)->packets, 1);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(probe.parts, 1);
	assert_int_equal(probe.calls, 3);
	store_be16(frame.bytes + 36, 0); // nobody's port
	frame_set_udp_checksum(&frame);
	rx_feed(&bench, &frame, NET_HEADERS_SIZE);
	assert_int_equal(rx_counters(&bench)->packet_drops[PACKET_UNKNOWN_PORT], 1);
	assert_int_equal(probe.parts, 1);
	assert_all_freed(&bench);
	rx_restart(&bench);
	rx_close(&bench);
}

static void verdict__decides_what_becomes_of_the_packet(void **state)
{
	struct probe probe = { .verdict = RX_PASSED_ON };
	const struct rx_handler handler = handler_of(&probe);
	struct rte_mbuf *reply;
	struct rx_bench bench;
	struct frame frame;
	uint8_t *bytes;

	(void)state;
	open_with(&bench, &handler, 1);
	make_datagram(&frame, OWN_PORT);
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rte_mempool_in_use_count(bench.pool), 1);
	rte_pktmbuf_free(probe.taken);
	probe.verdict = RX_NO_ROOM;
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rx_counters(&bench)->control_dropped, 1);
	assert_all_freed(&bench);
	probe.verdict = RX_REPLY;
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rte_eth_rx_burst(bench.wire.port.id, 1, &reply, 1), 1);
	rte_pktmbuf_free(reply);
	assert_int_equal(rx_counters(&bench)->roce, 3);
	probe.verdict = RX_DROP_SEGMENT;
	rx_refuse_segment(&bench, &frame, SEGMENT_UNEXPECTED_SOURCE);
	probe.verdict = RX_SEGMENT;
	rx_feed(&bench, &frame, frame.length);
	bytes = frame.bytes + NET_HEADERS_SIZE;
	assert_int_equal(rx_take(&bench, 1, bytes).event_index, 2);
	assert_int_equal(rx_counters(&bench)->roce, 3);
	rx_restart(&bench);
	bench.links[1]->counters.enqueued = 0;
	rx_close(&bench);
}

static void poll__sends_on_the_reply_queue(void **state)
{
	struct probe probe = { .to_send = 3 };
	struct rx_handler handler = handler_of(&probe);
	struct rte_mbuf *mbufs[ROLE_BURST];
	struct rx_bench bench;

	(void)state;
	handler.poll = probe_poll;
	handler.sent = probe_sent;
	open_with(&bench, &handler, 1);
	probe.pool = bench.pool;
	assert_int_equal(role_poll(bench.role, 1), 3);
	assert_int_equal(probe.sent, 3);
	assert_int_equal(role_poll(bench.role, 2), 0);
	assert_int_equal(probe.polls, 2);
	assert_int_equal(rte_eth_rx_burst(bench.wire.port.id, 1, mbufs, ROLE_BURST), 3);
	rte_pktmbuf_free_bulk(mbufs, 3);
	bench.parameters.reply_queue = -1;
	rx_restart(&bench);
	probe.to_send = 2;
	assert_int_equal(role_poll(bench.role, 3), 2);
	assert_int_equal(probe.not_sent, 2);
	assert_all_freed(&bench);
	rx_close(&bench);
}

static void poll__says_whether_more_is_waiting(void **state)
{
	struct probe probe = { .verdict = RX_FREE };
	struct rx_handler handler = handler_of(&probe);
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	handler.poll = probe_poll;
	handler.sent = probe_sent;
	open_with(&bench, &handler, 1);
	make_datagram(&frame, OWN_PORT);
	for (unsigned i = 0; i < ROLE_BURST + 1; i++)
		frame_send(&frame, bench.pool, UINT16_MAX, bench.wire.port.id, 0);
	assert_int_equal(role_poll(bench.role, 1), ROLE_BURST);
	assert_true(probe.more);
	assert_int_equal(role_poll(bench.role, 2), 1);
	assert_false(probe.more);
	probe.more = true;
	assert_int_equal(role_poll(bench.role, 3), 0);
	assert_false(probe.more);
	assert_int_equal(rx_counters(&bench)->roce, ROLE_BURST + 1);
	assert_all_freed(&bench);
	rx_restart(&bench);
	rx_close(&bench);
}

static void leave__is_waited_for_and_not_for_ever(void **state)
{
	struct probe probe = { .has_left = false };
	struct rx_handler handler = handler_of(&probe);
	uint64_t now = 5000, patience = rte_get_tsc_hz() / 2;
	const struct role_operations *operations;
	struct rx_bench bench;

	(void)state;
	handler.leave = probe_leave;
	open_with(&bench, &handler, 1);
	operations = bench.role->operations;
	assert_false(operations->drain(bench.role, now));
	assert_int_equal(probe.leaves, 0); // the port is not yet quiet
	assert_false(operations->drain(bench.role, now += 101));
	assert_int_equal(probe.leaves, 1);
	probe.has_left = true;
	assert_true(operations->drain(bench.role, now + 1));
	probe.has_left = false;
	assert_false(operations->drain(bench.role, now + patience));
	assert_true(operations->drain(bench.role, now + patience + 1));
	rx_close(&bench);
}

static void control__frames_and_arp_replies(void **state)
{
	struct link *link;
	struct rx_handler handlers[2];
	struct rte_mbuf *mbufs[8];
	struct rx_bench bench;
	struct frame frame;

	(void)state;
	rx_open(&bench, "", ", \"address\": \"10.0.0.2/24\"");
	link = link_create("rx.wire", "control", 4, false, 0);
	handlers[0] = control_frame_handler(link, OWN_PORT);
	handlers[1] = control_arp_handler(link);
	bench.parameters.handlers = handlers;
	bench.parameters.n_handlers = 2;
	rx_restart(&bench);
	make_datagram(&frame, OWN_PORT);
	rx_feed(&bench, &frame, frame.length);
	frame_from_hex(&frame, ARP_REPLY);
	rx_feed(&bench, &frame, frame.length);
	frame.bytes[21] = 1; // a request is answered here
	rx_feed(&bench, &frame, frame.length);
	assert_int_equal(link_dequeue(link, mbufs, 8), 2);
	assert_int_equal(rx_counters(&bench)->control, 1);
	assert_int_equal(rx_counters(&bench)->arp, 2);
	assert_int_equal(rx_counters(&bench)->control_dropped, 0);
	rte_pktmbuf_free_bulk(mbufs, 2);
	assert_int_equal(rte_eth_rx_burst(bench.wire.port.id, 1, mbufs, 1), 1);
	rte_pktmbuf_free(mbufs[0]);
	make_datagram(&frame, OWN_PORT);
	for (unsigned i = 0; i < 5; i++)
		rx_feed(&bench, &frame, frame.length);
	assert_int_equal(rx_counters(&bench)->control_dropped, 5 - link->depth);
	link_destroy(link);
	rx_restart(&bench);
	rx_close(&bench);
}

// A role with a control handler, its links full, and packets for builder 1 behind that.
struct held_bench {
	struct rx_bench rx;
	struct link *control;
	struct rx_handler handlers[1];
	unsigned sent; // segments, of events 1, 3, 5, ...
};

#define HOLD     40u
#define PATIENCE 20u

static void send_segments(struct held_bench *bench, unsigned n)
{
	struct frame_segment sent = rx_segment();
	struct frame frame;

	for (unsigned i = 0; i < n; i++) {
		sent.event_id = 4 * (2 * bench->sent++ + 1);
		frame_udp(&frame, &sent);
		frame_send(&frame, bench->rx.pool, frame.length, bench->rx.wire.port.id, 0);
	}
}

static void send_control(struct held_bench *bench)
{
	struct frame frame;

	make_datagram(&frame, OWN_PORT);
	frame_send(&frame, bench->rx.pool, frame.length, bench->rx.wire.port.id, 0);
}

static void poll_held(struct held_bench *bench, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		role_poll(bench->rx.role, ++bench->rx.now);
}

static void open_held(struct held_bench *bench, uint64_t patience)
{
	*bench = (struct held_bench){ .sent = 0 };
	rx_open(&bench->rx, "", "");
	bench->control = link_create("rx.wire", "control", 64, false, 0);
	bench->handlers[0] = control_frame_handler(bench->control, OWN_PORT);
	bench->rx.parameters.handlers = bench->handlers;
	bench->rx.parameters.n_handlers = 1;
	bench->rx.parameters.hold = HOLD;
	bench->rx.parameters.hold_patience = patience;
	rx_restart(&bench->rx);
	send_segments(bench, RX_DEPTH);
	poll_held(bench, 3);
	assert_int_equal(rte_ring_count(bench->rx.links[1]->ring), RX_DEPTH);
}

// What is in builder 1's link must be the next n segments that were sent.
static void take_in_order(struct held_bench *bench, unsigned first, unsigned n)
{
	struct rte_mbuf *mbufs[RX_DEPTH];

	assert_int_equal(link_dequeue(bench->rx.links[1], mbufs, RX_DEPTH), n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(mbuf_segment(mbufs[i])->event_id, 4 * (2 * (first + i) + 1));
	rte_pktmbuf_free_bulk(mbufs, n);
}

static void take_control(struct held_bench *bench, unsigned n)
{
	struct rte_mbuf *mbufs[64];

	assert_int_equal(link_dequeue(bench->control, mbufs, 64), n);
	rte_pktmbuf_free_bulk(mbufs, n);
}

static void close_held(struct held_bench *bench)
{
	link_destroy(bench->control);
	rx_restart(&bench->rx);
	bench->rx.links[1]->counters.enqueued = 0;
	rx_close(&bench->rx);
}

static void held__control_passes_data_that_waits(void **state)
{
	struct held_bench bench;

	(void)state;
	open_held(&bench, UINT64_MAX);
	send_segments(&bench, 5);
	send_control(&bench);
	send_segments(&bench, 3);
	poll_held(&bench, 2);
	assert_true(bench.rx.role->backpressured);
	assert_int_equal(rx_counters(&bench.rx)->held, 8);
	take_control(&bench, 1);
	assert_int_equal(rx_counters(&bench.rx)->segments, RX_DEPTH);
	take_in_order(&bench, 0, RX_DEPTH);
	send_segments(&bench, 2);
	poll_held(&bench, 2);
	take_in_order(&bench, RX_DEPTH, 10);
	assert_int_equal(rx_counters(&bench.rx)->held, 0);
	assert_int_equal(rx_counters(&bench.rx)->packets, bench.sent + 1);
	assert_int_equal(rx_counters(&bench.rx)->packet_drops[PACKET_LINKS_FULL], 0);
	close_held(&bench);
}

// A port that holds the sender back loses nothing: what does not fit stays in it.
static void held__nothing_is_lost_where_the_sender_waits(void **state)
{
	struct held_bench bench;

	(void)state;
	open_held(&bench, UINT64_MAX);
	send_segments(&bench, 60);
	poll_held(&bench, 5);
	take_in_order(&bench, 0, RX_DEPTH);
	poll_held(&bench, 4);
	take_in_order(&bench, RX_DEPTH, 60);
	assert_int_equal(rx_counters(&bench.rx)->packet_drops[PACKET_LINKS_FULL], 0);
	close_held(&bench);
}

// Any other port would lose it anyway: control still passes, and each loss is counted once.
static void held__control_passes_a_full_hold(void **state)
{
	struct held_bench bench;

	(void)state;
	open_held(&bench, PATIENCE);
	send_segments(&bench, 100);
	send_control(&bench);
	poll_held(&bench, PATIENCE); // the first finds room
	take_control(&bench, 0);
	assert_int_equal(rx_counters(&bench.rx)->packet_drops[PACKET_LINKS_FULL], 0);
	poll_held(&bench, 5);
	take_control(&bench, 1);
	assert_int_equal(rx_counters(&bench.rx)->packet_drops[PACKET_LINKS_FULL], 100 - HOLD);
	take_in_order(&bench, 0, RX_DEPTH);
	poll_held(&bench, 2);
	take_in_order(&bench, RX_DEPTH, HOLD);
	assert_int_equal(rx_counters(&bench.rx)->packets, bench.sent + 1);
	close_held(&bench);
}

// A handler that may bring segments waits like them; it never sees what is dropped.
static void held__handlers_that_bring_segments_wait(void **state)
{
	struct probe probe = { .verdict = RX_FREE };
	struct held_bench bench;

	(void)state;
	open_held(&bench, PATIENCE);
	bench.handlers[0] = handler_of(&probe);
	bench.handlers[0].brings_segments = true;
	rx_restart(&bench.rx);
	send_control(&bench);
	poll_held(&bench, 2);
	assert_int_equal(probe.calls, 0);
	take_in_order(&bench, 0, RX_DEPTH);
	poll_held(&bench, 1);
	assert_int_equal(probe.calls, 1);
	close_held(&bench);
}

// A drain waits for what is held, and counts what it gives up.
static void held__a_drain_counts_what_is_given_up(void **state)
{
	struct held_bench bench;
	struct role *role;

	(void)state;
	open_held(&bench, PATIENCE);
	role = bench.rx.role;
	send_segments(&bench, 3);
	for (uint64_t now = 5000; now <= 6000; now += 50) {
		send_control(&bench);
		assert_false(role->operations->drain(role, now));
	}
	assert_true(role->operations->drain(role, 6001));
	assert_int_equal(rx_counters(&bench.rx)->packet_drops[PACKET_LINKS_FULL], 3);
	take_control(&bench, 21);
	close_held(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receive__only_its_kinds_and_ports),
		cmocka_unit_test(receive__checksums_unless_it_has_its_own),
		cmocka_unit_test(receive__the_first_that_accepts),
		cmocka_unit_test(receive__a_part_of_the_packet_if_it_says_so),
		cmocka_unit_test(verdict__decides_what_becomes_of_the_packet),
		cmocka_unit_test(poll__sends_on_the_reply_queue),
		cmocka_unit_test(poll__says_whether_more_is_waiting),
		cmocka_unit_test(leave__is_waited_for_and_not_for_ever),
		cmocka_unit_test(control__frames_and_arp_replies),
		cmocka_unit_test(held__control_passes_data_that_waits),
		cmocka_unit_test(held__nothing_is_lost_where_the_sender_waits),
		cmocka_unit_test(held__control_passes_a_full_hold),
		cmocka_unit_test(held__handlers_that_bring_segments_wait),
		cmocka_unit_test(held__a_drain_counts_what_is_given_up),
	};

	return cmocka_run_group_tests_name("rx handlers", tests, testbed_start, testbed_stop);
}
