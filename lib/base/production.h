// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// When the events of a generator come: evenly, or in spills, as from an accelerator: some events
// evenly in the time of a spill, then none until its period is over. Times are ticks of the
// caller's clock since the first event; rounding is that of double.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// How the configuration says it.
struct production_spill {
	uint64_t events;      // of a spill; 0: no spills
	uint64_t duration_ns; // of a spill; 0: its events come at once
	uint64_t period_ns;   // from the beginning of a spill to that of the next one; >= duration
};

struct production {
	double ticks_per_event; // within a spill, if there are spills; 0: no limit
	uint64_t per_spill;     // events; 0: no spills
	double period;          // ticks
};

// `rate`: events per second without spills; 0: no limit. `hz`: ticks per second.
static inline struct production production_make(double rate, const struct production_spill *spill,
						double hz)
{
	const double ticks_per_ns = hz * 1e-9;

	if (spill->events == 0)
		return (struct production){ .ticks_per_event = rate > 0 ? hz / rate : 0 };
	return (struct production){
		.ticks_per_event =
		    (double)spill->duration_ns * ticks_per_ns / (double)spill->events,
		.per_spill = spill->events,
		.period = (double)spill->period_ns * ticks_per_ns,
	};
}

static inline bool production_is_limited(const struct production *production)
{
	return production->ticks_per_event > 0 || production->per_spill > 0;
}

// The time at which an event comes; 0 for the first one.
static inline double production_due(const struct production *production, uint64_t event)
{
	uint64_t spill;

	if (production->per_spill == 0)
		return (double)event * production->ticks_per_event;
	spill = event / production->per_spill;
	return (double)spill * production->period +
	       (double)(event - spill * production->per_spill) * production->ticks_per_event;
}

// The events that are over after a time: each takes ticks_per_event. The production is limited.
static inline uint64_t production_made(const struct production *production, uint64_t ticks)
{
	double rest = (double)ticks, of_spill = (double)production->per_spill;
	uint64_t spills;

	if (production->per_spill == 0)
		return (uint64_t)(rest / production->ticks_per_event);
	spills = (uint64_t)(rest / production->period);
	rest -= (double)spills * production->period;
	if (rest < of_spill * production->ticks_per_event)
		of_spill = rest / production->ticks_per_event;
	return spills * production->per_spill + (uint64_t)of_spill;
}
