// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The requester, packet by packet: what it sends, and what it makes of answers.
#include "rig.h"

static struct rig rig;
static struct requester_packet sent;

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

static void reopen(const struct rig_options *options)
{
	rig_close(&rig);
	rig_open(&rig, options);
}

static struct requester_message message_of(uint8_t operation, uint32_t length, uint64_t user)
{
	return (struct requester_message){
		.user = user,
		.address = 0x10000,
		.rkey = 0x77,
		.length = length,
		.operation = operation,
	};
}

static void post(uint8_t operation, uint32_t length, uint64_t user)
{
	const struct requester_message message = message_of(operation, length, user);

	assert_true(requester_post(rig.requester, rig.qp, &message));
}

// The next packet: its opcode, its PSN from our first one, AckReq.
static void expect_sent(uint8_t opcode, uint32_t number, bool ack_request)
{
	assert_true(requester_poll(rig.requester, rig.now, &sent));
	assert_ptr_equal(sent.qp, rig.qp);
	assert_int_equal(sent.header.opcode, opcode);
	assert_int_equal(sent.header.psn, local_psn(number));
	assert_int_equal(sent.header.ack_request, ack_request);
	assert_int_equal(sent.header.pad, -sent.size & 3u);
	assert_int_equal(sent.header.destination_qpn,
			 rig.qp->service == ROCE_UD ? 99 : RIG_PEER_QPN);
}

static void expect_nothing(void)
{
	assert_false(requester_poll(rig.requester, rig.now, &sent));
}

// An answer to the packet with this number.
static enum requester_verdict answer(uint8_t syndrome, uint32_t number)
{
	const struct roce_packet packet =
	    rig_response(&rig, ROCE_RC_ACKNOWLEDGE, local_psn(number), syndrome);

	return requester_receive(rig.requester, rig.qp, &packet, &rig.peer, rig.now, &rig.data);
}

static void acknowledge(uint32_t number)
{
	assert_int_equal(answer(ROCE_ACK_NO_CREDITS, number), REQUESTER_TAKEN);
}

static struct roce_packet make_data(uint8_t opcode, uint32_t number, uint32_t size)
{
	struct roce_packet packet =
	    rig_response(&rig, opcode, local_psn(number), ROCE_ACK_NO_CREDITS);

	packet.payload_size = size;
	packet.pad = (uint8_t)(-size & 3u);
	return packet;
}

static enum requester_verdict give_data(uint8_t opcode, uint32_t number, uint32_t size)
{
	const struct roce_packet packet = make_data(opcode, number, size);

	return requester_receive(rig.requester, rig.qp, &packet, &rig.peer, rig.now, &rig.data);
}

static void expect_completion(uint64_t user, enum qp_cause cause)
{
	struct requester_completion completion;

	assert_true(requester_completion(rig.requester, &completion));
	assert_ptr_equal(completion.qp, rig.qp);
	assert_int_equal(completion.user, user);
	assert_int_equal(completion.cause, cause);
}

static void expect_no_completion(void)
{
	struct requester_completion completion;

	assert_false(requester_completion(rig.requester, &completion));
}

static uint64_t timeout(void)
{
	return roce_timeout_ns(14);
}

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
	struct requester_message message = message_of(REQUESTER_WRITE, 2 * RIG_MTU + 6, 1);

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
		expect_sent(ROCE_RC_SEND_ONLY, 1, true);
	}
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

static void rnr__in_the_middle_resumes_there(void **state)
{
	(void)state;
	post(REQUESTER_SEND, 4 * RIG_MTU, 1);
	for (uint32_t i = 0; i < 4; i++)
		assert_true(requester_poll(rig.requester, rig.now, &sent));
	assert_int_equal(answer(roce_rnr_syndrome(1), 2), REQUESTER_TAKEN);
	rig.now += 10000;
	expect_sent(ROCE_RC_SEND_MIDDLE, 2, false);
	assert_int_equal(sent.offset, 2 * RIG_MTU);
	expect_sent(ROCE_RC_SEND_LAST, 3, true);
}

static void read__request_and_its_responses(void **state)
{
	(void)state;
	post(REQUESTER_READ, 2 * RIG_MTU + 3, 5);
	post(REQUESTER_SEND, 8, 6);
	expect_sent(ROCE_RC_READ_REQUEST, 0, true);
	assert_int_equal(sent.size, 0);
	assert_int_equal(sent.header.reth.address, 0x10000);
	assert_int_equal(sent.header.reth.length, 2 * RIG_MTU + 3);
	expect_sent(ROCE_RC_SEND_ONLY, 3, true); // behind the responses' PSNs
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_FIRST, 0, RIG_MTU), REQUESTER_DATA);
	assert_int_equal(rig.data.user, 5);
	assert_int_equal(rig.data.offset, 0);
	assert_int_equal(rig.data.size, RIG_MTU);
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_MIDDLE, 1, RIG_MTU), REQUESTER_DATA);
	assert_int_equal(rig.data.offset, RIG_MTU);
	expect_no_completion();
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_LAST, 2, 3), REQUESTER_DATA);
	assert_int_equal(rig.data.offset, 2 * RIG_MTU);
	assert_int_equal(rig.data.size, 3);
	expect_completion(5, QP_NO_CAUSE);
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_LAST, 2, 3), REQUESTER_DROPPED); // again
	assert_int_equal(rig.qp->counters.drops[QP_DROP_GHOST], 1);
	acknowledge(3);
	expect_completion(6, QP_NO_CAUSE);
	assert_int_equal(rig.qp->counters.data_bytes, 2 * RIG_MTU + 3);
}

static void read__response_acknowledges_what_was_before(void **state)
{
	(void)state;
	post(REQUESTER_SEND, 8, 1);
	post(REQUESTER_READ, 0, 2);
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
	expect_sent(ROCE_RC_READ_REQUEST, 1, true);
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_ONLY, 1, 0), REQUESTER_DATA);
	expect_completion(1, QP_NO_CAUSE);
	expect_completion(2, QP_NO_CAUSE);
}

static void read__implied_nak_by_an_ack_asks_again(void **state)
{
	(void)state;
	post(REQUESTER_SEND, 8, 1);
	post(REQUESTER_READ, 3 * RIG_MTU, 2);
	post(REQUESTER_SEND, 8, 3);
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
	expect_sent(ROCE_RC_READ_REQUEST, 1, true);
	expect_sent(ROCE_RC_SEND_ONLY, 4, true);
	acknowledge(4); // but no response to the READ has come
	expect_completion(1, QP_NO_CAUSE);
	expect_no_completion();
	assert_int_equal(rig.qp->counters.implied_naks, 1);
	expect_sent(ROCE_RC_READ_REQUEST, 1, true);
	assert_true(sent.again);
	expect_sent(ROCE_RC_SEND_ONLY, 4, true);
	acknowledge(4); // once more: it was asked again for already
	expect_nothing();
	assert_int_equal(rig.qp->counters.implied_naks, 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(give_data(i == 0   ? ROCE_RC_READ_RESPONSE_FIRST
					   : i == 1 ? ROCE_RC_READ_RESPONSE_MIDDLE
						    : ROCE_RC_READ_RESPONSE_LAST,
					   1 + i, RIG_MTU),
				 REQUESTER_DATA);
	expect_completion(2, QP_NO_CAUSE);
	acknowledge(4);
	expect_completion(3, QP_NO_CAUSE);
}

// A response was lost: the rest is asked for, and may begin with FIRST or with MIDDLE.
static void read__missing_response_asks_for_the_rest(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		post(REQUESTER_READ, 4 * RIG_MTU, 1);
		expect_sent(ROCE_RC_READ_REQUEST, 0, true);
		assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_FIRST, 0, RIG_MTU),
				 REQUESTER_DATA);
		assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_MIDDLE, 2, RIG_MTU),
				 REQUESTER_DROPPED);
		assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_LAST, 3, RIG_MTU),
				 REQUESTER_DROPPED);
		assert_int_equal(rig.qp->counters.drops[QP_DROP_RESPONSE], 2);
		expect_sent(ROCE_RC_READ_REQUEST, 1, true);
		assert_int_equal(sent.header.reth.address, 0x10000 + RIG_MTU);
		assert_int_equal(sent.header.reth.length, 3 * RIG_MTU);
		expect_nothing();
		assert_int_equal(
		    give_data(i ? ROCE_RC_READ_RESPONSE_MIDDLE : ROCE_RC_READ_RESPONSE_FIRST, 1,
			      RIG_MTU),
		    REQUESTER_DATA);
		assert_int_equal(rig.data.offset, RIG_MTU);
		assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_MIDDLE, 2, RIG_MTU),
				 REQUESTER_DATA);
		assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_LAST, 3, RIG_MTU), REQUESTER_DATA);
		expect_completion(1, QP_NO_CAUSE);
		close_rig(state);
		open_rig(state);
	}
}

static void read__timeout_asks_for_the_rest(void **state)
{
	(void)state;
	post(REQUESTER_READ, 2 * RIG_MTU, 1);
	expect_sent(ROCE_RC_READ_REQUEST, 0, true);
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_FIRST, 0, RIG_MTU), REQUESTER_DATA);
	rig.now += timeout();
	expect_sent(ROCE_RC_READ_REQUEST, 1, true);
	assert_int_equal(sent.header.reth.length, RIG_MTU);
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_ONLY, 1, RIG_MTU), REQUESTER_DATA);
	expect_completion(1, QP_NO_CAUSE);
}

static void read__wrong_responses_are_dropped(void **state)
{
	struct roce_packet packet;

	(void)state;
	post(REQUESTER_SEND, 8, 0);
	post(REQUESTER_READ, RIG_MTU + 5, 1);
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
	expect_sent(ROCE_RC_READ_REQUEST, 1, true);
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_ONLY, 0, 8), REQUESTER_DROPPED);
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_FIRST, 1, RIG_MTU - 4), REQUESTER_DROPPED);
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_ONLY, 1, RIG_MTU), REQUESTER_DROPPED);
	packet = make_data(ROCE_RC_READ_RESPONSE_FIRST, 1, RIG_MTU);
	packet.aeth.syndrome = ROCE_NAK_REMOTE_ACCESS;
	assert_int_equal(
	    requester_receive(rig.requester, rig.qp, &packet, &rig.peer, rig.now, &rig.data),
	    REQUESTER_DROPPED);
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_FIRST, 1, RIG_MTU), REQUESTER_DATA);
	packet = make_data(ROCE_RC_READ_RESPONSE_LAST, 2, 5);
	packet.pad = 0;
	assert_int_equal(
	    requester_receive(rig.requester, rig.qp, &packet, &rig.peer, rig.now, &rig.data),
	    REQUESTER_DROPPED);
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_LAST, 2, 6), REQUESTER_DROPPED);
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_MIDDLE, 2, 5), REQUESTER_DROPPED);
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_LAST, 2, 5), REQUESTER_DATA);
	assert_int_equal(rig.qp->counters.drops[QP_DROP_RESPONSE], 7);
}

static void read__at_most_so_many_outstanding(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 6; i++)
		post(REQUESTER_READ, 8, i);
	for (uint32_t i = 0; i < 4; i++) // max_reads
		expect_sent(ROCE_RC_READ_REQUEST, i, true);
	expect_nothing();
	assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_ONLY, 0, 8), REQUESTER_DATA);
	expect_sent(ROCE_RC_READ_REQUEST, 4, true);
	expect_nothing();
	rig.now += timeout(); // all that are out again, and no more
	for (uint32_t i = 1; i < 5; i++)
		expect_sent(ROCE_RC_READ_REQUEST, i, true);
	expect_nothing();
	for (uint32_t i = 1; i < 3; i++)
		assert_int_equal(give_data(ROCE_RC_READ_RESPONSE_ONLY, i, 8), REQUESTER_DATA);
	expect_sent(ROCE_RC_READ_REQUEST, 5, true);
	expect_nothing();
}

static void unreliable__is_done_when_sent(void **state)
{
	struct rig_options options = rig_standard;
	struct requester_message message = message_of(REQUESTER_SEND, 8, 3);

	(void)state;
	options.service = ROCE_UC;
	reopen(&options);
	post(REQUESTER_WRITE, RIG_MTU + 1, 1);
	expect_sent(ROCE_UC_WRITE_FIRST, 0, false);
	expect_no_completion();
	expect_sent(ROCE_UC_WRITE_LAST, 1, false);
	expect_completion(1, QP_NO_CAUSE);
	message.operation = REQUESTER_READ;
	assert_false(requester_post(rig.requester, rig.qp, &message));
	rig.now += 100 * timeout();
	expect_nothing();
	options.service = ROCE_UD;
	reopen(&options);
	message.operation = REQUESTER_SEND;
	message.peer_qpn = 99;
	message.qkey = 0x1234;
	message.has_immediate = true;
	assert_true(requester_post(rig.requester, rig.qp, &message));
	expect_sent(ROCE_UD_SEND_ONLY_IMM, 0, false);
	assert_int_equal(sent.header.deth.qkey, 0x1234);
	assert_int_equal(sent.header.deth.source_qpn, RIG_QPN);
	expect_completion(3, QP_NO_CAUSE);
	message.length = RIG_MTU + 1;
	assert_false(requester_post(rig.requester, rig.qp, &message));
	message.length = 8;
	message.operation = REQUESTER_WRITE;
	assert_false(requester_post(rig.requester, rig.qp, &message));
}

static void post__refuses_what_has_no_room_or_is_too_long(void **state)
{
	struct requester_message message = message_of(REQUESTER_SEND, 8, 0);

	(void)state;
	assert_int_equal(requester_room(rig.requester, rig.qp), 16);
	for (uint64_t i = 0; i < 16; i++)
		post(REQUESTER_SEND, 8, i);
	assert_int_equal(requester_room(rig.requester, rig.qp), 0);
	assert_false(requester_post(rig.requester, rig.qp, &message));
	for (uint32_t i = 0; i < 16; i++)
		expect_sent(ROCE_RC_SEND_ONLY, i, true);
	acknowledge(15);
	assert_false(requester_post(rig.requester, rig.qp, &message)); // not told yet
	expect_completion(0, QP_NO_CAUSE);
	assert_int_equal(requester_room(rig.requester, rig.qp), 1);
	message.length = (1u << 22) * RIG_MTU - 0; // 2^32: wraps to 0 bytes
	assert_int_equal(message.length, 0);
	message.length = 0xFFFFFFFF;
	assert_true(requester_post(rig.requester, rig.qp, &message)); // 2^22 packets
	close_rig(state);
	open_rig(state);
	rig.qp->path_mtu = 512;
	assert_false(requester_post(rig.requester, rig.qp, &message)); // 2^23 packets
	rig.qp->state = QP_OPEN;
	message.length = 8;
	assert_false(requester_post(rig.requester, rig.qp, &message));
	assert_int_equal(requester_room(rig.requester, rig.qp), 0);
}

static void flush__ends_what_is_unfinished(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 3; i++)
		post(REQUESTER_SEND, 8, i);
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
	expect_sent(ROCE_RC_SEND_ONLY, 1, true);
	acknowledge(0);
	assert_int_equal(requester_unfinished(rig.qp), 2);
	requester_flush(rig.requester, rig.qp);
	qp_close(&rig.table, rig.qp);
	expect_completion(0, QP_NO_CAUSE);
	expect_completion(1, QP_CLOSED);
	expect_completion(2, QP_CLOSED);
	expect_no_completion();
	expect_nothing();
	rig.now += 10 * timeout();
	expect_nothing();
}

static void pause__holds_everything(void **state)
{
	(void)state;
	post(REQUESTER_SEND, 8, 1);
	requester_pause(rig.requester, rig.now + 1000);
	expect_nothing();
	rig.now += 999;
	expect_nothing();
	rig.now += 1;
	expect_sent(ROCE_RC_SEND_ONLY, 0, true);
	post(REQUESTER_SEND, 8, 2);
	requester_pause(rig.requester, rig.now + 1000);
	requester_pause(rig.requester, 0);
	expect_sent(ROCE_RC_SEND_ONLY, 1, true);
}

static void rate__paces_packets(void **state)
{
	uint64_t start = rig.now, bytes = 0;
	unsigned n = 0;

	(void)state;
	requester_set_rate(rig.qp, 100000000); // 100 MB/s
	post(REQUESTER_SEND, 100 * RIG_MTU, 1);
	while (n < 100) {
		if (!requester_poll(rig.requester, rig.now, &sent)) {
			rig.now += 100;
			continue;
		}
		n++;
		bytes += sent.size + sent.header.payload_offset + 66;
	}
	// As long as the rate says, but for the last packet and what may be caught up.
	assert_in_range(rig.now - start, (bytes - 1200) * 10 - 21000, bytes * 10);
	requester_set_rate(rig.qp, 0);
	acknowledge(99);
	post(REQUESTER_SEND, 8, 2);
	expect_sent(ROCE_RC_SEND_ONLY, 100, true);
}

static void rate__is_cut_by_notifications(void **state)
{
	struct rig_options options = rig_standard;
	struct dcqcn_parameters dcqcn = dcqcn_defaults(1000000000);

	(void)state;
	requester_notified(rig.requester, rig.qp, rig.now);
	assert_int_equal(rig.qp->ns_per_byte, 0); // without DCQCN they are counted
	assert_int_equal(rig.qp->counters.cnp_received, 1);
	options.dcqcn = &dcqcn;
	reopen(&options);
	requester_notified(rig.requester, rig.qp, rig.now);
	// Halved: 500 MB/s, 2 ns a byte.
	assert_in_range(rig.qp->ns_per_byte, 0x1FFFFFFFFull, 0x200000001ull);
}

static void turns__of_queue_pairs_with_work(void **state)
{
	const struct qp_connection connection = { .peer = rig.peer,
						  .peer_qpn = 7,
						  .path_mtu = RIG_MTU,
						  .partition_key = ROCE_DEFAULT_P_KEY };
	struct requester_message message = message_of(REQUESTER_SEND, 10 * RIG_MTU, 1);
	struct queue_pair *other = qp_open(&rig.table, ROCE_RC, QP_NUMBER_AUTO, rig.now);
	unsigned n[2] = { 0, 0 };

	(void)state;
	assert_true(qp_connect(other, &connection));
	assert_true(requester_post(rig.requester, rig.qp, &message));
	assert_true(requester_post(rig.requester, other, &message));
	for (unsigned i = 0; i < 20; i++) {
		assert_true(requester_poll(rig.requester, rig.now, &sent));
		n[sent.qp == other]++;
		assert_true(n[0] <= n[1] + 4 && n[1] <= n[0] + 4); // burst
	}
	assert_int_equal(n[0], 10);
	expect_nothing();
}

static void create__refuses_parameters_out_of_range(void **state)
{
	const struct requester_parameters good = {
		.table = &rig.table, .depth = 1, .window = 2, .ack_interval = 1, .burst = 1
	};
	struct requester_parameters bad[8];
	struct requester *requester = requester_create(&good);

	(void)state;
	assert_non_null(requester);
	requester_destroy(requester);
	for (unsigned i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].table = NULL;
	bad[1].depth = 0;
	bad[2].depth = 3;
	bad[3].depth = 1u << 17;
	bad[4].window = 1;
	bad[5].window = 65537;
	bad[6].ack_interval = 0;
	bad[7].burst = 0;
	for (unsigned i = 0; i < 8; i++)
		assert_null(requester_create(&bad[i]));
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
		TEST(nak__without_progress_spends_retries),
		TEST(nak__fatal_ends_the_connection),
		TEST(rnr__waits_as_long_as_it_is_told),
		TEST(rnr__no_timeout_while_it_waits),
		TEST(rnr__limit),
		TEST(rnr__in_the_middle_resumes_there),
		TEST(read__request_and_its_responses),
		TEST(read__response_acknowledges_what_was_before),
		TEST(read__implied_nak_by_an_ack_asks_again),
		TEST(read__missing_response_asks_for_the_rest),
		TEST(read__timeout_asks_for_the_rest),
		TEST(read__wrong_responses_are_dropped),
		TEST(read__at_most_so_many_outstanding),
		TEST(unreliable__is_done_when_sent),
		TEST(post__refuses_what_has_no_room_or_is_too_long),
		TEST(flush__ends_what_is_unfinished),
		TEST(pause__holds_everything),
		TEST(rate__paces_packets),
		TEST(rate__is_cut_by_notifications),
		TEST(turns__of_queue_pairs_with_work),
		TEST(create__refuses_parameters_out_of_range),
	};

	return cmocka_run_group_tests_name("requester", tests, NULL, NULL);
}
