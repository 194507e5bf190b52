// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Builders that share a port: its rate, its window and its position in a round.

#include "bench.h"

#define GB       UINT64_C(1000000000) // bytes/s: a byte takes a ns, an event 1000 ns
#define TOGETHER 3u                   // builders 0 to 2 have port 0, the next ones a port each

static struct bench bench_sharing(uint32_t n_builders)
{
	struct bench bench = bench_plain(n_builders);

	bench.parameters.target_utilisation = 1;
	bench.parameters.burst_ns = 0;
	for (uint32_t i = 0; i < n_builders; i++) {
		bench.builders[i].slots = 1024;
		bench.builders[i].link_rate = GB;
		bench.builders[i].port = i < TOGETHER ? 0 : i;
	}
	return bench;
}

// Counts the grants of each builder in so many polls, one per 1000 ns.
static void count_grants(struct bench *bench, unsigned polls, unsigned *counts)
{
	for (unsigned i = 0; i < polls; i++) {
		bench->now += 1000;
		bench_poll(bench, 99);
		for (unsigned j = 0; j < bench->n; j++)
			counts[bench->grants[j].builder]++;
	}
}

static void rate__is_that_of_the_port(void **state)
{
	struct bench bench = bench_sharing(3);

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1000);
	bench.now = 10000;
	bench_expect(&bench, 9, "0");
	assert_int_equal(bench.grants[0].rate_bytes_per_second, GB);
	bench.now = 10999;
	bench_expect(&bench, 9, "");
	bench.now = 11000;
	bench_expect(&bench, 9, "1");
	bench.now = 12000;
	bench_expect(&bench, 9, "2");
	bench.now = 13000;
	bench_expect(&bench, 9, "0");
	bench_stop(&bench);
}

static void rate__is_for_those_who_have_credits(void **state)
{
	struct bench bench = bench_sharing(3);
	unsigned counts[3] = { 0 };

	(void)state;
	bench_start(&bench);
	bench_credit(&bench, 1, 1024);
	bench_announce(&bench, 1000);
	count_grants(&bench, 100, counts);
	assert_int_equal(counts[1], 100);
	bench_credit(&bench, 2, 1024);
	count_grants(&bench, 100, counts);
	assert_in_range(counts[1], 149, 150); // one more turn for the builder that had none
	assert_in_range(counts[2], 50, 51);
	bench_stop(&bench);
}

// Whatever chooses the builder, each port gets its rate, and its builders get it in equal parts.
static void rate__is_divided_evenly(void **state)
{
	static const enum sched_shaping shapings[] = { SCHED_ALL_AT_ONCE, SCHED_LINEAR_SHIFT };

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct bench bench = bench_sharing(5);
		unsigned counts[5] = { 0 };

		bench.parameters.policy = (enum sched_policy)(i / 2);
		bench.parameters.shaping = shapings[i % 2];
		bench_start(&bench);
		bench_credit_all(&bench);
		bench_announce(&bench, 1000);
		count_grants(&bench, 300, counts);
		for (unsigned j = 0; j < 5; j++)
			assert_in_range(counts[j], j < TOGETHER ? 99 : 299,
					j < TOGETHER ? 101 : 301);
		bench_stop(&bench);
	}
}

static void rate__is_divided_by_weight(void **state)
{
	struct bench bench = bench_sharing(4);
	unsigned counts[4] = { 0 };

	(void)state;
	bench.parameters.policy = SCHED_WEIGHTED;
	bench.builders[1].weight = 3;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1000);
	count_grants(&bench, 300, counts);
	assert_in_range(counts[0], 59, 61);
	assert_in_range(counts[1], 179, 181);
	assert_in_range(counts[2], 59, 61);
	assert_int_equal(counts[3], 300);
	bench_stop(&bench);
}

static void rate__is_cut_once_for_all(void **state)
{
	struct bench bench = bench_sharing(4);

	(void)state;
	bench_start(&bench);
	bench.now = 1000000;
	for (uint32_t i = 0; i < TOGETHER; i++)
		bench_port(&bench, i, true);
	assert_int_equal(sched_counters(bench.sched)->cuts, 1);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(bench_view(&bench, i).rate, i < TOGETHER ? GB / 2 : GB);
		assert_int_equal(bench_view(&bench, i).paused, i < TOGETHER);
	}
	// A pause that is reported for one builder holds only this builder.
	bench_port(&bench, 0, false);
	assert_false(bench_view(&bench, 0).paused);
	assert_true(bench_view(&bench, 1).paused);
	bench_stop(&bench);
}

static void window__is_that_of_the_port(void **state)
{
	struct bench bench = bench_sharing(4);

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		bench.builders[i].link_rate = 0;
		bench.builders[i].window = 2500;
	}
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 9);
	bench_expect(&bench, 9, "0 1 3 3");
	assert_int_equal(bench_view(&bench, 0).in_flight_bytes, 1000);
	bench_done(&bench, &bench.grants[0]);
	bench_expect(&bench, 9, "2");
	bench_stop(&bench);
}

// The first event of a port is allowed, however large it is.
static void window__allows_one_event_per_port(void **state)
{
	struct bench bench = bench_sharing(3);

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		bench.builders[i].link_rate = 0;
		bench.builders[i].window = 10;
	}
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 9);
	bench_expect(&bench, 9, "0");
	sched_exclude(bench.sched, 0, bench.now);
	bench_expect(&bench, 9, "1");
	bench_stop(&bench);
}

static void round__has_one_position_per_port(void **state)
{
	struct bench bench = bench_sharing(4);

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		bench.builders[i].link_rate = 0;
	bench.parameters.shaping = SCHED_LINEAR_SHIFT;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 6);
	bench_expect(&bench, 9, "0 3 1 3 2 3");
	for (unsigned i = 0; i < 6; i++) {
		assert_int_equal(bench.grants[i].round, i / 2);
		assert_int_equal(bench.grants[i].position, i % 2);
		assert_int_equal(bench.grants[i].n_positions, 2);
	}
	bench_stop(&bench);
}

static void create__refuses_ports_that_do_not_agree(void **state)
{
	struct bench bench = bench_sharing(4);
	char error[SCHED_ERROR_SIZE];
	struct sched *sched;

	(void)state;
	bench.parameters.builders = bench.builders;
	bench.builders[2].link_rate++;
	assert_int_equal(sched_create(&sched, &bench.parameters, error), -1);
	assert_string_equal(error, "builders[2] has port 0, and not the link_rate and window of "
				   "another builder of this port");
	bench.builders[2].link_rate--;
	bench.builders[1].window = 1;
	assert_int_equal(sched_create(&sched, &bench.parameters, error), -1);
	bench.builders[1].window = 0;
	bench.builders[3].port = SCHED_MAX_BUILDERS;
	assert_int_equal(sched_create(&sched, &bench.parameters, error), -1);
	assert_string_equal(error, "builders[3].port is 1024; expected 0 to 1023");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate__is_that_of_the_port),
		cmocka_unit_test(rate__is_for_those_who_have_credits),
		cmocka_unit_test(rate__is_divided_evenly),
		cmocka_unit_test(rate__is_divided_by_weight),
		cmocka_unit_test(rate__is_cut_once_for_all),
		cmocka_unit_test(window__is_that_of_the_port),
		cmocka_unit_test(window__allows_one_event_per_port),
		cmocka_unit_test(round__has_one_position_per_port),
		cmocka_unit_test(create__refuses_ports_that_do_not_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
