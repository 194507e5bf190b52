// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "flood.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "mutate.h"
#include "wire/feroce_cm.h"
#include "wire/icrc.h"

#define MTU           256u // path MTU
#define BOARD_QPN     0x300u
#define MAD_ATTRIBUTE 16u // bytes, in a MAD: which message it is

struct flood flood;

uint32_t flood_below(uint32_t n)
{
	return (uint32_t)(random_next(&flood.random) % n);
}

bool flood_one_in(uint32_t n)
{
	return flood_below(n) == 0;
}

static uint64_t now_ns(void)
{
	return (uint64_t)((double)flood.bench.now * 1e9 / (double)rte_get_tsc_hz());
}

void flood_pass_time(unsigned us)
{
	flood.bench.now += rte_get_tsc_hz() / 1000000 * us;
}

// --- what the peer sends ---

// Feeds a frame, and lets everything poll until it was taken.
static void feed(const struct frame *frame)
{
	uint64_t packets = rx_of_bench(&flood.bench)->packets;
	unsigned polls = 0;

	frame_send(frame, flood.bench.pool, flood_one_in(10) ? 60 + flood_below(200) : UINT16_MAX,
		   flood.bench.wire.port.id, 0);
	flood.fed++;
	while (rx_of_bench(&flood.bench)->packets == packets) {
		assert_true(polls++ < FLOOD_PATIENCE);
		flood.built.holds &= polls < 100;
		flood_pass_time(1 + flood_below(8));
		(void)role_poll(flood.bench.role, flood.bench.now);
		built_poll(&flood.built);
	}
	assert_int_equal(rx_of_bench(&flood.bench)->packets, packets + 1);
}

// A frame and, before it, damaged copies of it. The right one is lost now and then.
static void feed_with_damage(const struct frame *frame)
{
	struct frame damaged;

	while (!flood.is_calm && !flood_one_in(3)) {
		memcpy(damaged.bytes, frame->bytes, frame->length);
		damaged.length = frame->length;
		mutate(&damaged, &flood.random);
		feed(&damaged);
		flood.mutations++;
	}
	if (flood.is_calm || !flood_one_in(10))
		feed(frame);
}

static void send_packet(const struct lane *lane, const struct roce_packet *packet,
			const uint8_t *payload, uint32_t size)
{
	struct frame frame;

	flood.bench.ipv6 = lane != NULL && lane->is_ipv6;
	flood.bench.vlan_tci = flood.bench.ipv6 || !flood_one_in(4) ? 0 : 0x6001;
	flood.bench.dscp_ecn = flood_one_in(20) ? 3 : 0;
	roce_bench_frame(&flood.bench, &frame, packet, payload, size);
	feed_with_damage(&frame);
}

void flood_make_mfp(struct lane *lane)
{
	struct mfp_header header = { .event_id = lane->event,
				     .n_fragments = FLOOD_PACKING,
				     .source_id = lane->source,
				     .align_log2 = 2,
				     .version = 1 };
	struct random random = random_fork(lane->event, lane->source);
	uint16_t sizes[FLOOD_PACKING];
	uint8_t types[FLOOD_PACKING];

	for (unsigned i = 0; i < FLOOD_PACKING; i++) {
		sizes[i] = (uint16_t)(random_next(&random) % (lane->service == ROCE_UD ? 50 : 450));
		types[i] = MFP_TYPE_DAQ;
	}
	lane->size = (uint32_t)mfp_encoded_size(FLOOD_PACKING, sizes, 2);
	assert_true(lane->size <= sizeof(lane->bytes));
	for (uint32_t i = 0; i < lane->size; i++)
		lane->bytes[i] = (uint8_t)random_next(&random);
	assert_int_equal(mfp_encode_header(lane->bytes, lane->size, &header, types, sizes),
			 WIRE_OK);
}

// The next event, which may be one that others are ahead with; who is far behind catches up.
static void begin_message(struct lane *lane, uint32_t psn)
{
	lane->event +=
	    FLOOD_PACKING * !lane->is_new; // else what it was at when its connection ended
	lane->is_new = false;
	if (!flood.is_calm && lane->event + 8 * FLOOD_PACKING < flood.newest)
		lane->event = flood.newest;
	flood.newest = RTE_MAX(flood.newest, lane->event);
	lane->first_psn = psn;
	lane->is_write = lane->rkey != 0 && flood_one_in(2);
	lane->has_immediate = flood_one_in(2);
	flood_make_mfp(lane);
}

bool flood_find_qp(const struct lane *lane, struct queue_pair *qp)
{
	uint32_t place = lane->qpn & (roce_port_qps(flood.bench.roce) - 1);

	*qp = *roce_port_qp(flood.bench.roce, place);
	return lane->qpn != 0 && qp->state != QP_FREE && qp->qpn == lane->qpn;
}

static unsigned packets_of(const struct lane *lane)
{
	return (lane->size + MTU - 1) / MTU;
}

static uint8_t opcode_of(const struct lane *lane, bool begins, bool ends)
{
	static const uint8_t sends[] = { ROCE_RC_SEND_MIDDLE, ROCE_RC_SEND_FIRST, ROCE_RC_SEND_LAST,
					 ROCE_RC_SEND_ONLY };
	static const uint8_t writes[] = { ROCE_RC_WRITE_MIDDLE, ROCE_RC_WRITE_FIRST,
					  ROCE_RC_WRITE_LAST, ROCE_RC_WRITE_ONLY };
	unsigned which = (unsigned)begins + 2u * (unsigned)ends;
	unsigned opcode = lane->is_write ? writes[which] : sends[which];

	if (lane->service == ROCE_UD)
		return ROCE_UD_SEND_ONLY;
	return (uint8_t)(opcode + (ends && lane->has_immediate) +
			 (lane->service == ROCE_UC ? ROCE_UC_BASE : 0));
}

// The packet of a lane's message that the endpoint expects.
static void send_next(struct lane *lane, const struct queue_pair *qp)
{
	int32_t at = roce_psn_diff(qp->expected_psn, lane->first_psn);
	struct roce_packet packet = {
		.destination_qpn = lane->qpn,
		.psn = qp->expected_psn,
		.immediate = (uint32_t)lane->event,
		.deth = { .qkey = BENCH_QKEY, .source_qpn = 0x999 },
		.reth = { .rkey = lane->rkey, .address = lane->address },
	};
	uint32_t offset, size;

	if (lane->service == ROCE_UD || lane->size == 0 || at < 0 ||
	    (uint32_t)at >= packets_of(lane)) {
		begin_message(lane, qp->expected_psn);
		at = 0;
	}
	offset = (uint32_t)at * MTU;
	size = RTE_MIN(lane->size - offset, MTU);
	packet.reth.length = lane->size;
	packet.opcode = opcode_of(lane, offset == 0, offset + size == lane->size);
	packet.ack_request = offset + size == lane->size || flood_one_in(4);
	if (!flood.is_calm && flood_one_in(20)) // one that is ahead, or was there
		packet.psn = roce_psn_add(packet.psn, flood_below(9) - 4u);
	send_packet(lane, &packet, lane->bytes + offset, size);
}

// What an MFP's sender never sends, to a queue pair that is there.
static void send_other(const struct lane *lane, const struct queue_pair *qp)
{
	static const uint8_t opcodes[] = {
		ROCE_RC_READ_REQUEST,       ROCE_RC_FETCH_ADD,
		ROCE_RC_COMPARE_SWAP,       ROCE_RC_ACKNOWLEDGE,
		ROCE_RC_READ_RESPONSE_ONLY, ROCE_CNP,
		ROCE_UD_SEND_ONLY,          ROCE_RC_SEND_ONLY_INVALIDATE,
		ROCE_RC_ACKNOWLEDGE,
	};
	const struct roce_packet packet = {
		.opcode = opcodes[flood_below(RTE_DIM(opcodes))],
		.destination_qpn = lane->qpn,
		.psn = qp->expected_psn,
		.ack_request = true,
		.reth = { .address = lane->address,
			  .rkey = lane->rkey,
			  .length = flood_below(2000) },
		.atomic = { .address = lane->address, .rkey = lane->rkey },
		.aeth = { .syndrome =
			      flood_one_in(2) ? ROCE_ACK_NO_CREDITS : ROCE_NAK_PSN_SEQUENCE },
		.deth = { .qkey = BENCH_QKEY, .source_qpn = 0x999 },
	};
	uint32_t flags = roce_opcodes[packet.opcode].flags;

	send_packet(lane, &packet, lane->bytes, flags & ROCE_HAS_PAYLOAD ? flood_below(MTU) : 0);
}

// --- connections ---

static void ask_by_cm(struct lane *lane)
{
	const struct cm_destination destination = {
		.peer = qp_address_ipv4(BENCH_OWN_IP),
		.port = 7174,
		.service = ROCE_RC,
		.path_mtu = MTU,
		.user = lane,
	};

	lane->service = ROCE_RC;
	if (lane->connection == 0)
		lane->connection = cm_connect(flood.cm, &destination, now_ns());
}

// A damaged REQ may well be a right one of a peer that then falls silent, and such are bounded in
// number: not all are damaged.
static void send_mads(void)
{
	struct cm_datagram datagram;
	bool is_calm = flood.is_calm;

	while (cm_poll(flood.cm, now_ns(), &datagram)) {
		flood.is_calm =
		    is_calm ||
		    (load_be16(datagram.mad + MAD_ATTRIBUTE) == ROCE_CM_REQ && !flood_one_in(4));
		send_packet(NULL, &datagram.header, datagram.mad, sizeof(datagram.mad));
		flood.is_calm = is_calm;
	}
}

static void take_cm_events(void)
{
	struct cm_event event;

	while (cm_next_event(flood.cm, &event)) {
		struct lane *lane = event.user;

		if (event.kind == CM_ESTABLISHED && event.private_size >= 16) {
			lane->qpn = event.qp->peer_qpn;
			lane->size = 0;
			lane->is_new = true;
			lane->address = load_be64(event.private_data);
			lane->rkey = load_be32(event.private_data + 8);
		} else if (event.kind != CM_REQUESTED) {
			if (lane != NULL) {
				lane->qpn = 0;
				lane->connection = 0;
			}
			cm_release(flood.cm, event.id);
		}
	}
}

static void tell_board(unsigned number, enum feroce_request request)
{
	const struct feroce_cm message = {
		.info_valid = true,
		.request = (uint8_t)request,
		.local = { .qpn = BOARD_QPN + number, .psn = 0xFFFFF0, .ip = BENCH_PEER_IP },
		.remote = { .qpn = flood.lanes[number].qpn },
		.port = FEROCE_CM_UDP_PORT,
	};
	const struct net_udp4 udp = {
		.source_mac = { { 2, 0, 0, 0, 0, 1 } },
		.destination_mac = { { 2, 0, 0, 0, 0, 2 } },
		.source_ip = BENCH_PEER_IP,
		.destination_ip = BENCH_OWN_IP,
		.source_port = FEROCE_CM_UDP_PORT,
		.destination_port = FEROCE_CM_UDP_PORT,
	};
	struct frame frame;

	frame.length = (uint32_t)net_udp4_encode(frame.bytes, &udp, FEROCE_CM_SIZE);
	feroce_cm_encode(frame.bytes + frame.length, &message);
	frame.length += FEROCE_CM_SIZE;
	feed_with_damage(&frame);
}

static void take_board_answer(const uint8_t *bytes, size_t size)
{
	struct feroce_cm answer;
	struct lane *lane;

	assert_int_equal(feroce_cm_decode(bytes, size, &answer), WIRE_OK);
	if (answer.remote.qpn - BOARD_QPN >= FLOOD_LANES || answer.ack != FEROCE_ACK)
		return; // to a damaged message
	lane = &flood.lanes[answer.remote.qpn - BOARD_QPN];
	lane->service = ROCE_RC;
	lane->qpn = answer.local.qpn;
	lane->address = answer.local.base_address;
	lane->rkey = answer.local.rkey;
	lane->size = 0;
	lane->is_new = true;
}

// Whatever was asked, what is answered is well-formed and has a right ICRC.
static void take_answer(const struct rte_mbuf *mbuf)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	const struct cm_peer own = { .address = qp_address_ipv4(BENCH_OWN_IP) };
	struct roce_packet packet;
	struct net_frame frame;

	assert_int_equal(mbuf->nb_segs, 1);
	assert_int_equal(net_parse(bytes, mbuf->data_len, mbuf->data_len, 0, &frame), WIRE_OK);
	if (frame.kind != NET_UDP4 && frame.kind != NET_UDP6)
		return; // an ARP reply or an echo, to a packet that became one
	if (frame.destination_port != ROCE_UDP_PORT) {
		take_board_answer(bytes + frame.payload_offset, frame.payload_size);
		return;
	}
	assert_true(icrc_verify(bytes, &frame));
	assert_int_equal(roce_parse(bytes + frame.payload_offset, frame.payload_size,
				    frame.payload_size, &packet),
			 WIRE_OK);
	if (packet.destination_qpn == ROCE_CM_QPN && flood.cm != NULL)
		cm_receive(flood.cm, &packet, bytes + frame.payload_offset + packet.payload_offset,
			   &own, now_ns());
}

void flood_take_answers(void)
{
	struct rte_mbuf *mbufs[32];
	uint16_t n;

	while ((n = rte_eth_rx_burst(flood.bench.wire.port.id, 1, mbufs, 32)) > 0) {
		for (uint16_t i = 0; i < n; i++)
			take_answer(mbufs[i]);
		rte_pktmbuf_free_bulk(mbufs, n);
	}
}

// Has lanes connected that are not.
static void connect_lane(unsigned number, const struct queue_pair *qp)
{
	struct lane *lane = &flood.lanes[number];

	if (flood.kind == BY_CM && lane->qpn == 0)
		ask_by_cm(lane);
	if (flood.kind != BY_BOARD || (qp != NULL && qp->state != QP_ERROR))
		return;
	if (lane->qpn != 0)
		tell_board(number, FEROCE_CLOSE_QP);
	lane->qpn = 0;
	tell_board(number, FEROCE_OPEN_QP);
}

void flood_step(unsigned number)
{
	struct lane *lane = &flood.lanes[number];
	struct queue_pair qp;
	bool is_there = flood_find_qp(lane, &qp);

	// Now and then the consumer is slow, and slots are scarce.
	if (!flood.is_calm && flood_one_in(flood.built.holds ? 100 : 1000))
		flood.built.holds = !flood.built.holds;
	connect_lane(number, is_there ? &qp : NULL);
	if (is_there && lane->qpn != 0) {
		if (!flood.is_calm && flood_one_in(12))
			send_other(lane, &qp);
		else
			send_next(lane, &qp);
	} else if (flood.kind == BY_CM && lane->qpn != 0 && flood_one_in(50)) {
		(void)cm_disconnect(flood.cm, lane->connection, now_ns()); // it is gone there
	}
	if (flood.cm != NULL) {
		if (!flood.is_calm && lane->connection != 0 && flood_one_in(3000))
			(void)cm_disconnect(flood.cm, lane->connection, now_ns());
		send_mads();
	}
	flood_pass_time(flood.is_calm ? 10 : 100 + flood_below(2000));
	(void)role_poll(flood.bench.role, flood.bench.now);
	built_poll(&flood.built);
	flood_take_answers();
	if (flood.cm != NULL)
		take_cm_events();
}

void flood_make_cm(void)
{
	const struct cm_parameters parameters = {
		.table = &flood.table,
		.address = qp_address_ipv4(BENCH_PEER_IP),
		.guid = 1,
		.seed = random_next(&flood.random),
		.response_timeout = 200000000,
		.accept_timeout = 200000000,
		.connections = 32,
		.half_open = 32,
		.half_open_of_peer = 32,
		.of_peer = 32,
		.path_mtu = MTU,
		.retries = 7,
		.timeout_code = 14,
		.retry_count = 7,
		.rnr_retry = 7,
		.max_reads = 1,
	};

	assert_true(qp_table_create(&flood.table, 32));
	flood.cm = cm_create(&parameters);
	assert_non_null(flood.cm);
}

void flood_forget_peer(void)
{
	cm_destroy(flood.cm);
	qp_table_destroy(&flood.table);
	flood.cm = NULL;
}

void flood_make_lanes(void)
{
	static const struct {
		enum roce_service service;
		uint32_t qpn, rkey;
	} pairs[] = { { ROCE_RC, BENCH_RC, BENCH_RKEY },
		      { ROCE_UC, BENCH_UC, BENCH_RKEY },
		      { ROCE_UD, BENCH_UD, 0 },
		      { ROCE_UD, BENCH_UD, 0 } };

	memset(flood.lanes, 0, sizeof(flood.lanes));
	for (unsigned i = 0; i < FLOOD_LANES; i++) {
		struct lane *lane = &flood.lanes[i];

		// Some sources are told twice: those that come later are duplicates.
		lane->source = (uint16_t)(1 + i % FLOOD_SOURCES);
		lane->event = flood.newest;
		if (flood.kind != BY_FILE || i >= RTE_DIM(pairs))
			continue;
		lane->source = 1;
		lane->service = pairs[i].service;
		lane->qpn = pairs[i].qpn;
		lane->rkey = pairs[i].rkey;
		lane->address = BENCH_ADDRESS;
		lane->is_ipv6 = i == 3;
	}
}
