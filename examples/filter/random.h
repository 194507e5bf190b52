// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Pseudo-random numbers that are the same on every machine: splitmix64 (Steele, Lea, Flood 2014).
#pragma once

#include <math.h>
#include <stdint.h>

// Uniform in [0, 1).
static inline double uniform(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

// Uniform in [-limit, limit).
static inline double uniform_to(uint64_t *state, double limit)
{
	return limit * (2 * uniform(state) - 1);
}

// Mean 0, standard deviation 1 (Box-Muller).
static inline double gaussian(uint64_t *state)
{
	double radius = sqrt(-2 * log(1 - uniform(state)));

	return radius * cos(2 * M_PI * uniform(state));
}
