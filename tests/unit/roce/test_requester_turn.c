// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Who may send when: room, turns, pauses, rates; and how it ends.
#include "asking.h"

static void unreliable__is_done_when_sent(void **state)
{
	struct rig_options options = rig_standard;
	struct requester_message message = make_message(REQUESTER_SEND, 8, 3);

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
	struct requester_message message = make_message(REQUESTER_SEND, 8, 0);

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
	message.length = (1u << 31) + 1;
	assert_false(requester_post(rig.requester, rig.qp, &message));
	close_rig(state);
	open_rig(state);
	message.length = 1u << 31;
	rig.qp->path_mtu = 256;
	assert_false(requester_post(rig.requester, rig.qp, &message)); // 2^23 packets
	rig.qp->path_mtu = 512;
	assert_true(requester_post(rig.requester, rig.qp, &message)); // 2^22 each
	assert_true(requester_post(rig.requester, rig.qp, &message));
	assert_false(requester_post(rig.requester, rig.qp, &message));
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

// A caller that comes a little too seldom for a packet each time still gets the rate.
static void rate__is_kept_by_a_late_caller(void **state)
{
	unsigned n = 0;

	(void)state;
	requester_set_rate(rig.qp, 100000000); // 11 us a packet
	post(REQUESTER_SEND, 1000 * RIG_MTU, 1);
	for (unsigned i = 0; i < 64; i++) {
		while (n < 127 && requester_poll(rig.requester, rig.now, &sent))
			n++;
		rig.now += 15000;
	}
	assert_in_range(n, 64 * 15 / 12, 64 * 15 / 11 + 3);
	rig.now += 1000000; // but it cannot save up
	for (n = 0; requester_poll(rig.requester, rig.now, &sent); n++)
		;
	assert_in_range(n, 1, 3);
}

static void turns__of_queue_pairs_with_work(void **state)
{
	const struct qp_connection connection = { .peer = rig.peer,
						  .peer_qpn = 7,
						  .path_mtu = RIG_MTU,
						  .partition_key = ROCE_DEFAULT_P_KEY };
	struct requester_message message = make_message(REQUESTER_SEND, 10 * RIG_MTU, 1);
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
		TEST(unreliable__is_done_when_sent),
		TEST(post__refuses_what_has_no_room_or_is_too_long),
		TEST(flush__ends_what_is_unfinished),
		TEST(rate__paces_packets),
		TEST(rate__is_kept_by_a_late_caller),
		TEST(turns__of_queue_pairs_with_work),
		TEST(create__refuses_parameters_out_of_range),
	};

	return cmocka_run_group_tests_name("requester_turn", tests, NULL, NULL);
}
