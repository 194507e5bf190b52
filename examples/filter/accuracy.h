// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How well the magnet model extrapolates: true trajectories against the model's.
#pragma once

#include <stdio.h>

#include "magnet.h"

#define N_MOMENTA 4
extern const double accuracy_momenta[N_MOMENTA]; // GeV/c

#define MOMENTUM_RESOLUTION 0.15 // of the estimate before the magnet

enum model {
	MODEL_CONSTANT,   // one C_B per station
	MODEL_POLYNOMIAL, // C_B by the slopes
	N_MODELS
};

// For one momentum and station, in mm. Quantiles of |x error|.
struct accuracy {
	double within_68[N_MODELS]; // true momentum
	double within_95[N_MODELS];
	double estimate_68[N_MODELS]; // momentum with a resolution of 15 %
	double estimate_90[N_MODELS];
	double straight_90; // a straight line
	double y_95;        // |y error|; the model leaves y straight
};

// Tracks of this momentum in the whole acceptance, from a fixed seed.
void accuracy_measure(double momentum, unsigned n_tracks, struct accuracy accuracy[N_STATIONS]);

// Means over all momenta and stations: how much worse the estimate is than the true momentum, and
// how much narrower windows for 90 % of the hits are than those of a straight line.
double accuracy_factor(struct accuracy all[N_MOMENTA][N_STATIONS], enum model model);
double accuracy_windows(struct accuracy all[N_MOMENTA][N_STATIONS], enum model model);

// Prints all this beside the published figures.
void accuracy_print(FILE *file);

// What the coefficients of the model should be.
struct fit {
	double centre_z;
	double constants[N_STATIONS];
	double coefficients[N_STATIONS][N_COEFFICIENTS];
};
void accuracy_fit(struct fit *fit);
void accuracy_print_fit(FILE *file);
