// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The points of a sweep, their results, and the file of these:
//
//     {"points": [{"key": HASH, "set": ["PATH=VALUE", ...], "result": {...}}, ...]}
//
// HASH is that of the program's version, the configuration file and all overrides of the point.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sim_sweep.h"

struct sim_points {
	const struct sim_sweep *sweep;
	unsigned n;
	cJSON **results; // NULL: not known
	uint64_t base;   // hash of what all points have in common
};

// Makes the points and takes the results that the file has. False: one line was printed.
bool sim_points_make(struct sim_points *points, const struct sim_sweep *sweep);
void sim_points_free(struct sim_points *points);

// The overrides of a point, one for each axis; the last axis changes fastest. Returns their number.
unsigned sim_points_values(const struct sim_points *points, unsigned point,
			   const char *values[SIM_SWEEP_MAX_AXES]);

// Replaces the file. False: one line was printed.
bool sim_points_save(const struct sim_points *points, const char *path);

// The list of the points with results, as in the file; it is independent of `points`.
cJSON *sim_points_list(const struct sim_points *points);

// Prints a table of the points with results.
void sim_points_print(const struct sim_points *points);
