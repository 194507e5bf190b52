// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Answers of the responder: refusals of the caller, admission, coalesced ACKs, CNPs.
#include "rig.h"

static struct rig rig;

static int open_rig(void **state)
{
	(void)state;
	rig_open(&rig, &rig_standard);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

static void refuse__no_resource_is_a_wait_and_nothing_else(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);
	struct roce_packet next = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(1), 8);

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(rig_check(&rig, &packet), RESPONDER_DELIVER);
		responder_refuse(rig.responder, rig.qp, &rig.delivery, RESPONDER_NO_RESOURCE,
				 &rig.reply);
		rig_expect_nak(&rig, ROCE_RNR_NAK | 12, psn_of(0));
		assert_int_equal(rig.reply.msn, 0);
		rig_drop(&rig, &next, QP_DROP_AHEAD); // was already on its way
		rig_expect_silence(&rig);
	}
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);
	rig_expect_ack(&rig, psn_of(0), 1);
	assert_int_equal(rig.qp->counters.rnr_sent, 3);
	assert_int_equal(rig.qp->counters.drops[QP_DROP_NO_RESOURCE], 3);
}

static void refuse__in_the_middle_resumes_there(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_SEND_MIDDLE, psn_of(1), RIG_MTU);

	(void)state;
	rig_deliver(&rig, ROCE_RC_SEND_FIRST, psn_of(0), RIG_MTU);
	assert_int_equal(rig_check(&rig, &packet), RESPONDER_DELIVER);
	responder_refuse(rig.responder, rig.qp, &rig.delivery, RESPONDER_NO_RESOURCE, &rig.reply);
	rig_expect_nak(&rig, ROCE_RNR_NAK | 12, psn_of(1));
	rig_deliver(&rig, ROCE_RC_SEND_MIDDLE, psn_of(1), RIG_MTU);
	assert_int_equal(rig.delivery.offset, RIG_MTU);
	rig_deliver(&rig, ROCE_RC_SEND_LAST, psn_of(2), 1);
	assert_int_equal(rig.delivery.offset, 2 * RIG_MTU);
	rig_expect_ack(&rig, psn_of(2), 1);
}

static void refuse__other_reasons_end_the_connection(void **state)
{
	static const struct {
		enum responder_refusal reason;
		uint8_t syndrome;
		enum qp_cause cause;
		enum qp_nak nak;
	} cases[] = {
		{ RESPONDER_NO_ACCESS, ROCE_NAK_REMOTE_ACCESS, QP_SENT_ACCESS, QP_NAK_ACCESS },
		{ RESPONDER_INVALID, ROCE_NAK_INVALID_REQUEST, QP_SENT_INVALID, QP_NAK_INVALID },
		{ RESPONDER_NOT_OPERATIONAL, ROCE_NAK_REMOTE_OPERATIONAL, QP_SENT_OPERATIONAL,
		  QP_NAK_OPERATIONAL },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct roce_packet packet = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);

		assert_int_equal(rig_check(&rig, &packet), RESPONDER_DELIVER);
		responder_refuse(rig.responder, rig.qp, &rig.delivery, cases[i].reason, &rig.reply);
		rig_expect_nak(&rig, cases[i].syndrome, psn_of(0));
		assert_int_equal(rig.qp->state, QP_ERROR);
		assert_int_equal(rig.qp->cause, cases[i].cause);
		assert_int_equal(rig.qp->counters.naks_sent[cases[i].nak], 1);
		close_rig(state);
		open_rig(state);
	}
}

static void refuse__by_the_caller_who_judges_rkeys(void **state)
{
	struct rig_options options = rig_standard;
	struct roce_packet packet = rig_request(&rig, ROCE_RC_WRITE_ONLY, psn_of(0), 8);

	close_rig(state);
	options.without_regions = true;
	rig_open(&rig, &options);
	packet.reth = (struct roce_reth){ .address = 77, .rkey = 88, .length = 8 };
	assert_int_equal(rig_check(&rig, &packet), RESPONDER_DELIVER);
	assert_null(rig.delivery.to);
	assert_int_equal(rig.delivery.address, 77);
	assert_int_equal(rig.delivery.rkey, 88);
	assert_int_equal(rig.delivery.dma_length, 8);
	responder_refuse(rig.responder, rig.qp, &rig.delivery, RESPONDER_NO_ACCESS, &rig.reply);
	rig_expect_nak(&rig, ROCE_NAK_REMOTE_ACCESS, psn_of(0));
}

static void admit__either_way_of_migreq_and_membership(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);

	(void)state;
	packet.migrated = true;
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
	packet.psn = psn_of(1);
	packet.migrated = false;
	packet.partition_key = 0x7FFF;
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
	packet.psn = psn_of(2);
	packet.partition_key = 0xFFFE;
	rig_drop(&rig, &packet, QP_DROP_P_KEY);
	rig_expect_silence(&rig);
	assert_int_equal(rig.qp->state, QP_READY);
}

static void admit__only_from_the_peer_and_of_the_service(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);
	struct roce_packet other = rig_request(&rig, ROCE_UC_SEND_ONLY, psn_of(0), 8);
	struct roce_packet response =
	    rig_response(&rig, ROCE_RC_ACKNOWLEDGE, psn_of(0), ROCE_ACK_NO_CREDITS);

	(void)state;
	rig.peer = qp_address_ipv4(RIG_PEER_IP + 1);
	rig_drop(&rig, &packet, QP_DROP_PEER);
	rig_expect_silence(&rig);
	rig.peer = qp_address_ipv4(RIG_PEER_IP);
	rig_drop(&rig, &other, QP_DROP_SERVICE);
	rig_drop(&rig, &response, QP_DROP_SERVICE);
	rig.qp->state = QP_OPEN;
	rig_drop(&rig, &packet, QP_DROP_STATE);
	rig_expect_silence(&rig);
}

static void ack__every_fourth_and_the_rest_when_polled(void **state)
{
	struct rig_options options = rig_standard;

	close_rig(state);
	options.ack_every = 4;
	rig_open(&rig, &options);
	for (uint32_t i = 0; i < 10; i++) {
		rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(i), 8);
		if (i % 4 == 3)
			rig_expect_ack(&rig, psn_of(i), i + 1);
		else
			rig_expect_silence(&rig);
	}
	rig_expect_poll(&rig, ROCE_RC_ACKNOWLEDGE, psn_of(9));
	rig_expect_ack(&rig, psn_of(9), 10);
	rig_expect_no_poll(&rig);
	assert_int_equal(rig.qp->counters.acks_sent, 3);
}

static void ack__a_nak_answers_for_those_owed(void **state)
{
	struct rig_options options = rig_standard;
	struct roce_packet packet;

	close_rig(state);
	options.ack_every = 4;
	rig_open(&rig, &options);
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);
	packet = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(2), 8);
	rig_drop(&rig, &packet, QP_DROP_AHEAD);
	rig_expect_nak(&rig, ROCE_NAK_PSN_SEQUENCE, psn_of(1));
	rig_expect_no_poll(&rig);
}

static void ack__of_many_queue_pairs_in_turn(void **state)
{
	struct rig_options options = rig_standard;
	struct queue_pair *qps[3];

	close_rig(state);
	options.ack_every = 100;
	rig_open(&rig, &options);
	qps[0] = rig.qp;
	for (unsigned i = 1; i < 3; i++) {
		const struct qp_connection connection = { .peer = rig.peer,
							  .peer_psn = psn_of(0),
							  .path_mtu = RIG_MTU,
							  .partition_key = ROCE_DEFAULT_P_KEY };

		qps[i] = qp_open(&rig.table, ROCE_RC, QP_NUMBER_AUTO, rig.now);
		assert_true(qp_connect(qps[i], &connection));
	}
	for (unsigned i = 0; i < 3; i++) {
		rig.qp = qps[i];
		rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);
		rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(1), 8);
	}
	qp_close(&rig.table, qps[1]); // what it owed is nobody's
	for (unsigned i = 0; i < 3; i += 2) {
		rig.qp = qps[i];
		assert_true(responder_poll(rig.responder, &rig.reply));
		rig_expect_ack(&rig, psn_of(1), 2);
	}
	rig_expect_no_poll(&rig);
}

static void ack__waits_for_one_more_burst(void **state)
{
	struct rig_options options = rig_standard;

	close_rig(state);
	options.ack_every = 100;
	rig_open(&rig, &options);
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);
	assert_false(responder_poll_aged(rig.responder, &rig.reply));
	responder_age(rig.responder);
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(1), 8);
	assert_true(responder_poll_aged(rig.responder, &rig.reply));
	rig_expect_ack(&rig, psn_of(1), 2);
	assert_false(responder_poll_aged(rig.responder, &rig.reply));
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(2), 8); // after the last aging
	assert_false(responder_poll_aged(rig.responder, &rig.reply));
	rig_expect_poll(&rig, ROCE_RC_ACKNOWLEDGE, psn_of(2));
	assert_false(responder_poll_aged(rig.responder, &rig.reply));
	rig_expect_no_poll(&rig);
}

static void cnp__at_most_one_in_an_interval(void **state)
{
	struct rig_options options = rig_standard;

	close_rig(state);
	options.cnp_interval = 4000;
	rig_open(&rig, &options);
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);
	assert_false(rig.reply.cnp);
	rig.congested = true;
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(1), 8);
	assert_true(rig.reply.cnp);
	rig_expect_ack(&rig, psn_of(1), 2); // both are sent
	rig.now += 3999;
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(2), 8);
	assert_false(rig.reply.cnp);
	rig.now += 1;
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(3), 8);
	assert_true(rig.reply.cnp);
	assert_int_equal(rig.qp->counters.cnp_sent, 2);
}

static void reply__encodes_what_a_peer_parses(void **state)
{
	uint8_t bytes[ROCE_MAX_HEADERS_SIZE + ROCE_ICRC_SIZE] = { 0 };
	struct roce_packet parsed;
	size_t size;

	(void)state;
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);
	size = responder_reply_encode(&rig.reply, bytes);
	assert_int_equal(size, ROCE_BTH_SIZE + ROCE_AETH_SIZE);
	size += ROCE_ICRC_SIZE;
	assert_int_equal(roce_parse(bytes, size, size, &parsed), WIRE_OK);
	assert_int_equal(parsed.opcode, ROCE_RC_ACKNOWLEDGE);
	assert_int_equal(parsed.destination_qpn, RIG_PEER_QPN);
	assert_int_equal(parsed.partition_key, ROCE_DEFAULT_P_KEY);
	assert_int_equal(parsed.psn, psn_of(0));
	assert_int_equal(parsed.aeth.syndrome, ROCE_ACK_NO_CREDITS);
	assert_int_equal(parsed.aeth.msn, 1);
}

static void create__refuses_parameters_out_of_range(void **state)
{
	const struct responder_parameters good = { .table = &rig.table,
						   .ack_every = 1,
						   .max_reads = 1 };
	struct responder_parameters bad[7];

	(void)state;
	for (unsigned i = 0; i < 7; i++)
		bad[i] = good;
	bad[0].table = NULL;
	bad[1].ack_every = 0;
	bad[2].rnr_timer = 32;
	bad[3].max_reads = 0;
	bad[4].max_reads = 3;
	bad[5].max_reads = 255;
	bad[6].largest_message = (1u << 31) + 1;
	for (unsigned i = 0; i < 7; i++)
		assert_null(responder_create(&bad[i]));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(refuse__no_resource_is_a_wait_and_nothing_else),
		TEST(refuse__in_the_middle_resumes_there),
		TEST(refuse__other_reasons_end_the_connection),
		TEST(refuse__by_the_caller_who_judges_rkeys),
		TEST(admit__either_way_of_migreq_and_membership),
		TEST(admit__only_from_the_peer_and_of_the_service),
		TEST(ack__every_fourth_and_the_rest_when_polled),
		TEST(ack__a_nak_answers_for_those_owed),
		TEST(ack__of_many_queue_pairs_in_turn),
		TEST(ack__waits_for_one_more_burst),
		TEST(cnp__at_most_one_in_an_interval),
		TEST(reply__encodes_what_a_peer_parses),
		TEST(create__refuses_parameters_out_of_range),
	};

	return cmocka_run_group_tests_name("responder_answer", tests, NULL, NULL);
}
