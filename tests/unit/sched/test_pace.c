// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Token buckets, windows, and what port state does to rates.
#include "bench.h"

#define GB UINT64_C(1000000000) // a second: a byte takes a ns

// One builder whose link takes a byte a ns, events of 1000 bytes.
static struct bench bench_with_link(void)
{
	struct bench bench = bench_plain(1);

	bench.builders[0].slots = 1024;
	bench.builders[0].link_rate = GB;
	bench.parameters.target_utilisation = 1;
	bench.parameters.burst_ns = 0;
	return bench;
}

static void bucket__grants_at_the_rate(void **state)
{
	struct bench bench = bench_with_link();

	(void)state;
	bench.parameters.target_utilisation = 0.5;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1000);
	bench.now = 10000;
	assert_int_equal(bench_poll(&bench, 9), 1);
	assert_int_equal(bench.grants[0].rate_bytes_per_second, GB / 2);
	bench.now = 11999;
	assert_int_equal(bench_poll(&bench, 9), 0);
	assert_int_equal(sched_counters(bench.sched)->stalls_blocked, 2);
	bench.now = 12000;
	assert_int_equal(bench_poll(&bench, 9), 1);
	// What was not used in time is lost.
	bench.now = 50000;
	assert_int_equal(bench_poll(&bench, 9), 1);
	bench_stop(&bench);
}

static void bucket__saves_up_a_burst(void **state)
{
	struct bench bench = bench_with_link();
	unsigned n = 0;

	(void)state;
	bench.parameters.burst_ns = 5000;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1000);
	// Five events that were saved up, and the one that is due now.
	bench.now = 1000000;
	assert_int_equal(bench_poll(&bench, 99), 5 + 1);
	bench.now += 999;
	assert_int_equal(bench_poll(&bench, 99), 0);
	bench.now += 1;
	assert_int_equal(bench_poll(&bench, 99), 1);
	// Polls that are rarer than events, but not than bursts, lose nothing.
	for (unsigned i = 0; i < 100; i++) {
		bench.now += 4000;
		n += bench_poll(&bench, 99);
	}
	assert_int_equal(n, 400);
	bench_stop(&bench);
}

// A suspended builder keeps its session, and its port its rate.
static void suspension__is_no_pause(void **state)
{
	struct bench bench = bench_with_link();
	struct sched_builder_view view;

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1000);
	bench.now = 10000;
	assert_int_equal(bench_poll(&bench, 9), 1);
	sched_suspend(bench.sched, 0, true, bench.now);
	bench.now = 20000;
	assert_int_equal(bench_poll(&bench, 9), 0);
	sched_suspend(bench.sched, 0, false, bench.now);
	assert_int_equal(bench_poll(&bench, 9), 1);
	assert_int_equal(bench.grants[0].rate_bytes_per_second, GB);
	sched_view(bench.sched, 0, &view);
	assert_true(view.rate_share == 1);
	assert_int_equal(view.granted, 2);
	assert_int_equal(sched_counters(bench.sched)->cuts, 0);
	assert_int_equal(sched_counters(bench.sched)->pauses, 0);
	bench_stop(&bench);
}

// Where no rate is known, a pause stops the grants as long as it lasts, and is counted.
static void rate__that_is_not_known_is_not_cut(void **state)
{
	const struct sched_port paused = { .paused = true }, free = { .paused = false };
	struct bench bench = bench_with_link();
	struct sched_builder_view view;

	(void)state;
	bench.builders[0].link_rate = 0;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1000);
	bench.now = 10000;
	sched_port_state(bench.sched, 0, &paused, bench.now);
	assert_int_equal(bench_poll(&bench, 9), 0);
	sched_view(bench.sched, 0, &view);
	assert_true(view.rate_share == 1);
	assert_int_equal(sched_counters(bench.sched)->cuts, 1);
	sched_port_state(bench.sched, 0, &free, bench.now);
	assert_int_equal(bench_poll(&bench, 9), 9);
	bench_stop(&bench);
}

// A rate that becomes known later is that of all grants from then on, until it is unknown again.
static void rate__that_becomes_known_paces(void **state)
{
	struct bench bench = bench_with_link();

	(void)state;
	bench.builders[0].link_rate = 0;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1000);
	bench.now = 1000000;
	assert_int_equal(bench_poll(&bench, 9), 9);
	sched_set_link_rate(bench.sched, 0, GB);
	assert_in_range(bench_poll(&bench, 99), 1, 98);
	assert_int_equal(bench_poll(&bench, 99), 0);
	bench.now += 100000;
	assert_in_range(bench_poll(&bench, 999), 1, 200);
	assert_int_equal(bench_poll(&bench, 99), 0);
	sched_set_link_rate(bench.sched, 0, 0);
	bench.now += 1000000;
	assert_int_equal(bench_poll(&bench, 99), 99);
	bench_stop(&bench);
}

// Costs that are no whole number of ns add up exactly.
static void bucket__loses_no_fractions(void **state)
{
	struct bench bench = bench_with_link();
	unsigned n = 0;

	(void)state;
	bench.builders[0].link_rate = 300 * GB; // 3 and a third ns an event
	bench.parameters.burst_ns = 100;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1000);
	bench.now = 1000000;
	assert_int_equal(bench_poll(&bench, 99), 30 + 1);
	for (unsigned i = 0; i < 100; i++) {
		bench.now += 10;
		n += bench_poll(&bench, 99);
	}
	assert_int_equal(n, 300);
	bench_stop(&bench);
}

static void bucket__follows_the_mean_size(void **state)
{
	struct bench bench = bench_with_link();

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1000);
	for (unsigned i = 0; i < 200; i++) {
		bench.now += 100000;
		assert_int_equal(bench_poll(&bench, 1), 1);
		assert_int_equal(sched_done(bench.sched, 0, bench.grants[0].event,
					    bench.grants[0].slot, 1, 1, SCHED_COMPLETE,
					    i == 0 ? 1400 : 3000, bench.now),
				 SCHED_OK);
		if (i == 0)
			assert_int_equal(bench_view(&bench, 0).mean_bytes, 1400);
		if (i == 1)
			assert_int_equal(bench_view(&bench, 0).mean_bytes, 1400 + 1600 / 16);
	}
	assert_in_range(bench_view(&bench, 0).mean_bytes, 2990, 3000);
	bench_poll(&bench, 1);
	bench.now += 2989;
	assert_int_equal(bench_poll(&bench, 1), 0);
	bench.now += 11;
	assert_int_equal(bench_poll(&bench, 1), 1);
	bench_stop(&bench);
}

static void built(struct bench *bench, const struct sched_grant *grant, uint64_t bytes)
{
	assert_int_equal(sched_done(bench->sched, 0, grant->event, grant->slot, 1, 1,
				    SCHED_COMPLETE, bytes, bench->now),
			 SCHED_OK);
}

// Two events are granted as if they had 1000 bytes, and have 5000: what they take more is owed.
static void bucket__owes_what_the_first_events_take_more(void **state)
{
	struct bench bench = bench_with_link();
	struct sched_grant first;

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 1000);
	bench.now = 10000;
	assert_int_equal(bench_poll(&bench, 9), 1);
	first = bench.grants[0];
	bench.now = 11000;
	assert_int_equal(bench_poll(&bench, 9), 1);
	bench.now = 12000;
	built(&bench, &first, 5000);
	built(&bench, &bench.grants[0], 5000);
	assert_int_equal(bench_poll(&bench, 9), 0);
	bench.now = 19999;
	assert_int_equal(bench_poll(&bench, 9), 0);
	bench.now = 20000;
	assert_int_equal(bench_poll(&bench, 9), 1);
	// From then on it is the mean that counts.
	built(&bench, &bench.grants[0], 9000);
	bench.now = 24999;
	assert_int_equal(bench_poll(&bench, 9), 0);
	bench.now = 25000;
	assert_int_equal(bench_poll(&bench, 9), 1);
	bench_stop(&bench);
}

static void bucket__of_timed_shift_counts_idle_windows(void **state)
{
	struct bench bench = bench_with_link();

	(void)state;
	bench.parameters.shaping = SCHED_TIMED_SHIFT;
	bench.parameters.send_window_ns = 75;
	bench.parameters.idle_window_ns = 25;
	bench.parameters.phase_share = 0.5;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 2);
	assert_int_equal(bench_poll(&bench, 1), 1);
	// In a send window the rate is the link's; over all it is three quarters of the half.
	assert_int_equal(bench.grants[0].rate_bytes_per_second, GB);
	bench.now = 2665;
	assert_int_equal(bench_poll(&bench, 1), 0);
	bench.now = 2666;
	assert_int_equal(bench_poll(&bench, 1), 1);
	bench_stop(&bench);
}

// Each link has room again in its own time, the fastest first.
static void bucket__of_each_builder_is_its_own(void **state)
{
	static const uint64_t rates[] = { 3, 7, 1, 6, 2, 8, 5, 4 }; // GB a second
	struct bench bench = bench_plain(8);

	(void)state;
	bench.parameters.target_utilisation = 1;
	bench.parameters.burst_ns = 0;
	bench.parameters.event_bytes = 840000;
	for (uint32_t i = 0; i < 8; i++)
		bench.builders[i].link_rate = rates[i] * GB;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 16);
	bench_expect(&bench, 16, "0 1 2 3 4 5 6 7");
	for (uint64_t rate = 8; rate >= 5; rate--) {
		bench.now = 840000 / rate - 1;
		assert_int_equal(bench_poll(&bench, 16), 0);
		bench.now = 840000 / rate;
		assert_int_equal(bench_poll(&bench, 16), 1);
		assert_int_equal(rates[bench.grants[0].builder], rate);
	}
	// Two at once: 8 has room for the second time when 4 has for the first.
	bench.now = 210000;
	assert_int_equal(bench_poll(&bench, 16), 2);
	assert_int_equal(rates[bench.grants[0].builder] + rates[bench.grants[1].builder], 12);
	bench_stop(&bench);
}

static void window__limits_bytes_in_flight(void **state)
{
	struct bench bench = bench_plain(2);

	(void)state;
	bench.builders[0].window = 2500;
	bench.builders[1].window = 10; // less than an event: one at a time
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 9);
	bench_expect(&bench, 9, "0 1 0");
	assert_int_equal(bench_view(&bench, 0).in_flight_bytes, 2000);
	bench_done(&bench, &bench.grants[1]);
	bench_expect(&bench, 9, "1");
	bench_done(&bench, &bench.grants[0]);
	bench_stop(&bench);
}

static void report(struct bench *bench, double paused_share, double occupancy, uint64_t marks)
{
	struct sched_port port = { false, paused_share, occupancy, marks };

	sched_port_state(bench->sched, 0, &port, bench->now);
}

static void paused__port_is_granted_nothing(void **state)
{
	struct bench bench = bench_plain(2);

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 9);
	bench_port(&bench, 0, true);
	bench_port(&bench, 0, true);
	bench_expect(&bench, 3, "1 1 1");
	assert_true(bench_view(&bench, 0).paused);
	assert_int_equal(sched_counters(bench.sched)->pauses, 1);
	bench_port(&bench, 0, false);
	bench_expect(&bench, 1, "0");
	bench_port(&bench, 2, true); // no such builder
	bench_stop(&bench);
}

static void rate__is_cut_at_once_and_recovers_step_by_step(void **state)
{
	struct bench bench = bench_with_link();

	(void)state;
	bench.parameters.cut_ns = 100;
	bench.parameters.recover_ns = 1000;
	bench_start(&bench);
	bench.now = 10000;
	report(&bench, 0.005, 0.4, 0);
	assert_int_equal(bench_view(&bench, 0).rate, GB);
	report(&bench, 0.01, 0, 0);
	assert_int_equal(bench_view(&bench, 0).rate, GB / 2);
	assert_float_equal(bench_view(&bench, 0).paused_share, 0.01, 1e-9);
	// The same congestion, told again.
	bench.now += 99;
	report(&bench, 0, 0.5, 0);
	assert_int_equal(bench_view(&bench, 0).rate, GB / 2);
	bench.now += 1;
	report(&bench, 0, 0, 1);
	assert_int_equal(bench_view(&bench, 0).rate, GB / 4);
	bench.now += 100;
	report(&bench, 0, 0.5, 0);
	assert_int_equal(bench_view(&bench, 0).rate, GB / 8);
	for (unsigned i = 0; i < 2; i++) {
		bench.now += 100;
		report(&bench, 1, 1, 1);
		assert_int_equal(bench_view(&bench, 0).rate, GB / 16);
	}
	assert_int_equal(sched_counters(bench.sched)->cuts, 5);
	bench.now += 999;
	report(&bench, 0, 0, 0);
	assert_int_equal(bench_view(&bench, 0).rate, GB / 16);
	bench.now += 1;
	report(&bench, 0, 0, 0);
	assert_int_equal(bench_view(&bench, 0).rate, GB * 2 / 16);
	bench.now += 2500;
	report(&bench, 0, 0, 0);
	assert_int_equal(bench_view(&bench, 0).rate, GB * 4 / 16);
	bench.now += 500;
	report(&bench, 0, 0, 0);
	assert_int_equal(bench_view(&bench, 0).rate, GB * 5 / 16);
	bench.now += 1000000;
	report(&bench, 0, 0, 0);
	assert_int_equal(bench_view(&bench, 0).rate, GB);
	// A paused port is congested.
	bench_port(&bench, 0, true);
	assert_int_equal(bench_view(&bench, 0).rate, GB / 2);
	bench_stop(&bench);
}

// A pause is answered once, however long it is; when it is over, time alone restores the rate.
static void rate__is_back_soon_after_a_pause(void **state)
{
	struct bench bench = bench_with_link();

	(void)state;
	bench.parameters.recover_ns = 250;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 99);
	bench.now = 1000000;
	bench_port(&bench, 0, true);
	assert_int_equal(bench_view(&bench, 0).rate, GB / 2);
	bench.now += 1000000;
	bench_port(&bench, 0, true);
	assert_int_equal(bench_poll(&bench, 1), 0);
	report(&bench, 1, 0, 0);
	assert_int_equal(bench_view(&bench, 0).rate, GB / 2);
	assert_int_equal(sched_counters(bench.sched)->cuts, 1);
	assert_int_equal(bench_poll(&bench, 1), 1);
	assert_int_equal(bench.grants[0].rate_bytes_per_second, GB / 2);
	bench.now += 2000; // the event's time
	assert_int_equal(bench_poll(&bench, 1), 1);
	assert_int_equal(bench.grants[0].rate_bytes_per_second, GB);
	// The same share without a pause before is congestion, and nothing is restored after it.
	report(&bench, 1, 0, 0);
	bench.now += 1000000;
	assert_int_equal(bench_poll(&bench, 1), 1);
	assert_int_equal(bench.grants[0].rate_bytes_per_second, GB / 2);
	bench_stop(&bench);
}

static void rate__cut_slows_the_grants(void **state)
{
	struct bench bench = bench_with_link();

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 9);
	bench.now = 1000000;
	report(&bench, 1, 0, 0);
	assert_int_equal(bench_poll(&bench, 9), 1);
	assert_int_equal(bench.grants[0].rate_bytes_per_second, GB / 2);
	bench.now = 1001999;
	assert_int_equal(bench_poll(&bench, 9), 0);
	bench.now = 1002000;
	assert_int_equal(bench_poll(&bench, 9), 1);
	bench_stop(&bench);
}

static void time__does_not_go_back(void **state)
{
	struct bench bench = bench_with_link();

	(void)state;
	bench_start(&bench);
	bench_credit_all(&bench);
	bench_announce(&bench, 9);
	bench.now = 5000;
	assert_int_equal(bench_poll(&bench, 9), 1);
	bench.now = 10;
	assert_int_equal(bench_poll(&bench, 9), 0);
	bench.now = UINT64_MAX / 2;
	assert_int_equal(bench_poll(&bench, 9), 1);
	bench_stop(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bucket__grants_at_the_rate),
		cmocka_unit_test(bucket__saves_up_a_burst),
		cmocka_unit_test(suspension__is_no_pause),
		cmocka_unit_test(bucket__loses_no_fractions),
		cmocka_unit_test(bucket__follows_the_mean_size),
		cmocka_unit_test(bucket__owes_what_the_first_events_take_more),
		cmocka_unit_test(bucket__of_timed_shift_counts_idle_windows),
		cmocka_unit_test(bucket__of_each_builder_is_its_own),
		cmocka_unit_test(window__limits_bytes_in_flight),
		cmocka_unit_test(paused__port_is_granted_nothing),
		cmocka_unit_test(rate__is_cut_at_once_and_recovers_step_by_step),
		cmocka_unit_test(rate__is_back_soon_after_a_pause),
		cmocka_unit_test(rate__cut_slows_the_grants),
		cmocka_unit_test(rate__that_is_not_known_is_not_cut),
		cmocka_unit_test(rate__that_becomes_known_paces),
		cmocka_unit_test(time__does_not_go_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
