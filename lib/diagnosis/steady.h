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

// The rate of a counter.
struct steady_counter {
	uint64_t value, at; // at the begin of the window; at 0: it was not looked at yet
	double rate;        // per second, over the last window
};

#define STEADY_WINDOW_NS UINT64_C(2000000000)

static inline void steady_count(struct steady_counter *counter, uint64_t value, uint64_t now)
{
	if (counter->at == 0)
		*counter = (struct steady_counter){ value, now, 0 };
	if (now - counter->at < STEADY_WINDOW_NS)
		return;
	// A counter that has restarted from 0 has not grown.
	counter->rate = value > counter->value
			    ? (double)(value - counter->value) * 1e9 / (double)(now - counter->at)
			    : 0;
	counter->value = value;
	counter->at = now;
}
