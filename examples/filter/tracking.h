// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Finds the tracks of an event, and decides about it.
//
// Each segment is extrapolated to station 1 with its estimate of q/p. Each hit in the window there
// gives a better q/p, with which the windows in stations 2 and 3 are narrower; the nearest hit in
// each is taken. The hits that agree best with one q/p make the track.
#pragma once

#include <stdbool.h>

#include "hits.h"

struct track {
	unsigned segment;
	double q_over_p; // from all stations, in 1/(MeV/c)
	double pt;       // transverse momentum, MeV/c
	double chi2;     // of the hits: squares of distances by half-widths of the windows
};

// Half-widths of windows, in mm. The model's own error grows with 1/p (`./filter --table`).
#define ESTIMATE_SIGMAS 3.0      // of the estimate, in station 1
#define WINDOW_X        2.0      // of hits
#define WINDOW_X_P      600000.0 // mm MeV/c
#define WINDOW_Y        2.0
#define WINDOW_Y_P      600000.0

// The lines of the decision.
#define LINE_HIGH_PT 0      // one track with pT > HIGH_PT
#define LINE_PAIR    1      // two tracks of opposite charge with pT > PAIR_PT
#define LINE_DAMAGED 2      // a source is missing or malformed: accepted, for experts
#define HIGH_PT      4000.0 // MeV/c
#define PAIR_PT      2000.0

// Returns the number of tracks, at most one per segment, in the segments' order.
unsigned tracking_find(const struct hit_event *event, struct track tracks[MAX_SEGMENTS]);

// The lines that select an event with these tracks; 0: rejected.
uint64_t tracking_lines(const struct track *tracks, unsigned n);
