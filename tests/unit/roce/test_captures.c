// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Real conversations of two rxe endpoints. Every request of either is given to our responder, and
// what it answers is held against what the other one answered: opcode, PSN, syndrome, MSN, and the
// payload of READ responses. Answers that were lost between the two are missing in the capture.
#include "conversation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roce/responder.h"

#define MOST_FLOWS 8u
#define REGIONS    64u // most that a conversation names

enum loss {
	NO_LOSS,
	ANSWERS_LOST, // not all answers are in the capture
};

// All that one queue pair has received, and what it has answered.
struct flow {
	struct qp_address address; // of the responder
	struct qp_address requester;
	struct queue_pair *qp;
	uint32_t first_psn, last_psn; // of its requests
	size_t *answers;              // indices of the packets that the real one answered with
	size_t n_answers, next;
	uint64_t requests, messages;
};

struct replay {
	struct conversation conversation;
	struct qp_table table;
	struct region_table regions;
	struct responder *responder;
	struct flow flows[MOST_FLOWS];
	unsigned n_flows;
	enum loss loss;
	uint32_t path_mtu;
	uint64_t answers, skipped;
};

static bool is_request(const struct heard *heard)
{
	return heard->packet.flags & ROCE_REQUEST && heard->packet.destination_qpn != 1;
}

static struct flow *find_flow(struct replay *replay, const struct heard *request)
{
	for (unsigned i = 0; i < replay->n_flows; i++) {
		struct flow *flow = &replay->flows[i];

		if (flow->qp->user == NULL)
			continue;
		if (qp_address_is(&flow->address, &request->destination) &&
		    *(uint32_t *)flow->qp->user == request->packet.destination_qpn)
			return flow;
	}
	return NULL;
}

// Two hosts may have queue pairs of the same number: ours get another one, `user` has theirs.
static void add_flow(struct replay *replay, const struct heard *request)
{
	struct flow *flow = &replay->flows[replay->n_flows++];
	uint32_t *number = malloc(sizeof(*number));
	const struct qp_connection connection = {
		.peer = request->source,
		.peer_psn = request->packet.psn,
		.path_mtu = replay->path_mtu,
		.qkey = request->packet.deth.qkey,
		.partition_key = ROCE_DEFAULT_P_KEY,
		.access = QP_MAY_READ | QP_MAY_WRITE,
		.user = number,
	};

	assert_true(replay->n_flows <= MOST_FLOWS);
	*number = request->packet.destination_qpn;
	flow->address = request->destination;
	flow->requester = request->source;
	flow->qp = qp_open(&replay->table, request->packet.service, QP_NUMBER_AUTO, 0);
	assert_true(qp_connect(flow->qp, &connection));
	flow->first_psn = request->packet.psn;
	flow->last_psn = request->packet.psn;
	flow->answers = calloc(replay->conversation.n, sizeof(*flow->answers));
	assert_non_null(flow->answers);
}

static uint32_t last_psn_of(const struct replay *replay, const struct roce_packet *request)
{
	uint32_t length = request->reth.length;

	if (!(request->flags & ROCE_READ_REQUEST) || length == 0)
		return request->psn;
	return roce_psn_add(request->psn, (length - 1) / replay->path_mtu);
}

static void learn_flows(struct replay *replay)
{
	for (size_t i = 0; i < replay->conversation.n; i++) {
		const struct heard *heard = &replay->conversation.packets[i];
		struct flow *flow;
		uint32_t last;

		if (!is_request(heard))
			continue;
		if (find_flow(replay, heard) == NULL)
			add_flow(replay, heard);
		flow = find_flow(replay, heard);
		last = last_psn_of(replay, &heard->packet);
		if (roce_psn_diff(last, flow->last_psn) > 0)
			flow->last_psn = last;
		flow->requests++;
	}
}

// Which queue pair a real answer came from: that whose requests have its PSN.
static void learn_answers(struct replay *replay)
{
	for (size_t i = 0; i < replay->conversation.n; i++) {
		const struct heard *heard = &replay->conversation.packets[i];

		for (unsigned j = 0; j < replay->n_flows && heard->packet.flags & ROCE_RESPONSE;
		     j++) {
			struct flow *flow = &replay->flows[j];

			if (qp_address_is(&flow->address, &heard->source) &&
			    roce_psn_diff(heard->packet.psn, flow->first_psn) >= 0 &&
			    roce_psn_diff(heard->packet.psn, flow->last_psn) <= 0)
				flow->answers[flow->n_answers++] = i;
		}
	}
}

// Registers what READs and WRITEs name, under the rkey that the real one had.
static void learn_region(struct replay *replay, const struct roce_reth *reth)
{
	struct region *region = replay->regions.regions;
	uint64_t end = reth->address + reth->length;

	while (region->length != 0 && region->rkey != reth->rkey)
		region++;
	if (region->length == 0) {
		assert_true(replay->regions.n++ < REGIONS);
		region->address = reth->address;
		region->rkey = reth->rkey;
		region->access = REGION_READ | REGION_WRITE;
	}
	if (region->address > reth->address) {
		region->length += region->address - reth->address;
		region->address = reth->address;
	}
	if (region->length < end - region->address)
		region->length = end - region->address;
}

static void learn_regions(struct replay *replay)
{
	replay->regions.regions = calloc(REGIONS + 1, sizeof(*replay->regions.regions));
	assert_non_null(replay->regions.regions);
	for (size_t i = 0; i < replay->conversation.n; i++) {
		const struct roce_packet *packet = &replay->conversation.packets[i].packet;

		if (packet->flags & ROCE_HAS_RETH && packet->reth.length > 0)
			learn_region(replay, &packet->reth);
	}
	for (uint32_t i = 0; i < replay->regions.n; i++) {
		struct region *region = &replay->regions.regions[i];

		assert_true(region->length < 1u << 24);
		region->memory = calloc(1, region->length);
		assert_non_null(region->memory);
	}
}

static bool is_answer(const struct heard *heard, const struct responder_reply *reply)
{
	const struct roce_packet *real = &heard->packet;

	if (real->opcode != reply->opcode || real->psn != reply->psn ||
	    real->payload_size != reply->payload_size)
		return false;
	if (real->flags & ROCE_HAS_AETH &&
	    (real->aeth.syndrome != reply->syndrome || real->aeth.msn != reply->msn))
		return false;
	return memcmp(heard->payload, reply->payload ? reply->payload : heard->payload,
		      reply->payload_size) == 0;
}

static void compare(struct replay *replay, struct flow *flow, const struct responder_reply *reply)
{
	const struct heard *heard;

	replay->answers++;
	if (flow->next < flow->n_answers) {
		heard = &replay->conversation.packets[flow->answers[flow->next]];
		if (is_answer(heard, reply)) {
			flow->next++;
			return;
		}
	}
	if (replay->loss == ANSWERS_LOST) {
		replay->skipped++;
		return;
	}
	assert_true(flow->next < flow->n_answers);
	heard = &replay->conversation.packets[flow->answers[flow->next]];
	fail_msg("packet %zu: opcode %02x PSN %06x syndrome %02x MSN %u; ours %02x %06x %02x %u",
		 flow->answers[flow->next] + 1, heard->packet.opcode, heard->packet.psn,
		 heard->packet.aeth.syndrome, heard->packet.aeth.msn, reply->opcode, reply->psn,
		 reply->syndrome, reply->msn);
}

// The real one had no receive buffer at this moment.
static bool real_one_was_not_ready(const struct replay *replay, const struct flow *flow,
				   const struct roce_packet *request)
{
	const struct roce_packet *answer;

	if (flow->next >= flow->n_answers)
		return false;
	answer = &replay->conversation.packets[flow->answers[flow->next]].packet;
	return answer->flags & ROCE_ACKNOWLEDGE && answer->psn == request->psn &&
	       roce_syndrome_kind(answer->aeth.syndrome) == ROCE_SYNDROME_RNR;
}

// The memory that a READ asks for holds what the real one answers with.
static void fill_memory(const struct replay *replay, const struct flow *flow,
			const struct roce_packet *read)
{
	for (size_t i = flow->next; i < flow->n_answers; i++) {
		const struct heard *data = &replay->conversation.packets[flow->answers[i]];
		uint32_t number = (data->packet.psn - read->psn) & ROCE_24_BITS;
		uint64_t offset = (uint64_t)number * replay->path_mtu;
		uint8_t *to;

		if (!(data->packet.flags & ROCE_READ_RESPONSE) || offset >= read->reth.length)
			continue;
		to = region_at(&replay->regions, read->reth.rkey, REGION_READ,
			       read->reth.address + offset, data->packet.payload_size);
		assert_non_null(to);
		memcpy(to, data->payload, data->packet.payload_size);
	}
}

static void give(struct replay *replay, const struct heard *request)
{
	const struct responder_arrival arrival = { .source = request->source };
	struct flow *flow = find_flow(replay, request);
	struct responder_delivery delivery;
	struct responder_reply reply;

	if (request->packet.flags & ROCE_READ_REQUEST)
		fill_memory(replay, flow, &request->packet);
	if (responder_check(replay->responder, flow->qp, &request->packet, &arrival, 0, &delivery,
			    &reply) == RESPONDER_DELIVER) {
		if (delivery.to != NULL)
			memcpy(delivery.to, request->payload, delivery.size);
		if (real_one_was_not_ready(replay, flow, &request->packet))
			responder_refuse(replay->responder, flow->qp, &delivery,
					 RESPONDER_NO_RESOURCE, &reply);
		else
			responder_accept(replay->responder, flow->qp, &delivery, &reply);
	}
	if (reply.send)
		compare(replay, flow, &reply);
	while (responder_poll(replay->responder, &reply))
		compare(replay, flow, &reply);
	flow->messages += !!(request->packet.flags & ROCE_END);
}

static void open_replay(struct replay *replay, const char *name, uint32_t path_mtu, enum loss loss)
{
	const struct responder_parameters parameters = {
		.table = &replay->table,
		.regions = &replay->regions,
		.largest_message = 1u << 31,
		.ack_every = 1,
		.rnr_timer = 12,
		.max_reads = 128,
		.like_rxe = true,
	};

	memset(replay, 0, sizeof(*replay));
	replay->loss = loss;
	replay->path_mtu = path_mtu;
	replay->conversation = conversation_read(name);
	assert_true(qp_table_create(&replay->table, 16));
	learn_flows(replay);
	learn_answers(replay);
	learn_regions(replay);
	replay->responder = responder_create(&parameters);
	assert_non_null(replay->responder);
}

static void close_replay(struct replay *replay)
{
	for (unsigned i = 0; i < replay->n_flows; i++) {
		free(replay->flows[i].answers);
		free(replay->flows[i].qp->user);
	}
	for (uint32_t i = 0; i < replay->regions.n; i++)
		free(replay->regions.regions[i].memory);
	responder_destroy(replay->responder);
	free(replay->regions.regions);
	qp_table_destroy(&replay->table);
	conversation_free(&replay->conversation);
}

static void give_all(struct replay *replay)
{
	for (size_t i = 0; i < replay->conversation.n; i++) {
		if (is_request(&replay->conversation.packets[i]))
			give(replay, &replay->conversation.packets[i]);
	}
}

static void replay_capture(const char *name, uint32_t path_mtu, enum loss loss)
{
	struct replay replay;
	uint64_t real = 0, requests = 0;

	open_replay(&replay, name, path_mtu, loss);
	give_all(&replay);
	for (unsigned i = 0; i < replay.n_flows; i++) {
		const struct flow *flow = &replay.flows[i];

		assert_int_equal(flow->next, flow->n_answers); // each of the real ones is ours
		assert_int_equal(flow->qp->state, QP_READY);
		real += flow->n_answers;
		requests += flow->requests;
	}
	print_message("%s: %u flows, %lu requests, %lu answers of ours, %lu of the real one\n",
		      name, replay.n_flows, (unsigned long)requests, (unsigned long)replay.answers,
		      (unsigned long)real);
	assert_true(requests > 0);
	assert_int_equal(replay.answers, real + replay.skipped);
	close_replay(&replay);
}

static void replay__rc_send(void **state)
{
	(void)state;
	replay_capture("rc_send_64k_mtu1024", 1024, NO_LOSS);
	replay_capture("rc_send_64k_mtu4096", 4096, NO_LOSS);
	replay_capture("rc_send_3b", 1024, NO_LOSS);
	replay_capture("rc_send_1025b", 1024, NO_LOSS);
	replay_capture("rc_send_lat_64b", 1024, NO_LOSS);
	replay_capture("rc_send_4k_with_tcp", 1024, NO_LOSS);
	replay_capture("rc_pingpong_srq", 1024, NO_LOSS);
}

static void replay__rc_write(void **state)
{
	(void)state;
	replay_capture("rc_write_64k_mtu1024", 1024, NO_LOSS);
	replay_capture("rc_write_64k_mtu4096", 4096, NO_LOSS);
	replay_capture("rc_write_lat_8b", 1024, NO_LOSS);
	replay_capture("rc_write_4k_ipv6", 1024, NO_LOSS);
}

static void replay__rc_read(void **state)
{
	(void)state;
	replay_capture("rc_read_16k_mtu1024", 1024, NO_LOSS);
}

static void replay__connections_by_rdma_cm(void **state)
{
	(void)state;
	replay_capture("rc_send_cm_64k", 4096, NO_LOSS);
	replay_capture("rping_mtu9000", 4096, NO_LOSS);
	replay_capture("rping_mtu1500", 1024, NO_LOSS);
	replay_capture("rping_reject", 1024, NO_LOSS);
	replay_capture("ucmatose", 4096, NO_LOSS);
}

static void replay__receiver_not_ready(void **state)
{
	(void)state;
	replay_capture("rc_send_rnr", 1024, NO_LOSS);
}

static void replay__requests_lost(void **state)
{
	(void)state;
	replay_capture("rc_send_32k_loss3_a", 1024, NO_LOSS); // of the answers
}

static void replay__answers_lost(void **state)
{
	(void)state;
	replay_capture("rc_send_4k_loss10_b", 1024, ANSWERS_LOST);
	replay_capture("rc_read_16k_loss5_b", 1024, ANSWERS_LOST);
}

// Nothing is answered; every packet is taken.
static void replay_unanswered(const char *name, uint32_t path_mtu)
{
	struct replay replay;

	open_replay(&replay, name, path_mtu, NO_LOSS);
	give_all(&replay);
	assert_true(replay.n_flows > 0);
	assert_int_equal(replay.answers, 0);
	for (unsigned i = 0; i < replay.n_flows; i++) {
		const struct flow *flow = &replay.flows[i];

		assert_int_equal(flow->qp->counters.packets, flow->requests);
		assert_int_equal(flow->qp->counters.messages, flow->messages);
		assert_true(flow->messages > 0);
	}
	close_replay(&replay);
}

static void replay__unreliable(void **state)
{
	(void)state;
	replay_unanswered("uc_write_64k_mtu1024", 1024);
	replay_unanswered("uc_write_64k_mtu4096", 4096);
	replay_unanswered("uc_send_64k_mtu1024", 1024);
	replay_unanswered("ud_send_1k", 1024);
	replay_unanswered("ud_send_4k", 4096);
	replay_unanswered("udaddy", 4096);
}

// rxe has atomics, we do not: the first is answered with NAK 0x61 and ends the connection.
static void replay__atomics_are_unsupported(void **state)
{
	static const char *const names[] = { "rc_atomic_fadd", "rc_atomic_cswap",
					     "rc_atomic_loss10_b" };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		const struct responder_arrival *arrival;
		struct responder_delivery delivery;
		struct responder_reply reply;
		const struct heard *first;
		struct replay replay;

		open_replay(&replay, names[i], 1024, NO_LOSS);
		first = &replay.conversation.packets[0];
		arrival = &(const struct responder_arrival){ .source = first->source };
		for (unsigned again = 0; again < 2; again++) {
			assert_int_equal(responder_check(replay.responder, replay.flows[0].qp,
							 &first->packet, arrival, 0, &delivery,
							 &reply),
					 RESPONDER_DROPPED);
			assert_int_equal(reply.send, !again);
			if (!again)
				assert_int_equal(reply.syndrome, ROCE_NAK_INVALID_REQUEST);
		}
		assert_int_equal(replay.flows[0].qp->counters.drops[QP_DROP_UNSUPPORTED], 1);
		assert_int_equal(replay.flows[0].qp->state, QP_ERROR);
		close_replay(&replay);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replay__rc_send),
		cmocka_unit_test(replay__rc_write),
		cmocka_unit_test(replay__rc_read),
		cmocka_unit_test(replay__connections_by_rdma_cm),
		cmocka_unit_test(replay__receiver_not_ready),
		cmocka_unit_test(replay__requests_lost),
		cmocka_unit_test(replay__answers_lost),
		cmocka_unit_test(replay__unreliable),
		cmocka_unit_test(replay__atomics_are_unsupported),
	};

	return cmocka_run_group_tests_name("captures", tests, NULL, NULL);
}
