// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Laws of time: how long something takes, drawn at random each time.
//
// Threads: the times of a histogram are not changed while they are used; else as a generator of
// random numbers.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

enum sim_law_kind {
	SIM_LAW_FIXED,       // always the mean
	SIM_LAW_EXPONENTIAL, // of this mean
	SIM_LAW_HISTOGRAM,   // one of a list of times, with probabilities in proportion to weights
};

// The times of a histogram.
struct sim_times {
	uint64_t *ns;   // [n]
	double *shares; // [n]: sum of the weights up to this time, as a share of all
	uint32_t n, room;
	double mean_ns;
};

// Adds a time. weight: at least 0. False: no memory.
bool sim_times_add(struct sim_times *times, uint64_t ns, double weight);
// Ends a list of at least one time with a weight above 0, before the first draw.
void sim_times_finish(struct sim_times *times);
void sim_times_free(struct sim_times *times);

struct sim_law {
	enum sim_law_kind kind;
	uint64_t mean_ns; // of a histogram: its times are scaled to it; 0: they are not
	const struct sim_times *times; // of a histogram
};

// Time in ns. Only laws that are not fixed use the generator.
uint64_t sim_law_draw(const struct sim_law *law, struct random *random);
