// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the endpoint does not take: each packet is counted once, nothing is placed, and the peer is
// told where it can be.
#include "roce_bench.h"

#include "wire/roce.h"

#define SIZE 3000u // of most MFPs here: 3 packets

static uint8_t mfp[BENCH_MFP_MOST];

static const struct bench_message rc_send = { .qpn = BENCH_RC };
static const struct bench_message uc_send = { .qpn = BENCH_UC, .is_uc = true };
static const struct bench_message rc_write = {
	.qpn = BENCH_RC, .is_write = true, .rkey = BENCH_RKEY, .address = BENCH_ADDRESS
};

// A message in one packet.
static const struct roce_packet send_only = { .opcode = ROCE_RC_SEND_ONLY,
					      .destination_qpn = BENCH_RC,
					      .psn = BENCH_PSN,
					      .ack_request = true };

// --- access ---

// A WRITE that must be refused at its packet number `at`; what was before it is handed on.
static void refuse_write(const struct bench_message *message, uint32_t size, unsigned at)
{
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;
	struct rte_mbuf *mbuf;
	struct queue_pair qp;

	roce_bench_open(&bench, "");
	roce_bench_mfp(mfp, size, 0, 1);
	roce_bench_send(&bench, message, mfp, size, &psn);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_NAK_REMOTE_ACCESS,
				 roce_psn_add(BENCH_PSN, at));
	for (unsigned i = 0; i < at; i++) {
		assert_int_equal(link_dequeue(bench.links[0], &mbuf, 1), 1);
		rte_pktmbuf_free(mbuf);
	}
	roce_bench_take_none(&bench);
	qp = roce_bench_qp(&bench, BENCH_RC);
	assert_int_equal(qp.state, QP_ERROR);
	assert_int_equal(qp.cause, QP_SENT_ACCESS);
	assert_int_equal(qp.counters.naks_sent[QP_NAK_ACCESS], 1);
	assert_int_equal(qp.counters.drops[QP_DROP_ACCESS], 1);
	// What follows, right or wrong, is not listened to.
	roce_bench_send(&bench, &rc_send, mfp, 100, &psn);
	roce_bench_close(&bench);
}

static void write__with_a_wrong_key(void **state)
{
	struct bench_message message = rc_write;

	(void)state;
	message.rkey = BENCH_RKEY + 1;
	refuse_write(&message, SIZE, 0);
	message.rkey = 0;
	refuse_write(&message, SIZE, 0);
}

static void write__out_of_range(void **state)
{
	struct bench_message message = rc_write;

	(void)state;
	message.address = BENCH_ADDRESS - 1;
	refuse_write(&message, SIZE, 0);
	message.address = 0;
	refuse_write(&message, SIZE, 0);
	message.address = BENCH_ADDRESS + BENCH_SIZE;
	refuse_write(&message, SIZE, 0);
	message.address = UINT64_MAX - 10;
	refuse_write(&message, SIZE, 0);
	message.address = BENCH_ADDRESS + BENCH_SIZE - SIZE + 1;
	refuse_write(&message, SIZE, 2);
	message.address = BENCH_ADDRESS + BENCH_SIZE - 1024;
	refuse_write(&message, SIZE, 1);
}

static void write__to_the_last_byte_is_right(void **state)
{
	struct bench_message message = rc_write;
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, "");
	message.address = BENCH_ADDRESS + BENCH_SIZE - SIZE;
	roce_bench_mfp(mfp, SIZE, 0, 1);
	roce_bench_send(&bench, &message, mfp, SIZE, &psn);
	roce_bench_take_mfp(&bench, mfp, SIZE);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, roce_psn_add(BENCH_PSN, 2));
	roce_bench_close(&bench);
}

static void read__is_refused(void **state)
{
	struct roce_packet header = {
		.opcode = ROCE_RC_READ_REQUEST,
		.destination_qpn = BENCH_RC,
		.psn = BENCH_PSN,
		.reth = { .address = BENCH_ADDRESS, .rkey = BENCH_RKEY, .length = 64 },
	};
	struct roce_bench bench;

	(void)state;
	roce_bench_open(&bench, "");
	roce_bench_feed(&bench, &header, NULL, 0);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_NAK_INVALID_REQUEST, BENCH_PSN);
	roce_bench_close(&bench);
}

// --- order ---

static void gap__is_told_once_and_filled(void **state)
{
	struct roce_bench bench;
	uint32_t psn = roce_psn_add(BENCH_PSN, 1), lost = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, "");
	roce_bench_mfp(mfp, 500, 4, 1);
	roce_bench_send(&bench, &rc_send, mfp, 500, &psn);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_NAK_PSN_SEQUENCE, BENCH_PSN);
	roce_bench_send(&bench, &rc_send, mfp, 500, &psn);
	roce_bench_expect_silence(&bench);
	roce_bench_take_none(&bench);
	roce_bench_mfp(mfp, 500, 0, 1);
	roce_bench_send(&bench, &rc_send, mfp, 500, &lost);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, BENCH_PSN);
	roce_bench_take_mfp(&bench, mfp, 500);
	// The same again: a duplicate.
	lost = BENCH_PSN;
	roce_bench_send(&bench, &rc_send, mfp, 500, &lost);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, BENCH_PSN);
	roce_bench_take_none(&bench);
	assert_int_equal(roce_bench_qp(&bench, BENCH_RC).counters.drops[QP_DROP_AHEAD], 2);
	assert_int_equal(roce_bench_qp(&bench, BENCH_RC).counters.drops[QP_DROP_DUPLICATE], 1);
	assert_int_equal(roce_of(&bench)->taken, 3);
	roce_bench_close(&bench);
}

static void stranger__does_not_turn_the_answers(void **state)
{
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN, wrong = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, "");
	roce_bench_mfp(mfp, SIZE, 0, 1);
	bench.peer_ip++;
	roce_bench_send(&bench, &rc_send, mfp, SIZE, &wrong);
	roce_bench_expect_silence(&bench);
	roce_bench_take_none(&bench);
	assert_int_equal(roce_bench_qp(&bench, BENCH_RC).counters.drops[QP_DROP_PEER], 3);
	bench.peer_ip--;
	roce_bench_send(&bench, &rc_send, mfp, SIZE, &psn);
	bench.peer_ip++;
	roce_bench_send(&bench, &rc_send, mfp, SIZE, &wrong);
	bench.peer_ip--;
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, roce_psn_add(BENCH_PSN, 2));
	roce_bench_take_mfp(&bench, mfp, SIZE);
	roce_bench_close(&bench);
}

// Answers do not go to groups.
static void group__gets_no_answer(void **state)
{
	struct roce_bench bench;
	struct frame frame;

	(void)state;
	roce_bench_open(&bench, "");
	roce_bench_mfp(mfp, 100, 0, 1);
	roce_bench_frame(&bench, &frame, &send_only, mfp, 100);
	frame.bytes[6] |= 1;
	roce_bench_feed_frame(&bench, &frame);
	roce_bench_take_mfp(&bench, mfp, 100);
	roce_bench_expect_silence(&bench);
	assert_int_equal(roce_of(&bench)->not_sent, 1);
	roce_bench_close(&bench);
}

// --- no slot ---

static void no_slot__has_the_peer_wait(void **state)
{
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, "");
	bench.told[0] = (struct roce_slots_state){ .free = 1, .opened = 0 };
	roce_bench_mfp(mfp, 500, 0, 1); // takes the slot
	roce_bench_send(&bench, &rc_send, mfp, 500, &psn);
	roce_bench_take_mfp(&bench, mfp, 500);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, BENCH_PSN);
	for (unsigned i = 0; i < 3; i++) {
		uint32_t again = psn;

		if (i > 0) // the builder has opened it by now
			bench.told[0] = (struct roce_slots_state){ .free = 0, .opened = 1 };
		roce_bench_mfp(mfp, SIZE, 8, 1); // a new one of builder 0
		roce_bench_send(&bench, &rc_send, mfp, SIZE, &again);
		roce_bench_expect_answer(&bench, BENCH_RC, ROCE_RNR_NAK | 12, psn);
		roce_bench_expect_silence(&bench); // of what follows
		roce_bench_take_none(&bench);
		assert_int_equal(roce_of(&bench)->rnr, i + 1);
	}
	bench.told[0].free = 1;
	roce_bench_send(&bench, &rc_send, mfp, SIZE, &psn);
	roce_bench_take_mfp(&bench, mfp, SIZE);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, roce_psn_add(BENCH_PSN, 3));
	assert_int_equal(roce_bench_qp(&bench, BENCH_RC).counters.rnr_sent, 3);
	assert_int_equal(roce_bench_qp(&bench, BENCH_RC).counters.drops[QP_DROP_NO_RESOURCE], 3);
	roce_bench_close(&bench);
}

// All packets of a message whose event others have passed; the next message is taken.
static void no_slot__drops_an_event_that_was_passed(void **state)
{
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, "");
	assert_true(roce_slots_remember(bench.slots));
	roce_bench_mfp(mfp, 500, 16, 1);
	roce_bench_send(&bench, &rc_send, mfp, 500, &psn);
	roce_bench_take_mfp(&bench, mfp, 500);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, BENCH_PSN);
	bench.told[0] = (struct roce_slots_state){ .free = 0, .opened = 1 };
	roce_bench_mfp(mfp, SIZE, 8, 1);
	roce_bench_send(&bench, &rc_send, mfp, SIZE, &psn);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, roce_psn_add(BENCH_PSN, 3));
	roce_bench_take_none(&bench);
	assert_int_equal(rx_of_bench(&bench)->segment_drops[SEGMENT_NO_SLOT], 3);
	assert_int_equal(roce_of(&bench)->rnr, 0);
	roce_bench_mfp(mfp, 500, 16, 2);
	roce_bench_send(&bench, &rc_send, mfp, 500, &psn);
	roce_bench_take_mfp(&bench, mfp, 500);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, roce_psn_add(BENCH_PSN, 4));
	roce_bench_close(&bench);
}

static void no_slot__is_for_new_events_of_the_builder(void **state)
{
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, "");
	roce_bench_mfp(mfp, 500, 16, 1);
	roce_bench_send(&bench, &rc_send, mfp, 500, &psn);
	roce_bench_take_mfp(&bench, mfp, 500);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, BENCH_PSN);
	bench.told[0] = (struct roce_slots_state){ .free = 0, .opened = 1 };
	// Another builder's, one that may be open, the end of the run.
	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t ids[] = { 20, 8, UINT64_MAX };

		roce_bench_mfp(mfp, 500, ids[i], 1);
		roce_bench_send(&bench, &rc_send, mfp, 500, &psn);
		roce_bench_take_mfp(&bench, mfp, 500);
		roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS,
					 roce_psn_add(BENCH_PSN, 1 + i));
	}
	// UC cannot say it again: the builder decides.
	psn = BENCH_PSN;
	roce_bench_mfp(mfp, 500, 24, 1);
	roce_bench_send(&bench, &uc_send, mfp, 500, &psn);
	roce_bench_take_mfp(&bench, mfp, 500);
	assert_int_equal(roce_of(&bench)->rnr, 0);
	// A source that is none needs no slot.
	roce_bench_mfp(mfp, 500, 32, 9);
	psn = roce_psn_add(BENCH_PSN, 4);
	roce_bench_send(&bench, &rc_send, mfp, 500, &psn);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, roce_psn_add(BENCH_PSN, 4));
	roce_bench_close(&bench);
}

// --- lies ---

// Sends 3 packets of which `malformed` must be counted as such, and the rest as segments.
static void send_lie(const struct bench_message *message, unsigned malformed)
{
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;
	unsigned handed_on = 0;

	roce_bench_open(&bench, "");
	roce_bench_send(&bench, message, mfp, SIZE, &psn);
	for (unsigned i = 0; i < BENCH_BUILDERS; i++) {
		struct rte_mbuf *mbuf;

		while (link_dequeue(bench.links[i], &mbuf, 1) == 1) {
			const struct segment *segment = mbuf_segment(mbuf);

			assert_true(segment->offset + segment->size <= segment->length);
			handed_on++;
			rte_pktmbuf_free(mbuf);
		}
	}
	assert_int_equal(handed_on, 3 - malformed);
	assert_int_equal(rx_of_bench(&bench)->segment_drops[SEGMENT_MALFORMED], malformed);
	// RoCE has nothing against it.
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, roce_psn_add(BENCH_PSN, 2));
	roce_bench_close(&bench);
}

static void header__that_is_none(void **state)
{
	(void)state;
	roce_bench_mfp(mfp, SIZE, 0, 1);
	mfp[0] ^= 1;
	send_lie(&rc_send, 3);
	send_lie(&rc_write, 3);
}

static void header__that_lies_about_the_length(void **state)
{
	(void)state;
	roce_bench_mfp(mfp, SIZE, 0, 1);
	store_le32(mfp + 4, 19);
	send_lie(&rc_send, 3);
	store_le32(mfp + 4, 1000);
	send_lie(&rc_send, 3);
	store_le32(mfp + 4, 1024);
	send_lie(&rc_send, 3);
	store_le32(mfp + 4, SIZE - 1);
	send_lie(&rc_send, 1);
	store_le32(mfp + 4, SIZE + 1);
	send_lie(&rc_send, 1);
	store_le32(mfp + 4, UINT32_MAX);
	send_lie(&rc_send, 1);
	send_lie(&rc_write, 3); // says its length at once
	store_le32(mfp + 4, SIZE - 1);
	send_lie(&rc_write, 3);
	store_le32(mfp + 4, 0);
	send_lie(&rc_write, 3);
}

static void header__of_a_source_that_is_none(void **state)
{
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, "");
	roce_bench_mfp(mfp, SIZE, 0, 9);
	roce_bench_send(&bench, &uc_send, mfp, SIZE, &psn);
	roce_bench_mfp(mfp, SIZE, 0, 8);
	roce_bench_send(&bench, &uc_send, mfp, SIZE, &psn);
	assert_int_equal(rx_of_bench(&bench)->segment_drops[SEGMENT_UNKNOWN_SOURCE], 3);
	assert_int_equal(rx_of_bench(&bench)->segment_drops[SEGMENT_UNEXPECTED_SOURCE], 3);
	roce_bench_close(&bench);
}

// A queue pair that the configuration gives to source 2, with an address for answers.
#define OF_SOURCE_2                                                                           \
	", \"connection\": \"static\", \"queue_pairs\": [{\"source\": 2, \"local_qpn\": 17, " \
	"\"remote_qpn\": 4113, \"remote_psn\": 16777214, \"address\": \"10.77.0.1\", "        \
	"\"mac\": \"02:00:00:00:00:01\"}]"

// It is acknowledged, lest it comes again, and nothing of it is taken.
static void message__of_another_source(void **state)
{
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, OF_SOURCE_2);
	roce_bench_mfp(mfp, SIZE, 0, 1);
	roce_bench_send(&bench, &rc_send, mfp, SIZE, &psn);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, roce_psn_add(BENCH_PSN, 2));
	roce_bench_take_none(&bench);
	assert_int_equal(rx_of_bench(&bench)->segment_drops[SEGMENT_UNEXPECTED_SOURCE], 3);
	roce_bench_mfp(mfp, SIZE, 0, 2);
	roce_bench_send(&bench, &rc_send, mfp, SIZE, &psn);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, roce_psn_add(BENCH_PSN, 5));
	roce_bench_take_mfp(&bench, mfp, SIZE);
	roce_bench_mfp(mfp, 100, 4, 300); // unknown stays unknown
	roce_bench_send(&bench, &rc_send, mfp, 100, &psn);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, roce_psn_add(BENCH_PSN, 6));
	assert_int_equal(rx_of_bench(&bench)->segment_drops[SEGMENT_UNKNOWN_SOURCE], 1);
	roce_bench_close(&bench);
}

static void answers__go_where_the_configuration_says(void **state)
{
	struct roce_bench bench;
	struct frame frame;

	(void)state;
	roce_bench_open(&bench, OF_SOURCE_2);
	roce_bench_mfp(mfp, 100, 0, 2);
	roce_bench_frame(&bench, &frame, &send_only, mfp, 100);
	frame.bytes[11] = 9; // by way of a router, say
	roce_bench_feed_frame(&bench, &frame);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, BENCH_PSN);
	roce_bench_take_mfp(&bench, mfp, 100);
	roce_bench_close(&bench);
}

static void message__too_small_or_too_large(void **state)
{
	struct roce_bench bench;
	uint32_t psn = BENCH_PSN;

	(void)state;
	roce_bench_open(&bench, "");
	roce_bench_mfp(mfp, 20, 0, 1);
	roce_bench_send(&bench, &rc_send, mfp, 19, &psn);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, BENCH_PSN);
	assert_int_equal(rx_of_bench(&bench)->segment_drops[SEGMENT_MALFORMED], 1);
	// Nothing: neither placed nor wrong.
	roce_bench_send(&bench, &rc_send, mfp, 0, &psn);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_ACK_NO_CREDITS, roce_psn_add(BENCH_PSN, 1));
	assert_int_equal(roce_of(&bench)->taken, 1);
	// Larger than any slot.
	roce_bench_mfp(mfp, 17000, 0, 1);
	roce_bench_send(&bench, &rc_send, mfp, 17000, &psn);
	roce_bench_expect_answer(&bench, BENCH_RC, ROCE_NAK_INVALID_REQUEST,
				 roce_psn_add(BENCH_PSN, 2 + 16));
	for (unsigned i = 0; i < 16; i++) {
		struct rte_mbuf *mbuf;

		assert_int_equal(link_dequeue(bench.links[0], &mbuf, 1), 1);
		rte_pktmbuf_free(mbuf);
	}
	roce_bench_close(&bench);
}

// --- no RoCE ---

static void packet__that_is_none(void **state)
{
	struct roce_packet header = { .opcode = ROCE_RC_SEND_ONLY, .destination_qpn = BENCH_RC };
	struct roce_bench bench;
	struct frame frame;

	(void)state;
	roce_bench_open(&bench, "");
	roce_bench_mfp(mfp, 100, 0, 1);
	roce_bench_frame(&bench, &frame, &header, mfp, 100);
	frame.bytes[42] = 0x1F; // an opcode that nobody has
	roce_bench_feed_frame(&bench, &frame);
	assert_int_equal(roce_of(&bench)->malformed, 1);
	frame.bytes[42] = ROCE_RC_SEND_ONLY;
	frame.bytes[43] |= 1; // version
	roce_bench_feed_frame(&bench, &frame);
	assert_int_equal(roce_of(&bench)->malformed, 2);
	// Too short for a BTH and an ICRC.
	store_be16(frame.bytes + 16, 28 + 15);
	store_be16(frame.bytes + 38, 8 + 15);
	frame.length = 42 + 15;
	roce_bench_feed_frame(&bench, &frame);
	assert_int_equal(roce_of(&bench)->malformed, 3);
	header.destination_qpn = 0x999;
	roce_bench_feed(&bench, &header, mfp, 100);
	assert_int_equal(roce_of(&bench)->unknown_qp, 1);
	header.destination_qpn = BENCH_RC + 64; // the same place
	roce_bench_feed(&bench, &header, mfp, 100);
	assert_int_equal(roce_of(&bench)->unknown_qp, 2);
	assert_int_equal(rx_of_bench(&bench)->roce, 5);
	roce_bench_close(&bench);
}

// Whatever is in a frame to the port, it is counted once.
static void packet__of_random_damage(void **state)
{
	uint64_t random = 4791;
	struct roce_bench bench;

	(void)state;
	roce_bench_open(&bench, ", \"icrc\": \"ignore\"");
	for (unsigned i = 0; i < 20000; i++) {
		struct roce_packet header = {
			.opcode = (uint8_t)(random >> 8),
			.destination_qpn = BENCH_RC + (unsigned)(random >> 16) % 4,
			.psn = roce_psn_add(BENCH_PSN, (unsigned)(random >> 20) % 4),
			.reth = { BENCH_ADDRESS, BENCH_RKEY, SIZE },
			.deth = { .qkey = BENCH_QKEY },
		};
		struct roce_packet answer;
		struct frame frame;

		roce_bench_mfp(mfp, SIZE, random >> 60, 1 + (uint16_t)(random >> 30) % 8);
		roce_bench_frame(&bench, &frame, &header, mfp, (unsigned)(random >> 24) % 1500);
		for (unsigned n = 0; n < 3; n++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			frame.bytes[38 + (random >> 33) % (frame.length - 38)] ^=
			    (uint8_t)(random >> 56);
		}
		bench.piece = i % 3 == 0 ? 60 + i % 100 : UINT16_MAX;
		roce_bench_feed_frame(&bench, &frame);
		for (unsigned builder = 0; builder < BENCH_BUILDERS; builder++) {
			struct rte_mbuf *mbuf;

			while (link_dequeue(bench.links[builder], &mbuf, 1) == 1) {
				const struct segment *segment = mbuf_segment(mbuf);

				assert_true(segment->payload + segment->size <=
					    rte_pktmbuf_pkt_len(mbuf));
				assert_true(segment->offset < segment->length);
				assert_true(segment->size <= segment->length - segment->offset);
				rte_pktmbuf_free(mbuf);
			}
		}
		while (roce_bench_answer(&bench, &answer, NULL))
			;
	}
	assert_true(roce_of(&bench)->data > 0);
	assert_true(roce_of(&bench)->malformed > 0);
	roce_bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write__with_a_wrong_key),
		cmocka_unit_test(write__out_of_range),
		cmocka_unit_test(write__to_the_last_byte_is_right),
		cmocka_unit_test(read__is_refused),
		cmocka_unit_test(gap__is_told_once_and_filled),
		cmocka_unit_test(stranger__does_not_turn_the_answers),
		cmocka_unit_test(group__gets_no_answer),
		cmocka_unit_test(no_slot__has_the_peer_wait),
		cmocka_unit_test(no_slot__drops_an_event_that_was_passed),
		cmocka_unit_test(no_slot__is_for_new_events_of_the_builder),
		cmocka_unit_test(header__that_is_none),
		cmocka_unit_test(header__that_lies_about_the_length),
		cmocka_unit_test(header__of_a_source_that_is_none),
		cmocka_unit_test(message__of_another_source),
		cmocka_unit_test(answers__go_where_the_configuration_says),
		cmocka_unit_test(message__too_small_or_too_large),
		cmocka_unit_test(packet__that_is_none),
		cmocka_unit_test(packet__of_random_damage),
	};

	return cmocka_run_group_tests_name("rdma-refusals", tests, testbed_start, testbed_stop);
}
