// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// READs of the requester, packet by packet.
#include "asking.h"

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

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(read__request_and_its_responses),
		TEST(read__response_acknowledges_what_was_before),
		TEST(read__implied_nak_by_an_ack_asks_again),
		TEST(read__missing_response_asks_for_the_rest),
		TEST(read__timeout_asks_for_the_rest),
		TEST(read__wrong_responses_are_dropped),
		TEST(read__at_most_so_many_outstanding),
	};

	return cmocka_run_group_tests_name("requester_read", tests, NULL, NULL);
}
