// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Converts the processor's tick counter to CLOCK_MONOTONIC nanoseconds, so that consumers in other
// processes can compare times. Each lcore has its own clock and renews it from time to time.
#pragma once

#include <stdint.h>
#include <time.h>

#define TICK_MOMENT_TRIES 4

// One moment on both clocks.
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

// Reads both clocks, several times, and returns the reading that took the least time: an interrupt
// between the two clocks would show up as a difference between them, and an error of 1 us over
// 20 ms would grow to 50 us after one second.
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

// The counter's rate between two moments, in ticks/s; 0 if no time passed between them.
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

// Moves the anchor to `moment` and measures the rate since the previous anchor: in virtual machines
// the stated rate is wrong by some tenths of a percent. A measured rate that differs by more than
// 1 % is ignored, as the machine may have been suspended.
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
