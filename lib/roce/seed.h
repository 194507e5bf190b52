// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Random numbers for first PSNs and communication ids: they must differ from those of the last
// start, and a peer that does not know the seed cannot predict them. Splitmix64 (Steele, Lea, Flood
// 2014); not cryptographic.
#pragma once

#include <stdint.h>

static inline uint64_t seed_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint64_t seed_next(uint64_t *seed)
{
	*seed += UINT64_C(0x9e3779b97f4a7c15);
	return seed_mix(*seed);
}
