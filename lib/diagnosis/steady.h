// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// From counters that are looked at again and again: for how long something has been so. The caller
// passes the time of each look, in ns; times begin with 1.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// For how long a condition has been true at each look.
struct steady_condition {
	uint64_t since; // time of the look that found it true first; 0: it is not
};

static inline uint64_t steady_holds(struct steady_condition *condition, bool holds, uint64_t now)
{
	if (!holds)
		condition->since = 0;
	else if (condition->since == 0)
		condition->since = now;
	return holds ? now - condition->since + 1 : 0;
}

// For how long a counter has not changed, and its rate.
struct steady_counter {
	uint64_t value, changed_at; // changed_at 0: it was not looked at yet
	uint64_t rate_value, rate_at;
	double rate; // per second, over the last window
};

#define STEADY_WINDOW_NS UINT64_C(2000000000)

static inline uint64_t steady_unchanged(struct steady_counter *counter, uint64_t value,
					uint64_t now)
{
	if (counter->changed_at == 0)
		*counter = (struct steady_counter){ value, now, value, now, 0 };
	if (value != counter->value)
		counter->changed_at = now;
	counter->value = value;
	if (now - counter->rate_at >= STEADY_WINDOW_NS) {
		// A counter that has restarted from 0 has not grown.
		counter->rate = value > counter->rate_value
				    ? (double)(value - counter->rate_value) * 1e9 /
					  (double)(now - counter->rate_at)
				    : 0;
		counter->rate_value = value;
		counter->rate_at = now;
	}
	return now - counter->changed_at;
}
