// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "readout_bench.h"

#include <stdlib.h>

#define WRITE   ", \"operation\": \"write_imm\""
#define FAILURE 2500u // ms until a connection to a silent peer is given up, and asked for anew

static struct readout_bench bench;

static void events__arrive_whole(const char *roce)
{
	readout_bench_open(&bench, roce);
	for (uint64_t event = 0; event < 60; event++) {
		assert_true(readout_bench_grant(&bench, event, event % BENCH_BUILDERS, 0));
		readout_bench_run(&bench, 1);
	}
	readout_bench_run(&bench, 2);
	for (uint64_t event = 0; event < 60; event++)
		readout_bench_expect(&bench, event, event % BENCH_BUILDERS);
	assert_int_equal(readout_bench_counters(&bench)->sender.completed, 60 * BENCH_SOURCES);
	assert_int_equal(readout_bench_counters(&bench)->sender.lost, 0);
	readout_bench_close(&bench);
}

static void events__arrive_by_send(void **state)
{
	(void)state;
	events__arrive_whole(", \"operation\": \"send\"");
	events__arrive_whole(", \"operation\": \"send_imm\"");
}

static void events__arrive_by_write(void **state)
{
	(void)state;
	events__arrive_whole(", \"operation\": \"write\"");
	events__arrive_whole(WRITE);
}

static void events__arrive_by_uc(void **state)
{
	(void)state;
	events__arrive_whole(WRITE ", \"service\": \"uc\"");
}

static void loss__is_repaired(void **state)
{
	(void)state;
	readout_bench_open(&bench, WRITE ", \"timeout\": 8");
	bench.lose_one_in = 25;
	for (uint64_t event = 0; event < 90; event++) {
		while (!readout_bench_grant(&bench, event, event % BENCH_BUILDERS, 0))
			readout_bench_run(&bench, 1);
		readout_bench_run(&bench, 1);
	}
	readout_bench_run(&bench, 2000);
	for (uint64_t event = 0; event < 90; event++)
		readout_bench_expect(&bench, event, event % BENCH_BUILDERS);
	assert_int_equal(readout_bench_counters(&bench)->sender.lost, 0);
	for (unsigned i = 0; i < BENCH_BUILDERS; i++)
		assert_true(readout_roce_qp(bench.roce, i)->counters.retransmissions > 0);
	readout_bench_close(&bench);
}

// A builder that is dead holds up none that live.
static void dead_builder__is_not_waited_for(void **state)
{
	(void)state;
	readout_bench_open(&bench, WRITE);
	readout_bench_kill(&bench, 0);
	assert_true(readout_bench_grant(&bench, 0, 0, 0));
	assert_true(readout_bench_grant(&bench, 1, 1, 0));
	readout_bench_run(&bench, 5);
	assert_true(readout_roce_is_sent(bench.roce, 0, bench.now));
	readout_bench_expect(&bench, 1, 1);
	readout_bench_close(&bench);
}

static void window__is_waited_for(void **state)
{
	(void)state;
	readout_bench_open(&bench, WRITE ", \"window\": 2, \"timeout\": 20");
	readout_bench_kill(&bench, 0);
	assert_true(readout_bench_grant(&bench, 0, 0, 0));
	readout_bench_run(&bench, 1);
	assert_false(readout_roce_is_sent(bench.roce, 0, bench.now));
	readout_bench_run(&bench, 5);
	assert_true(readout_roce_is_sent(bench.roce, 0, bench.now));
	readout_bench_close(&bench);
}

static void builder_back__is_connected_and_gets_what_it_has_not(void **state)
{
	(void)state;
	readout_bench_open(&bench, WRITE);
	assert_true(readout_bench_grant(&bench, 0, 0, 0));
	readout_bench_run(&bench, 3);
	readout_bench_kill(&bench, 0);
	for (uint64_t event = 1; event < 4; event++)
		assert_true(readout_bench_grant(&bench, event, 0, 0));
	readout_bench_run(&bench, FAILURE);
	assert_int_equal(readout_bench_counters(&bench)->sender.connected, BENCH_BUILDERS - 1);
	assert_int_equal(readout_bench_counters(&bench)->sender.lost, 1);
	assert_int_equal(readout_bench_counters(&bench)->sender.failed, 3 * BENCH_SOURCES);
	readout_bench_revive(&bench, 0);
	readout_bench_run(&bench, FAILURE);
	assert_int_equal(readout_bench_counters(&bench)->sender.connected, BENCH_BUILDERS);
	for (uint64_t event = 0; event < 4; event++)
		readout_bench_expect(&bench, event, 0);
	readout_bench_close(&bench);
}

// Nothing is under way, and it is noticed all the same.
static void builder_back__is_connected_although_idle(void **state)
{
	(void)state;
	readout_bench_open(&bench, WRITE);
	readout_bench_kill(&bench, 1);
	readout_bench_revive(&bench, 1);
	readout_bench_run(&bench, FAILURE);
	assert_int_equal(readout_bench_counters(&bench)->sender.lost, 2);
	assert_int_equal(readout_bench_counters(&bench)->sender.failed, 0);
	assert_int_equal(readout_bench_counters(&bench)->sender.connected, BENCH_BUILDERS);
	assert_true(readout_bench_grant(&bench, 0, 1, 0));
	readout_bench_run(&bench, 3);
	readout_bench_expect(&bench, 0, 1);
	readout_bench_close(&bench);
}

// What another builder was granted meanwhile is that one's alone.
static void granted_again__goes_to_the_other_builder(void **state)
{
	(void)state;
	readout_bench_open(&bench, WRITE);
	readout_bench_kill(&bench, 0);
	for (uint64_t event = 0; event < 4; event++)
		assert_true(readout_bench_grant(&bench, event, 0, 0));
	readout_bench_run(&bench, 5);
	for (uint64_t event = 0; event < 3; event++)
		assert_true(readout_bench_grant(&bench, event, 1 + event % 2, 1));
	readout_bench_run(&bench, FAILURE);
	readout_bench_revive(&bench, 0);
	readout_bench_run(&bench, FAILURE);
	for (uint64_t event = 0; event < 3; event++) {
		readout_bench_expect(&bench, event, 1 + event % 2);
		readout_bench_expect_nothing(&bench, event, 0);
	}
	readout_bench_expect(&bench, 3, 0);
	assert_int_equal(readout_bench_counters(&bench)->withdrawn, 3);
	readout_bench_close(&bench);
}

static void granted_again__to_the_same_builder_is_sent_once(void **state)
{
	(void)state;
	readout_bench_open(&bench, WRITE);
	readout_bench_kill(&bench, 0);
	assert_true(readout_bench_grant(&bench, 0, 0, 0));
	readout_bench_run(&bench, FAILURE);
	assert_true(readout_bench_grant(&bench, 0, 0, 1));
	assert_true(readout_bench_grant(&bench, 0, 0, 1)); // repeated
	readout_bench_revive(&bench, 0);
	readout_bench_run(&bench, FAILURE);
	readout_bench_expect(&bench, 0, 0);
	readout_bench_close(&bench);
}

static void released__is_not_sent_again(void **state)
{
	(void)state;
	readout_bench_open(&bench, WRITE);
	readout_bench_kill(&bench, 0);
	assert_true(readout_bench_grant(&bench, 0, 0, 0));
	assert_true(readout_bench_grant(&bench, 1, 0, 0));
	readout_bench_run(&bench, 5);
	readout_roce_released(bench.roce, 1);
	readout_bench_run(&bench, FAILURE);
	readout_bench_revive(&bench, 0);
	readout_bench_run(&bench, FAILURE);
	readout_bench_expect_nothing(&bench, 0, 0);
	readout_bench_expect(&bench, 1, 0);
	readout_bench_close(&bench);
}

// A builder that asks late, for what another was granted since, does not change that.
static void request__of_an_older_attempt_is_not_served(void **state)
{
	struct message late = { .kind = MESSAGE_SEND, .flags = MESSAGE_REQUESTED, .attempt = 1 };

	(void)state;
	readout_bench_open(&bench, WRITE);
	assert_true(readout_bench_grant(&bench, 0, 1, 2));
	assert_true(readout_bench_post(&bench, &late));
	readout_bench_run(&bench, 5);
	readout_bench_expect(&bench, 0, 1);
	readout_bench_expect_nothing(&bench, 0, 0);
	readout_bench_close(&bench);
}

static void full__is_told_and_what_is_void_makes_room(void **state)
{
	uint64_t event = 0;

	(void)state;
	readout_bench_open(&bench, WRITE);
	readout_bench_kill(&bench, 0);
	readout_bench_run(&bench, FAILURE);
	while (readout_bench_grant(&bench, event, 0, 0))
		event++;
	assert_true(event >= 2 * BENCH_SLOTS && event < BENCH_EVENTS / 2);
	for (uint64_t again = 0; again < event; again++)
		assert_true(readout_bench_grant(&bench, again, 1, 1) || again > BENCH_SLOTS);
	assert_true(readout_bench_grant(&bench, event, 0, 1));
	readout_bench_close(&bench);
}

static void placement__is_honoured(void **state)
{
	struct qp_counters sums;

	(void)state;
	readout_bench_open(&bench, WRITE);
	for (unsigned slot = 0; slot < BENCH_SLOTS; slot++)
		assert_true(readout_bench_grant_slot(&bench, slot, slot % BENCH_BUILDERS, slot));
	readout_bench_run(&bench, 5);
	for (unsigned slot = 0; slot < BENCH_SLOTS; slot++)
		readout_bench_expect(&bench, slot, slot % BENCH_BUILDERS);
	// Behind the last slot there is nothing.
	assert_true(readout_bench_grant_slot(&bench, 100, 2, BENCH_SLOTS));
	readout_bench_run(&bench, 5);
	readout_bench_expect_nothing(&bench, 100, 2);
	roce_port_totals(bench.peers[1].port, &sums);
	assert_int_equal(sums.naks_sent[QP_NAK_ACCESS], 1);
	readout_bench_close(&bench);
}

// A grant names a slot of its builder: the gap behind a slot is nobody's, nor is another builder's.
static void placement__outside_the_slot_is_refused(void **state)
{
	static const uint64_t addresses[] = { BENCH_ADDRESS + BENCH_SLOT - 100,
					      BENCH_ADDRESS + BENCH_SLOT, BENCH_ADDRESS - 1 };

	(void)state;
	for (unsigned i = 0; i < RTE_DIM(addresses) + 1; i++) {
		struct message grant = { .kind = MESSAGE_SEND, .builder = 1 };
		struct qp_counters sums;

		readout_bench_open(&bench, WRITE);
		grant.address = i < RTE_DIM(addresses) ? addresses[i] : BENCH_ADDRESS;
		grant.rkey = bench.peers[1].placements[i < RTE_DIM(addresses) ? 0 : 1].rkey;
		assert_true(readout_bench_post(&bench, &grant));
		readout_bench_run(&bench, 5);
		readout_bench_expect_nothing(&bench, 0, 1);
		roce_port_totals(bench.peers[1].port, &sums);
		assert_int_equal(sums.naks_sent[QP_NAK_ACCESS], 1);
		readout_bench_close(&bench);
	}
}

static void no_slot__puts_the_messages_off(void **state)
{
	(void)state;
	readout_bench_open(&bench, WRITE);
	bench.free_slots = 0;
	assert_true(readout_bench_grant(&bench, 0, 1, 0));
	readout_bench_run(&bench, 20);
	readout_bench_expect_nothing(&bench, 0, 1);
	assert_true(roce_port_counters(bench.peers[1].port)->rnr > 3);
	assert_true(readout_roce_is_sent(bench.roce, 1, bench.now)); // nobody waits for it
	bench.free_slots = 1;
	readout_bench_run(&bench, 5);
	readout_bench_expect(&bench, 0, 1);
	readout_bench_close(&bench);
}

static void forgotten__is_not_sent(void **state)
{
	(void)state;
	readout_bench_open(&bench, WRITE);
	readout_bench_kill(&bench, 0);
	readout_bench_run(&bench, FAILURE);
	assert_true(readout_bench_grant(&bench, 0, 0, 0));
	readout_roce_forget(bench.roce);
	readout_bench_revive(&bench, 0);
	readout_bench_run(&bench, FAILURE);
	readout_bench_expect_nothing(&bench, 0, 0);
	readout_bench_close(&bench);
}

static void leave__waits_for_acknowledgements_and_disconnects(void **state)
{
	unsigned ms = 0;

	(void)state;
	readout_bench_open(&bench, WRITE);
	for (uint64_t event = 0; event < 6; event++)
		assert_true(readout_bench_grant(&bench, event, event % BENCH_BUILDERS, 0));
	for (; !readout_roce_leave(bench.roce, bench.now); ms++)
		readout_bench_run(&bench, 1);
	assert_true(ms < 100);
	for (uint64_t event = 0; event < 6; event++)
		readout_bench_expect(&bench, event, event % BENCH_BUILDERS);
	for (unsigned i = 0; i < BENCH_PEERS; i++)
		assert_int_equal(roce_port_cm_counters(bench.peers[i].port)->disconnected,
				 bench.peers[i].n_builders);
	readout_bench_close(&bench);
}

static void leave__ends_without_answers(void **state)
{
	unsigned ms = 0;

	(void)state;
	readout_bench_open(&bench, WRITE);
	readout_bench_kill(&bench, 0);
	assert_true(readout_bench_grant(&bench, 0, 0, 0));
	for (; !readout_roce_leave(bench.roce, bench.now); ms++)
		readout_bench_run(&bench, 1);
	assert_in_range(ms, 500, 1100);
	readout_bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events__arrive_by_send),
		cmocka_unit_test(events__arrive_by_write),
		cmocka_unit_test(events__arrive_by_uc),
		cmocka_unit_test(loss__is_repaired),
		cmocka_unit_test(dead_builder__is_not_waited_for),
		cmocka_unit_test(window__is_waited_for),
		cmocka_unit_test(builder_back__is_connected_and_gets_what_it_has_not),
		cmocka_unit_test(builder_back__is_connected_although_idle),
		cmocka_unit_test(granted_again__goes_to_the_other_builder),
		cmocka_unit_test(granted_again__to_the_same_builder_is_sent_once),
		cmocka_unit_test(released__is_not_sent_again),
		cmocka_unit_test(request__of_an_older_attempt_is_not_served),
		cmocka_unit_test(full__is_told_and_what_is_void_makes_room),
		cmocka_unit_test(placement__is_honoured),
		cmocka_unit_test(placement__outside_the_slot_is_refused),
		cmocka_unit_test(no_slot__puts_the_messages_off),
		cmocka_unit_test(forgotten__is_not_sent),
		cmocka_unit_test(leave__waits_for_acknowledgements_and_disconnects),
		cmocka_unit_test(leave__ends_without_answers),
	};

	return cmocka_run_group_tests_name("readout_roce", tests, testbed_start, testbed_stop);
}
