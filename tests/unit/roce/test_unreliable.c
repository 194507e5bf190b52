// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// UC and UD, packet by packet: gaps, what is lost by them, and that nothing is ever answered.
#include "rig.h"

static struct rig rig;

static int open_rig(void **state)
{
	struct rig_options options = rig_standard;

	(void)state;
	options.service = ROCE_UC;
	rig_open(&rig, &options);
	return 0;
}

static int open_datagrams(void **state)
{
	struct rig_options options = rig_standard;

	(void)state;
	options.service = ROCE_UD;
	options.cnp_interval = 1000;
	rig_open(&rig, &options);
	return 0;
}

static int close_rig(void **state)
{
	(void)state;
	rig_expect_no_poll(&rig);
	rig_close(&rig);
	return 0;
}

// Gives a packet that is to be taken, at this place of its message.
static void take(uint8_t opcode, uint32_t psn, uint32_t size, uint32_t offset)
{
	struct roce_packet packet = rig_request(&rig, opcode, psn, size);

	packet.reth.length = opcode == ROCE_UC_WRITE_FIRST ? 3 * RIG_MTU : size;
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
	assert_int_equal(rig.delivery.offset, offset);
	rig_expect_silence(&rig);
}

static void drop(uint8_t opcode, uint32_t psn, uint32_t size, enum qp_drop cause)
{
	struct roce_packet packet = rig_request(&rig, opcode, psn, size);

	packet.reth.length = size;
	rig_drop(&rig, &packet, cause);
	rig_expect_silence(&rig);
	assert_int_equal(rig.qp->state, QP_READY);
}

static void uc__messages_in_order(void **state)
{
	(void)state;
	take(ROCE_UC_SEND_FIRST, psn_of(0), RIG_MTU, 0);
	take(ROCE_UC_SEND_MIDDLE, psn_of(1), RIG_MTU, RIG_MTU);
	take(ROCE_UC_SEND_LAST_IMM, psn_of(2), 9, 2 * RIG_MTU);
	assert_true(rig.delivery.has_immediate);
	take(ROCE_UC_SEND_ONLY, psn_of(3), 0, 0);
	take(ROCE_UC_WRITE_FIRST, psn_of(4), RIG_MTU, 0);
	take(ROCE_UC_WRITE_MIDDLE, psn_of(5), RIG_MTU, RIG_MTU);
	assert_ptr_equal(rig.delivery.to, rig.memory + RIG_MTU);
	take(ROCE_UC_WRITE_LAST, psn_of(6), RIG_MTU, 2 * RIG_MTU);
	take(ROCE_UC_WRITE_ONLY_IMM, psn_of(7), 5, 0);
	assert_int_equal(rig.qp->counters.messages, 4);
	assert_int_equal(rig.qp->counters.lost, 0);
	assert_int_equal(rig.qp->counters.aborted, 0);
}

static void uc__gap_drops_up_to_the_next_message(void **state)
{
	(void)state;
	take(ROCE_UC_SEND_FIRST, psn_of(0), RIG_MTU, 0);
	drop(ROCE_UC_SEND_MIDDLE, psn_of(3), RIG_MTU, QP_DROP_GAP);
	drop(ROCE_UC_SEND_MIDDLE, psn_of(4), RIG_MTU, QP_DROP_GAP);
	drop(ROCE_UC_SEND_LAST, psn_of(5), 8, QP_DROP_GAP);
	take(ROCE_UC_SEND_FIRST, psn_of(6), RIG_MTU, 0);
	take(ROCE_UC_SEND_LAST, psn_of(7), 8, RIG_MTU);
	assert_int_equal(rig.qp->counters.lost, 2);
	assert_int_equal(rig.qp->counters.aborted, 1);
	assert_int_equal(rig.qp->counters.messages, 1);
}

static void uc__gap_in_front_of_a_message_costs_nothing_more(void **state)
{
	(void)state;
	take(ROCE_UC_SEND_ONLY, psn_of(0), 8, 0);
	take(ROCE_UC_SEND_ONLY, psn_of(5), 8, 0);
	assert_int_equal(rig.qp->counters.lost, 4);
	assert_int_equal(rig.qp->counters.aborted, 0);
}

static void uc__lost_beginning_drops_the_rest(void **state)
{
	(void)state;
	drop(ROCE_UC_WRITE_MIDDLE, psn_of(1), RIG_MTU, QP_DROP_GAP);
	drop(ROCE_UC_WRITE_LAST, psn_of(2), RIG_MTU, QP_DROP_GAP);
	take(ROCE_UC_SEND_ONLY, psn_of(3), 8, 0);
	assert_int_equal(rig.qp->counters.lost, 1);
	drop(ROCE_UC_SEND_LAST, psn_of(4), 8, QP_DROP_SEQUENCE); // no gap, yet no beginning
	take(ROCE_UC_SEND_ONLY, psn_of(5), 8, 0);
}

static void uc__another_message_inside_a_message(void **state)
{
	(void)state;
	take(ROCE_UC_SEND_FIRST, psn_of(0), RIG_MTU, 0);
	take(ROCE_UC_WRITE_FIRST, psn_of(1), RIG_MTU, 0); // its sender gave the first one up
	drop(ROCE_UC_SEND_MIDDLE, psn_of(2), RIG_MTU, QP_DROP_SEQUENCE);
	drop(ROCE_UC_WRITE_MIDDLE, psn_of(3), RIG_MTU, QP_DROP_GAP);
	take(ROCE_UC_WRITE_ONLY, psn_of(4), 8, 0);
	assert_int_equal(rig.qp->counters.aborted, 2);
	assert_int_equal(rig.qp->counters.lost, 0);
}

static void uc__late_and_repeated_packets_do_not_disturb(void **state)
{
	(void)state;
	take(ROCE_UC_SEND_FIRST, psn_of(0), RIG_MTU, 0);
	take(ROCE_UC_SEND_MIDDLE, psn_of(1), RIG_MTU, RIG_MTU);
	drop(ROCE_UC_SEND_MIDDLE, psn_of(1), RIG_MTU, QP_DROP_GAP);
	drop(ROCE_UC_SEND_MIDDLE, psn_of(0x900000), RIG_MTU, QP_DROP_GAP);
	take(ROCE_UC_SEND_LAST, psn_of(2), 8, 2 * RIG_MTU);
	assert_int_equal(rig.qp->counters.aborted, 0);
}

static void uc__sender_that_begins_anew(void **state)
{
	(void)state;
	take(ROCE_UC_SEND_ONLY, psn_of(100), 8, 0);
	take(ROCE_UC_SEND_ONLY, psn_of(0), 8, 0);
	take(ROCE_UC_SEND_ONLY, psn_of(1), 8, 0);
	assert_int_equal(rig.qp->counters.lost, 100);
}

static void uc__malformed_packets_cost_their_message(void **state)
{
	struct roce_packet packet;

	(void)state;
	take(ROCE_UC_SEND_FIRST, psn_of(0), RIG_MTU, 0);
	drop(ROCE_UC_SEND_MIDDLE, psn_of(1), RIG_MTU - 4, QP_DROP_LENGTH);
	drop(ROCE_UC_SEND_LAST, psn_of(2), 8, QP_DROP_GAP);
	packet = rig_request(&rig, ROCE_UC_WRITE_ONLY, psn_of(3), 8);
	packet.reth.address--;
	rig_drop(&rig, &packet, QP_DROP_ACCESS);
	packet = rig_request(&rig, ROCE_UC_WRITE_ONLY, psn_of(4), 8);
	packet.reth.length = 9;
	rig_drop(&rig, &packet, QP_DROP_LENGTH);
	packet = rig_request(&rig, ROCE_UC_SEND_ONLY, psn_of(5), 8);
	packet.pad = 1;
	rig_drop(&rig, &packet, QP_DROP_LENGTH);
	take(ROCE_UC_SEND_ONLY, psn_of(6), 8, 0);
	assert_int_equal(rig.qp->counters.lost, 0);
	assert_int_equal(rig.qp->counters.aborted, 1);
	rig.qp->access = 0;
	drop(ROCE_UC_WRITE_ONLY, psn_of(7), 8, QP_DROP_UNSUPPORTED);
}

static void uc__refused_packet_costs_its_message(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_UC_SEND_MIDDLE, psn_of(1), RIG_MTU);

	(void)state;
	take(ROCE_UC_SEND_FIRST, psn_of(0), RIG_MTU, 0);
	assert_int_equal(rig_check(&rig, &packet), RESPONDER_DELIVER);
	responder_refuse(rig.responder, rig.qp, &rig.delivery, RESPONDER_NO_RESOURCE, &rig.reply);
	rig_expect_silence(&rig);
	assert_int_equal(rig.qp->counters.drops[QP_DROP_NO_RESOURCE], 1);
	drop(ROCE_UC_SEND_LAST, psn_of(2), 8, QP_DROP_GAP);
	take(ROCE_UC_SEND_ONLY, psn_of(3), 8, 0);
	assert_int_equal(rig.qp->counters.lost, 0); // the network lost none
	assert_int_equal(rig.qp->counters.aborted, 1);
}

static void uc__no_acks_and_no_reliable_packets(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);

	(void)state;
	rig_drop(&rig, &packet, QP_DROP_SERVICE);
	packet = rig_request(&rig, ROCE_UD_SEND_ONLY, psn_of(0), 8);
	rig_drop(&rig, &packet, QP_DROP_SERVICE);
	packet = rig_request(&rig, ROCE_UC_SEND_ONLY, psn_of(0), 8);
	packet.ack_request = true;
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
	rig_expect_silence(&rig);
	rig.peer = qp_address_ipv4(RIG_PEER_IP + 1);
	packet.psn = psn_of(1);
	rig_drop(&rig, &packet, QP_DROP_PEER);
}

static void ud__of_anybody_with_the_key(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_UD_SEND_ONLY_IMM, psn_of(77), 11);

	(void)state;
	rig.peer = qp_address_ipv4(0x01020304);
	rig.congested = true;
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
	assert_true(rig.delivery.begins && rig.delivery.ends && rig.delivery.has_immediate);
	assert_int_equal(rig.delivery.size, 11);
	assert_false(rig.reply.cnp); // for which queue pair?
	packet.psn = psn_of(3);
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER); // PSNs say nothing
	packet.deth.qkey++;
	rig_drop(&rig, &packet, QP_DROP_Q_KEY);
	packet = rig_request(&rig, ROCE_UD_SEND_ONLY, psn_of(0), RIG_MTU + 1);
	rig_drop(&rig, &packet, QP_DROP_LENGTH);
	packet = rig_request(&rig, ROCE_UD_SEND_ONLY, psn_of(0), 8);
	packet.pad = 3;
	rig_drop(&rig, &packet, QP_DROP_LENGTH);
	packet = rig_request(&rig, ROCE_UD_SEND_ONLY, psn_of(0), 8);
	packet.partition_key = 0x8001;
	rig_drop(&rig, &packet, QP_DROP_P_KEY);
	packet.partition_key = ROCE_DEFAULT_P_KEY;
	assert_int_equal(rig_check(&rig, &packet), RESPONDER_DELIVER);
	responder_refuse(rig.responder, rig.qp, &rig.delivery, RESPONDER_NO_RESOURCE, &rig.reply);
	rig_expect_silence(&rig);
	assert_int_equal(rig.qp->counters.messages, 2);
	assert_int_equal(rig.qp->counters.drops[QP_DROP_NO_RESOURCE], 1);
}

#define TEST(name)     cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
#define DATAGRAM(name) cmocka_unit_test_setup_teardown(name, open_datagrams, close_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(uc__messages_in_order),
		TEST(uc__gap_drops_up_to_the_next_message),
		TEST(uc__gap_in_front_of_a_message_costs_nothing_more),
		TEST(uc__lost_beginning_drops_the_rest),
		TEST(uc__another_message_inside_a_message),
		TEST(uc__late_and_repeated_packets_do_not_disturb),
		TEST(uc__sender_that_begins_anew),
		TEST(uc__malformed_packets_cost_their_message),
		TEST(uc__refused_packet_costs_its_message),
		TEST(uc__no_acks_and_no_reliable_packets),
		DATAGRAM(ud__of_anybody_with_the_key),
	};

	return cmocka_run_group_tests_name("unreliable", tests, NULL, NULL);
}
