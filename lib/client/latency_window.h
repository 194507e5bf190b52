// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Quantiles of the latencies of the events between two readings, from the histograms in them.
#pragma once

#include "client/reading.h"

#define LATENCY_WINDOW_BOUNDS 40 // le_1 ... le_549755813888, bounds of 2^i ns

// The time in ns that a `share` (0 to 1) of the events between two readings did not exceed, over
// the histograms `key` of all builders. Events are assumed to be spread evenly between two bounds,
// and the result is not above the longest latency since the start. NAN: there were no events.
double latency_window_quantile(const struct reading *before, const struct reading *now,
			       const char *key, double share);

// The same of one histogram, {"le_1": ..., "inf": ..., "max": ...}.
double latency_window_of(const cJSON *before, const cJSON *now, double share);
