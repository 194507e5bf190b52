// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Announcements, the queue and its levels, release, failures, run control.
#include "bench.h"

static enum sched_result announce(struct bench *bench, uint32_t source, uint64_t up_to)
{
	return sched_announce(bench->sched, source, up_to, bench->now);
}

static void announce__waits_for_the_last_source(void **state)
{
	struct bench bench = bench_plain(1);

	(void)state;
	bench.parameters.n_sources = 5;
	bench_start(&bench);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(announce(&bench, i, 10 + i), SCHED_OK);
	assert_int_equal(sched_announced(bench.sched), 0);
	assert_int_equal(announce(&bench, 4, 3), SCHED_OK);
	assert_int_equal(sched_announced(bench.sched), 3);
	assert_int_equal(announce(&bench, 4, 3), SCHED_DUPLICATE);
	assert_int_equal(announce(&bench, 4, 2), SCHED_STALE);
	assert_int_equal(announce(&bench, 5, 9), SCHED_UNKNOWN);
	assert_int_equal(announce(&bench, 4, UINT64_MAX), SCHED_UNKNOWN);
	assert_int_equal(announce(&bench, 4, 100), SCHED_OK);
	assert_int_equal(sched_announced(bench.sched), 10);
	assert_int_equal(sched_counters(bench.sched)->announcements[SCHED_OK], 6);
	assert_int_equal(sched_counters(bench.sched)->announcements[SCHED_UNKNOWN], 2);
	bench_stop(&bench);
}

static void announce__does_not_wait_for_an_excluded_source(void **state)
{
	struct bench bench = bench_plain(1);

	(void)state;
	bench.parameters.n_sources = 3;
	bench_start(&bench);
	announce(&bench, 0, 8);
	announce(&bench, 1, 9);
	sched_exclude_source(bench.sched, 2, 0);
	assert_int_equal(sched_announced(bench.sched), 8);
	// Back, it is behind: what may be granted stays so, the rest waits for it.
	announce(&bench, 2, 5);
	sched_include_source(bench.sched, 2, 0);
	announce(&bench, 0, 9);
	assert_int_equal(sched_announced(bench.sched), 8);
	announce(&bench, 2, 20);
	assert_int_equal(sched_announced(bench.sched), 9);
	// Without any source nothing more is announced.
	for (uint32_t i = 0; i < 4; i++)
		sched_exclude_source(bench.sched, 3 - i, 0);
	announce(&bench, 0, 50);
	assert_int_equal(sched_announced(bench.sched), 9);
	bench_stop(&bench);
}

static void announce__of_thousands_of_sources_is_the_least(void **state)
{
	struct bench bench = bench_plain(1);

	(void)state;
	bench.parameters.n_sources = SCHED_MAX_SOURCES;
	bench_start(&bench);
	for (uint32_t i = 0; i < SCHED_MAX_SOURCES; i++)
		announce(&bench, i, 1000 + 2 * ((i * 1000001u) % SCHED_MAX_SOURCES));
	assert_int_equal(sched_announced(bench.sched), 1000);
	announce(&bench, 0, 1001);
	assert_int_equal(sched_announced(bench.sched), 1001);
	announce(&bench, 0, 1005);
	assert_int_equal(sched_announced(bench.sched), 1002);
	bench_stop(&bench);
}

static void release__waits_for_the_oldest(void **state)
{
	struct bench bench = bench_plain(1);

	(void)state;
	bench.parameters.first_event = 1000;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1004);
	assert_int_equal(bench_poll(&bench, 9), 4);
	bench_done(&bench, &bench.grants[1]);
	bench_done(&bench, &bench.grants[3]);
	assert_int_equal(sched_released(bench.sched), 1000);
	bench_done(&bench, &bench.grants[0]);
	assert_int_equal(sched_released(bench.sched), 1002);
	bench_done(&bench, &bench.grants[2]);
	assert_int_equal(sched_released(bench.sched), 1004);
	bench_stop(&bench);
}

static void unfinished__limits_what_is_granted(void **state)
{
	struct bench bench = bench_plain(4);
	struct sched_grant oldest;

	(void)state;
	bench.parameters.unfinished = 8;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 20);
	assert_int_equal(bench_poll(&bench, 20), 8);
	assert_int_equal(sched_counters(bench.sched)->stalls_window, 1);
	oldest = bench.grants[0];
	for (unsigned i = 1; i < 8; i++)
		bench_done(&bench, &bench.grants[i]);
	assert_int_equal(bench_poll(&bench, 20), 0);
	bench_done(&bench, &oldest);
	assert_int_equal(bench_poll(&bench, 20), 8);
	assert_int_equal(bench.grants[7].event, 15);
	bench_stop(&bench);
}

static void failed__is_granted_again_before_newer_ones(void **state)
{
	struct bench bench = bench_plain(2);

	(void)state;
	bench_start(&bench);
	bench_announce(&bench, 3);
	for (uint32_t attempt = 1; attempt <= 3; attempt++) {
		assert_int_equal(sched_credit(bench.sched, 0, 0, attempt, 0), SCHED_OK);
		assert_int_equal(bench_poll(&bench, 9), 1);
		assert_int_equal(bench.grants[0].event, 0);
		assert_int_equal(bench.grants[0].attempt, attempt);
		assert_int_equal(
		    sched_done(bench.sched, 0, 0, 0, attempt, attempt, SCHED_FAILED, 0, 0),
		    SCHED_OK);
	}
	assert_int_equal(sched_counters(bench.sched)->outcomes[SCHED_FAILED], 3);
	assert_int_equal(sched_released(bench.sched), 0);
	assert_int_equal(sched_waiting(bench.sched), 3);
	bench_stop(&bench);
}

static void done__with_an_outcome_that_is_none_is_refused(void **state)
{
	struct bench bench = bench_plain(1);
	uint32_t slot;

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1);
	assert_int_equal(bench_poll(&bench, 1), 1);
	slot = bench.grants[0].slot;
	assert_int_equal(sched_done(bench.sched, 0, 0, slot, 1, 1, SCHED_N_OUTCOMES, 0, 0),
			 SCHED_UNKNOWN);
	assert_int_equal(sched_done(bench.sched, 0, 0, slot, 1, 1, SCHED_INCOMPLETE, 0, 0),
			 SCHED_OK);
	assert_int_equal(sched_counters(bench.sched)->outcomes[SCHED_INCOMPLETE], 1);
	bench_stop(&bench);
}

static void level__is_sticky(void **state)
{
	static const struct {
		uint64_t up_to;
		uint32_t level;
	} steps[] = { { 24, 0 }, { 25, 1 }, { 49, 1 },  { 50, 3 },   { 74, 3 },
		      { 75, 7 }, { 87, 7 }, { 88, 15 }, { 1000, 15 } };
	struct bench bench = bench_plain(1);

	(void)state;
	bench.parameters.queue = 100;
	bench.builders[0].slots = 1024;
	bench_start(&bench);
	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		bench_announce(&bench, steps[i].up_to);
		assert_int_equal(sched_level(bench.sched), steps[i].level);
	}
	bench_credit_all(&bench);
	assert_int_equal(bench_poll(&bench, 1000), 1000);
	assert_int_equal(sched_level(bench.sched), 15);
	bench_stop(&bench);
}

static void level__counts_events_that_wait_again(void **state)
{
	struct bench bench = bench_plain(1);

	(void)state;
	bench.parameters.queue = 100;
	bench.builders[0].slots = 1024;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 24);
	assert_int_equal(bench_poll(&bench, 24), 24);
	bench_announce(&bench, 25);
	assert_int_equal(sched_level(bench.sched), 0);
	sched_exclude(bench.sched, 0, 0);
	assert_int_equal(sched_level(bench.sched), 1);
	bench_stop(&bench);
}

static void throttle__ends_at_half_of_where_it_began(void **state)
{
	struct bench bench = bench_plain(1);

	(void)state;
	bench.parameters.queue = 100;
	bench.parameters.throttle_level = 2;
	bench.builders[0].slots = 100;
	bench_start(&bench);
	bench_announce(&bench, 49);
	assert_false(sched_throttled(bench.sched));
	bench_announce(&bench, 50);
	assert_true(sched_throttled(bench.sched));
	bench_credit_all(&bench);
	assert_int_equal(bench_poll(&bench, 25), 25);
	assert_true(sched_throttled(bench.sched));
	assert_int_equal(bench_poll(&bench, 1), 1);
	assert_false(sched_throttled(bench.sched));
	bench_announce(&bench, 51);
	assert_false(sched_throttled(bench.sched));
	bench_stop(&bench);
}

static void throttle__never_if_not_configured(void **state)
{
	struct bench bench = bench_plain(1);

	(void)state;
	bench.parameters.throttle_level = 0;
	bench_start(&bench);
	bench_announce(&bench, INT64_MAX);
	assert_int_equal(sched_level(bench.sched), 15);
	assert_false(sched_throttled(bench.sched));
	assert_true(sched_waiting(bench.sched) == INT64_MAX);
	bench_stop(&bench);
}

static void paused__grants_nothing(void **state)
{
	struct bench bench = bench_plain(1);

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 2);
	sched_set_paused(bench.sched, true);
	assert_int_equal(bench_poll(&bench, 9), 0);
	sched_set_paused(bench.sched, false);
	assert_int_equal(bench_poll(&bench, 1), 1);
	assert_int_equal(bench_poll(&bench, 9), 1);
	bench_stop(&bench);
}

static void stalls__are_counted_by_cause(void **state)
{
	struct bench bench = bench_plain(1);

	(void)state;
	bench_start(&bench);
	bench_announce(&bench, 2);
	assert_int_equal(bench_poll(&bench, 1), 0);
	assert_int_equal(sched_counters(bench.sched)->stalls_no_credit, 1);
	bench_credit_all(&bench);
	bench_port(&bench, 0, true);
	assert_int_equal(bench_poll(&bench, 1), 0);
	assert_int_equal(sched_counters(bench.sched)->stalls_blocked, 1);
	assert_int_equal(sched_counters(bench.sched)->stalls_no_credit, 1);
	bench_stop(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(announce__waits_for_the_last_source),
		cmocka_unit_test(announce__does_not_wait_for_an_excluded_source),
		cmocka_unit_test(announce__of_thousands_of_sources_is_the_least),
		cmocka_unit_test(release__waits_for_the_oldest),
		cmocka_unit_test(unfinished__limits_what_is_granted),
		cmocka_unit_test(failed__is_granted_again_before_newer_ones),
		cmocka_unit_test(done__with_an_outcome_that_is_none_is_refused),
		cmocka_unit_test(level__is_sticky),
		cmocka_unit_test(level__counts_events_that_wait_again),
		cmocka_unit_test(throttle__ends_at_half_of_where_it_began),
		cmocka_unit_test(throttle__never_if_not_configured),
		cmocka_unit_test(paused__grants_nothing),
		cmocka_unit_test(stalls__are_counted_by_cause),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
