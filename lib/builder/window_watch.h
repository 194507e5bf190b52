// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Counts the windows of a timed shift in which a builder receives data, and those in which several
// nodes send to it: a conflict (pacing/shift_windows.h). A window is taken to begin half an idle
// window early and to end half an idle window late, so that errors of clocks below that are no
// conflicts. Builders of one node share its link; each of them counts what it receives.
//
// Threads: one; others may read the counters.
#pragma once

#include "pacing/shift_windows.h"

struct window_watch_counters {
	uint64_t windows;   // in which data arrived
	uint64_t conflicts; // of these, windows with data of several nodes
};

struct window_watch {
	struct shift_windows windows;
	uint64_t early;  // ticks by which windows begin early
	uint64_t number; // of the window of the last data
	uint32_t node;   // that sent first in this window
	bool has_begun;  // there is such a window
	bool conflicts;  // it is counted as a conflict
	struct window_watch_counters counters;
};

// The rank and the positions of the parameters are not used.
void window_watch_make(struct window_watch *watch,
		       const struct shift_windows_parameters *parameters);

// Data of another node arrived.
void window_watch_add(struct window_watch *watch, uint32_t node, uint64_t arrival);
