// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Each policy's choice, builders that are slow, and the static mode.
#include "bench.h"
#include "sched/policy.h"

static struct bench bench_of(uint32_t n_builders, enum sched_policy policy)
{
	struct bench bench = bench_plain(n_builders);

	bench.parameters.policy = policy;
	return bench;
}

static void round_robin__takes_builders_in_turn(void **state)
{
	struct bench bench = bench_of(3, SCHED_ROUND_ROBIN);

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 100);
	bench_expect(&bench, 4, "0 1 2 0");
	bench_expect(&bench, 4, "1 2 0 1");
	assert_int_equal(sched_counters(bench.sched)->skips, 0);
	bench_stop(&bench);
}

static void round_robin__skips_who_has_no_credit(void **state)
{
	struct bench bench = bench_of(4, SCHED_ROUND_ROBIN);

	(void)state;
	bench_start(&bench);
	bench_announce(&bench, 100);
	bench_credit(&bench, 1, 4);
	bench_credit(&bench, 3, 2);
	bench_expect(&bench, 9, "1 3 1 3 1 1");
	// 0 and 2 twice each, then 2, 3, 0 between the last two of builder 1.
	assert_int_equal(sched_counters(bench.sched)->skips, 2 + 2 + 1 + 3);
	assert_int_equal(bench_view(&bench, 0).skips, 4);
	assert_int_equal(bench_view(&bench, 1).skips, 0);
	assert_int_equal(bench_view(&bench, 2).skips, 3);
	assert_int_equal(bench_view(&bench, 3).skips, 1);
	bench_stop(&bench);
}

static void round_robin__skips_groups_of_one(void **state)
{
	struct bench bench = bench_of(4, SCHED_ROUND_ROBIN);

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		bench.builders[i].group = i;
	bench.parameters.distance = 1;
	bench_start(&bench);
	bench_announce(&bench, 100);
	bench_credit(&bench, 1, 4);
	bench_credit(&bench, 3, 4);
	bench_expect(&bench, 6, "1 3 1 3 1 3");
	assert_int_equal(bench_view(&bench, 0).skips, 3);
	assert_int_equal(bench_view(&bench, 1).skips, 0);
	assert_int_equal(bench_view(&bench, 2).skips, 3);
	assert_int_equal(bench_view(&bench, 3).skips, 0);
	bench_stop(&bench);
}

static void round_robin__in_strict_turn_waits(void **state)
{
	struct bench bench = bench_of(4, SCHED_ROUND_ROBIN);

	(void)state;
	bench.parameters.strict = true;
	bench.parameters.relax_after_ns = 1000;
	bench_start(&bench);
	bench_announce(&bench, 100);
	bench_credit(&bench, 0, 2);
	bench_credit(&bench, 2, 2);
	sched_exclude(bench.sched, 3, 0);
	bench_expect(&bench, 9, "0");
	assert_int_equal(sched_counters(bench.sched)->stalls_group, 1);
	bench.now = 999;
	bench_expect(&bench, 9, "");
	// Builder 1 is skipped, once; the excluded one was never waited for.
	bench.now = 1000;
	bench_expect(&bench, 9, "2 0");
	assert_int_equal(sched_counters(bench.sched)->strict_timeouts, 1);
	// It comes in time.
	bench.now = 1500;
	bench_credit(&bench, 1, 1);
	bench_expect(&bench, 9, "1 2");
	assert_int_equal(sched_counters(bench.sched)->strict_timeouts, 1);
	bench_stop(&bench);
}

static void occupancy__takes_who_has_most_free_slots(void **state)
{
	struct bench bench = bench_of(3, SCHED_OCCUPANCY);

	(void)state;
	bench_start(&bench);
	bench_announce(&bench, 100);
	bench_credit(&bench, 0, 1);
	bench_credit(&bench, 1, 4);
	bench_credit(&bench, 2, 2);
	// 1 4 2: of equals the one that has had so many for longest.
	bench_expect(&bench, 9, "1 1 2 1 0 2 1");
	bench_stop(&bench);
}

static void weighted__gives_turns_by_weight(void **state)
{
	struct bench bench = bench_of(3, SCHED_WEIGHTED);
	uint32_t counts[3] = { 0 };

	(void)state;
	bench.builders[1].weight = 2;
	bench.builders[2].weight = 5;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 800);
	for (unsigned i = 0; i < 800; i++) {
		assert_int_equal(bench_poll(&bench, 1), 1);
		counts[bench.grants[0].builder]++;
		bench_recycle_all(&bench);
	}
	assert_int_equal(counts[0], 100);
	assert_int_equal(counts[1], 200);
	assert_int_equal(counts[2], 500);
	bench_stop(&bench);
}

// The heaviest group gets as much as the rule allows.
static void weighted__holds_across_groups(void **state)
{
	struct bench bench = bench_of(8, SCHED_WEIGHTED);
	uint32_t heavy = 0;

	(void)state;
	bench.parameters.distance = 1;
	bench.builders[3].weight = 4;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1100);
	for (unsigned i = 0; i < 1100; i++) {
		assert_int_equal(bench_poll(&bench, 1), 1);
		assert_int_equal(bench.grants[0].relaxed, 0);
		heavy += bench.grants[0].builder == 3;
		bench_recycle_all(&bench);
	}
	assert_in_range(heavy, 390, 410);
	bench_stop(&bench);
}

// A builder that was away does not get all that it has missed.
static void weighted__forgets_what_was_long_ago(void **state)
{
	struct bench bench = bench_of(2, SCHED_WEIGHTED);
	uint32_t counts[2] = { 0 };

	(void)state;
	bench_start(&bench);
	bench_credit(&bench, 0, 4);
	bench_announce(&bench, 200);
	for (unsigned i = 0; i < 100; i++) {
		bench_expect(&bench, 1, "0");
		bench_recycle_all(&bench);
	}
	bench_credit(&bench, 1, 4);
	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(bench_poll(&bench, 1), 1);
		counts[bench.grants[0].builder]++;
		bench_recycle_all(&bench);
	}
	assert_in_range(counts[1], 50, 52);
	bench_stop(&bench);
}

// Two selectors get the same turns; the times of one are a few turns before those that a key can
// hold. Members that are out for a while have their old time to lose.
static void weighted__begins_time_anew_unnoticed(void **state)
{
	enum { ITEMS = 5, FIRST = 70, TURNS = 4000 };
	const struct policy *policy = policy_of(SCHED_WEIGHTED);
	const uint64_t late = (UINT64_C(1) << 52) - (UINT64_C(1) << 25);
	struct selector selectors[2];
	struct share shares[2][ITEMS];
	uint64_t nodes[2][16];
	struct set sets[2] = { 0 };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		selector_start(&selectors[i], &sets[i], FIRST, FIRST + ITEMS, nodes[i], shares[i],
			       1);
		selectors[i].now += i * late;
		for (unsigned item = 0; item < ITEMS; item++)
			shares[i][item].time += i * late;
		for (uint32_t item = 0; item < ITEMS; item++)
			selector_enter(policy, &selectors[i], FIRST + item, item + 1);
	}
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		uint32_t chosen[2], away = FIRST + turn / 7 % ITEMS;

		for (unsigned i = 0; i < 2; i++) {
			chosen[i] = policy->next(&selectors[i]);
			selector_passed(policy, &selectors[i], chosen[i]);
			if (turn % 7 == 3)
				selector_leave(policy, &selectors[i], away);
			if (turn % 7 == 6)
				selector_enter(policy, &selectors[i], away, 1 + turn % 9);
		}
		assert_int_equal(chosen[0], chosen[1]);
	}
	assert_true(selectors[1].now < late);
	assert_true(selectors[0].now < late);
}

static void random__takes_all_and_is_repeatable(void **state)
{
	uint32_t sequence[2][400], counts[4] = { 0 };

	(void)state;
	for (unsigned run = 0; run < 2; run++) {
		struct bench bench = bench_of(4, SCHED_RANDOM);

		bench.parameters.seed = 5;
		bench_start(&bench);
		bench_credit_all(&bench);
		bench_announce(&bench, 400);
		for (unsigned i = 0; i < 400; i++) {
			assert_int_equal(bench_poll(&bench, 1), 1);
			sequence[run][i] = bench.grants[0].builder;
			bench_recycle_all(&bench);
		}
		bench_stop(&bench);
	}
	assert_memory_equal(sequence[0], sequence[1], sizeof(sequence[0]));
	for (unsigned i = 0; i < 400; i++)
		counts[sequence[0][i]]++;
	for (unsigned i = 0; i < 4; i++)
		assert_in_range(counts[i], 70, 130);
}

static void static__follows_the_formula(void **state)
{
	struct bench bench = bench_plain(4);

	(void)state;
	bench.parameters.mode = SCHED_STATIC;
	bench.parameters.first_event = 6;
	bench_start(&bench);
	bench_credit(&bench, 0, 2);
	bench_credit(&bench, 2, 2);
	bench_credit(&bench, 3, 2);
	bench_announce(&bench, 100);
	// 6, 7, 8, and 9 waits for builder 1.
	bench_expect(&bench, 9, "2 3 0");
	assert_int_equal(sched_counters(bench.sched)->stalls_no_credit, 1);
	bench_credit(&bench, 1, 1);
	bench_expect(&bench, 9, "1 2 3 0");
	sched_exclude(bench.sched, 1, 0);
	// The event of builder 1 waits again, and goes to the next one with those that follow.
	assert_int_equal(sched_credit(bench.sched, 2, 2, 1, 0), SCHED_OK);
	bench_poll(&bench, 9);
	assert_int_equal(bench.n, 1);
	assert_int_equal(bench.grants[0].event, 9);
	assert_int_equal(bench.grants[0].builder, 2);
	assert_int_equal(bench.grants[0].attempt, 2);
	for (uint32_t i = 0; i < 4; i++)
		sched_exclude(bench.sched, i, 0);
	bench_expect(&bench, 9, "");
	bench_stop(&bench);
}

// Each builder builds an event in `service` ns, of four slots; every millisecond another one does
// nothing for a millisecond. Returns how many events were built in 20 ms, at one poll a
// microsecond.
static uint64_t run_with_moving_suspension(enum sched_policy policy, bool suspend, uint64_t *skips)
{
	enum {
		BUILDERS = 8,
		SERVICE = 5,
		PERIOD = 1000,
	};
	struct bench bench = bench_of(BUILDERS, policy);
	static struct sched_grant queues[BUILDERS][8];
	uint32_t n_queued[BUILDERS] = { 0 };
	uint64_t built = 0;

	bench_start(&bench);
	bench_credit_all(&bench);
	for (uint64_t us = 1; us <= 20 * PERIOD; us++) {
		bench.now = us * 1000;
		bench_announce(&bench, us);
		bench_poll(&bench, 16);
		for (unsigned i = 0; i < bench.n; i++)
			queues[bench.grants[i].builder][n_queued[bench.grants[i].builder]++] =
			    bench.grants[i];
		for (uint32_t i = 0; i < BUILDERS; i++) {
			bool suspended = suspend && us / PERIOD % BUILDERS == i;

			if (suspended || us % SERVICE != i % SERVICE || n_queued[i] == 0)
				continue;
			bench_recycle(&bench, &queues[i][0]);
			for (uint32_t j = 1; j < n_queued[i]; j++)
				queues[i][j - 1] = queues[i][j];
			n_queued[i]--;
			built++;
		}
	}
	*skips = sched_counters(bench.sched)->skips;
	bench_stop(&bench);
	return built;
}

static void suspension__of_one_builder_after_the_other_costs_no_rate(void **state)
{
	(void)state;
	for (int policy = SCHED_ROUND_ROBIN; policy <= SCHED_RANDOM; policy++) {
		uint64_t skips, skips_suspended;
		uint64_t built =
		    run_with_moving_suspension((enum sched_policy)policy, false, &skips);
		uint64_t built_suspended =
		    run_with_moving_suspension((enum sched_policy)policy, true, &skips_suspended);

		// An event a microsecond; seven builders take 1.4. What was in the suspended one's
		// slots is late.
		assert_in_range(built, 19900, 20000);
		assert_in_range(built_suspended, 19900, 20000);
		if (policy == SCHED_ROUND_ROBIN)
			assert_true(skips_suspended > skips + 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_robin__takes_builders_in_turn),
		cmocka_unit_test(round_robin__skips_who_has_no_credit),
		cmocka_unit_test(round_robin__skips_groups_of_one),
		cmocka_unit_test(round_robin__in_strict_turn_waits),
		cmocka_unit_test(occupancy__takes_who_has_most_free_slots),
		cmocka_unit_test(weighted__gives_turns_by_weight),
		cmocka_unit_test(weighted__holds_across_groups),
		cmocka_unit_test(weighted__forgets_what_was_long_ago),
		cmocka_unit_test(weighted__begins_time_anew_unnoticed),
		cmocka_unit_test(random__takes_all_and_is_repeatable),
		cmocka_unit_test(static__follows_the_formula),
		cmocka_unit_test(suspension__of_one_builder_after_the_other_costs_no_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
