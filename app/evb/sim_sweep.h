// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A sweep of `evb sim`: a simulation for each combination of values of some keys, each in a process
// of its own, several at a time. The results are stored in one file, which is replaced as a whole
// after each point, and in which the points are always in the order of their values; so it does not
// depend on the number of processes. A point that the file has, of the same configuration and
// overrides, is not simulated again.
#pragma once

#include <cjson/cJSON.h>

#define SIM_SWEEP_MAX_AXES   8u
#define SIM_SWEEP_MAX_VALUES 256u
#define SIM_SWEEP_MAX_POINTS 100000u
#define SIM_SWEEP_VALUE_SIZE 256u // of PATH=VALUE

// A key and its values, as overrides: PATH=VALUE.
struct sim_axis {
	char (*values)[SIM_SWEEP_VALUE_SIZE];
	unsigned n_values;
};

// Reads PATH=A,B,...; returns NULL, or what is wrong.
const char *sim_axis_read(struct sim_axis *axis, const char *text);
void sim_axis_free(struct sim_axis *axis);

struct sim_sweep {
	const struct sim_axis *axes;
	unsigned n_axes;
	const char *config;           // file
	const char *const *overrides; // of all points
	unsigned n_overrides;
	unsigned jobs;
	const char *file; // of the results; NULL: none
	// Simulates one point. NULL: an error, which was printed.
	cJSON *(*run)(void *context, const char *const *values, unsigned n_values);
	void *context;
};

// Runs the points that are missing, prints a line for each point, and returns the exit status.
// *points receives the list of the points with results, which the caller deletes; NULL: the sweep
// was refused.
int sim_sweep_run(const struct sim_sweep *sweep, cJSON **points);
