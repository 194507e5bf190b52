// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Generated fragment payloads. The source id suffices to verify them.
//
// A fragment is a sequence of 64-bit little-endian words, the last of which is cut at the size of
// the fragment. Word 0 is the seed:
//
//   bits  0-15 source id
//   bits 16-31 number of the fragment in its MFP
//   bits 32-39 stream: any number by which MFPs of one source differ
//   bits 40-63 check: the upper 24 bits of (bits 0-39) * 0x9e3779b97f4a7c15 mod 2^64
//
// and word i, i >= 1, is mix(seed + i * 0x9e3779b97f4a7c15), where mix(z) = y ^ y >> 32 with
// y = (z ^ z >> 32) * 0xd6e8feb86659fd93. Every changed byte of a fragment of 8 bytes or more is
// detected; of a shorter fragment only the source id can be verified.
//
// Pure functions; any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/mfp.h"

uint64_t pattern_seed(uint16_t source_id, uint16_t number, uint8_t stream);

// The fields of a seed.
static inline uint16_t pattern_number(uint64_t seed)
{
	return (uint16_t)(seed >> 16);
}

static inline uint8_t pattern_stream(uint64_t seed)
{
	return (uint8_t)(seed >> 32);
}

void pattern_fill(uint8_t *bytes, size_t size, uint64_t seed);

// True if the bytes are a generated fragment of this source. 0 bytes are one.
bool pattern_check(const uint8_t *bytes, size_t size, uint16_t source_id);

// Checks the fragments of a generated MFP, except ODIN fragments and missing ones, and their order:
// numbers rise from 0, and all fragments have the same stream. Returns the number of wrong
// fragments.
unsigned pattern_check_mfp(const struct mfp *mfp);
