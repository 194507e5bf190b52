// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Quantiles of the latencies of a time between two snapshots, from the histograms in them.
#pragma once

#include <cjson/cJSON.h>

#define LATENCY_WINDOW_BOUNDS 40 // le_1 ... le_549755813888

struct latency_counts {
	double below[LATENCY_WINDOW_BOUNDS]; // events that took less than 2^i ns
	double all;
	double most; // ns that one took since the start; 0: not told
};

// Sums the histograms `key` of all builders of a snapshot.
void latency_counts_take(struct latency_counts *counts, const cJSON *snapshot, const char *key);

// The time in ns that `share` of the events between two counts did not exceed, as if the events
// between two bounds were spread evenly, and none had taken longer than any did; negative: there
// were no events.
double latency_window_quantile(const struct latency_counts *before,
			       const struct latency_counts *after, double share);
