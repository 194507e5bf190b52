// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The estimate of a peer's clock, from frames with random delays in both directions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "control/clock.h"

// The peer's clock is ahead by OFFSET at time 0 and gains `drift_ppm`.
#define OFFSET 3000000000u

static struct random random_of;

static uint32_t below(uint32_t n)
{
	return (uint32_t)(random_next(&random_of) % n);
}

static double peer_clock(double own, double drift_ppm)
{
	return own + OFFSET + own * drift_ppm * 1e-6;
}

// One exchange from `begin` on: own frame, peer's response. Returns the time of its arrival.
static double exchange(struct control_clock *clock, double begin, double drift_ppm,
		       uint32_t least_delay, uint32_t jitter)
{
	const double arrives = begin + least_delay + below(jitter + 1);
	const double leaves = arrives + below(500);
	const double back = leaves + least_delay + below(jitter + 1);
	const uint32_t received = (uint32_t)(uint64_t)peer_clock(arrives, drift_ppm);
	const uint32_t sent = (uint32_t)(uint64_t)peer_clock(leaves, drift_ppm);

	control_clock_add(clock, sent, (uint32_t)(uint64_t)begin, sent - received,
			  (uint32_t)(uint64_t)back);
	return back;
}

// How far the estimate is off, us; also checks that its error says at least that.
static int32_t off_by(const struct control_clock *clock, double now, double drift_ppm)
{
	struct control_clock_estimate estimate;
	uint32_t truth = (uint32_t)(uint64_t)peer_clock(now, drift_ppm) - (uint32_t)(uint64_t)now;
	int32_t off;

	assert_true(control_clock_estimate(clock, (uint32_t)(uint64_t)now, &estimate));
	off = (int32_t)(estimate.offset_us - truth);
	assert_true(abs(off) <= (int32_t)estimate.error_us + 1);
	return off;
}

static void estimate__is_unknown_without_a_frame(void **state)
{
	const struct control_clock clock = { 0 };
	struct control_clock_estimate estimate;

	(void)state;
	assert_false(control_clock_estimate(&clock, 5, &estimate));
}

static void estimate__keeps_within_its_error(void **state)
{
	static const double drifts[] = { -95, -20, 0, 60, 95 };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct control_clock clock = { 0 };
		double now = 1e6;

		random_of = random_fork(7, i);
		// 20 minutes: own and peer's clock begin anew meanwhile.
		for (unsigned n = 0; n < 60000; n++) {
			now = exchange(&clock, now + 20000, drifts[i], 20, n % 10 == 0 ? 40 : 5000);
			(void)off_by(&clock, now + below(20000), drifts[i]);
		}
	}
}

// Delays of 20 us, sometimes more: the estimate is better than the delay.
static void estimate__is_better_than_the_delay(void **state)
{
	struct control_clock clock = { 0 };
	struct control_clock_estimate estimate;
	double now = 0;

	(void)state;
	random_of = random_fork(8, 0);
	for (unsigned n = 0; n < 100; n++)
		now = exchange(&clock, now + 10000, 10, 20, n % 3 == 0 ? 5 : 1000);
	assert_true(control_clock_estimate(&clock, (uint32_t)(uint64_t)now, &estimate));
	assert_in_range(estimate.error_us, 1, 30);
	assert_true(abs(off_by(&clock, now, 10)) <= 25);
}

static void estimate__follows_a_peer_that_restarts(void **state)
{
	struct control_clock clock = { 0 };
	struct control_clock_estimate estimate;

	(void)state;
	control_clock_add(&clock, 5000, 1000, 10, 1030);
	assert_true(control_clock_estimate(&clock, 1030, &estimate));
	assert_in_range(estimate.offset_us, 3960, 4000);
	control_clock_add(&clock, 70, 2000, 10, 2030);
	assert_true(control_clock_estimate(&clock, 2030, &estimate));
	assert_in_range(estimate.offset_us + 2000, 40, 70);
	assert_in_range(estimate.error_us, 10, 14);
}

static void add__ignores_frames_that_tell_nothing(void **state)
{
	struct control_clock clock = { 0 };
	struct control_clock_estimate estimate;

	(void)state;
	// An echo of a stamp of half an hour ago, and one that is younger than its age.
	control_clock_add(&clock, 5000, 1000, 10, 2200000000u);
	control_clock_add(&clock, 5000, 1000, 900, 1500);
	assert_false(control_clock_estimate(&clock, 1500, &estimate));
	control_clock_add(&clock, 5000, 1000, 10, 1030);
	assert_true(control_clock_estimate(&clock, 1030, &estimate));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(estimate__is_unknown_without_a_frame),
		cmocka_unit_test(estimate__keeps_within_its_error),
		cmocka_unit_test(estimate__is_better_than_the_delay),
		cmocka_unit_test(estimate__follows_a_peer_that_restarts),
		cmocka_unit_test(add__ignores_frames_that_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
