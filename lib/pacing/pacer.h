// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A token bucket in fixed point: how much may be sent, at a rate, with bursts of at most so many
// bytes. Pure: time is ticks that the caller gives, never smaller than those given before.
//
// The bucket is kept as the time at which it will be full again: nothing ticks, and no division
// is needed but for a change of rate. A take is allowed while anything is in the bucket, and may
// leave a debt that the next one waits for: a packet may be larger than the burst, and in the long
// run the rate is kept. In any time t less than burst + rate * t bytes are taken, and the last
// take.
//
// Threads: one owner.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PACER_UNLIMITED UINT64_MAX // bytes a second: always ready

struct pacer {
	unsigned __int128 full_at; // ticks, 32 bits of fraction
	unsigned __int128 depth;   // the burst's time, same unit
	uint64_t byte_ticks;       // ticks a byte, 32 bits of fraction
	uint64_t ticks_per_second;
	uint64_t rate;         // bytes a second
	uint64_t missing;      // bytes in the bucket, when the rate was set last
	uint64_t missing_part; // of one more, in 2^-64
	uint32_t burst;        // bytes
};

// A full bucket. ticks_per_second >= 1; rate: bytes a second, 0 (nothing is ever sent) to
// PACER_UNLIMITED; burst >= 1 bytes.
void pacer_init(struct pacer *pacer, uint64_t ticks_per_second, uint64_t rate, uint32_t burst,
		uint64_t now);

// What is missing in the bucket, or owed, stays the same number of bytes; while the rate is 0
// nothing comes in. Divides.
void pacer_set(struct pacer *pacer, uint64_t rate, uint32_t burst, uint64_t now);

// Whether something may be taken.
static inline bool pacer_ready(const struct pacer *pacer, uint64_t now)
{
	return pacer->full_at < ((unsigned __int128)now << 32) + pacer->depth;
}

// Takes `bytes` of a packet, or of several that are sent at once; false, and nothing taken, if the
// pacer is not ready.
static inline bool pacer_take(struct pacer *pacer, uint32_t bytes, uint64_t now)
{
	unsigned __int128 time = (unsigned __int128)now << 32;

	if (pacer->full_at >= time + pacer->depth)
		return false;
	if (pacer->full_at < time)
		pacer->full_at = time;
	pacer->full_at += (unsigned __int128)pacer->byte_ticks * bytes;
	return true;
}
