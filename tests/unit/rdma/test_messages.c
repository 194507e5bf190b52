// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Messages of static queue pairs: what they become, and how they are acknowledged.
#include "roce_bench.h"

#include <rte_ethdev.h>

#include "wire/roce.h"

static uint8_t mfp[BENCH_MFP_MOST];

static const struct bench_message rc_send = { .qpn = BENCH_RC };
static const struct bench_message uc_send = { .qpn = BENCH_UC, .is_uc = true };
static const struct bench_message rc_write = {
	.qpn = BENCH_RC, .is_write = true, .rkey = BENCH_RKEY, .address = BENCH_ADDRESS
};

static uint32_t packets_of(uint32_t size)
{
	return (size + 1023) / 1024;
}

// Sends MFPs of all sizes about those that fill packets; each must come whole, and be acknowledged.
static void send_sizes(struct roce_bench *bench, const struct bench_message *message)
{
	static const uint32_t sizes[] = { 20,   21,   22,   23,   255,  1023, 1024,
					  1025, 2047, 2048, 2049, 5001, 16384 };
	uint32_t psn = BENCH_PSN, last;
	uint64_t packets = 0, bytes = 0;
	struct queue_pair qp;

	for (unsigned i = 0; i < RTE_DIM(sizes); i++) {
		roce_bench_mfp(mfp, sizes[i], 4 * i, (uint16_t)(1 + i % 7));
		roce_bench_send(bench, message, mfp, sizes[i], &psn);
		roce_bench_take_mfp(bench, mfp, sizes[i]);
		last = roce_psn_add(psn, ROCE_24_BITS);
		if (!message->is_uc)
			roce_bench_expect_answer(bench, message->qpn, ROCE_ACK_NO_CREDITS, last);
		roce_bench_expect_silence(bench);
		packets += packets_of(sizes[i]);
		bytes += sizes[i];
	}
	qp = roce_bench_qp(bench, message->qpn);
	assert_int_equal(qp.counters.packets, packets);
	assert_int_equal(qp.counters.bytes, bytes);
	assert_int_equal(qp.counters.messages, RTE_DIM(sizes));
	assert_int_equal(qp.msn, RTE_DIM(sizes));
	assert_int_equal(qp.expected_psn, psn);
	assert_int_equal(roce_of(bench)->data, packets);
	assert_int_equal(roce_of(bench)->taken, 0);
	assert_int_equal(roce_of(bench)->sent, message->is_uc ? 0 : RTE_DIM(sizes));
	assert_int_equal(roce_of(bench)->not_sent, 0);
}

static void rc__sends(void **state)
{
	struct bench_message message = rc_send;
	struct roce_bench bench;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		message.has_immediate = i == 1;
		roce_bench_open(&bench, "");
		send_sizes(&bench, &message);
		roce_bench_close(&bench);
	}
}

static void rc__writes(void **state)
{
	struct bench_message message = rc_write;
	struct roce_bench bench;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		message.has_immediate = i == 1;
		roce_bench_open(&bench, "");
		send_sizes(&bench, &message);
		roce_bench_close(&bench);
	}
}

static void uc__sends_and_writes(void **state)
{
	struct bench_message message = uc_send;
	struct roce_bench bench;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		message.has_immediate = i % 2 == 1;
		message.is_write = i >= 2;
		message.rkey = BENCH_RKEY;
		message.address = BENCH_ADDRESS;
		roce_bench_open(&bench, "");
		send_sizes(&bench, &message);
		roce_bench_close(&bench);
	}
}

static struct roce_packet datagram(uint32_t qkey)
{
	return (struct roce_packet){
		.opcode = ROCE_UD_SEND_ONLY,
		.destination_qpn = BENCH_UD,
		.deth = { .qkey = qkey, .source_qpn = 77 },
	};
}

static void ud__sends_small_mfps(void **state)
{
	struct roce_packet header = datagram(BENCH_QKEY);
	struct roce_bench bench;

	(void)state;
	roce_bench_open(&bench, "");
	roce_bench_mfp(mfp, 1024, 8, 3);
	roce_bench_feed(&bench, &header, mfp, 1024);
	roce_bench_take_mfp(&bench, mfp, 1024);
	bench.peer_ip++; // anybody may
	roce_bench_mfp(mfp, 777, 12, 3);
	roce_bench_feed(&bench, &header, mfp, 777);
	roce_bench_take_mfp(&bench, mfp, 777);
	header = datagram(BENCH_QKEY + 1);
	roce_bench_feed(&bench, &header, mfp, 777);
	assert_int_equal(roce_bench_qp(&bench, BENCH_UD).counters.drops[QP_DROP_Q_KEY], 1);
	roce_bench_close(&bench);
}

static void ipv6__brings_datagrams(void **state)
{
	struct roce_packet header = datagram(BENCH_QKEY);
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, "");
	bench.ipv6 = true;
	roce_bench_mfp(mfp, 1001, 8, 3);
	roce_bench_feed(&bench, &header, mfp, 1001);
	roce_bench_take_mfp(&bench, mfp, 1001);
	// The others' peer has an IPv4 address.
	roce_bench_send(&bench, &rc_send, mfp, 1001, &psn);
	assert_int_equal(roce_bench_qp(&bench, BENCH_RC).counters.drops[QP_DROP_PEER], 1);
	bench.bad_icrc = true;
	roce_bench_feed(&bench, &header, mfp, 1001);
	assert_int_equal(roce_of(&bench)->icrc_errors, 1);
	roce_bench_close(&bench);
}

static void ipv6__static_queue_pair(void **state)
{
	struct bench_message message = rc_write;
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, ", \"connection\": \"static\", \"queue_pairs\": [{"
				"\"local_qpn\": 17, \"remote_qpn\": 4113, "
				"\"remote_psn\": 16777214, \"address\": \"fd00::a4d:1\", "
				"\"rkey\": \"0xabcd01\", \"virtual_address\": 2097152, "
				"\"size\": 16384}]");
	bench.ipv6 = true;
	roce_bench_mfp(mfp, 3000, 8, 3);
	roce_bench_send(&bench, &message, mfp, 3000, &psn);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, roce_psn_add(BENCH_PSN, 2));
	roce_bench_take_mfp(&bench, mfp, 3000);
	bench.dscp_ecn = 3;
	roce_bench_send(&bench, &message, mfp, 3000, &psn);
	roce_bench_take_mfp(&bench, mfp, 3000);
	{
		struct roce_packet cnp;

		assert_true(roce_bench_answer(&bench, &cnp, NULL));
		assert_int_equal(cnp.opcode, ROCE_CNP);
	}
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, roce_psn_add(BENCH_PSN, 5));
	bench.ipv6 = false; // the same number, another address
	roce_bench_send(&bench, &message, mfp, 100, &psn);
	assert_int_equal(roce_bench_qp(&bench, BENCH_RC).counters.drops[QP_DROP_PEER], 1);
	roce_bench_close(&bench);
}

static void vlan__answers_are_tagged_alike(void **state)
{
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, "");
	for (unsigned i = 0; i < 3; i++) {
		struct rte_mbuf *mbuf;
		const uint8_t *bytes;

		bench.vlan_tci = i % 2 == 0 ? 0x6064 : 0; // priority 3, VLAN 100
		roce_bench_mfp(mfp, 3000, 4 * i, 1);
		roce_bench_send(&bench, &rc_send, mfp, 3000, &psn);
		roce_bench_take_mfp(&bench, mfp, 3000);
		assert_int_equal(rte_eth_rx_burst(bench.wire.port.id, 1, &mbuf, 1), 1);
		bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);
		assert_int_equal(load_be16(bytes + 12), i % 2 == 0 ? 0x8100 : 0x0800);
		if (i % 2 == 0)
			assert_int_equal(load_be16(bytes + 14), 0x6064);
		rte_pktmbuf_free(mbuf);
	}
	roce_bench_close(&bench);
}

static void packet__in_any_number_of_buffers(void **state)
{
	static const uint32_t pieces[] = { 40,  41,  42,  43,  54,  62,  63,   70,   90,
					   117, 118, 141, 142, 143, 500, 1077, 1078, 1079 };
	struct bench_message message = rc_write;
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN, again;

	(void)state;
	message.has_immediate = true;
	roce_bench_open(&bench, "");
	for (unsigned i = 0; i < RTE_DIM(pieces); i++) {
		bench.piece = pieces[i];
		roce_bench_mfp(mfp, 3003, 4 * i, 1);
		again = psn;
		bench.bad_icrc = true;
		roce_bench_send(&bench, &message, mfp, 3003, &again);
		assert_int_equal(roce_of(&bench)->icrc_errors, 3 * (i + 1));
		roce_bench_take_none(&bench);
		bench.bad_icrc = false;
		roce_bench_send(&bench, &message, mfp, 3003, &psn);
		roce_bench_take_mfp(&bench, mfp, 3003);
		roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS,
					 roce_psn_add(psn, ROCE_24_BITS));
	}
	roce_bench_close(&bench);
}

// Sends n packets with wrong ICRCs, and returns how many were taken.
static unsigned taken_of(struct roce_bench *bench, unsigned n)
{
	uint32_t psn = BENCH_PSN;

	bench->bad_icrc = true;
	for (unsigned i = 0; i < n; i++) {
		roce_bench_mfp(mfp, 500, 4 * i, 1);
		roce_bench_send(bench, &uc_send, mfp, 500, &psn);
		if (roce_of(bench)->icrc_errors + roce_of(bench)->data != i + 1)
			fail_msg("packet %u is neither", i);
	}
	for (unsigned i = 0; i < BENCH_BUILDERS; i++) {
		struct rte_mbuf *mbuf;

		while (link_dequeue(bench->links[i], &mbuf, 1) == 1)
			rte_pktmbuf_free(mbuf);
	}
	return (unsigned)roce_of(bench)->data;
}

static void icrc__is_verified_ignored_or_sampled(void **state)
{
	struct roce_bench bench;

	(void)state;
	roce_bench_open(&bench, "");
	assert_int_equal(taken_of(&bench, 60), 0);
	assert_int_equal(roce_bench_qp(&bench, BENCH_UC).counters.icrc_errors, 60);
	roce_bench_close(&bench);
	roce_bench_open(&bench, ", \"icrc\": \"ignore\"");
	assert_int_equal(taken_of(&bench, 60), 60);
	roce_bench_close(&bench);
	roce_bench_open(&bench, ", \"icrc\": \"sample\", \"sample_one_in\": 4");
	assert_int_equal(taken_of(&bench, 60), 45);
	roce_bench_close(&bench);
}

// Feeds MFPs of single packets, with the serial numbers `begin` to `end` - 1.
static void feed_mfps(struct roce_bench *bench, unsigned begin, unsigned end)
{
	for (unsigned i = begin; i < end; i++) {
		struct roce_packet header = {
			.opcode = ROCE_RC_SEND_ONLY,
			.destination_qpn = BENCH_RC,
			.psn = roce_psn_add(BENCH_PSN, i),
			.ack_request = true,
		};
		struct frame frame;

		roce_bench_mfp(mfp, 100, 4 * i, 1);
		roce_bench_frame(bench, &frame, &header, mfp, 100);
		frame_send(&frame, bench->pool, UINT16_MAX, bench->wire.port.id, 0);
	}
}

static void expect_segments(struct roce_bench *bench, unsigned per_builder)
{
	for (unsigned i = 0; i < BENCH_BUILDERS; i++) {
		struct rte_mbuf *mbufs[2 * ROLE_BURST];

		assert_int_equal(link_dequeue(bench->links[i], mbufs, 2 * ROLE_BURST), per_builder);
		rte_pktmbuf_free_bulk(mbufs, per_builder);
	}
}

static void acks__are_coalesced(void **state)
{
	struct roce_bench bench;

	(void)state;
	roce_bench_open(&bench, ", \"ack_every\": 16");
	feed_mfps(&bench, 0, 20);
	assert_int_equal(role_poll(bench.role, ++bench.now), 20);
	// One at the 16th, one when the burst is over.
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS,
				 roce_psn_add(BENCH_PSN, 15));
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS,
				 roce_psn_add(BENCH_PSN, 19));
	expect_segments(&bench, 10);
	roce_bench_close(&bench);
}

// After a full burst an ACK waits for the next burst, and not longer.
static void acks__of_two_full_bursts_are_one(void **state)
{
	struct roce_bench bench;

	(void)state;
	roce_bench_open(&bench, ", \"ack_every\": 1000");
	feed_mfps(&bench, 0, 2 * ROLE_BURST);
	assert_int_equal(role_poll(bench.role, ++bench.now), ROLE_BURST);
	roce_bench_expect_silence(&bench);
	assert_int_equal(role_poll(bench.role, ++bench.now), ROLE_BURST);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS,
				 roce_psn_add(BENCH_PSN, 2 * ROLE_BURST - 1));
	expect_segments(&bench, ROLE_BURST);
	roce_bench_close(&bench);
}

// As many answers as packets, and a notification: more than leave in one poll.
static void answers__of_a_burst_all_leave(void **state)
{
	struct roce_packet packet;
	struct roce_bench bench;
	struct frame frame;
	unsigned answers = 0;

	(void)state;
	roce_bench_open(&bench, "");
	bench.dscp_ecn = 3;
	for (uint32_t i = 0; i < ROLE_BURST; i++) {
		const struct roce_packet header = {
			.opcode = ROCE_RC_SEND_ONLY,
			.destination_qpn = BENCH_RC,
			.psn = roce_psn_add(BENCH_PSN, i),
			.ack_request = true,
		};

		roce_bench_mfp(mfp, 100, 8 * i, 1);
		roce_bench_frame(&bench, &frame, &header, mfp, 100);
		frame_send(&frame, bench.pool, UINT16_MAX, bench.wire.port.id, 0);
	}
	assert_int_equal(role_poll(bench.role, ++bench.now), ROLE_BURST);
	while (roce_bench_answer(&bench, &packet, NULL))
		answers++;
	assert_int_equal(answers, ROLE_BURST);
	assert_int_equal(role_poll(bench.role, ++bench.now), 1);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS,
				 roce_psn_add(BENCH_PSN, ROLE_BURST - 1));
	assert_int_equal(roce_of(&bench)->sent, ROLE_BURST + 1);
	for (unsigned i = 0; i < ROLE_BURST; i++) {
		struct rte_mbuf *mbuf;

		assert_int_equal(link_dequeue(bench.links[0], &mbuf, 1), 1);
		rte_pktmbuf_free(mbuf);
	}
	roce_bench_close(&bench);
}

static void congestion__is_notified(void **state)
{
	struct roce_packet packet;
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, ", \"cnp_interval\": \"50us\"");
	bench.dscp_ecn = 3;
	for (unsigned i = 0; i < 3; i++) {
		roce_bench_mfp(mfp, 3000, 4 * i, 1);
		roce_bench_send(&bench, &uc_send, mfp, 3000, &psn);
		roce_bench_take_mfp(&bench, mfp, 3000);
		assert_true(roce_bench_answer(&bench, &packet, NULL));
		assert_int_equal(packet.opcode, ROCE_CNP);
		assert_int_equal(packet.destination_qpn, BENCH_UC + 0x1000);
		assert_true(packet.becn);
		roce_bench_expect_silence(&bench);
		roce_bench_wait(&bench, 1);
	}
	assert_int_equal(roce_bench_qp(&bench, BENCH_UC).counters.cnp_sent, 3);
	roce_bench_close(&bench);
}

static void end_of_run__is_a_message(void **state)
{
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, "");
	roce_bench_mfp(mfp, 20, UINT64_MAX, 1);
	roce_bench_send(&bench, &rc_send, mfp, 20, &psn);
	roce_bench_take_mfp(&bench, mfp, 20);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, BENCH_PSN);
	roce_bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rc__sends),
		cmocka_unit_test(rc__writes),
		cmocka_unit_test(uc__sends_and_writes),
		cmocka_unit_test(ud__sends_small_mfps),
		cmocka_unit_test(ipv6__brings_datagrams),
		cmocka_unit_test(ipv6__static_queue_pair),
		cmocka_unit_test(vlan__answers_are_tagged_alike),
		cmocka_unit_test(packet__in_any_number_of_buffers),
		cmocka_unit_test(icrc__is_verified_ignored_or_sampled),
		cmocka_unit_test(acks__are_coalesced),
		cmocka_unit_test(acks__of_two_full_bursts_are_one),
		cmocka_unit_test(answers__of_a_burst_all_leave),
		cmocka_unit_test(congestion__is_notified),
		cmocka_unit_test(end_of_run__is_a_message),
	};

	return cmocka_run_group_tests_name("rdma-messages", tests, testbed_start, testbed_stop);
}
