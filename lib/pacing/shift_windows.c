// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pacing/shift_windows.h"

#include <math.h>

#define NS_PER_US     1000u
#define CLOCK_SPAN_NS (((uint64_t)UINT32_MAX + 1) * NS_PER_US)

void shift_windows_make(struct shift_windows *windows,
			const struct shift_windows_parameters *parameters)
{
	*windows = (struct shift_windows){
		.parameters = *parameters,
		.ns_per_tick = 1e9 / (double)parameters->ticks_per_second,
	};
}

void shift_windows_set_clock(struct shift_windows *windows, uint32_t us, uint64_t at)
{
	windows->clock_us = us;
	windows->clock_at = at;
}

static uint64_t ticks_of(const struct shift_windows *windows, uint64_t ns)
{
	return (uint64_t)ceil((double)ns / windows->ns_per_tick);
}

// The time of the manager's clock, ns.
static uint64_t clock_ns(const struct shift_windows *windows, uint64_t now)
{
	const int64_t since =
	    (int64_t)((double)(int64_t)(now - windows->clock_at) * windows->ns_per_tick);

	return ((uint64_t)windows->clock_us * NS_PER_US + (uint64_t)since) % CLOCK_SPAN_NS;
}

static uint32_t position_in(const struct shift_windows_parameters *p, uint64_t phase)
{
	const uint64_t n = p->n_positions;
	const uint64_t shift = p->is_folded && n > 1 ? 1 + phase % (n - 1) : phase % n;

	return (uint32_t)((p->rank + shift) % n);
}

void shift_windows_advance(struct shift_windows *windows, uint64_t now)
{
	const struct shift_windows_parameters *p = &windows->parameters;
	const uint64_t length = p->send_ns + p->idle_ns, time = clock_ns(windows, now);
	const uint64_t in_phase = time % length;

	windows->number = time / length;
	windows->position = position_in(p, windows->number);
	windows->begins = now - (uint64_t)((double)in_phase / windows->ns_per_tick);
	windows->idles = now;
	if (in_phase < p->send_ns)
		windows->idles = now + ticks_of(windows, p->send_ns - in_phase);
	windows->ends = now + ticks_of(windows, length - in_phase);
}
