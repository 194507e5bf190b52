// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// From the processor's tick counter to CLOCK_MONOTONIC nanoseconds, so that a consumer in another
// process can compare times. Each lcore has its own, and sets it anew now and then.
#pragma once

#include <stdint.h>
#include <time.h>

#define TICK_MOMENT_TRIES 4

// One moment, told by both.
struct tick_moment {
	uint64_t ticks;
	uint64_t ns; // CLOCK_MONOTONIC
};

struct tick_clock {
	struct tick_moment anchor;
	uint64_t ns_per_tick; // fixed point, 32 bits of fraction
};

static inline uint64_t tick_clock_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now); // vDSO, no system call
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// This moment. Of some tries the one that took least time: whoever is interrupted between the two
// clocks sees them apart by as much, and an error of 1 us in 20 ms is one of 50 us a second later.
static inline struct tick_moment tick_moment_read(uint64_t (*read_ticks)(void))
{
	struct tick_moment best = { 0 };
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TICK_MOMENT_TRIES; i++) {
		uint64_t before = read_ticks();
		uint64_t ns = tick_clock_monotonic_ns();
		uint64_t passed = read_ticks() - before;

		if (passed >= least)
			continue;
		least = passed;
		best = (struct tick_moment){ before + passed / 2, ns };
	}
	return best;
}

// The counter's rate between two moments; 0 if no time is between them.
static inline uint64_t tick_moments_rate(struct tick_moment from, struct tick_moment to)
{
	return to.ns > from.ns ? (uint64_t)((__uint128_t)(to.ticks - from.ticks) * 1000000000u /
					    (to.ns - from.ns))
			       : 0;
}

// ticks_per_second >= 1.
static inline void tick_clock_set(struct tick_clock *clock, struct tick_moment moment,
				  uint64_t ticks_per_second)
{
	clock->anchor = moment;
	clock->ns_per_tick = (1000000000ull << 32) / ticks_per_second;
}

// Anchors the clock anew, and takes the rate from what passed since it was anchored last: the
// stated one is off by some tenths of a percent in virtual machines. A rate that differs by more
// than 1 % is not believed (a machine that was suspended).
static inline void tick_clock_renew(struct tick_clock *clock, struct tick_moment moment)
{
	uint64_t passed = moment.ticks - clock->anchor.ticks;
	uint64_t old = clock->ns_per_tick, rate = old;

	if (passed > 0)
		rate = (uint64_t)(((__uint128_t)(moment.ns - clock->anchor.ns) << 32) / passed);
	if (rate > old - old / 100 && rate < old + old / 100)
		clock->ns_per_tick = rate;
	clock->anchor = moment;
}

static inline uint64_t tick_clock_duration_ns(const struct tick_clock *clock, uint64_t ticks)
{
	return (uint64_t)(((__uint128_t)ticks * clock->ns_per_tick) >> 32);
}

// The time at which the counter had, or will have, the value `ticks`.
static inline uint64_t tick_clock_ns(const struct tick_clock *clock, uint64_t ticks)
{
	if (ticks >= clock->anchor.ticks)
		return clock->anchor.ns +
		       tick_clock_duration_ns(clock, ticks - clock->anchor.ticks);
	return clock->anchor.ns - tick_clock_duration_ns(clock, clock->anchor.ticks - ticks);
}
