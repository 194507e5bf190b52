// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Pull by RDMA READ: the readout serves, the builders' ports read.
#include "readout_bench.h"

#define READ    ", \"operation\": \"read\""
#define FAILURE 2500u // ms until a connection to a silent peer is given up, and asked for anew

static struct readout_bench bench;

static const struct roce_reader_counters *reader(unsigned peer)
{
	return roce_port_reader_counters(bench.peers[peer].port);
}

static void block__is_read(void **state)
{
	(void)state;
	readout_bench_open(&bench, READ);
	for (uint64_t event = 0; event < 200; event++) {
		readout_roce_released(bench.roce, event > 100 ? event - 100 : 0);
		readout_bench_offer_all(&bench, event, event % BENCH_BUILDERS);
		readout_bench_run(&bench, 1);
	}
	readout_bench_run(&bench, 5);
	for (uint64_t event = 0; event < 200; event++)
		readout_bench_expect(&bench, event, event % BENCH_BUILDERS);
	assert_int_equal(reader(0)->blocks + reader(1)->blocks, 200 * BENCH_SOURCES);
	assert_int_equal(reader(0)->no_room + reader(0)->forgotten + reader(0)->malformed, 0);
	readout_bench_close(&bench);
}

// Many at once: more than may be outstanding, and than a queue pair takes.
static void block__waits_for_its_turn(void **state)
{
	(void)state;
	readout_bench_open(&bench, READ);
	for (uint64_t event = 0; event < 60; event++)
		readout_bench_offer_all(&bench, event, 1);
	readout_bench_run(&bench, 100);
	for (uint64_t event = 0; event < 2 * 2 * BENCH_SLOTS; event++)
		readout_bench_expect(&bench, event, 1);
	// There is room for each slot of both builders twice.
	assert_int_equal(reader(1)->no_room, 60 * BENCH_SOURCES - reader(1)->offers);
	assert_true(reader(1)->offers >= 2 * 2 * BENCH_SLOTS * BENCH_SOURCES);
	readout_bench_close(&bench);
}

static void loss__is_repaired(void **state)
{
	(void)state;
	readout_bench_open(&bench, READ ", \"timeout\": 8");
	bench.lose_one_in = 25;
	for (uint64_t event = 0; event < 90; event++) {
		readout_bench_offer_all(&bench, event, event % BENCH_BUILDERS);
		readout_bench_run(&bench, 5);
	}
	readout_bench_run(&bench, 1000);
	for (uint64_t event = 0; event < 90; event++)
		readout_bench_expect(&bench, event, event % BENCH_BUILDERS);
	readout_bench_close(&bench);
}

static void builder_back__reads_anew(void **state)
{
	(void)state;
	readout_bench_open(&bench, READ);
	readout_bench_offer_all(&bench, 0, 1);
	readout_bench_run(&bench, 5);
	readout_bench_kill(&bench, 1);
	readout_bench_revive(&bench, 1);
	readout_bench_offer_all(&bench, 1, 1);
	readout_bench_offer_all(&bench, 2, 2);
	readout_bench_run(&bench, FAILURE);
	for (uint64_t event = 0; event < 3; event++)
		readout_bench_expect(&bench, event, event == 2 ? 2 : 1);
	readout_bench_close(&bench);
}

// What it had offered is not its any more.
static void readout_back__old_offers_are_forgotten(void **state)
{
	(void)state;
	readout_bench_open(&bench, READ);
	bench.lose_one_in = 1;
	readout_bench_offer_all(&bench, 0, 0);
	readout_bench_run(&bench, 5);
	readout_bench_restart(&bench);
	bench.lose_one_in = 0;
	readout_bench_run(&bench, FAILURE);
	assert_int_equal(reader(0)->forgotten, BENCH_SOURCES);
	readout_bench_offer_all(&bench, 1, 0);
	readout_bench_run(&bench, FAILURE);
	readout_bench_expect_nothing(&bench, 0, 0);
	readout_bench_expect(&bench, 1, 0);
	readout_bench_close(&bench);
}

static void offer__beyond_the_region_is_refused(void **state)
{
	struct message message;

	(void)state;
	readout_bench_open(&bench, READ);
	message = readout_bench_place(&bench, 0, 0, 0);
	message.address -= 1;
	readout_bench_offer(&bench, &message);
	readout_bench_run(&bench, 5);
	assert_int_equal(reader(0)->forgotten, 1);
	message = readout_bench_place(&bench, 0, 0, 0);
	message.rkey ^= 1;
	readout_bench_run(&bench, FAILURE);
	readout_bench_offer(&bench, &message);
	readout_bench_run(&bench, 5);
	assert_int_equal(reader(0)->forgotten, 2);
	readout_bench_expect_nothing(&bench, 0, 0);
	readout_bench_close(&bench);
}

// The block's own header tells.
static void offer__of_another_block_gives_nothing(void **state)
{
	struct message message;

	(void)state;
	readout_bench_open(&bench, READ);
	message = readout_bench_place(&bench, 0, 0, 0);
	message.source = bench.set->ids[1];
	readout_bench_offer(&bench, &message);
	message = readout_bench_place(&bench, 0, 0, 0);
	message.event = 1;
	readout_bench_offer(&bench, &message);
	message = readout_bench_place(&bench, 0, 0, 0);
	message.size -= 4;
	readout_bench_offer(&bench, &message);
	readout_bench_run(&bench, 5);
	assert_int_equal(reader(0)->no_room, 0);
	message.source = 999; // nobody's
	readout_bench_offer(&bench, &message);
	message = readout_bench_place(&bench, 0, 0, 0);
	message.size = BENCH_SLOT + 1;
	readout_bench_offer(&bench, &message);
	message.size = 19;
	readout_bench_offer(&bench, &message);
	readout_bench_run(&bench, 5);
	assert_int_equal(reader(0)->no_room, 3);
	assert_int_equal(reader(0)->blocks, 3);
	assert_int_equal(reader(0)->segments, 0);
	assert_true(reader(0)->malformed > 0);
	readout_bench_expect_nothing(&bench, 0, 0);
	readout_bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(block__is_read),
		cmocka_unit_test(block__waits_for_its_turn),
		cmocka_unit_test(loss__is_repaired),
		cmocka_unit_test(builder_back__reads_anew),
		cmocka_unit_test(readout_back__old_offers_are_forgotten),
		cmocka_unit_test(offer__beyond_the_region_is_refused),
		cmocka_unit_test(offer__of_another_block_gives_nothing),
	};

	return cmocka_run_group_tests_name("roce_reader", tests, testbed_start, testbed_stop);
}
