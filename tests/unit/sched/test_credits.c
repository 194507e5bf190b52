// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Slots, credits, sessions, and what becomes of the events of a builder that is given up.
#include "bench.h"

static enum sched_result credit(struct bench *bench, uint32_t builder, uint32_t slot,
				uint32_t generation)
{
	return sched_credit(bench->sched, builder, slot, generation, bench->now);
}

static void credits__are_taken_once(void **state)
{
	struct bench bench = bench_plain(2);

	(void)state;
	bench_start(&bench);
	assert_int_equal(credit(&bench, 0, 3, 7), SCHED_OK);
	assert_int_equal(credit(&bench, 0, 3, 7), SCHED_DUPLICATE);
	assert_int_equal(credit(&bench, 0, 3, 6), SCHED_STALE);
	assert_int_equal(credit(&bench, 0, 3, 8), SCHED_STALE);
	assert_int_equal(credit(&bench, 0, 4, 1), SCHED_UNKNOWN);
	assert_int_equal(credit(&bench, 2, 0, 1), SCHED_UNKNOWN);
	assert_int_equal(bench_view(&bench, 0).free, 1);
	assert_int_equal(sched_counters(bench.sched)->credits[SCHED_OK], 1);
	assert_int_equal(sched_counters(bench.sched)->credits[SCHED_DUPLICATE], 1);
	assert_int_equal(sched_counters(bench.sched)->credits[SCHED_STALE], 2);
	assert_int_equal(sched_counters(bench.sched)->credits[SCHED_UNKNOWN], 2);
	bench_stop(&bench);
}

static void credits__of_a_slot_in_use_wait_for_its_event(void **state)
{
	struct bench bench = bench_plain(1);

	(void)state;
	bench_start(&bench);
	assert_int_equal(credit(&bench, 0, 0, UINT32_MAX), SCHED_OK);
	bench_announce(&bench, 2);
	assert_int_equal(bench_poll(&bench, 9), 1);
	assert_int_equal(bench.grants[0].generation, UINT32_MAX);
	assert_int_equal(credit(&bench, 0, 0, UINT32_MAX), SCHED_DUPLICATE);
	assert_int_equal(credit(&bench, 0, 0, 0), SCHED_STALE);
	bench_done(&bench, &bench.grants[0]);
	assert_int_equal(credit(&bench, 0, 0, UINT32_MAX), SCHED_DUPLICATE);
	assert_int_equal(credit(&bench, 0, 0, UINT32_MAX - 1), SCHED_STALE);
	assert_int_equal(bench_poll(&bench, 9), 0);
	// Generations wrap.
	assert_int_equal(credit(&bench, 0, 0, 0), SCHED_OK);
	assert_int_equal(bench_poll(&bench, 9), 1);
	bench_stop(&bench);
}

static void done__is_taken_once(void **state)
{
	struct bench bench = bench_plain(1);
	struct sched_grant grant;

	(void)state;
	bench_start(&bench);
	bench_credit(&bench, 0, 2);
	bench_announce(&bench, 2);
	assert_int_equal(bench_poll(&bench, 9), 2);
	// The second ends first, so that it stays in memory.
	grant = bench.grants[1];
	assert_int_equal(sched_done(bench.sched, 0, 1, grant.slot, grant.generation + 1, 1,
				    SCHED_COMPLETE, 1, 0),
			 SCHED_STALE);
	assert_int_equal(
	    sched_done(bench.sched, 0, 1, grant.slot, grant.generation, 2, SCHED_COMPLETE, 1, 0),
	    SCHED_STALE);
	assert_int_equal(
	    sched_done(bench.sched, 1, 1, grant.slot, grant.generation, 1, SCHED_COMPLETE, 1, 0),
	    SCHED_UNKNOWN);
	assert_int_equal(
	    sched_done(bench.sched, 0, 2, grant.slot, grant.generation, 1, SCHED_COMPLETE, 1, 0),
	    SCHED_UNKNOWN);
	assert_int_equal(sched_done(bench.sched, 0, UINT64_MAX, grant.slot, grant.generation, 1,
				    SCHED_COMPLETE, 1, 0),
			 SCHED_UNKNOWN);
	bench_done(&bench, &grant);
	assert_int_equal(
	    sched_done(bench.sched, 0, 1, grant.slot, grant.generation, 1, SCHED_COMPLETE, 1, 0),
	    SCHED_DUPLICATE);
	bench_done(&bench, &bench.grants[0]);
	assert_int_equal(
	    sched_done(bench.sched, 0, 0, bench.grants[0].slot, 1, 1, SCHED_COMPLETE, 1, 0),
	    SCHED_DUPLICATE);
	assert_int_equal(sched_outstanding(bench.sched), 0);
	assert_int_equal(sched_released(bench.sched), 2);
	assert_int_equal(sched_counters(bench.sched)->dones[SCHED_OK], 2);
	assert_int_equal(sched_counters(bench.sched)->dones[SCHED_DUPLICATE], 2);
	assert_int_equal(sched_counters(bench.sched)->dones[SCHED_STALE], 2);
	assert_int_equal(sched_counters(bench.sched)->dones[SCHED_UNKNOWN], 3);
	bench_stop(&bench);
}

static void register__is_taken_once_a_session(void **state)
{
	struct bench bench = bench_plain(2);

	(void)state;
	bench_start(&bench);
	assert_int_equal(sched_register(bench.sched, 0, 1, 4, 0), SCHED_DUPLICATE);
	assert_int_equal(sched_register(bench.sched, 0, 2, 0, 0), SCHED_UNKNOWN);
	assert_int_equal(sched_register(bench.sched, 0, 2, 5, 0), SCHED_UNKNOWN);
	assert_int_equal(sched_register(bench.sched, 2, 1, 4, 0), SCHED_UNKNOWN);
	assert_int_equal(sched_counters(bench.sched)->registrations, 2);
	assert_int_equal(bench_view(&bench, 0).session, 1);
	bench_stop(&bench);
}

// Builder 0 takes four events of which one is built, then is given up in some way.
static void start_and_lose(struct bench *bench, bool exclude)
{
	*bench = bench_plain(2);
	bench_start(bench);
	bench_credit(bench, 0, 4);
	bench_announce(bench, 6);
	bench_expect(bench, 3, "0 0 0");
	bench_done(bench, &bench->grants[1]);
	if (exclude)
		sched_exclude(bench->sched, 0, 0);
	else
		assert_int_equal(sched_register(bench->sched, 0, 2, 4, 0), SCHED_OK);
	assert_int_equal(bench_view(bench, 0).free, 0);
	assert_int_equal(bench_view(bench, 0).granted, 0);
	assert_int_equal(sched_counters(bench->sched)->purged_credits, 1);
	assert_int_equal(sched_counters(bench->sched)->requeued, 2);
	assert_int_equal(sched_outstanding(bench->sched), 0);
	assert_int_equal(sched_waiting(bench->sched), 5);
}

static void expect_events(struct bench *bench, uint32_t builder)
{
	static const uint64_t events[] = { 0, 2, 3, 4 };

	bench_credit(bench, builder, 4);
	assert_int_equal(bench_poll(bench, 9), 4);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(bench->grants[i].event, events[i]);
		assert_int_equal(bench->grants[i].builder, builder);
		assert_int_equal(bench->grants[i].attempt, i < 2 ? 2 : 1);
	}
	assert_int_equal(sched_counters(bench->sched)->regrants, 2);
}

static void exclude__gives_unfinished_events_to_others_first(void **state)
{
	struct bench bench;

	(void)state;
	start_and_lose(&bench, true);
	assert_true(bench_view(&bench, 0).excluded);
	assert_false(bench_view(&bench, 0).registered);
	assert_int_equal(credit(&bench, 0, 0, 9), SCHED_UNKNOWN);
	expect_events(&bench, 1);
	// What the silent builder has built meanwhile is refused, also once it is back.
	assert_int_equal(sched_done(bench.sched, 0, 0, 0, 1, 1, SCHED_COMPLETE, 1, 0),
			 SCHED_UNKNOWN);
	sched_include(bench.sched, 0, 0);
	assert_int_equal(sched_register(bench.sched, 0, 2, 4, 0), SCHED_OK);
	assert_int_equal(sched_done(bench.sched, 0, 0, 0, 1, 1, SCHED_COMPLETE, 1, 0), SCHED_STALE);
	for (unsigned i = 0; i < 4; i++)
		bench_done(&bench, &bench.grants[i]);
	assert_int_equal(sched_released(bench.sched), 5);
	bench_stop(&bench);
}

static void register__of_a_new_session_takes_back_the_events(void **state)
{
	struct bench bench;

	(void)state;
	start_and_lose(&bench, false);
	expect_events(&bench, 0);
	bench_stop(&bench);
}

static void exclude__holds_credits_back_until_included(void **state)
{
	struct bench bench = bench_plain(1);

	(void)state;
	bench_start(&bench);
	bench_announce(&bench, 1);
	sched_exclude(bench.sched, 0, 0);
	assert_int_equal(sched_register(bench.sched, 0, 1, 4, 0), SCHED_OK);
	bench_credit(&bench, 0, 1);
	assert_int_equal(bench_poll(&bench, 1), 0);
	sched_include(bench.sched, 0, 0);
	assert_int_equal(bench_poll(&bench, 1), 1);
	// Builders that do not exist.
	sched_exclude(bench.sched, 1, 0);
	sched_include(bench.sched, 1, 0);
	bench_stop(&bench);
}

static void view__tells_of_a_builder(void **state)
{
	struct bench bench = bench_plain(2);
	struct sched_builder_view view;

	(void)state;
	bench.builders[1].window = 5000;
	bench.builders[1].link_rate = 1000000000;
	bench.parameters.target_utilisation = 0.5;
	bench_start(&bench);
	bench_credit(&bench, 1, 3);
	bench_announce(&bench, 9);
	bench.now = 500000;
	bench_expect(&bench, 2, "1 1");
	view = bench_view(&bench, 1);
	assert_true(view.registered);
	assert_false(view.excluded);
	assert_false(view.paused);
	assert_int_equal(view.slots, 4);
	assert_int_equal(view.free, 1);
	assert_int_equal(view.granted, 2);
	assert_int_equal(view.in_flight_bytes, 2000);
	assert_int_equal(view.window, 5000);
	assert_int_equal(view.rate, 500000000);
	assert_int_equal(view.mean_bytes, 1000);
	assert_int_equal(view.grants, 2);
	assert_int_equal(view.oldest_event, 0);
	assert_int_equal(view.oldest_since, 500000);
	bench_done(&bench, &bench.grants[0]);
	assert_int_equal(bench_view(&bench, 1).oldest_event, 1);
	bench_done(&bench, &bench.grants[1]);
	assert_true(bench_view(&bench, 1).oldest_event == SCHED_NEVER);
	assert_int_equal(bench_view(&bench, 1).in_flight_bytes, 0);
	bench_stop(&bench);
}

static struct sched_slow slow_builder(const struct bench *bench)
{
	struct sched_slow slow = { 0 };

	for (uint32_t i = 0; i < bench->parameters.n_builders; i++) {
		const struct sched_builder_view view = bench_view(bench, i);

		sched_slow_add(&slow, i, &view);
	}
	return slow;
}

// All slots are granted in each ms. Builder 0 frees its slots every slow_ms, the others every ms.
static void run_with_slow_builder(struct bench *bench, unsigned slow_ms)
{
	struct sched_grant held[4];
	unsigned n_held = 0;

	for (unsigned ms = 1; ms < 2500; ms++) {
		bench_poll(bench, 9);
		bench->now += 1000000;
		for (unsigned i = 0; i < bench->n; i++)
			if (bench->grants[i].builder == 0)
				held[n_held++] = bench->grants[i];
			else
				bench_recycle(bench, &bench->grants[i]);
		for (; ms % slow_ms == 0 && n_held > 0; n_held--)
			bench_recycle(bench, &held[n_held - 1]);
	}
	bench_poll(bench, 9);
}

static void slow__is_the_builder_that_holds_its_slots(void **state)
{
	struct bench bench = bench_plain(3);
	struct sched_slow slow;

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1u << 16);
	assert_false(sched_slow_is_found(&(struct sched_slow){ 0 }));
	run_with_slow_builder(&bench, 10);
	assert_in_range(bench_view(&bench, 0).slot_ns, 9500000, 10500000);
	assert_in_range(bench_view(&bench, 1).slot_ns, 950000, 1050000);
	// All slots of the others are held, too.
	assert_int_equal(bench_view(&bench, 1).free, 0);
	slow = slow_builder(&bench);
	assert_true(sched_slow_is_found(&slow));
	assert_int_equal(slow.builder, 0);
	bench_stop(&bench);
}

// The builders share the events. Builder 1 has the fewest slots, and none of them is free; it is as
// fast as the others.
static void slow__is_no_builder_that_is_only_short_of_slots(void **state)
{
	struct bench bench = bench_plain(3);
	struct sched_slow slow;

	(void)state;
	bench.builders[1].slots = 1;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1u << 16);
	run_with_slow_builder(&bench, 1);
	assert_int_equal(bench_view(&bench, 1).free, 0);
	assert_in_range(bench_view(&bench, 1).slot_ns, 950000, 1050000);
	slow = slow_builder(&bench);
	assert_false(sched_slow_is_found(&slow));
	bench_stop(&bench);
}

// Its event is the oldest one, so the others get nothing.
static void slow__is_a_builder_that_stands_still(void **state)
{
	struct bench bench = bench_plain(2);
	struct sched_slow slow;

	(void)state;
	bench.parameters.unfinished = 4;
	bench_start(&bench);
	bench_credit(&bench, 0, 4);
	bench_announce(&bench, 1u << 16);
	assert_int_equal(bench_poll(&bench, 9), 4);
	bench_credit(&bench, 1, 4);
	bench.now = 3000000000;
	assert_int_equal(bench_poll(&bench, 9), 0);
	slow = slow_builder(&bench);
	assert_true(sched_slow_is_found(&slow));
	assert_int_equal(slow.builder, 0);
	// It registers anew.
	assert_int_equal(sched_register(bench.sched, 0, 2, 4, bench.now), SCHED_OK);
	assert_int_equal(bench_view(&bench, 0).slot_ns, 0);
	slow = slow_builder(&bench);
	assert_false(sched_slow_is_found(&slow));
	bench_stop(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(credits__are_taken_once),
		cmocka_unit_test(credits__of_a_slot_in_use_wait_for_its_event),
		cmocka_unit_test(done__is_taken_once),
		cmocka_unit_test(register__is_taken_once_a_session),
		cmocka_unit_test(exclude__gives_unfinished_events_to_others_first),
		cmocka_unit_test(register__of_a_new_session_takes_back_the_events),
		cmocka_unit_test(exclude__holds_credits_back_until_included),
		cmocka_unit_test(view__tells_of_a_builder),
		cmocka_unit_test(slow__is_the_builder_that_holds_its_slots),
		cmocka_unit_test(slow__is_no_builder_that_is_only_short_of_slots),
		cmocka_unit_test(slow__is_a_builder_that_stands_still),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
