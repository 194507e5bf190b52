// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A manager that takes over: builders tell it of their events, and nothing is built twice.
#include "bench.h"

static enum sched_result adopt(struct bench *bench, uint64_t event, uint32_t builder, uint32_t slot,
			       uint32_t attempt, enum sched_adopted what)
{
	return sched_adopt(bench->sched, event, builder, slot, 5, attempt, what, bench->now);
}

static void adopt__open_and_built_events_are_not_granted(void **state)
{
	struct bench bench = bench_plain(2);

	(void)state;
	bench.parameters.first_event = 10;
	bench_start(&bench);
	sched_set_paused(bench.sched, true);
	assert_int_equal(adopt(&bench, 10, 0, 0, 0, SCHED_ADOPT_BUILT), SCHED_OK);
	assert_int_equal(adopt(&bench, 12, 0, 1, 1, SCHED_ADOPT_OPEN), SCHED_OK);
	assert_int_equal(adopt(&bench, 13, 1, 0, 0, SCHED_ADOPT_BUILT), SCHED_OK);
	assert_int_equal(sched_released(bench.sched), 11);
	assert_int_equal(sched_announced(bench.sched), 14);
	assert_int_equal(sched_outstanding(bench.sched), 1);
	assert_int_equal(sched_waiting(bench.sched), 1);
	bench_announce(&bench, 16);
	sched_set_paused(bench.sched, false);
	bench_credit(&bench, 1, 4);
	assert_int_equal(bench_poll(&bench, 9), 3);
	assert_int_equal(bench.grants[0].event, 11);
	assert_int_equal(bench.grants[1].event, 14);
	assert_int_equal(bench.grants[2].event, 15);
	for (unsigned i = 0; i < 3; i++)
		bench_done(&bench, &bench.grants[i]);
	assert_int_equal(sched_done(bench.sched, 0, 12, 1, 5, 1, SCHED_COMPLETE, 1, 0), SCHED_OK);
	assert_int_equal(sched_released(bench.sched), 16);
	assert_int_equal(sched_counters(bench.sched)->adopted, 1);
	assert_int_equal(sched_counters(bench.sched)->adopted_built, 2);
	bench_stop(&bench);
}

static void adopt__the_later_attempt_wins(void **state)
{
	struct bench bench = bench_plain(3);

	(void)state;
	bench_start(&bench);
	assert_int_equal(adopt(&bench, 0, 0, 0, 1, SCHED_ADOPT_OPEN), SCHED_OK);
	assert_int_equal(adopt(&bench, 0, 0, 0, 1, SCHED_ADOPT_OPEN), SCHED_DUPLICATE);
	assert_int_equal(adopt(&bench, 0, 1, 0, 1, SCHED_ADOPT_OPEN), SCHED_STALE);
	assert_int_equal(adopt(&bench, 0, 1, 0, 2, SCHED_ADOPT_OPEN), SCHED_OK);
	assert_int_equal(adopt(&bench, 0, 2, 0, 1, SCHED_ADOPT_OPEN), SCHED_STALE);
	assert_int_equal(bench_view(&bench, 0).granted, 0);
	assert_int_equal(bench_view(&bench, 1).granted, 1);
	assert_int_equal(sched_counters(bench.sched)->superseded, 1);
	// The first one's word counts no more, but its slot may be credited anew.
	assert_int_equal(sched_done(bench.sched, 0, 0, 0, 5, 1, SCHED_COMPLETE, 1, 0), SCHED_STALE);
	assert_int_equal(sched_credit(bench.sched, 0, 0, 6, 0), SCHED_OK);
	assert_int_equal(sched_done(bench.sched, 1, 0, 0, 5, 2, SCHED_COMPLETE, 1, 0), SCHED_OK);
	bench_stop(&bench);
}

static void adopt__what_is_built_wins(void **state)
{
	struct bench bench = bench_plain(2);

	(void)state;
	bench_start(&bench);
	assert_int_equal(adopt(&bench, 0, 0, 0, 7, SCHED_ADOPT_OPEN), SCHED_OK);
	assert_int_equal(adopt(&bench, 0, 1, 0, 0, SCHED_ADOPT_BUILT), SCHED_OK);
	assert_int_equal(sched_released(bench.sched), 1);
	assert_int_equal(sched_outstanding(bench.sched), 0);
	assert_int_equal(adopt(&bench, 0, 0, 0, 8, SCHED_ADOPT_OPEN), SCHED_STALE);
	assert_int_equal(adopt(&bench, 0, 1, 0, 0, SCHED_ADOPT_BUILT), SCHED_DUPLICATE);
	assert_int_equal(adopt(&bench, 2, 0, 1, 1, SCHED_ADOPT_OPEN), SCHED_OK);
	assert_int_equal(adopt(&bench, 2, 1, 0, 0, SCHED_ADOPT_BUILT), SCHED_OK);
	assert_int_equal(adopt(&bench, 2, 1, 0, 0, SCHED_ADOPT_BUILT), SCHED_DUPLICATE);
	assert_int_equal(adopt(&bench, 2, 0, 2, 9, SCHED_ADOPT_OPEN), SCHED_STALE);
	assert_int_equal(sched_counters(bench.sched)->superseded, 2);
	bench_stop(&bench);
}

static void adopt__refuses_what_cannot_be(void **state)
{
	struct bench bench = bench_plain(2);

	(void)state;
	bench.parameters.unfinished = 16;
	bench_start(&bench);
	sched_exclude(bench.sched, 1, 0);
	assert_int_equal(adopt(&bench, 0, 1, 0, 1, SCHED_ADOPT_OPEN), SCHED_UNKNOWN);
	assert_int_equal(adopt(&bench, 0, 2, 0, 1, SCHED_ADOPT_OPEN), SCHED_UNKNOWN);
	assert_int_equal(adopt(&bench, 0, 0, 4, 1, SCHED_ADOPT_OPEN), SCHED_UNKNOWN);
	assert_int_equal(adopt(&bench, 16, 0, 0, 1, SCHED_ADOPT_OPEN), SCHED_UNKNOWN);
	assert_int_equal(adopt(&bench, UINT64_MAX, 0, 0, 1, SCHED_ADOPT_BUILT), SCHED_UNKNOWN);
	bench_credit(&bench, 0, 1);
	assert_int_equal(adopt(&bench, 0, 0, 0, 1, SCHED_ADOPT_OPEN), SCHED_STALE);
	assert_int_equal(sched_outstanding(bench.sched), 0);
	assert_int_equal(sched_announced(bench.sched), 0);
	bench_stop(&bench);
}

// An adopted event whose builder is lost waits again, but not ahead of older ones.
static void adopt__keeps_the_order_of_events(void **state)
{
	struct bench bench = bench_plain(2);

	(void)state;
	bench_start(&bench);
	assert_int_equal(adopt(&bench, 2, 0, 0, 1, SCHED_ADOPT_OPEN), SCHED_OK);
	sched_exclude(bench.sched, 0, 0);
	bench_credit(&bench, 1, 4);
	assert_int_equal(bench_poll(&bench, 9), 3);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(bench.grants[i].event, i);
	assert_int_equal(bench.grants[2].attempt, 2);
	bench_stop(&bench);
}

// More than `credits` allows may come from the manager before.
static void adopt__counts_towards_the_limits(void **state)
{
	struct bench bench = bench_plain(1);

	(void)state;
	bench.parameters.credits = 2;
	bench_start(&bench);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(adopt(&bench, i, 0, i, 1, SCHED_ADOPT_OPEN), SCHED_OK);
	assert_int_equal(sched_credit(bench.sched, 0, 3, 1, 0), SCHED_OK);
	bench_announce(&bench, 9);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(bench_poll(&bench, 9), 0);
		assert_int_equal(sched_done(bench.sched, 0, i, i, 5, 1, SCHED_COMPLETE, 1, 0),
				 SCHED_OK);
	}
	assert_int_equal(bench_poll(&bench, 9), 1);
	assert_int_equal(bench.grants[0].event, 3);
	bench_stop(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(adopt__open_and_built_events_are_not_granted),
		cmocka_unit_test(adopt__the_later_attempt_wins),
		cmocka_unit_test(adopt__what_is_built_wins),
		cmocka_unit_test(adopt__refuses_what_cannot_be),
		cmocka_unit_test(adopt__keeps_the_order_of_events),
		cmocka_unit_test(adopt__counts_towards_the_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
