// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// From the processor's tick counter to CLOCK_MONOTONIC nanoseconds, so that a consumer in another
// process can compare times. Each lcore has its own, and sets it anew now and then.
#pragma once

#include <stdint.h>
#include <time.h>

struct tick_clock {
	uint64_t anchor_ticks;
	uint64_t anchor_ns;
	uint64_t ns_per_tick; // fixed point, 32 bits of fraction
};

static inline uint64_t tick_clock_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now); // vDSO, no system call
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// `ticks` is the counter's value now; ticks_per_second >= 1 is its rate.
static inline void tick_clock_set(struct tick_clock *clock, uint64_t ticks,
				  uint64_t ticks_per_second)
{
	clock->anchor_ticks = ticks;
	clock->anchor_ns = tick_clock_monotonic_ns();
	clock->ns_per_tick = (1000000000ull << 32) / ticks_per_second;
}

// Anchors the clock anew, and takes the rate from what passed since it was anchored last: the
// stated one is off by some tenths of a percent in virtual machines. A rate that differs by more
// than 1 % is not believed (a machine that was suspended). ns: CLOCK_MONOTONIC at `ticks`.
static inline void tick_clock_renew(struct tick_clock *clock, uint64_t ticks, uint64_t ns)
{
	uint64_t passed = ticks - clock->anchor_ticks;
	uint64_t old = clock->ns_per_tick, rate = old;

	if (passed > 0)
		rate = (uint64_t)(((__uint128_t)(ns - clock->anchor_ns) << 32) / passed);
	if (rate > old - old / 100 && rate < old + old / 100)
		clock->ns_per_tick = rate;
	clock->anchor_ticks = ticks;
	clock->anchor_ns = ns;
}

static inline uint64_t tick_clock_duration_ns(const struct tick_clock *clock, uint64_t ticks)
{
	return (uint64_t)(((__uint128_t)ticks * clock->ns_per_tick) >> 32);
}

// The time at which the counter had, or will have, the value `ticks`.
static inline uint64_t tick_clock_ns(const struct tick_clock *clock, uint64_t ticks)
{
	if (ticks >= clock->anchor_ticks)
		return clock->anchor_ns +
		       tick_clock_duration_ns(clock, ticks - clock->anchor_ticks);
	return clock->anchor_ns - tick_clock_duration_ns(clock, clock->anchor_ticks - ticks);
}
