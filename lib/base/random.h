// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Pseudo-random numbers that are the same on every machine: splitmix64 (Steele, Lea, Flood 2014).
//
// Threads: a generator belongs to one thread.
#pragma once

#include <stdint.h>

struct random {
	uint64_t state;
};

// A bijection on 64 bits in which every input bit affects every output bit.
static inline uint64_t random_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint64_t random_next(struct random *random)
{
	random->state += UINT64_C(0x9e3779b97f4a7c15);
	return random_mix(random->state);
}

// A separate generator for each purpose; a purpose is any number.
static inline struct random random_fork(uint64_t seed, uint64_t purpose)
{
	return (struct random){ random_mix(seed + random_mix(purpose)) };
}

// A whole number below `below` from 64 random bits: all are equally likely, except for 2^-32.
static inline uint32_t random_scale(uint64_t bits, uint32_t below)
{
	return (uint32_t)((bits >> 32) * below >> 32);
}

static inline uint32_t random_below(struct random *random, uint32_t below)
{
	return random_scale(random_next(random), below);
}

// Uniform in [0, 1).
static inline double random_uniform(struct random *random)
{
	return (double)(random_next(random) >> 11) * 0x1p-53;
}
