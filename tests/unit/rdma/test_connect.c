// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Connections: by RDMA CM, as a real host asks for them; by FERoCE's manager; and their end.
#include "roce_bench.h"

#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include "conversation.h"
#include "wire/feroce_cm.h"
#include "wire/net.h"
#include "wire/roce_cm.h"

#define CM_PORT      ", \"connection\": \"cm\", \"cm_service\": 7174"
#define CLIENT_ID    0x1234ABCDu
#define CLIENT_QPN   0x55AAu
#define CLIENT_PSN   0x123456u
#define QUIET_CYCLES 100

static uint8_t mfp[BENCH_MFP_MOST];

// What a REP of the endpoint said.
struct offer {
	uint32_t id, qpn, rkey, size;
	uint32_t psn; // that the peer is to begin with
	uint64_t address;
};

static void feed_mad(struct roce_bench *bench, const uint8_t *mad)
{
	const struct roce_packet header = {
		.opcode = ROCE_UD_SEND_ONLY,
		.destination_qpn = ROCE_CM_QPN,
		.deth = { .qkey = ROCE_CM_QKEY, .source_qpn = ROCE_CM_QPN },
	};

	roce_bench_feed(bench, &header, mad, ROCE_CM_MAD_SIZE);
}

static void feed_message(struct roce_bench *bench, const struct roce_cm *message)
{
	uint8_t mad[ROCE_CM_MAD_SIZE];

	assert_int_equal(roce_cm_encode(mad, message), WIRE_OK);
	feed_mad(bench, mad);
}

// The next answer, which must be this message.
static struct roce_cm expect_message(struct roce_bench *bench, enum roce_cm_attribute attribute)
{
	static uint8_t mad[256];
	struct roce_packet packet;
	struct roce_cm message;

	assert_true(roce_bench_answer(bench, &packet, mad));
	assert_int_equal(packet.opcode, ROCE_UD_SEND_ONLY);
	assert_int_equal(packet.destination_qpn, ROCE_CM_QPN);
	assert_int_equal(packet.deth.qkey, ROCE_CM_QKEY);
	assert_int_equal(roce_cm_decode(mad, packet.payload_size, &message), WIRE_OK);
	assert_int_equal(message.attribute, attribute);
	return message;
}

static struct offer expect_rep(struct roce_bench *bench)
{
	struct roce_cm rep = expect_message(bench, ROCE_CM_REP);

	return (struct offer){
		.id = rep.local_id,
		.qpn = rep.rep.qpn,
		.psn = rep.rep.starting_psn,
		.address = load_be64(rep.private_data),
		.rkey = load_be32(rep.private_data + 8),
		.size = load_be32(rep.private_data + 12),
	};
}

static struct qp_address address_of(const struct roce_bench *bench, uint32_t ip)
{
	struct qp_address address = { { 0xFD } };

	if (!bench->ipv6)
		return qp_address_ipv4(ip);
	store_be32(address.bytes + 12, ip);
	return address;
}

// A REQ as rping's, from bench->peer_ip.
static void ask(struct roce_bench *bench, uint32_t id, uint32_t qpn, uint16_t port)
{
	struct roce_cm_ip ip = { .source_port = 40000, .version = bench->ipv6 ? 6 : 4 };
	uint8_t private_data[ROCE_CM_IP_SIZE];
	struct roce_cm req = {
		.transaction = id,
		.attribute = ROCE_CM_REQ,
		.local_id = id,
		.private_data = private_data,
		.private_size = sizeof(private_data),
		.req = { .service_id = ROCE_CM_SERVICE_TCP | port,
			 .qpn = qpn,
			 .starting_psn = CLIENT_PSN,
			 .partition_key = ROCE_DEFAULT_P_KEY,
			 .retry_count = 7,
			 .rnr_retry_count = 7,
			 .path_mtu = 3,
			 .primary = { .ack_timeout = 14 } },
	};
	const struct qp_address peer = address_of(bench, bench->peer_ip);
	const struct qp_address own = address_of(bench, BENCH_OWN_IP);

	memcpy(req.req.primary.local_gid, peer.bytes, 16);
	memcpy(req.req.primary.remote_gid, own.bytes, 16);
	memcpy(ip.source, peer.bytes, sizeof(ip.source));
	memcpy(ip.destination, own.bytes, sizeof(ip.destination));
	if (!bench->ipv6) {
		memset(ip.source, 0, 12);
		memset(ip.destination, 0, 12);
	}
	roce_cm_ip_encode(private_data, &ip);
	feed_message(bench, &req);
}

static void say(struct roce_bench *bench, enum roce_cm_attribute attribute, uint32_t id,
		const struct offer *offer)
{
	const struct roce_cm message = {
		.transaction = id,
		.attribute = attribute,
		.local_id = id,
		.remote_id = offer->id,
		.dreq = { .remote_qpn = offer->qpn },
	};

	feed_message(bench, &message);
}

static struct queue_pair qp_of(const struct roce_bench *bench, const struct offer *offer)
{
	return roce_bench_qp(bench, offer->qpn);
}

static unsigned queue_pairs(const struct roce_bench *bench)
{
	unsigned n = 0;

	for (unsigned i = 0; i < roce_port_qps(bench->roce); i++)
		n += roce_port_qp(bench->roce, i)->state != QP_FREE;
	return n;
}

// A WRITE of an MFP to where the offer says.
static void send_mfp(struct roce_bench *bench, struct offer *offer)
{
	const struct bench_message write = { .qpn = offer->qpn,
					     .is_write = true,
					     .has_immediate = true,
					     .rkey = offer->rkey,
					     .address = offer->address };
	struct roce_packet ack;

	roce_bench_mfp(mfp, 3000, 0, 1);
	roce_bench_send(bench, &write, mfp, 3000, &offer->psn);
	roce_bench_take_mfp(bench, mfp, 3000);
	assert_true(roce_bench_answer(bench, &ack, NULL));
	assert_int_equal(ack.aeth.syndrome, ROCE_ACK_NO_CREDITS);
}

static void cm__as_a_real_host_asks(void **state)
{
	struct conversation conversation = conversation_read("rping_mtu9000");
	const struct heard *req = &conversation.packets[0];
	struct roce_bench bench;
	struct roce_cm message;
	struct offer offer;

	(void)state;
	roce_bench_open(&bench, CM_PORT ", \"path_mtu\": 4096");
	assert_int_equal(roce_cm_decode(req->payload, req->packet.payload_size, &message), 0);
	assert_int_equal(message.attribute, ROCE_CM_REQ);
	feed_mad(&bench, req->payload);
	offer = expect_rep(&bench);
	assert_true(offer.rkey != 0 && offer.address != 0);
	assert_int_equal(offer.size, 16384); // a slot
	assert_int_equal(qp_of(&bench, &offer).path_mtu, 4096);
	assert_int_equal(qp_of(&bench, &offer).peer_qpn, message.req.qpn);
	assert_int_equal(qp_of(&bench, &offer).expected_psn, offer.psn);
	say(&bench, ROCE_CM_RTU, message.local_id, &offer);
	roce_bench_expect_silence(&bench);
	assert_int_equal(roce_port_cm_counters(bench.roce)->established, 1);
	say(&bench, ROCE_CM_DREQ, message.local_id, &offer);
	expect_message(&bench, ROCE_CM_DREP);
	assert_int_equal(queue_pairs(&bench), 0);
	roce_bench_close(&bench);
	conversation_free(&conversation);
}

static void cm__over_ipv6(void **state)
{
	struct roce_bench bench;
	struct offer offer;

	(void)state;
	roce_bench_open(&bench, CM_PORT);
	bench.ipv6 = true;
	ask(&bench, CLIENT_ID, CLIENT_QPN, 7174);
	offer = expect_rep(&bench);
	say(&bench, ROCE_CM_RTU, CLIENT_ID, &offer);
	assert_int_equal(roce_port_cm_counters(bench.roce)->established, 1);
	send_mfp(&bench, &offer);
	bench.ipv6 = false; // another peer's address
	{
		const struct bench_message write = { .qpn = offer.qpn,
						     .is_write = true,
						     .rkey = offer.rkey,
						     .address = offer.address };

		roce_bench_send(&bench, &write, mfp, 100, &offer.psn);
		roce_bench_take_none(&bench);
		assert_int_equal(qp_of(&bench, &offer).counters.drops[QP_DROP_PEER], 1);
	}
	bench.ipv6 = true;
	say(&bench, ROCE_CM_DREQ, CLIENT_ID, &offer);
	expect_message(&bench, ROCE_CM_DREP);
	assert_int_equal(queue_pairs(&bench), 0);
	roce_bench_close(&bench);
}

static void cm__data_may_come_before_the_rtu(void **state)
{
	struct roce_bench bench;
	struct offer offer;

	(void)state;
	roce_bench_open(&bench, CM_PORT);
	ask(&bench, CLIENT_ID, CLIENT_QPN, 7174);
	offer = expect_rep(&bench);
	send_mfp(&bench, &offer);
	roce_bench_wait(&bench, 10);
	assert_int_equal(roce_port_cm_counters(bench.roce)->established, 1);
	roce_bench_wait(&bench, 1000); // no REP is sent again
	roce_bench_expect_silence(&bench);
	send_mfp(&bench, &offer);
	roce_bench_close(&bench);
}

static void cm__rep_is_sent_again_until_it_is_heard(void **state)
{
	struct roce_bench bench;
	struct offer offer;
	unsigned again = 0;

	(void)state;
	roce_bench_open(&bench, CM_PORT);
	ask(&bench, CLIENT_ID, CLIENT_QPN, 7174);
	offer = expect_rep(&bench);
	for (unsigned i = 0; i < 100 && queue_pairs(&bench) > 0; i++) {
		struct roce_packet packet;
		uint8_t mad[256];

		roce_bench_wait(&bench, 100);
		while (roce_bench_answer(&bench, &packet, mad))
			again += load_be16(mad + 16) == ROCE_CM_REP;
	}
	assert_int_equal(again, 15);
	assert_int_equal(queue_pairs(&bench), 0);
	assert_int_equal(roce_port_cm_counters(bench.roce)->timed_out, 1);
	assert_true(offer.id != 0);
	roce_bench_close(&bench);
}

// While builders take nothing, connections are looked after.
static void cm__goes_on_behind_full_links(void **state)
{
	struct bench_message message = { .is_write = false };
	struct roce_packet packet;
	struct rte_mbuf *mbufs[BENCH_DEPTH];
	struct roce_bench bench;
	struct offer offer;
	unsigned n;

	(void)state;
	roce_bench_open(&bench, CM_PORT);
	ask(&bench, CLIENT_ID, CLIENT_QPN, 7174);
	offer = expect_rep(&bench);
	say(&bench, ROCE_CM_RTU, CLIENT_ID, &offer);
	message.qpn = offer.qpn;
	roce_bench_mfp(mfp, 100, 0, 1);
	while (link_room(bench.links[0], ROLE_BURST)) {
		roce_bench_send(&bench, &message, mfp, 100, &offer.psn);
		assert_true(roce_bench_answer(&bench, &packet, NULL));
	}
	assert_false(roce_port_leave(
	    bench.roce, (uint64_t)((double)bench.now * 1e9 / (double)rte_get_tsc_hz())));
	roce_bench_wait(&bench, 1);
	assert_true(bench.role->backpressured);
	expect_message(&bench, ROCE_CM_DREQ);
	n = link_dequeue(bench.links[0], mbufs, BENCH_DEPTH);
	rte_pktmbuf_free_bulk(mbufs, n);
	roce_bench_close(&bench);
}

static void cm__another_port_is_refused(void **state)
{
	struct roce_bench bench;
	struct roce_cm rej;

	(void)state;
	roce_bench_open(&bench, CM_PORT);
	ask(&bench, CLIENT_ID, CLIENT_QPN, 7175);
	rej = expect_message(&bench, ROCE_CM_REJ);
	assert_int_equal(rej.rej.reason, ROCE_CM_INVALID_SERVICE_ID);
	assert_int_equal(queue_pairs(&bench), 0);
	roce_bench_close(&bench);
}

static void cm__one_key_is_not_anothers(void **state)
{
	struct roce_bench bench;
	struct offer a, b;

	(void)state;
	roce_bench_open(&bench, CM_PORT);
	ask(&bench, CLIENT_ID, CLIENT_QPN, 7174);
	a = expect_rep(&bench);
	ask(&bench, CLIENT_ID + 1, CLIENT_QPN + 1, 7174);
	b = expect_rep(&bench);
	assert_true(a.rkey != b.rkey && a.qpn != b.qpn);
	send_mfp(&bench, &a);
	a.rkey = b.rkey;
	{
		const struct bench_message write = {
			.qpn = a.qpn, .is_write = true, .rkey = a.rkey, .address = a.address
		};
		struct roce_packet nak;

		roce_bench_send(&bench, &write, mfp, 100, &a.psn);
		assert_true(roce_bench_answer(&bench, &nak, NULL));
		assert_int_equal(nak.aeth.syndrome, ROCE_NAK_REMOTE_ACCESS);
	}
	roce_bench_take_none(&bench);
	// A queue pair in error is taken leave of.
	roce_bench_wait(&bench, 10);
	roce_bench_wait(&bench, 10);
	expect_message(&bench, ROCE_CM_DREQ);
	send_mfp(&bench, &b);
	roce_bench_close(&bench);
}

// Each asks once; what it gets are bounds, and all is free again after a while.
static void cm__flood_is_bounded(void **state)
{
	struct roce_packet packet;
	struct roce_bench bench;
	struct offer offer;
	unsigned most = 0;

	(void)state;
	roce_bench_open(&bench, CM_PORT);
	for (uint32_t i = 0; i < 500; i++) {
		bench.peer_ip = BENCH_PEER_IP + 256 * (i % 25);
		ask(&bench, CLIENT_ID + i, CLIENT_QPN + i, 7174);
		while (roce_bench_answer(&bench, &packet, NULL))
			;
		most = RTE_MAX(most, queue_pairs(&bench));
	}
	assert_int_equal(most, 48); // three quarters of the places
	assert_int_equal(roce_port_cm_counters(bench.roce)->no_resources, 0);
	assert_int_equal(roce_port_cm_counters(bench.roce)->early_drops, 500 - 48);
	bench.peer_ip = BENCH_PEER_IP;
	for (unsigned i = 0; i < 100; i++) {
		struct rte_mbuf *mbufs[64];
		uint16_t n;

		roce_bench_wait(&bench, 100);
		while ((n = rte_eth_rx_burst(bench.wire.port.id, 1, mbufs, 64)) > 0)
			rte_pktmbuf_free_bulk(mbufs, n);
	}
	assert_int_equal(queue_pairs(&bench), 0);
	ask(&bench, CLIENT_ID, CLIENT_QPN, 7174);
	offer = expect_rep(&bench);
	send_mfp(&bench, &offer);
	roce_bench_close(&bench);
}

static void cm__restarted_peer_connects_anew(void **state)
{
	struct roce_bench bench;
	struct offer offer;

	(void)state;
	roce_bench_open(&bench, CM_PORT);
	for (uint32_t i = 0; i < 200; i++) {
		ask(&bench, CLIENT_ID + i, CLIENT_QPN, 7174);
		offer = expect_rep(&bench);
		send_mfp(&bench, &offer);
		roce_bench_wait(&bench, 5); // heard
		roce_bench_wait(&bench, 5);
		assert_int_equal(queue_pairs(&bench), 1);
		ask(&bench, CLIENT_ID + i + 1, CLIENT_QPN, 7174);
		roce_bench_expect_silence(&bench); // the old one lives
		roce_bench_wait(&bench, 3000);
	}
	assert_int_equal(roce_port_cm_counters(bench.roce)->restarted, 199);
	roce_bench_close(&bench);
}

// The drain of the role ends when all have answered, or by itself.
static void drain__takes_leave(void **state)
{
	struct roce_bench bench;
	struct offer offers[3];
	struct roce_cm dreq;
	unsigned asked = 0;

	(void)state;
	roce_bench_open(&bench, CM_PORT);
	for (uint32_t i = 0; i < 3; i++) {
		ask(&bench, CLIENT_ID + i, CLIENT_QPN + i, 7174);
		offers[i] = expect_rep(&bench);
		say(&bench, ROCE_CM_RTU, CLIENT_ID + i, &offers[i]);
	}
	assert_false(bench.role->operations->drain(bench.role, ++bench.now));
	bench.now += 2 * QUIET_CYCLES;
	assert_false(bench.role->operations->drain(bench.role, bench.now));
	for (uint32_t i = 0; i < 3; i++) {
		assert_false(bench.role->operations->drain(bench.role, ++bench.now));
		if (i == 0)
			for (uint32_t j = 0; j < 3; j++) { // in any order
				dreq = expect_message(&bench, ROCE_CM_DREQ);
				asked |= 1u << (dreq.remote_id - CLIENT_ID);
			}
		say(&bench, ROCE_CM_DREP, CLIENT_ID + i, &offers[i]);
	}
	assert_true(bench.role->operations->drain(bench.role, ++bench.now));
	assert_int_equal(asked, 7);
	assert_int_equal(queue_pairs(&bench), 0);
	// Nobody is taken now.
	ask(&bench, CLIENT_ID + 9, CLIENT_QPN + 9, 7174);
	expect_message(&bench, ROCE_CM_REJ);
	roce_bench_close(&bench);
}

static void drain__does_not_wait_for_ever(void **state)
{
	struct roce_bench bench;
	struct offer offer;
	unsigned polls = 0;

	(void)state;
	roce_bench_open(&bench, CM_PORT);
	ask(&bench, CLIENT_ID, CLIENT_QPN, 7174);
	offer = expect_rep(&bench);
	say(&bench, ROCE_CM_RTU, CLIENT_ID, &offer);
	while (!bench.role->operations->drain(bench.role, bench.now) && polls++ < 1000)
		bench.now += rte_get_tsc_hz() / 1000;
	assert_true(polls > 400 && polls < 700);
	for (unsigned i = 0; i < 3; i++) // and again after 250 and 500 ms
		expect_message(&bench, ROCE_CM_DREQ);
	roce_bench_close(&bench);
}

// --- FERoCE ---

static void feed_board(struct roce_bench *bench, const struct feroce_cm *message)
{
	const struct net_udp4 udp = {
		.source_mac = { { 2, 0, 0, 0, 0, 1 } },
		.destination_mac = { { 2, 0, 0, 0, 0, 2 } },
		.source_ip = bench->peer_ip,
		.destination_ip = BENCH_OWN_IP,
		.source_port = FEROCE_CM_UDP_PORT,
		.destination_port = FEROCE_CM_UDP_PORT,
		.vlan_tci = bench->vlan_tci,
	};
	struct frame frame;

	frame.length = (uint32_t)net_udp4_encode(frame.bytes, &udp, FEROCE_CM_SIZE);
	feroce_cm_encode(frame.bytes + frame.length, message);
	frame.length += FEROCE_CM_SIZE;
	roce_bench_feed_frame(bench, &frame);
}

static struct feroce_cm expect_board_answer(struct roce_bench *bench)
{
	struct feroce_cm message;
	struct net_frame frame;
	struct rte_mbuf *mbuf;
	const uint8_t *bytes;

	assert_int_equal(rte_eth_rx_burst(bench->wire.port.id, 1, &mbuf, 1), 1);
	bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	assert_int_equal(net_parse(bytes, mbuf->data_len, mbuf->data_len, 0, &frame), WIRE_OK);
	assert_int_equal(frame.destination_port, FEROCE_CM_UDP_PORT);
	assert_int_equal(frame.vlan_tci, bench->vlan_tci);
	assert_memory_equal(bytes, ((uint8_t[]){ 2, 0, 0, 0, 0, 1 }), 6);
	assert_int_equal(load_be32(bytes + frame.l3_offset + 16), bench->peer_ip);
	assert_int_equal(
	    feroce_cm_decode(bytes + frame.payload_offset, frame.payload_size, &message), 0);
	rte_pktmbuf_free(mbuf);
	return message;
}

static struct feroce_cm board_message(const struct roce_bench *bench, enum feroce_request request,
				      uint32_t qpn)
{
	return (struct feroce_cm){
		.info_valid = true,
		.request = (uint8_t)request,
		.local = { .qpn = qpn, .psn = CLIENT_PSN, .ip = bench->peer_ip },
		.port = FEROCE_CM_UDP_PORT,
	};
}

static struct offer open_board(struct roce_bench *bench, uint32_t qpn)
{
	struct feroce_cm message = board_message(bench, FEROCE_OPEN_QP, qpn), answer;

	feed_board(bench, &message);
	answer = expect_board_answer(bench);
	assert_true(answer.ack_valid);
	assert_int_equal(answer.ack, FEROCE_ACK);
	assert_int_equal(answer.remote.qpn, qpn);
	return (struct offer){
		.qpn = answer.local.qpn,
		.address = answer.local.base_address,
		.rkey = answer.local.rkey,
		.psn = CLIENT_PSN,
		.size = 16384,
	};
}

static void feroce__boards_open_send_and_close(void **state)
{
	struct roce_bench bench;
	struct offer offers[8];

	(void)state;
	roce_bench_open(&bench, ", \"connection\": \"feroce\"");
	for (unsigned round = 0; round < 50; round++) {
		bench.vlan_tci = round % 2 == 0 ? 0 : 0x6001;
		for (uint32_t i = 0; i < 8; i++) {

			offers[i] = open_board(&bench, 0x100 + i);
			for (uint32_t j = 0; j < i; j++)
				assert_true(offers[j].rkey != offers[i].rkey);
			send_mfp(&bench, &offers[i]);
		}
		assert_int_equal(queue_pairs(&bench), 8);
		for (uint32_t i = 0; i < 8; i++) {
			struct feroce_cm close = board_message(&bench, FEROCE_CLOSE_QP, 0x100 + i);

			close.remote.qpn = offers[i].qpn;
			feed_board(&bench, &close);
			assert_int_equal(expect_board_answer(&bench).ack, FEROCE_ACK);
		}
		assert_int_equal(queue_pairs(&bench), 0);
	}
	roce_bench_close(&bench);
}

static void feroce__no_more_boards_than_places(void **state)
{
	struct feroce_cm message, answer;
	struct roce_bench bench;
	struct offer offer;

	(void)state;
	roce_bench_open(&bench, ", \"connection\": \"feroce\"");
	for (uint32_t i = 0; i < 64; i++) {
		bench.peer_ip = BENCH_PEER_IP + 256 * (i % 2);
		offer = open_board(&bench, 0x100 + i);
		send_mfp(&bench, &offer);
		roce_bench_wait(&bench, 5); // heard
	}
	message = board_message(&bench, FEROCE_OPEN_QP, 0x200);
	for (unsigned i = 0; i < 3; i++) {
		feed_board(&bench, &message);
		answer = expect_board_answer(&bench);
		assert_int_equal(answer.ack, FEROCE_NO_QP);
	}
	roce_bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cm__as_a_real_host_asks),
		cmocka_unit_test(cm__over_ipv6),
		cmocka_unit_test(cm__data_may_come_before_the_rtu),
		cmocka_unit_test(cm__rep_is_sent_again_until_it_is_heard),
		cmocka_unit_test(cm__goes_on_behind_full_links),
		cmocka_unit_test(cm__another_port_is_refused),
		cmocka_unit_test(cm__one_key_is_not_anothers),
		cmocka_unit_test(cm__flood_is_bounded),
		cmocka_unit_test(cm__restarted_peer_connects_anew),
		cmocka_unit_test(drain__takes_leave),
		cmocka_unit_test(drain__does_not_wait_for_ever),
		cmocka_unit_test(feroce__boards_open_send_and_close),
		cmocka_unit_test(feroce__no_more_boards_than_places),
	};

	return cmocka_run_group_tests_name("rdma-connect", tests, testbed_start, testbed_stop);
}
