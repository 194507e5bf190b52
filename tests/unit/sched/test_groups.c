// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The group rule: no group again within the distance, and when it yields.
#include "bench.h"

static void distance__is_kept(void **state)
{
	(void)state;
	for (int policy = SCHED_ROUND_ROBIN; policy <= SCHED_RANDOM; policy++) {
		struct bench bench = bench_plain(12);
		uint32_t recent[3] = { 9, 9, 9 };

		bench.parameters.policy = (enum sched_policy)policy;
		bench.parameters.distance = 3;
		for (uint32_t i = 0; i < 12; i++)
			bench.builders[i].group = i % 4;
		bench_start(&bench);
		bench_credit_all(&bench);
		bench_announce(&bench, 1000);
		for (unsigned i = 0; i < 1000; i++) {
			uint32_t group;

			assert_int_equal(bench_poll(&bench, 1), 1);
			group = bench.grants[0].builder % 4;
			assert_true(group != recent[0] && group != recent[1] && group != recent[2]);
			assert_int_equal(bench.grants[0].relaxed, 0);
			recent[i % 3] = group;
			bench_recycle_all(&bench);
		}
		assert_int_equal(sched_counters(bench.sched)->relaxed, 0);
		bench_stop(&bench);
	}
}

// Two partitions of builder nodes, listed alternately: even ones in the first partition, odd ones
// in the second, of which those from 2 x n_second on belong to the first, too. Each is a congestion
// group. Events alternate between them, and no node gets two events of a round.
static void expect_alternation(enum sched_policy policy, uint32_t n, uint32_t n_second)
{
	struct bench bench = bench_plain(n);
	uint64_t round = UINT64_MAX;
	uint32_t used = 0, per_round = 0, last = UINT32_MAX;

	bench.parameters.policy = policy;
	bench.parameters.shaping = SCHED_LINEAR_SHIFT;
	bench.parameters.distance = 1;
	for (uint32_t i = 0; i < n; i++) {
		bench.builders[i].group = i < 2 * n_second ? i % 2 : 0;
		bench.builders[i].slots = 1 + i % 4;
	}
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 600);
	for (unsigned i = 0; i < 600; i++) {
		const struct sched_grant *grant = &bench.grants[0];

		assert_int_equal(bench_poll(&bench, 1), 1);
		assert_int_not_equal(bench.builders[grant->builder].group, last);
		assert_int_equal(grant->position, grant->builder);
		if (grant->round != round) {
			if (i > 0)
				assert_in_range(per_round, 2 * n_second,
						2 * n_second + (n > 2 * n_second));
			round = grant->round;
			used = per_round = 0;
		}
		assert_int_equal(used >> grant->builder & 1, 0);
		used |= 1u << grant->builder;
		per_round++;
		last = bench.builders[grant->builder].group;
		bench_recycle_all(&bench);
	}
	assert_int_equal(sched_counters(bench.sched)->relaxed, 0);
	bench_stop(&bench);
}

static void partitions__alternate(void **state)
{
	(void)state;
	for (int policy = SCHED_ROUND_ROBIN; policy <= SCHED_RANDOM; policy++) {
		expect_alternation((enum sched_policy)policy, 2, 1);
		expect_alternation((enum sched_policy)policy, 12, 6);
		expect_alternation((enum sched_policy)policy, 9, 2);
	}
}

static void distance__by_default(void **state)
{
	static const struct {
		uint32_t groups, sources, distance;
		enum sched_mode mode;
	} cases[] = {
		{ 6, 20, 5, SCHED_PUSH },
		{ 6, 3, 3, SCHED_PULL },
		{ 1, 3, 0, SCHED_PUSH },
		{ 6, 20, 0, SCHED_STATIC },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench bench = bench_plain(6);

		bench.parameters.distance = SCHED_DISTANCE_AUTO;
		bench.parameters.mode = cases[i].mode;
		bench.parameters.n_sources = cases[i].sources;
		for (uint32_t j = 0; j < 6; j++)
			bench.builders[j].group = 100 * (j % cases[i].groups);
		bench_start(&bench);
		// The rule yields to the only builder with credits, by as many steps.
		bench_credit(&bench, 0, 4);
		bench_announce(&bench, 7);
		bench_poll(&bench, 9);
		assert_in_range(bench.n, 1, 4);
		for (unsigned j = 1; j < bench.n; j++)
			assert_int_equal(bench.grants[j].relaxed, cases[i].distance);
		assert_int_equal(bench.n, cases[i].mode == SCHED_STATIC ? 1 : 4);
		bench_stop(&bench);
	}
}

static void rule__yields_at_once_if_no_other_group_has_a_credit(void **state)
{
	struct bench bench = bench_plain(4);

	(void)state;
	bench.parameters.distance = 3;
	bench_start(&bench);
	bench_announce(&bench, 100);
	bench_credit(&bench, 1, 4);
	bench_credit(&bench, 2, 4);
	bench_expect(&bench, 6, "1 2 1 2 1 2");
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(bench.grants[i].relaxed, i < 2 ? 0 : 2);
	bench_credit(&bench, 0, 1);
	bench_expect(&bench, 3, "0 1 2");
	assert_int_equal(bench.grants[0].relaxed, 0);
	assert_int_equal(bench.grants[1].relaxed, 1);
	assert_int_equal(sched_counters(bench.sched)->relaxed, 6);
	assert_int_equal(sched_counters(bench.sched)->relaxed_steps, 4 * 2 + 2 * 1);
	bench_stop(&bench);
}

static void rule__waits_for_a_group_that_is_blocked(void **state)
{
	struct bench bench = bench_plain(3);

	(void)state;
	bench.parameters.distance = 2;
	bench.parameters.relax_after_ns = 5000;
	bench_start(&bench);
	bench_announce(&bench, 100);
	bench_credit_all(&bench);
	bench_port(&bench, 2, true);
	bench_expect(&bench, 9, "0 1");
	assert_int_equal(sched_counters(bench.sched)->stalls_group, 1);
	bench.now = 4999;
	bench_expect(&bench, 9, "");
	bench.now = 5000;
	// From then on the blocked group costs no time.
	bench_expect(&bench, 2, "0 1");
	assert_int_equal(bench.grants[0].relaxed, 1);
	assert_int_equal(bench.grants[1].relaxed, 1);
	bench_port(&bench, 2, false);
	bench_expect(&bench, 3, "2 0 1");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(bench.grants[i].relaxed, 0);
	// Blocked again, it is waited for again.
	bench_port(&bench, 2, true);
	bench_expect(&bench, 9, "");
	bench.now = 9999;
	bench_expect(&bench, 9, "");
	bench.now = 10000;
	bench_expect(&bench, 1, "0");
	bench_stop(&bench);
}

// One live group among dead ones, and one dead one among live ones; a dead one may have registered.
static void liveness__does_not_depend_on_dead_groups(void **state)
{
	(void)state;
	for (unsigned strict = 0; strict < 2; strict++) {
		for (int policy = SCHED_ROUND_ROBIN; policy <= (strict ? 0 : SCHED_RANDOM);
		     policy++) {
			for (uint32_t n_live = 1; n_live <= 6; n_live++) {
				struct bench bench = bench_plain(6);
				unsigned n = 0;

				bench.parameters.policy = (enum sched_policy)policy;
				bench.parameters.strict = strict > 0;
				bench.parameters.distance = SCHED_DISTANCE_AUTO;
				bench.parameters.n_sources = 8;
				bench.parameters.relax_after_ns = 1000;
				bench_start(&bench);
				bench_announce(&bench, 1000);
				for (uint32_t i = 0; i < n_live; i++)
					bench_credit(&bench, i, 4);
				for (unsigned i = 0; i < 20000 && n < 1000; i++) {
					n += bench_poll(&bench, 4);
					bench_recycle_all(&bench);
					bench.now += 100;
				}
				assert_int_equal(n, 1000);
				assert_int_equal(sched_released(bench.sched), 1000);
				bench_stop(&bench);
			}
		}
	}
}

// Strict turns are kept, and builders that are excluded cost no time.
static void liveness__in_strict_turn_without_dead_builders(void **state)
{
	struct bench bench = bench_plain(6);

	(void)state;
	bench.parameters.strict = true;
	bench.parameters.distance = 5;
	bench_start(&bench);
	bench_announce(&bench, 1000);
	bench_credit_all(&bench);
	for (uint32_t i = 2; i < 6; i++)
		sched_exclude(bench.sched, i, 0);
	for (unsigned i = 0; i < 100; i++) {
		bench_expect(&bench, 4, "0 1 0 1");
		bench_recycle_all(&bench);
	}
	assert_int_equal(sched_counters(bench.sched)->strict_timeouts, 0);
	bench_stop(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distance__is_kept),
		cmocka_unit_test(partitions__alternate),
		cmocka_unit_test(distance__by_default),
		cmocka_unit_test(rule__yields_at_once_if_no_other_group_has_a_credit),
		cmocka_unit_test(rule__waits_for_a_group_that_is_blocked),
		cmocka_unit_test(liveness__does_not_depend_on_dead_groups),
		cmocka_unit_test(liveness__in_strict_turn_without_dead_builders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
