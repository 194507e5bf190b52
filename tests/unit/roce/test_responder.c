// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// RC SEND and WRITE, packet by packet: what is taken, and what is wrong.
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

static void send__message_of_three_packets(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_SEND_FIRST, psn_of(0), RIG_MTU);

	(void)state;
	packet.solicited = true; // makes no difference
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
	assert_true(rig.delivery.begins && !rig.delivery.ends);
	assert_false(rig.delivery.is_write || rig.delivery.has_immediate);
	assert_int_equal(rig.delivery.offset, 0);
	rig_expect_silence(&rig);
	rig_deliver(&rig, ROCE_RC_SEND_MIDDLE, psn_of(1), RIG_MTU);
	assert_false(rig.delivery.begins || rig.delivery.ends);
	assert_int_equal(rig.delivery.offset, RIG_MTU);
	rig_expect_ack(&rig, psn_of(1), 0); // no message is complete
	rig_deliver(&rig, ROCE_RC_SEND_LAST_IMM, psn_of(2), 5);
	assert_true(rig.delivery.ends && rig.delivery.has_immediate);
	assert_int_equal(rig.delivery.immediate, 0xFEEDF00D);
	assert_int_equal(rig.delivery.offset, 2 * RIG_MTU);
	rig_expect_ack(&rig, psn_of(2), 1);
	assert_int_equal(rig.qp->counters.messages, 1);
	assert_int_equal(rig.qp->counters.packets, 3);
	assert_int_equal(rig.qp->counters.bytes, 2 * RIG_MTU + 5);
	assert_int_equal(rig.qp->counters.acks_sent, 2);
}

static void send__only_of_any_size_up_to_the_path_mtu(void **state)
{
	struct roce_packet packet;

	(void)state;
	for (uint32_t size = 0; size <= RIG_MTU; size++) {
		rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(size), size);
		assert_true(rig.delivery.begins && rig.delivery.ends);
		rig_expect_ack(&rig, psn_of(size), size + 1);
	}
	packet = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(RIG_MTU + 1), RIG_MTU + 1);
	rig_drop(&rig, &packet, QP_DROP_LENGTH);
	rig_expect_nak(&rig, ROCE_NAK_INVALID_REQUEST, psn_of(RIG_MTU + 1));
}

static void send__psn_and_msn_wrap(void **state)
{
	(void)state;
	rig.qp->msn = ROCE_24_BITS;
	for (uint32_t i = 0; i < 40; i++) {
		rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(i), 8);
		rig_expect_ack(&rig, (RIG_START_PSN + i) & 0xFFFFFF, i & 0xFFFFFF);
	}
}

static void write__places_by_address_on_every_packet(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_WRITE_FIRST, psn_of(0), RIG_MTU);

	(void)state;
	packet.reth.length = 2 * RIG_MTU + 7;
	packet.reth.address = RIG_ADDRESS + 100;
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
	assert_true(rig.delivery.is_write && rig.delivery.begins);
	assert_ptr_equal(rig.delivery.to, rig.memory + 100);
	assert_int_equal(rig.delivery.rkey, rig.rkey);
	assert_int_equal(rig.delivery.dma_length, 2 * RIG_MTU + 7);
	assert_true(rig.delivery.address == RIG_ADDRESS + 100);
	rig_deliver(&rig, ROCE_RC_WRITE_MIDDLE, psn_of(1), RIG_MTU);
	assert_ptr_equal(rig.delivery.to, rig.memory + 100 + RIG_MTU);
	assert_int_equal(rig.delivery.offset, RIG_MTU);
	assert_int_equal(rig.delivery.dma_length, 2 * RIG_MTU + 7);
	rig_deliver(&rig, ROCE_RC_WRITE_LAST_IMM, psn_of(2), 7);
	assert_ptr_equal(rig.delivery.to, rig.memory + 100 + 2 * RIG_MTU);
	assert_true(rig.delivery.has_immediate && rig.delivery.ends);
	rig_expect_ack(&rig, psn_of(2), 1);
}

static void write__of_nothing_needs_no_region(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_WRITE_ONLY_IMM, psn_of(0), 0);

	(void)state;
	packet.reth = (struct roce_reth){ 0 };
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
	assert_int_equal(rig.delivery.size, 0);
	assert_null(rig.delivery.to);
	assert_true(rig.delivery.has_immediate);
}

// What the peer may not do with a WRITE's address, each by another queue pair state.
static void write__outside_of_the_region_is_an_access_error(void **state)
{
	static const struct {
		int64_t address; // from the region's
		uint32_t length;
		uint32_t rkey; // exclusive or
	} cases[] = {
		{ -1, 8, 0 },
		{ RIG_MEMORY, 8, 0 },
		{ RIG_MEMORY - 7, 8, 0 },
		{ 0, 8, 1 },           // stale key
		{ 0, 8, 1 << 8 },      // another index, not registered
		{ 0, 8, 0x80u << 24 }, // index beyond the table
		{ -RIG_ADDRESS, 8, 0 },
		{ (int64_t)(0xFFFFFFFFFFFFFFFFull - RIG_ADDRESS), 8, 0 }, // wraps
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct roce_packet packet =
		    rig_request(&rig, ROCE_RC_WRITE_ONLY, psn_of(0), cases[i].length);

		packet.reth.address += (uint64_t)cases[i].address;
		packet.reth.rkey ^= cases[i].rkey;
		rig_drop(&rig, &packet, QP_DROP_ACCESS);
		rig_expect_nak(&rig, ROCE_NAK_REMOTE_ACCESS, psn_of(0));
		assert_int_equal(rig.qp->state, QP_ERROR);
		assert_int_equal(rig.qp->cause, QP_SENT_ACCESS);
		// In error: silence.
		rig_drop(&rig, &packet, QP_DROP_STATE);
		rig_expect_silence(&rig);
		close_rig(state);
		open_rig(state);
	}
}

static void write__first_that_would_end_outside_is_refused_at_once(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_WRITE_FIRST, psn_of(0), RIG_MTU);

	(void)state;
	packet.reth.length = RIG_MEMORY + 1;
	rig_drop(&rig, &packet, QP_DROP_ACCESS);
	rig_expect_nak(&rig, ROCE_NAK_REMOTE_ACCESS, psn_of(0));
}

static void write__key_changes_in_the_middle(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_WRITE_FIRST, psn_of(0), RIG_MTU);

	(void)state;
	packet.reth.length = 3 * RIG_MTU;
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
	rig.region.rkey = ++rig.rkey;
	packet = rig_request(&rig, ROCE_RC_WRITE_MIDDLE, psn_of(1), RIG_MTU);
	rig_drop(&rig, &packet, QP_DROP_ACCESS);
	rig_expect_nak(&rig, ROCE_NAK_REMOTE_ACCESS, psn_of(1));
}

static void write__without_permission_is_invalid(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_WRITE_ONLY, psn_of(0), 8);

	(void)state;
	rig.qp->access = QP_MAY_READ;
	rig_drop(&rig, &packet, QP_DROP_UNSUPPORTED);
	rig_expect_nak(&rig, ROCE_NAK_INVALID_REQUEST, psn_of(0));
}

static void write__to_a_region_that_may_only_be_read(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_WRITE_ONLY, psn_of(0), 8);

	(void)state;
	rig.region.access = REGION_READ;
	rig_drop(&rig, &packet, QP_DROP_ACCESS);
	rig_expect_nak(&rig, ROCE_NAK_REMOTE_ACCESS, psn_of(0));
}

// Packets whose sizes do not add up to the announced length.
static void write__out_of_range_length(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t size, announced;
	} cases[] = {
		{ ROCE_RC_WRITE_ONLY, 8, 9 },
		{ ROCE_RC_WRITE_ONLY, 8, 7 },
		{ ROCE_RC_WRITE_ONLY, 8, 0 },
		{ ROCE_RC_WRITE_ONLY, 0, 1 },
		{ ROCE_RC_WRITE_FIRST, RIG_MTU, RIG_MTU },
		{ ROCE_RC_WRITE_FIRST, RIG_MTU, 5 },
		{ ROCE_RC_WRITE_FIRST, RIG_MTU, 0 },
		{ ROCE_RC_WRITE_FIRST, RIG_MTU, 0x80000001u },
		{ ROCE_RC_WRITE_ONLY_IMM, 100, 0xFFFFFFFFu },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct roce_packet packet =
		    rig_request(&rig, cases[i].opcode, psn_of(0), cases[i].size);

		packet.reth.length = cases[i].announced;
		rig_drop(&rig, &packet, QP_DROP_LENGTH);
		rig_expect_nak(&rig, ROCE_NAK_INVALID_REQUEST, psn_of(0));
		close_rig(state);
		open_rig(state);
	}
	for (unsigned i = 0; i < 2; i++) { // in the end: one byte less, one more
		struct roce_packet packet =
		    rig_request(&rig, ROCE_RC_WRITE_FIRST, psn_of(0), RIG_MTU);

		packet.reth.length = RIG_MTU + 10;
		assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
		packet = rig_request(&rig, ROCE_RC_WRITE_LAST, psn_of(1), 9 + 2 * i);
		rig_drop(&rig, &packet, QP_DROP_LENGTH);
		rig_expect_nak(&rig, ROCE_NAK_INVALID_REQUEST, psn_of(1));
		close_rig(state);
		open_rig(state);
	}
}

static void sequence__ahead_gets_one_nak_and_then_silence(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(2), 8);

	(void)state;
	rig_drop(&rig, &packet, QP_DROP_AHEAD);
	rig_expect_nak(&rig, ROCE_NAK_PSN_SEQUENCE, psn_of(0));
	rig_drop(&rig, &packet, QP_DROP_AHEAD);
	rig_expect_silence(&rig);
	packet = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(0x7FFFFF), 8); // farthest
	rig_drop(&rig, &packet, QP_DROP_AHEAD);
	rig_expect_silence(&rig);
	rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);
	rig_expect_ack(&rig, psn_of(0), 1);
	packet = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(2), 8);
	rig_drop(&rig, &packet, QP_DROP_AHEAD); // another gap: another NAK
	rig_expect_nak(&rig, ROCE_NAK_PSN_SEQUENCE, psn_of(1));
	assert_int_equal(rig.qp->counters.naks_sent[QP_NAK_SEQUENCE], 2);
}

static void duplicate__is_acknowledged_with_the_newest_psn(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(0), 8);

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		rig_deliver(&rig, ROCE_RC_SEND_ONLY, psn_of(i), 8);
	rig_drop(&rig, &packet, QP_DROP_DUPLICATE); // even without AckReq
	rig_expect_ack(&rig, psn_of(2), 3);
	packet = rig_request(&rig, ROCE_RC_WRITE_ONLY, psn_of(1), 8);
	rig_drop(&rig, &packet, QP_DROP_DUPLICATE);
	rig_expect_ack(&rig, psn_of(2), 3);
	packet = rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(0x800003), 8); // farthest behind
	rig_drop(&rig, &packet, QP_DROP_DUPLICATE);
	rig_expect_ack(&rig, psn_of(2), 3);
	assert_int_equal(rig.qp->counters.messages, 3);
}

static void duplicate__in_a_message_does_not_disturb_it(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_SEND_FIRST, psn_of(0), RIG_MTU);

	(void)state;
	rig_deliver(&rig, ROCE_RC_SEND_FIRST, psn_of(0), RIG_MTU);
	rig_deliver(&rig, ROCE_RC_SEND_MIDDLE, psn_of(1), RIG_MTU);
	rig_drop(&rig, &packet, QP_DROP_DUPLICATE);
	rig_expect_ack(&rig, psn_of(1), 0);
	rig_deliver(&rig, ROCE_RC_SEND_LAST, psn_of(2), 4);
	assert_int_equal(rig.delivery.offset, 2 * RIG_MTU);
}

// What must not follow what.
static void sequence__of_opcodes(void **state)
{
	static const struct {
		uint8_t first, then;
	} cases[] = {
		{ 0xFF, ROCE_RC_SEND_MIDDLE },
		{ 0xFF, ROCE_RC_SEND_LAST },
		{ 0xFF, ROCE_RC_SEND_LAST_IMM },
		{ 0xFF, ROCE_RC_WRITE_MIDDLE },
		{ 0xFF, ROCE_RC_WRITE_LAST },
		{ 0xFF, ROCE_RC_WRITE_LAST_IMM },
		{ ROCE_RC_SEND_FIRST, ROCE_RC_SEND_FIRST },
		{ ROCE_RC_SEND_FIRST, ROCE_RC_SEND_ONLY },
		{ ROCE_RC_SEND_FIRST, ROCE_RC_WRITE_FIRST },
		{ ROCE_RC_SEND_FIRST, ROCE_RC_WRITE_MIDDLE },
		{ ROCE_RC_SEND_FIRST, ROCE_RC_WRITE_LAST },
		{ ROCE_RC_SEND_FIRST, ROCE_RC_WRITE_ONLY },
		{ ROCE_RC_SEND_FIRST, ROCE_RC_READ_REQUEST },
		{ ROCE_RC_WRITE_FIRST, ROCE_RC_WRITE_FIRST },
		{ ROCE_RC_WRITE_FIRST, ROCE_RC_WRITE_ONLY },
		{ ROCE_RC_WRITE_FIRST, ROCE_RC_SEND_MIDDLE },
		{ ROCE_RC_WRITE_FIRST, ROCE_RC_SEND_LAST },
		{ ROCE_RC_WRITE_FIRST, ROCE_RC_SEND_ONLY },
		{ ROCE_RC_WRITE_FIRST, ROCE_RC_READ_REQUEST },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t psn = psn_of(0);
		struct roce_packet packet;

		if (cases[i].first != 0xFF) {
			packet = rig_request(&rig, cases[i].first, psn, RIG_MTU);
			packet.reth.length = 3 * RIG_MTU;
			assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
			psn = psn_of(1);
		}
		packet = rig_request(&rig, cases[i].then, psn, RIG_MTU);
		rig_drop(&rig, &packet, QP_DROP_SEQUENCE);
		rig_expect_nak(&rig, ROCE_NAK_INVALID_REQUEST, psn);
		assert_int_equal(rig.qp->state, QP_ERROR);
		close_rig(state);
		open_rig(state);
	}
}

static void length__first_and_middle_are_of_the_path_mtu(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t size;
	} cases[] = {
		{ ROCE_RC_SEND_FIRST, RIG_MTU - 4 },
		{ ROCE_RC_SEND_FIRST, RIG_MTU + 4 },
		{ ROCE_RC_SEND_FIRST, 0 },
		{ ROCE_RC_SEND_MIDDLE, RIG_MTU - 1 },
		{ ROCE_RC_SEND_MIDDLE, 4 * RIG_MTU },
		{ ROCE_RC_SEND_LAST, RIG_MTU + 1 },
		{ ROCE_RC_SEND_LAST, 0 },
		{ ROCE_RC_WRITE_FIRST, RIG_MTU / 2 },
		{ ROCE_RC_WRITE_FIRST, 2 * RIG_MTU },
		{ ROCE_RC_WRITE_ONLY, RIG_MTU + 1 },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct roce_packet packet;
		uint32_t psn = psn_of(0);

		if (!(roce_opcodes[cases[i].opcode].flags & ROCE_BEGIN)) {
			rig_deliver(&rig, ROCE_RC_SEND_FIRST, psn, RIG_MTU);
			psn = psn_of(1);
		}
		packet = rig_request(&rig, cases[i].opcode, psn, cases[i].size);
		packet.reth.length =
		    cases[i].opcode == ROCE_RC_WRITE_FIRST ? 3 * RIG_MTU : cases[i].size;
		rig_drop(&rig, &packet, QP_DROP_LENGTH);
		rig_expect_nak(&rig, ROCE_NAK_INVALID_REQUEST, psn);
		close_rig(state);
		open_rig(state);
	}
}

static void length__padding_must_be_what_the_size_asks_for(void **state)
{
	for (uint32_t size = 4; size < 8; size++) {
		for (uint8_t pad = 0; pad < 4; pad++) {
			struct roce_packet packet =
			    rig_request(&rig, ROCE_RC_SEND_ONLY, psn_of(0), size);

			if (pad == packet.pad)
				continue;
			packet.pad = pad;
			rig_drop(&rig, &packet, QP_DROP_LENGTH);
			rig_expect_nak(&rig, ROCE_NAK_INVALID_REQUEST, psn_of(0));
			close_rig(state);
			open_rig(state);
		}
	}
}

static void length__of_a_message_is_bounded(void **state)
{
	const uint32_t packets = (1u << 20) / RIG_MTU; // largest_message
	struct roce_packet packet;

	(void)state;
	rig_deliver(&rig, ROCE_RC_SEND_FIRST, psn_of(0), RIG_MTU);
	for (uint32_t i = 1; i < packets; i++)
		rig_deliver(&rig, ROCE_RC_SEND_MIDDLE, psn_of(i), RIG_MTU);
	packet = rig_request(&rig, ROCE_RC_SEND_LAST, psn_of(packets), 1);
	rig_drop(&rig, &packet, QP_DROP_LENGTH);
	rig_expect_nak(&rig, ROCE_NAK_INVALID_REQUEST, psn_of(packets));
}

static void unsupported__atomics_and_invalidation(void **state)
{
	static const uint8_t opcodes[] = { ROCE_RC_COMPARE_SWAP, ROCE_RC_FETCH_ADD,
					   ROCE_RC_SEND_ONLY_INVALIDATE };

	for (unsigned i = 0; i < sizeof(opcodes); i++) {
		struct roce_packet packet = rig_request(&rig, opcodes[i], psn_of(0), 0);

		rig_drop(&rig, &packet, QP_DROP_UNSUPPORTED);
		rig_expect_nak(&rig, ROCE_NAK_INVALID_REQUEST, psn_of(0));
		close_rig(state);
		open_rig(state);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(send__message_of_three_packets),
		TEST(send__only_of_any_size_up_to_the_path_mtu),
		TEST(send__psn_and_msn_wrap),
		TEST(write__places_by_address_on_every_packet),
		TEST(write__of_nothing_needs_no_region),
		TEST(write__outside_of_the_region_is_an_access_error),
		TEST(write__first_that_would_end_outside_is_refused_at_once),
		TEST(write__key_changes_in_the_middle),
		TEST(write__without_permission_is_invalid),
		TEST(write__to_a_region_that_may_only_be_read),
		TEST(write__out_of_range_length),
		TEST(sequence__ahead_gets_one_nak_and_then_silence),
		TEST(duplicate__is_acknowledged_with_the_newest_psn),
		TEST(duplicate__in_a_message_does_not_disturb_it),
		TEST(sequence__of_opcodes),
		TEST(length__first_and_middle_are_of_the_path_mtu),
		TEST(length__padding_must_be_what_the_size_asks_for),
		TEST(length__of_a_message_is_bounded),
		TEST(unsupported__atomics_and_invalidation),
	};

	return cmocka_run_group_tests_name("responder", tests, NULL, NULL);
}
