// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// RC SEND and WRITE, packet by packet: what is taken, what is answered.
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
	packet.solicited = true;
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
	assert_true(rig.delivery.begins && !rig.delivery.ends && rig.delivery.solicited);
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

static void write__region_renewed_in_the_middle(void **state)
{
	struct roce_packet packet = rig_request(&rig, ROCE_RC_WRITE_FIRST, psn_of(0), RIG_MTU);

	(void)state;
	packet.reth.length = 3 * RIG_MTU;
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
	assert_true(region_renew(&rig.regions, &rig.rkey));
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

static void write__to_another_domain_or_a_readable_region(void **state)
{
	struct region region = { .memory = rig.memory,
				 .address = RIG_ADDRESS,
				 .length = 64,
				 .domain = 6,
				 .access = REGION_WRITE };
	struct roce_packet packet = rig_request(&rig, ROCE_RC_WRITE_ONLY, psn_of(0), 8);

	assert_true(region_register(&rig.regions, &region, &packet.reth.rkey));
	rig_drop(&rig, &packet, QP_DROP_ACCESS);
	close_rig(state);
	open_rig(state);
	region.domain = 5;
	region.access = REGION_READ;
	assert_true(region_register(&rig.regions, &region, &packet.reth.rkey));
	rig_drop(&rig, &packet, QP_DROP_ACCESS);
	close_rig(state);
	open_rig(state);
	region.domain = REGION_ANY_DOMAIN;
	region.access = REGION_WRITE;
	assert_true(region_register(&rig.regions, &region, &packet.reth.rkey));
	assert_int_equal(rig_give(&rig, &packet), RESPONDER_DELIVER);
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
	assert_int_equal(size, ROCE_ACK_SIZE);
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
		TEST(send__message_of_three_packets),
		TEST(send__only_of_any_size_up_to_the_path_mtu),
		TEST(send__psn_and_msn_wrap),
		TEST(write__places_by_address_on_every_packet),
		TEST(write__of_nothing_needs_no_region),
		TEST(write__outside_of_the_region_is_an_access_error),
		TEST(write__first_that_would_end_outside_is_refused_at_once),
		TEST(write__region_renewed_in_the_middle),
		TEST(write__without_permission_is_invalid),
		TEST(write__to_another_domain_or_a_readable_region),
		TEST(write__out_of_range_length),
		TEST(sequence__ahead_gets_one_nak_and_then_silence),
		TEST(duplicate__is_acknowledged_with_the_newest_psn),
		TEST(duplicate__in_a_message_does_not_disturb_it),
		TEST(sequence__of_opcodes),
		TEST(length__first_and_middle_are_of_the_path_mtu),
		TEST(length__padding_must_be_what_the_size_asks_for),
		TEST(length__of_a_message_is_bounded),
		TEST(unsupported__atomics_and_invalidation),
		TEST(refuse__no_resource_is_a_wait_and_nothing_else),
		TEST(refuse__in_the_middle_resumes_there),
		TEST(refuse__other_reasons_end_the_connection),
		TEST(refuse__by_the_caller_who_judges_rkeys),
		TEST(admit__either_way_of_migreq_and_membership),
		TEST(admit__only_from_the_peer_and_of_the_service),
		TEST(ack__every_fourth_and_the_rest_when_polled),
		TEST(ack__a_nak_answers_for_those_owed),
		TEST(ack__of_many_queue_pairs_in_turn),
		TEST(cnp__at_most_one_in_an_interval),
		TEST(reply__encodes_what_a_peer_parses),
		TEST(create__refuses_parameters_out_of_range),
	};

	return cmocka_run_group_tests_name("responder", tests, NULL, NULL);
}
