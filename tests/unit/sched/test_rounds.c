// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Positions and phases of rounds, barrier, events in flight.
#include "bench.h"

static struct bench bench_of(uint32_t n_builders, uint32_t n_sources, enum sched_shaping shaping)
{
	struct bench bench = bench_plain(n_builders);

	bench.parameters.n_sources = n_sources;
	bench.parameters.shaping = shaping;
	return bench;
}

static void expect_grant(const struct sched_grant *grant, uint64_t round, uint32_t position,
			 uint32_t builder)
{
	assert_int_equal(grant->round, round);
	assert_int_equal(grant->position, position);
	assert_int_equal(grant->builder, builder);
}

static void none__has_no_rounds(void **state)
{
	struct bench bench = bench_of(4, 9, SCHED_ALL_AT_ONCE);

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 3);
	bench.now = 77;
	assert_int_equal(bench_poll(&bench, 9), 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(bench.grants[i].n_positions, 1);
		expect_grant(&bench.grants[i], i, 0, i);
	}
	bench_stop(&bench);
}

static void linear_shift__fills_rounds_position_by_position(void **state)
{
	struct bench bench = bench_of(3, 2, SCHED_LINEAR_SHIFT);

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 2);
	assert_int_equal(bench_poll(&bench, 9), 2);
	assert_int_equal(bench.grants[0].n_positions, 3);
	expect_grant(&bench.grants[0], 0, 0, 0);
	expect_grant(&bench.grants[1], 0, 1, 1);
	bench_announce(&bench, 5);
	assert_int_equal(bench_poll(&bench, 9), 3);
	expect_grant(&bench.grants[0], 0, 2, 2);
	expect_grant(&bench.grants[1], 1, 0, 0);
	expect_grant(&bench.grants[2], 1, 1, 1);
	assert_int_equal(sched_counters(bench.sched)->rounds, 2);
	assert_int_equal(sched_counters(bench.sched)->empty_positions, 0);
	bench_stop(&bench);
}

static void linear_shift__leaves_positions_empty_rather_than_conflict(void **state)
{
	struct bench bench = bench_of(4, 4, SCHED_LINEAR_SHIFT);

	(void)state;
	bench_start(&bench);
	bench_credit(&bench, 1, 4);
	bench_credit(&bench, 3, 1);
	bench_announce(&bench, 9);
	assert_int_equal(bench_poll(&bench, 9), 5);
	expect_grant(&bench.grants[0], 0, 1, 1);
	expect_grant(&bench.grants[1], 0, 3, 3);
	expect_grant(&bench.grants[2], 1, 1, 1);
	expect_grant(&bench.grants[3], 2, 1, 1);
	expect_grant(&bench.grants[4], 3, 1, 1);
	assert_int_equal(sched_counters(bench.sched)->empty_positions, 2 + 3 + 3);
	bench_stop(&bench);
}

static void linear_shift__ends_a_round_rather_than_break_the_group_rule(void **state)
{
	struct bench bench = bench_of(3, 1, SCHED_LINEAR_SHIFT);

	(void)state;
	// Two builders in one group, one in the other.
	bench.builders[0].group = 1;
	bench.builders[2].group = 0;
	bench.parameters.distance = 1;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 6);
	bench_expect(&bench, 6, "0 2 1 2 0 2");
	expect_grant(&bench.grants[2], 0, 1, 1);
	expect_grant(&bench.grants[3], 1, 2, 2);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(bench.grants[i].relaxed, 0);
	bench_stop(&bench);
}

// Ports whose builders become ready in another order keep their positions.
static void linear_shift__keeps_the_positions_of_ports(void **state)
{
	struct bench bench = bench_of(3, 3, SCHED_LINEAR_SHIFT);

	(void)state;
	bench_start(&bench);
	bench_credit(&bench, 0, 4);
	bench_credit(&bench, 2, 4);
	bench_announce(&bench, 9);
	assert_int_equal(bench_poll(&bench, 2), 2);
	bench_credit(&bench, 1, 4);
	assert_int_equal(bench_poll(&bench, 7), 7);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(bench.grants[i].position, bench.grants[i].builder);
	assert_int_equal(bench.grants[0].builder, 1);
	bench_stop(&bench);
}

static void linear_shift__has_idle_phases_with_more_sources_than_builders(void **state)
{
	struct bench bench = bench_of(2, 5, SCHED_LINEAR_SHIFT);

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 3);
	assert_int_equal(bench_poll(&bench, 9), 3);
	assert_int_equal(bench.grants[0].n_positions, 5);
	expect_grant(&bench.grants[0], 0, 0, 0);
	expect_grant(&bench.grants[1], 0, 1, 1);
	expect_grant(&bench.grants[2], 1, 0, 0);
	bench_stop(&bench);
}

static void barrier__waits_for_the_round_before(void **state)
{
	struct bench bench = bench_of(2, 2, SCHED_LINEAR_SHIFT);
	struct sched_grant first;

	(void)state;
	bench.parameters.barrier = true;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 9);
	assert_int_equal(bench_poll(&bench, 9), 2);
	first = bench.grants[0];
	bench_done(&bench, &bench.grants[1]);
	assert_int_equal(bench_poll(&bench, 9), 0);
	assert_int_equal(sched_counters(bench.sched)->stalls_round, 2);
	bench_done(&bench, &first);
	assert_int_equal(bench_poll(&bench, 9), 2);
	expect_grant(&bench.grants[0], 1, 0, 0);
	// An event that is taken back is not waited for.
	bench_done(&bench, &bench.grants[1]);
	sched_exclude(bench.sched, 0, 0);
	assert_int_equal(bench_poll(&bench, 9), 1);
	expect_grant(&bench.grants[0], 2, 1, 1);
	assert_int_equal(bench.grants[0].attempt, 2);
	bench_stop(&bench);
}

static void timed_shift__has_no_rounds(void **state)
{
	struct bench bench = bench_of(2, 3, SCHED_TIMED_SHIFT);

	(void)state;
	bench.parameters.send_window_ns = 80;
	bench_start(&bench);
	bench_credit(&bench, 0, 4);
	bench_announce(&bench, 9);
	assert_int_equal(bench_poll(&bench, 9), 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(bench.grants[i].n_positions, 1);
	assert_int_equal(sched_counters(bench.sched)->rounds, 0);
	bench_stop(&bench);
}

static void credits__limit_events_of_a_builder(void **state)
{
	struct bench bench = bench_of(1, 1, SCHED_LINEAR_SHIFT);

	(void)state;
	bench.parameters.credits = 2;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 9);
	assert_int_equal(bench_poll(&bench, 9), 2);
	bench_done(&bench, &bench.grants[0]);
	assert_int_equal(bench_poll(&bench, 9), 1);
	bench_stop(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none__has_no_rounds),
		cmocka_unit_test(linear_shift__fills_rounds_position_by_position),
		cmocka_unit_test(linear_shift__leaves_positions_empty_rather_than_conflict),
		cmocka_unit_test(linear_shift__keeps_the_positions_of_ports),
		cmocka_unit_test(linear_shift__ends_a_round_rather_than_break_the_group_rule),
		cmocka_unit_test(linear_shift__has_idle_phases_with_more_sources_than_builders),
		cmocka_unit_test(barrier__waits_for_the_round_before),
		cmocka_unit_test(timed_shift__has_no_rounds),
		cmocka_unit_test(credits__limit_events_of_a_builder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
