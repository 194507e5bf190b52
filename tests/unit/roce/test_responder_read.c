// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// READ requests: what is answered, in which order, and again.
#include "rig.h"

static struct rig rig;

static int open_rig(void **state)
{
	(void)state;
	rig_open(&rig, &rig_standard);
	for (uint32_t i = 0; i < RIG_MEMORY; i++)
		rig.memory[i] = (uint8_t)(i * 31 >> 3);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	rig_close(&rig);
	return 0;
}

static struct roce_packet read_request(uint32_t psn, uint32_t offset, uint32_t length)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_READ_REQUEST, psn, length);

	packet.reth.address = RIG_ADDRESS + offset;
	packet.ack_request = true;
	return packet;
}

static void serve(uint32_t psn, uint32_t offset, uint32_t length)
{
	struct roce_packet packet = read_request(psn, offset, length);

	assert_int_equal(rig_give(&rig, &packet), RESPONDER_SERVED);
	rig_expect_silence(&rig);
}

static void refuse(const struct roce_packet *packet, enum qp_drop cause, uint8_t syndrome)
{
	rig_drop(&rig, packet, cause);
	rig_expect_nak(&rig, syndrome, packet->psn);
	assert_int_equal(rig.qp->state, QP_ERROR);
	rig_expect_no_poll(&rig);
	close_rig(NULL);
	open_rig(NULL);
}

// The next response, with these bytes of the region.
static void expect_data(uint8_t opcode, uint32_t psn, uint32_t offset, uint32_t size)
{
	rig_expect_poll(&rig, opcode, psn);
	assert_int_equal(rig.reply.syndrome, ROCE_ACK_NO_CREDITS);
	assert_int_equal(rig.reply.payload_size, size);
	if (size > 0)
		assert_ptr_equal(rig.reply.payload, rig.memory + offset);
}

static void read__of_each_length(void **state)
{
	(void)state;
	serve(psn_of(0), 100, 0);
	expect_data(ROCE_RC_READ_RESPONSE_ONLY, psn_of(0), 100, 0);
	assert_int_equal(rig.reply.msn, 1);
	rig_expect_no_poll(&rig);
	serve(psn_of(1), 100, RIG_MTU);
	expect_data(ROCE_RC_READ_RESPONSE_ONLY, psn_of(1), 100, RIG_MTU);
	serve(psn_of(2), 7, 2 * RIG_MTU + 1);
	expect_data(ROCE_RC_READ_RESPONSE_FIRST, psn_of(2), 7, RIG_MTU);
	expect_data(ROCE_RC_READ_RESPONSE_MIDDLE, psn_of(3), 7 + RIG_MTU, RIG_MTU);
	expect_data(ROCE_RC_READ_RESPONSE_LAST, psn_of(4), 7 + 2 * RIG_MTU, 1);
	assert_int_equal(rig.reply.msn, 3);
	rig_expect_no_poll(&rig);
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(5), 8); // the responses had the PSNs between
	rig_expect_ack(&rig, psn_of(5), 4);
	assert_int_equal(rig.qp->counters.reads, 3);
	assert_int_equal(rig.qp->counters.read_packets, 5);
	assert_int_equal(rig.qp->counters.read_bytes, 3 * RIG_MTU + 1);
}

static void read__all_of_the_region_and_nothing_else(void **state)
{
	struct roce_packet packet;

	(void)state;
	serve(psn_of(0), 0, RIG_MEMORY);
	for (uint32_t i = 0; i < RIG_MEMORY / RIG_MTU; i++)
		rig_expect_poll(&rig,
				i == 0                          ? ROCE_RC_READ_RESPONSE_FIRST
				: i == RIG_MEMORY / RIG_MTU - 1 ? ROCE_RC_READ_RESPONSE_LAST
								: ROCE_RC_READ_RESPONSE_MIDDLE,
				psn_of(i));
	close_rig(state);
	open_rig(state);
	packet = read_request(psn_of(0), 0, RIG_MEMORY + 1);
	refuse(&packet, QP_DROP_ACCESS, ROCE_NAK_REMOTE_ACCESS);
	packet = read_request(psn_of(0), RIG_MEMORY, 1);
	refuse(&packet, QP_DROP_ACCESS, ROCE_NAK_REMOTE_ACCESS);
	packet = read_request(psn_of(0), 0, 1);
	packet.reth.rkey ^= 1;
	refuse(&packet, QP_DROP_ACCESS, ROCE_NAK_REMOTE_ACCESS);
	packet = read_request(psn_of(0), 0, 1);
	packet.reth.address = UINT64_MAX;
	refuse(&packet, QP_DROP_ACCESS, ROCE_NAK_REMOTE_ACCESS);
}

static void read__not_permitted_or_malformed(void **state)
{
	struct roce_packet packet = read_request(psn_of(0), 0, 8);

	(void)state;
	rig.qp->access = QP_MAY_WRITE;
	refuse(&packet, QP_DROP_UNSUPPORTED, ROCE_NAK_INVALID_REQUEST);
	packet.reth.length = (1u << 31) + 1;
	refuse(&packet, QP_DROP_LENGTH, ROCE_NAK_INVALID_REQUEST);
	rig.qp->path_mtu = 256;
	packet.reth.length = 1u << 31; // 2^23 packets
	refuse(&packet, QP_DROP_LENGTH, ROCE_NAK_INVALID_REQUEST);
	packet = read_request(psn_of(0), 0, 8);
	packet.payload_size = 4;
	refuse(&packet, QP_DROP_LENGTH, ROCE_NAK_INVALID_REQUEST);
}

static void read__region_gone_while_it_is_answered(void **state)
{
	(void)state;
	serve(psn_of(0), 0, 3 * RIG_MTU);
	expect_data(ROCE_RC_READ_RESPONSE_FIRST, psn_of(0), 0, RIG_MTU);
	rig.region.memory = NULL;
	rig_expect_poll(&rig, ROCE_RC_ACKNOWLEDGE, psn_of(1));
	rig_expect_nak(&rig, ROCE_NAK_REMOTE_ACCESS, psn_of(1));
	rig_expect_no_poll(&rig);
	assert_int_equal(rig.qp->cause, QP_SENT_ACCESS);
}

static void order__ack_waits_for_the_responses_in_front(void **state)
{
	struct roce_packet ahead;

	(void)state;
	serve(psn_of(0), 0, 2 * RIG_MTU);
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(2), 8);
	rig_expect_silence(&rig);
	ahead = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(5), 8);
	expect_data(ROCE_RC_READ_RESPONSE_FIRST, psn_of(0), 0, RIG_MTU);
	assert_int_equal(rig.reply.msn, 1); // of the READ, though more is complete
	expect_data(ROCE_RC_READ_RESPONSE_LAST, psn_of(1), RIG_MTU, RIG_MTU);
	rig_expect_poll(&rig, ROCE_RC_ACKNOWLEDGE, psn_of(2));
	rig_expect_ack(&rig, psn_of(2), 2);
	rig_expect_no_poll(&rig);
	// A sequence NAK, too.
	serve(psn_of(3), 0, 8);
	rig_drop(&rig, &ahead, QP_DROP_AHEAD);
	rig_expect_silence(&rig);
	expect_data(ROCE_RC_READ_RESPONSE_ONLY, psn_of(3), 0, 8);
	rig_expect_poll(&rig, ROCE_RC_ACKNOWLEDGE, psn_of(4));
	rig_expect_nak(&rig, ROCE_NAK_PSN_SEQUENCE, psn_of(4));
	rig_expect_no_poll(&rig);
}

static void order__nak_waits_too_whatever_comes_in_between(void **state)
{
	struct roce_packet ahead = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(5), 8);
	struct roce_packet again = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);

	(void)state;
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);
	serve(psn_of(1), 0, 8);
	rig_drop(&rig, &ahead, QP_DROP_AHEAD);
	rig_drop(&rig, &again, QP_DROP_DUPLICATE);
	rig_expect_silence(&rig);
	expect_data(ROCE_RC_READ_RESPONSE_ONLY, psn_of(1), 0, 8);
	rig_expect_poll(&rig, ROCE_RC_ACKNOWLEDGE, psn_of(2));
	rig_expect_nak(&rig, ROCE_NAK_PSN_SEQUENCE, psn_of(2));
	rig_expect_no_poll(&rig);
}

static void order__owed_ack_goes_before_the_responses(void **state)
{
	struct rig_options options = rig_standard;
	struct roce_packet packet;

	close_rig(state);
	options.ack_every = 8;
	rig_open(&rig, &options);
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);
	rig_expect_silence(&rig);
	packet = read_request(psn_of(1), 0, 8);
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_SERVED);
	rig_expect_ack(&rig, psn_of(0), 1);
	expect_data(ROCE_RC_READ_RESPONSE_ONLY, psn_of(1), 0, 8);
	rig_expect_no_poll(&rig);
}

static void again__whole_read_is_served_again(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		serve(psn_of(0), 0, 2 * RIG_MTU);
		expect_data(ROCE_RC_READ_RESPONSE_FIRST, psn_of(0), 0, RIG_MTU);
		expect_data(ROCE_RC_READ_RESPONSE_LAST, psn_of(1), RIG_MTU, RIG_MTU);
		rig_expect_no_poll(&rig);
	}
	assert_int_equal(rig.qp->counters.reads, 1);
	assert_int_equal(rig.qp->counters.reads_again, 2);
	assert_int_equal(rig.qp->counters.drops[QP_DROP_DUPLICATE], 2);
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(2), 8);
}

// The standard begins with FIRST, rxe goes on with MIDDLE.
static void again__from_its_middle(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		struct rig_options options = rig_standard;

		close_rig(state);
		options.like_rxe = i;
		rig_open(&rig, &options);
		serve(psn_of(0), 0, 4 * RIG_MTU);
		for (uint32_t j = 0; j < 4; j++)
			assert_true(responder_poll(rig.responder, &rig.reply));
		serve(psn_of(1), RIG_MTU, 3 * RIG_MTU);
		expect_data(i ? ROCE_RC_READ_RESPONSE_MIDDLE : ROCE_RC_READ_RESPONSE_FIRST,
			    psn_of(1), RIG_MTU, RIG_MTU);
		expect_data(ROCE_RC_READ_RESPONSE_MIDDLE, psn_of(2), 2 * RIG_MTU, RIG_MTU);
		expect_data(ROCE_RC_READ_RESPONSE_LAST, psn_of(3), 3 * RIG_MTU, RIG_MTU);
		serve(psn_of(3), 3 * RIG_MTU, RIG_MTU);
		expect_data(i ? ROCE_RC_READ_RESPONSE_LAST : ROCE_RC_READ_RESPONSE_ONLY, psn_of(3),
			    3 * RIG_MTU, RIG_MTU);
		rig_expect_no_poll(&rig);
	}
}

static void again__while_later_ones_wait(void **state)
{
	(void)state;
	serve(psn_of(0), 0, 2 * RIG_MTU);
	serve(psn_of(2), 0, 8);
	for (unsigned i = 0; i < 3; i++)
		assert_true(responder_poll(rig.responder, &rig.reply));
	serve(psn_of(3), 16, 2 * RIG_MTU);
	expect_data(ROCE_RC_READ_RESPONSE_FIRST, psn_of(3), 16, RIG_MTU);
	serve(psn_of(1), RIG_MTU, RIG_MTU); // the end of the first one
	expect_data(ROCE_RC_READ_RESPONSE_ONLY, psn_of(1), RIG_MTU, RIG_MTU);
	expect_data(ROCE_RC_READ_RESPONSE_LAST, psn_of(4), 16 + RIG_MTU, RIG_MTU);
	rig_expect_no_poll(&rig);
}

static void again__what_differs_or_is_forgotten_is_dropped(void **state)
{
	struct roce_packet packet;

	(void)state;
	serve(psn_of(0), 0, 2 * RIG_MTU);
	for (unsigned i = 0; i < 2; i++)
		assert_true(responder_poll(rig.responder, &rig.reply));
	packet = read_request(psn_of(0), 4, 2 * RIG_MTU); // another address
	rig_drop(&rig, &packet, QP_DROP_STALE_READ);
	packet = read_request(psn_of(0), 0, 2 * RIG_MTU + 1); // longer
	rig_drop(&rig, &packet, QP_DROP_STALE_READ);
	packet = read_request(psn_of(1), RIG_MTU, RIG_MTU + 1);
	rig_drop(&rig, &packet, QP_DROP_STALE_READ);
	packet = read_request(psn_of(1), RIG_MTU, 0);
	rig_drop(&rig, &packet, QP_DROP_STALE_READ);
	packet = read_request(psn_of(0), 0, 2 * RIG_MTU);
	packet.reth.rkey++;
	rig_drop(&rig, &packet, QP_DROP_STALE_READ);
	rig_expect_silence(&rig);
	rig_expect_no_poll(&rig);
	for (uint32_t i = 2; i < 6; i++) { // four others: the first is forgotten
		serve(psn_of(i), 0, 8);
		assert_true(responder_poll(rig.responder, &rig.reply));
	}
	packet = read_request(psn_of(0), 0, 2 * RIG_MTU);
	rig_drop(&rig, &packet, QP_DROP_STALE_READ);
	serve(psn_of(2), 0, 8);
	expect_data(ROCE_RC_READ_RESPONSE_ONLY, psn_of(2), 0, 8);
}

static void bound__of_reads_at_a_time(void **state)
{
	struct roce_packet packet;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		serve(psn_of(i), 0, 8);
	packet = read_request(psn_of(4), 0, 8);
	refuse(&packet, QP_DROP_SEQUENCE, ROCE_NAK_INVALID_REQUEST);
	for (uint32_t i = 0; i < 4; i++)
		serve(psn_of(i), 0, 8);
	expect_data(ROCE_RC_READ_RESPONSE_ONLY, psn_of(0), 0, 8);
	serve(psn_of(4), 0, 8);
	for (uint32_t i = 1; i < 5; i++)
		expect_data(ROCE_RC_READ_RESPONSE_ONLY, psn_of(i), 0, 8);
	// One that is only being served again makes room for a new one.
	serve(psn_of(1), 0, 8);
	serve(psn_of(5), 0, 8);
	expect_data(ROCE_RC_READ_RESPONSE_ONLY, psn_of(5), 0, 8);
	rig_expect_no_poll(&rig);
}

static void duplicate__send_behind_a_read_is_acknowledged_up_to_itself(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);

	(void)state;
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);
	serve(psn_of(1), 0, 8);
	assert_true(responder_poll(rig.responder, &rig.reply));
	rig_drop(&rig, &packet, QP_DROP_DUPLICATE);
	rig_expect_ack(&rig, psn_of(0), 2); // not 1: that would say that the READ was answered
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(read__of_each_length),
		TEST(read__all_of_the_region_and_nothing_else),
		TEST(read__not_permitted_or_malformed),
		TEST(read__region_gone_while_it_is_answered),
		TEST(order__ack_waits_for_the_responses_in_front),
		TEST(order__nak_waits_too_whatever_comes_in_between),
		TEST(order__owed_ack_goes_before_the_responses),
		TEST(again__whole_read_is_served_again),
		TEST(again__from_its_middle),
		TEST(again__while_later_ones_wait),
		TEST(again__what_differs_or_is_forgotten_is_dropped),
		TEST(bound__of_reads_at_a_time),
		TEST(duplicate__send_behind_a_read_is_acknowledged_up_to_itself),
	};

	return cmocka_run_group_tests_name("responder_read", tests, NULL, NULL);
}
