// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rig.h"

const struct rig_options rig_standard = {
	.service = ROCE_RC,
	.ack_every = 1,
	.access = QP_MAY_WRITE | QP_MAY_READ,
	.max_reads = 4,
	.rnr_retry = 7,
	.retry_count = 3,
	.window = 128,
	.ack_interval = 64,
	.peer_psn = RIG_START_PSN,
};

static void make_region(struct rig *rig)
{
	memset(rig->guarded, RIG_CANARY, sizeof(rig->guarded));
	rig->memory = rig->guarded + RIG_GUARD;
	rig->rkey = 1 << 8 | 7;
	rig->region = (struct region){
		.memory = rig->memory,
		.address = RIG_ADDRESS,
		.length = RIG_MEMORY,
		.rkey = rig->rkey,
		.access = REGION_READ | REGION_WRITE,
	};
	rig->regions = (struct region_table){ .regions = &rig->region, .n = 1 };
}

static void make_engines(struct rig *rig, const struct rig_options *options)
{
	const struct responder_parameters responding = {
		.table = &rig->table,
		.regions = options->without_regions ? NULL : &rig->regions,
		.cnp_interval = options->cnp_interval,
		.largest_message = 1u << 20,
		.ack_every = options->ack_every,
		.rnr_timer = 12,
		.max_reads = options->max_reads,
		.like_rxe = options->like_rxe,
	};
	const struct requester_parameters requesting = {
		.table = &rig->table,
		.depth = 16,
		.window = options->window,
		.ack_interval = options->ack_interval,
		.burst = 4,
	};

	rig->responder = responder_create(&responding);
	rig->requester = requester_create(&requesting);
	assert_non_null(rig->responder);
	assert_non_null(rig->requester);
}

void rig_open(struct rig *rig, const struct rig_options *options)
{
	struct qp_connection connection = {
		.peer = qp_address_ipv4(RIG_PEER_IP),
		.peer_qpn = RIG_PEER_QPN,
		.local_psn = RIG_LOCAL_PSN,
		.peer_psn = options->peer_psn,
		.path_mtu = RIG_MTU,
		.qkey = RIG_QKEY,
		.partition_key = ROCE_DEFAULT_P_KEY,
		.access = options->access,
		.timeout_code = 14,
		.retry_count = options->retry_count,
		.rnr_retry = options->rnr_retry,
		.max_reads = 4,
	};

	memset(rig, 0, sizeof(*rig));
	make_region(rig);
	assert_true(qp_table_create(&rig->table, 16));
	make_engines(rig, options);
	rig->now = 1000000000;
	rig->peer = connection.peer;
	rig->qp = qp_open(&rig->table, options->service, RIG_QPN, rig->now);
	assert_non_null(rig->qp);
	assert_true(qp_connect(rig->qp, &connection));
}

void rig_close(struct rig *rig)
{
	for (size_t i = 0; i < RIG_GUARD; i++) {
		assert_int_equal(rig->guarded[i], RIG_CANARY);
		assert_int_equal(rig->guarded[RIG_GUARD + RIG_MEMORY + i], RIG_CANARY);
	}
	responder_destroy(rig->responder);
	requester_destroy(rig->requester);
	qp_table_destroy(&rig->table);
}

static struct roce_packet make_packet(const struct rig *rig, uint8_t opcode, uint32_t psn)
{
	return (struct roce_packet){
		.flags = roce_opcodes[opcode].flags,
		.service = roce_opcodes[opcode].service,
		.opcode = opcode,
		.psn = psn,
		.destination_qpn = rig->qp->qpn,
		.partition_key = ROCE_DEFAULT_P_KEY,
	};
}

struct roce_packet rig_request(const struct rig *rig, uint8_t opcode, uint32_t psn, uint32_t size)
{
	struct roce_packet packet = make_packet(rig, opcode, psn);

	packet.payload_size = packet.flags & ROCE_HAS_PAYLOAD ? size : 0;
	packet.pad = (uint8_t)(-packet.payload_size & 3u);
	packet.reth =
	    (struct roce_reth){ .address = RIG_ADDRESS, .rkey = rig->rkey, .length = size };
	packet.deth = (struct roce_deth){ .qkey = RIG_QKEY, .source_qpn = RIG_PEER_QPN };
	packet.immediate = 0xFEEDF00D;
	return packet;
}

struct roce_packet rig_response(const struct rig *rig, uint8_t opcode, uint32_t psn,
				uint8_t syndrome)
{
	struct roce_packet packet = make_packet(rig, opcode, psn);

	packet.aeth.syndrome = syndrome;
	return packet;
}

// Packets that have been counted.
static uint64_t count_all(const struct queue_pair *qp)
{
	uint64_t n = qp->counters.packets + qp->counters.responses;

	for (unsigned i = 0; i < QP_N_DROPS; i++)
		n += qp->counters.drops[i];
	return n;
}

enum responder_verdict rig_check(struct rig *rig, const struct roce_packet *packet)
{
	const struct responder_arrival arrival = { rig->peer, rig->congested };
	uint64_t counted = count_all(rig->qp);
	enum responder_verdict verdict = responder_check(rig->responder, rig->qp, packet, &arrival,
							 rig->now, &rig->delivery, &rig->reply);

	assert_int_equal(count_all(rig->qp) - counted, verdict != RESPONDER_DELIVER);
	return verdict;
}

enum responder_verdict rig_give(struct rig *rig, const struct roce_packet *packet)
{
	enum responder_verdict verdict = rig_check(rig, packet);
	uint64_t counted = count_all(rig->qp);

	if (verdict != RESPONDER_DELIVER)
		return verdict;
	responder_accept(rig->responder, rig->qp, &rig->delivery, &rig->reply);
	assert_int_equal(count_all(rig->qp) - counted, 1);
	return verdict;
}

void rig_deliver(struct rig *rig, uint8_t opcode, uint32_t psn, uint32_t size)
{
	struct roce_packet packet = rig_request(rig, opcode, psn, size);

	packet.ack_request = true;
	assert_int_equal(rig_give(rig, &packet), RESPONDER_DELIVER);
	assert_int_equal(rig->delivery.size, size);
}

void rig_drop(struct rig *rig, const struct roce_packet *packet, enum qp_drop cause)
{
	uint64_t before = rig->qp->counters.drops[cause];

	assert_int_equal(rig_give(rig, packet), RESPONDER_DROPPED);
	assert_int_equal(rig->qp->counters.drops[cause], before + 1);
}

void rig_expect_ack(const struct rig *rig, uint32_t psn, uint32_t msn)
{
	rig_expect_nak(rig, ROCE_ACK_NO_CREDITS, psn);
	assert_int_equal(rig->reply.msn, msn);
}

void rig_expect_nak(const struct rig *rig, uint8_t syndrome, uint32_t psn)
{
	assert_true(rig->reply.send);
	assert_ptr_equal(rig->reply.qp, rig->qp);
	assert_int_equal(rig->reply.opcode, ROCE_RC_ACKNOWLEDGE);
	assert_int_equal(rig->reply.syndrome, syndrome);
	assert_int_equal(rig->reply.psn, psn);
	assert_int_equal(rig->reply.payload_size, 0);
}

void rig_expect_silence(const struct rig *rig)
{
	assert_false(rig->reply.send);
}

void rig_expect_poll(struct rig *rig, uint8_t opcode, uint32_t psn)
{
	assert_true(responder_poll(rig->responder, &rig->reply));
	assert_true(rig->reply.send);
	assert_int_equal(rig->reply.opcode, opcode);
	assert_int_equal(rig->reply.psn, psn);
}

void rig_expect_no_poll(struct rig *rig)
{
	assert_false(responder_poll(rig->responder, &rig->reply));
}
