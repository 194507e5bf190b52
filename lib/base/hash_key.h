// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A keyed hash of numbers that remote hosts choose, for tables with chains. Without a key, a host
// could choose numbers that all fall into one chain. The key is random, so that no host knows it.
// The hash multiplies and shifts twice; it is no cryptographic one.
//
// Any thread.
#pragma once

#include <stdint.h>

struct hash_key {
	uint64_t mask;       // xored to the number
	uint64_t multiplier; // odd
};

// Draws a key from the kernel's generator, or, if that is not ready yet, from clock and process id.
struct hash_key hash_key_draw(void);

// The hash is the result's low bits. The second multiplier is that of splitmix64.
static inline uint64_t hash_number(const struct hash_key *key, uint64_t number)
{
	uint64_t hash = (number ^ key->mask) * key->multiplier;

	return ((hash ^ hash >> 32) * UINT64_C(0x94d049bb133111eb)) >> 32;
}
