// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The requester, packet by packet: what it sends, and what it makes of ACKs and NAKs.
#include "asking.h"

static void send__of_each_length(void **state)
{
	(void)state;
	post(REQUESTER_SEND, 0, 1);
	post(REQUESTER_SEND, RIG_MTU, 2);
	post(REQUESTER_SEND, RIG_MTU + 1, 3);
	post(REQUESTER_SEND, 3 * RIG_MTU, 4);
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
	assert_int_equal(sent.size, 0);
	expect_sent(ROCE_RC_SEND_ONLY, 1, true);
	assert_int_equal(sent.size, RIG_MTU);
	expect_sent(ROCE_RC_SEND_FIRST, 2, false);
	assert_int_equal(sent.size, RIG_MTU);
	expect_sent(ROCE_RC_SEND_LAST, 3, true);
	assert_int_equal(sent.offset, RIG_MTU);
	assert_int_equal(sent.size, 1);
	expect_sent(ROCE_RC_SEND_FIRST, 4, false);
	expect_sent(ROCE_RC_SEND_MIDDLE, 5, false);
	assert_int_equal(sent.offset, RIG_MTU);
	expect_sent(ROCE_RC_SEND_LAST, 6, true);
	assert_int_equal(sent.offset, 2 * RIG_MTU);
	assert_int_equal(sent.user, 4);
	assert_false(sent.again);
	expect_nothing();
	expect_no_completion();
	acknowledge(3);
	for (uint64_t i = 1; i <= 3; i++)
		expect_completion(i, QP_NO_CAUSE);
	expect_no_completion();
	acknowledge(6);
	expect_completion(4, QP_NO_CAUSE);
	assert_int_equal(rig.qp->counters.sent_messages, 4);
	assert_int_equal(rig.qp->deadline, UINT64_MAX);
}

static void write__address_once_immediate_last(void **state)
{
	struct requester_message message = make_message(REQUESTER_WRITE, 2 * RIG_MTU + 6, 1);

	(void)state;
	message.has_immediate = true;
	message.immediate = 0xABCD;
	message.solicited = true;
	assert_true(requester_post(rig.requester, rig.qp, &message));
	expect_sent(ROCE_RC_WRITE_FIRST, 0, false);
	assert_int_equal(sent.header.reth.address, 0x10000);
	assert_int_equal(sent.header.reth.rkey, 0x77);
	assert_int_equal(sent.header.reth.length, 2 * RIG_MTU + 6);
	assert_false(sent.header.solicited);
	expect_sent(ROCE_RC_WRITE_MIDDLE, 1, false);
	expect_sent(ROCE_RC_WRITE_LAST_IMM, 2, true);
	assert_int_equal(sent.header.immediate, 0xABCD);
	assert_int_equal(sent.header.pad, 2);
	assert_true(sent.header.solicited);
	message.length = 1;
	assert_true(requester_post(rig.requester, rig.qp, &message));
	expect_sent(ROCE_RC_WRITE_ONLY_IMM, 3, true);
}

static void window__and_ack_requests_within_it(void **state)
{
	struct rig_options options = rig_standard;

	(void)state;
	options.window = 16;
	options.ack_interval = 64; // more than the window: it asks each 8
	reopen(&options);
	post(REQUESTER_SEND, 40 * RIG_MTU, 1);
	for (uint32_t i = 0; i < 16; i++)
		expect_sent(i == 0 ? ROCE_RC_SEND_FIRST : ROCE_RC_SEND_MIDDLE, i, i % 8 == 7);
	expect_nothing();
	acknowledge(7);
	for (uint32_t i = 16; i < 24; i++)
		expect_sent(ROCE_RC_SEND_MIDDLE, i, i % 8 == 7);
	expect_nothing();
	options.window = 128;
	reopen(&options);
	post(REQUESTER_SEND, 200 * RIG_MTU, 1);
	for (uint32_t i = 0; i < 128; i++)
		expect_sent(i == 0 ? ROCE_RC_SEND_FIRST : ROCE_RC_SEND_MIDDLE, i, i % 64 == 63);
	expect_nothing();
}

static void nak__goes_back_to_its_psn(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 5; i++)
		post(REQUESTER_SEND, 2 * RIG_MTU, i);
	for (uint32_t i = 0; i < 10; i++)
		expect_sent(i % 2 ? ROCE_RC_SEND_LAST : ROCE_RC_SEND_FIRST, i, i % 2);
	assert_int_equal(answer(ROCE_NAK_PSN_SEQUENCE, 5), REQUESTER_TAKEN);
	expect_completion(0, QP_NO_CAUSE); // 4 and before have arrived
	expect_completion(1, QP_NO_CAUSE);
	expect_no_completion();
	for (uint32_t i = 5; i < 10; i++) {
		expect_sent(i % 2 ? ROCE_RC_SEND_LAST : ROCE_RC_SEND_FIRST, i, i % 2);
		assert_true(sent.again);
		assert_int_equal(sent.offset, i % 2 ? RIG_MTU : 0);
	}
	expect_nothing();
	acknowledge(9);
	for (uint64_t i = 2; i < 5; i++)
		expect_completion(i, QP_NO_CAUSE);
	assert_int_equal(rig.qp->counters.retransmissions, 5);
	assert_int_equal(rig.qp->counters.naks_received[QP_NAK_SEQUENCE], 1);
}

static void ack__of_what_we_went_back_for_is_not_sent_again(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		post(REQUESTER_SEND, 8, i);
	for (uint32_t i = 0; i < 4; i++)
		expect_sent(ROCE_RC_SEND_ONLY, i, true);
	assert_int_equal(answer(ROCE_NAK_PSN_SEQUENCE, 0), REQUESTER_TAKEN);
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
	acknowledge(2); // the NAK had been overtaken
	expect_sent(ROCE_RC_SEND_ONLY, 3, true);
	expect_nothing();
	acknowledge(3);
	for (uint64_t i = 0; i < 4; i++)
		expect_completion(i, QP_NO_CAUSE);
}

static void ghost__answers_are_ignored_and_counted(void **state)
{
	(void)state;
	assert_int_equal(answer(ROCE_ACK_NO_CREDITS, 0), REQUESTER_DROPPED); // nothing was sent
	post(REQUESTER_SEND, 8, 1);
	post(REQUESTER_SEND, 8, 2);
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
	assert_int_equal(answer(ROCE_ACK_NO_CREDITS, 1), REQUESTER_DROPPED); // not yet sent
	assert_int_equal(answer(ROCE_NAK_REMOTE_ACCESS, 1), REQUESTER_DROPPED);
	expect_sent(ROCE_RC_SEND_ONLY, 1, true);
	acknowledge(0);
	assert_int_equal(answer(ROCE_ACK_NO_CREDITS, 0), REQUESTER_DROPPED); // again
	assert_int_equal(answer(ROCE_NAK_PSN_SEQUENCE, 0), REQUESTER_DROPPED);
	assert_int_equal(answer(ROCE_ACK_NO_CREDITS, 0xFFFFFF), REQUESTER_DROPPED);
	assert_int_equal(answer(ROCE_ACK_NO_CREDITS, 0x800000), REQUESTER_DROPPED);
	assert_int_equal(rig.qp->counters.drops[QP_DROP_GHOST], 7);
	expect_nothing();
	acknowledge(1);
	expect_completion(1, QP_NO_CAUSE);
	expect_completion(2, QP_NO_CAUSE);
}

static void receive__only_of_the_peer_and_of_the_service(void **state)
{
	const struct qp_address other = qp_address_ipv4(RIG_PEER_IP + 1);
	struct roce_packet packet =
	    rig_response(&rig, ROCE_RC_ACKNOWLEDGE, local_psn(0), ROCE_ACK_NO_CREDITS);

	(void)state;
	post(REQUESTER_SEND, 8, 1);
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
	assert_int_equal(
	    requester_receive(rig.requester, rig.qp, &packet, &other, rig.now, &rig.data),
	    REQUESTER_DROPPED);
	assert_int_equal(rig.qp->counters.drops[QP_DROP_PEER], 1);
	packet.partition_key = 1;
	assert_int_equal(
	    requester_receive(rig.requester, rig.qp, &packet, &rig.peer, rig.now, &rig.data),
	    REQUESTER_DROPPED);
	assert_int_equal(rig.qp->counters.drops[QP_DROP_P_KEY], 1);
	packet = rig_request(&rig, ROCE_RC_SEND_ONLY, local_psn(0), 8);
	assert_int_equal(
	    requester_receive(rig.requester, rig.qp, &packet, &rig.peer, rig.now, &rig.data),
	    REQUESTER_DROPPED);
	assert_int_equal(rig.qp->counters.drops[QP_DROP_SERVICE], 1);
	packet = rig_response(&rig, ROCE_RC_ATOMIC_ACKNOWLEDGE, local_psn(0), ROCE_ACK_NO_CREDITS);
	assert_int_equal(
	    requester_receive(rig.requester, rig.qp, &packet, &rig.peer, rig.now, &rig.data),
	    REQUESTER_DROPPED);
	assert_int_equal(answer(0x40, 0), REQUESTER_DROPPED); // no kind of syndrome
	assert_int_equal(answer(0x65, 0), REQUESTER_DROPPED); // no kind of NAK
	assert_int_equal(rig.qp->counters.drops[QP_DROP_RESPONSE], 3);
	expect_no_completion();
	acknowledge(0);
	expect_completion(1, QP_NO_CAUSE);
}

static void timeout__resends_the_window_until_retries_are_spent(void **state)
{
	(void)state;
	post(REQUESTER_SEND, 8, 1);
	post(REQUESTER_SEND, 8, 2);
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
	expect_sent(ROCE_RC_SEND_ONLY, 1, true);
	for (unsigned i = 0; i < 3; i++) { // retry_count
		rig.now += timeout() - 1;
		expect_nothing();
		rig.now += 1;
		expect_sent(ROCE_RC_SEND_ONLY, 0, true);
		expect_sent(ROCE_RC_SEND_ONLY, 1, true);
		assert_true(sent.again);
		expect_nothing();
	}
	rig.now += timeout();
	expect_nothing();
	assert_int_equal(rig.qp->state, QP_ERROR);
	assert_int_equal(rig.qp->cause, QP_RETRIES_EXCEEDED);
	expect_completion(1, QP_RETRIES_EXCEEDED);
	expect_completion(2, QP_CLOSED);
	assert_int_equal(rig.qp->counters.timeouts, 4);
	assert_int_equal(rig.qp->counters.failed_messages, 2);
	assert_int_equal(answer(ROCE_ACK_NO_CREDITS, 0), REQUESTER_DROPPED);
	assert_int_equal(rig.qp->counters.drops[QP_DROP_STATE], 1);
}

static void timeout__progress_gives_all_retries_back(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 8; i++)
		post(REQUESTER_SEND, 8, i);
	for (uint32_t i = 0; i < 8; i++)
		expect_sent(ROCE_RC_SEND_ONLY, i, true);
	for (uint32_t i = 0; i < 7; i++) {
		for (unsigned again = 0; again < 3; again++) {
			rig.now += timeout();
			for (uint32_t j = i; j < 8; j++)
				expect_sent(ROCE_RC_SEND_ONLY, j, true);
		}
		acknowledge(i);
	}
	assert_int_equal(rig.qp->state, QP_READY);
	assert_int_equal(rig.qp->counters.timeouts, 21);
}

static void timeout__does_not_run_while_no_answer_is_asked_for(void **state)
{
	(void)state;
	post(REQUESTER_SEND, 3 * RIG_MTU, 1);
	expect_sent(ROCE_RC_SEND_FIRST, 0, false);
	rig.now += 10 * timeout(); // the port was busy, or paused
	expect_sent(ROCE_RC_SEND_MIDDLE, 1, false);
	expect_sent(ROCE_RC_SEND_LAST, 2, true);
	rig.now += timeout() - 1;
	expect_nothing();
	assert_int_equal(rig.qp->counters.timeouts, 0);
	acknowledge(2);
	rig.now += 10 * timeout();
	expect_nothing();
	expect_completion(1, QP_NO_CAUSE);
	assert_int_equal(rig.qp->counters.timeouts, 0);
}

static void timeout__does_not_run_for_what_we_went_back_for(void **state)
{
	(void)state;
	post(REQUESTER_SEND, 3 * RIG_MTU, 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_true(requester_poll(rig.requester, rig.now, &sent));
	assert_int_equal(answer(ROCE_NAK_PSN_SEQUENCE, 0), REQUESTER_TAKEN);
	expect_sent(ROCE_RC_SEND_FIRST, 0, false);
	acknowledge(0); // nothing behind it has asked for an answer again
	rig.now += 10 * timeout();
	expect_sent(ROCE_RC_SEND_MIDDLE, 1, false);
	expect_sent(ROCE_RC_SEND_LAST, 2, true);
	assert_int_equal(rig.qp->counters.timeouts, 0);
}

static void nak__without_progress_spends_retries(void **state)
{
	(void)state;
	post(REQUESTER_SEND, 8, 1);
	for (unsigned i = 0; i < 3; i++) {
		expect_sent(ROCE_RC_SEND_ONLY, 0, true);
		assert_int_equal(answer(ROCE_NAK_PSN_SEQUENCE, 0), REQUESTER_TAKEN);
	}
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
	assert_int_equal(answer(ROCE_NAK_PSN_SEQUENCE, 0), REQUESTER_TAKEN);
	expect_completion(1, QP_RETRIES_EXCEEDED);
}

static void nak__fatal_ends_the_connection(void **state)
{
	static const struct {
		uint8_t syndrome;
		enum qp_cause cause;
		enum qp_nak nak;
	} cases[] = {
		{ ROCE_NAK_INVALID_REQUEST, QP_RECEIVED_INVALID, QP_NAK_INVALID },
		{ ROCE_NAK_REMOTE_ACCESS, QP_RECEIVED_ACCESS, QP_NAK_ACCESS },
		{ ROCE_NAK_REMOTE_OPERATIONAL, QP_RECEIVED_OPERATIONAL, QP_NAK_OPERATIONAL },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (uint64_t j = 0; j < 4; j++)
			post(REQUESTER_WRITE, 8, j);
		for (uint32_t j = 0; j < 3; j++)
			expect_sent(ROCE_RC_WRITE_ONLY, j, true);
		assert_int_equal(answer(cases[i].syndrome, 1), REQUESTER_TAKEN);
		expect_nothing();
		assert_int_equal(rig.qp->state, QP_ERROR);
		assert_int_equal(rig.qp->cause, cases[i].cause);
		assert_int_equal(rig.qp->counters.naks_received[cases[i].nak], 1);
		expect_completion(0, QP_NO_CAUSE);
		expect_completion(1, cases[i].cause);
		expect_completion(2, QP_CLOSED);
		expect_completion(3, QP_CLOSED);
		expect_no_completion();
		assert_int_equal(requester_room(rig.requester, rig.qp), 0);
		close_rig(state);
		open_rig(state);
	}
}

static void rnr__waits_as_long_as_it_is_told(void **state)
{
	(void)state;
	post(REQUESTER_SEND, 8, 1);
	post(REQUESTER_SEND, 8, 2);
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
	expect_sent(ROCE_RC_SEND_ONLY, 1, true);
	for (unsigned i = 0; i < 20; i++) { // rnr_retry 7: for ever
		assert_int_equal(answer(roce_rnr_syndrome(12), 0), REQUESTER_TAKEN);
		// Of rxe, for the packet behind: it neither ends the wait nor spends a retry.
		assert_int_equal(answer(ROCE_NAK_PSN_SEQUENCE, 0), REQUESTER_TAKEN);
		rig.now += roce_rnr_ns[12] - 1;
		expect_nothing();
		rig.now += 1;
		expect_sent(ROCE_RC_SEND_ONLY, 0, true);
		expect_nothing(); // the rest only once this one is acknowledged
	}
	acknowledge(0);
	expect_sent(ROCE_RC_SEND_ONLY, 1, true);
	acknowledge(1);
	expect_completion(1, QP_NO_CAUSE);
	expect_completion(2, QP_NO_CAUSE);
	assert_int_equal(rig.qp->counters.rnr_received, 20);
	assert_int_equal(rig.qp->retries, 3);
}

static void rnr__no_timeout_while_it_waits(void **state)
{
	(void)state;
	post(REQUESTER_SEND, 8, 1);
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
	assert_int_equal(answer(roce_rnr_syndrome(0), 0), REQUESTER_TAKEN); // 655 ms
	for (uint64_t waited = 0; waited + 1000000 < roce_rnr_ns[0]; waited += 1000000) {
		rig.now += 1000000;
		expect_nothing();
	}
	assert_int_equal(rig.qp->counters.timeouts, 0);
	rig.now += 1000000;
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
}

static void rnr__wait_ends_when_the_peer_has_it_after_all(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		post(REQUESTER_SEND, 8, i);
	for (uint32_t i = 0; i < 3; i++)
		expect_sent(ROCE_RC_SEND_ONLY, i, true);
	assert_int_equal(answer(roce_rnr_syndrome(0), 0), REQUESTER_TAKEN);
	expect_nothing();
	acknowledge(1);
	expect_sent(ROCE_RC_SEND_ONLY, 2, true);
}

static void rnr__limit(void **state)
{
	struct rig_options options = rig_standard;

	(void)state;
	options.rnr_retry = 2;
	reopen(&options);
	post(REQUESTER_SEND, 8, 1);
	for (unsigned i = 0; i < 3; i++) {
		expect_sent(ROCE_RC_SEND_ONLY, 0, true);
		assert_int_equal(answer(roce_rnr_syndrome(1), 0), REQUESTER_TAKEN);
		rig.now += 10000;
	}
	expect_nothing();
	expect_completion(1, QP_RNR_EXCEEDED);
	assert_int_equal(rig.qp->cause, QP_RNR_EXCEEDED);
}

static void rnr__window_doubles_with_each_acknowledgement(void **state)
{
	uint32_t number = 0, size = 1;

	(void)state;
	post(REQUESTER_SEND, 100 * RIG_MTU, 1);
	assert_true(requester_poll(rig.requester, rig.now, &sent));
	assert_int_equal(answer(roce_rnr_syndrome(1), 0), REQUESTER_TAKEN);
	rig.now += 10000;
	for (; size <= 32; size *= 2) {
		for (uint32_t i = 0; i < size; i++, number++)
			expect_sent(number == 0 ? ROCE_RC_SEND_FIRST : ROCE_RC_SEND_MIDDLE, number,
				    i + 1 == size); // else the window would wait for the timeout
		expect_nothing();
		acknowledge(number - 1);
	}
}

static void rnr__in_the_middle_resumes_there(void **state)
{
	(void)state;
	post(REQUESTER_SEND, 4 * RIG_MTU, 1);
	for (uint32_t i = 0; i < 4; i++)
		assert_true(requester_poll(rig.requester, rig.now, &sent));
	assert_int_equal(answer(roce_rnr_syndrome(1), 2), REQUESTER_TAKEN);
	rig.now += 10000;
	expect_sent(ROCE_RC_SEND_MIDDLE, 2, true);
	assert_int_equal(sent.offset, 2 * RIG_MTU);
	expect_nothing();
	acknowledge(2);
	expect_sent(ROCE_RC_SEND_LAST, 3, true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(send__of_each_length),
		TEST(write__address_once_immediate_last),
		TEST(window__and_ack_requests_within_it),
		TEST(nak__goes_back_to_its_psn),
		TEST(ack__of_what_we_went_back_for_is_not_sent_again),
		TEST(ghost__answers_are_ignored_and_counted),
		TEST(receive__only_of_the_peer_and_of_the_service),
		TEST(timeout__resends_the_window_until_retries_are_spent),
		TEST(timeout__progress_gives_all_retries_back),
		TEST(timeout__does_not_run_while_no_answer_is_asked_for),
		TEST(timeout__does_not_run_for_what_we_went_back_for),
		TEST(nak__without_progress_spends_retries),
		TEST(nak__fatal_ends_the_connection),
		TEST(rnr__waits_as_long_as_it_is_told),
		TEST(rnr__no_timeout_while_it_waits),
		TEST(rnr__wait_ends_when_the_peer_has_it_after_all),
		TEST(rnr__limit),
		TEST(rnr__window_doubles_with_each_acknowledgement),
		TEST(rnr__in_the_middle_resumes_there),
	};

	return cmocka_run_group_tests_name("requester", tests, NULL, NULL);
}
