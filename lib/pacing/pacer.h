// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A token bucket in fixed point. It permits a rate, with bursts of a limited number of bytes. Pure:
// the caller passes the time, in ticks that never go back.
//
// The state of the bucket is the time at which it will be full again. So nothing has to be updated
// regularly, and only a change of the rate needs a division. A take is permitted while the bucket
// holds anything, and may leave a debt that the next take waits for: a packet may be larger than
// the burst, and in the long run the rate is exact. In any time t, fewer than burst + rate * t
// bytes are taken, plus the last take.
//
// Threads: one owner.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PACER_UNLIMITED UINT64_MAX // a rate: the pacer is always ready

struct pacer {
	unsigned __int128 full_at; // ticks, 32 bits of fraction
	unsigned __int128 depth;   // ticks that fill the whole bucket, 32 bits of fraction
	uint64_t byte_ticks;       // ticks per byte, 32 bits of fraction
	uint64_t ticks_per_second;
	uint64_t rate;         // bytes/s
	uint64_t missing;      // bytes missing in the bucket when the rate was last set
	uint64_t missing_part; // and this part of one more, in 2^-64 bytes
	uint32_t burst;        // bytes
};

// Begins with a full bucket. ticks_per_second >= 1. rate: bytes/s, from 0 (nothing may be sent) to
// PACER_UNLIMITED. burst >= 1 byte.
void pacer_init(struct pacer *pacer, uint64_t ticks_per_second, uint64_t rate, uint32_t burst,
		uint64_t now);

// Sets rate and burst. The bytes that are missing in the bucket, or owed, stay the same; while the
// rate is 0 the bucket is not filled. Divides.
void pacer_set(struct pacer *pacer, uint64_t rate, uint32_t burst, uint64_t now);

// Whether something may be taken.
static inline bool pacer_ready(const struct pacer *pacer, uint64_t now)
{
	return pacer->full_at < ((unsigned __int128)now << 32) + pacer->depth;
}

// The first time at which something may be taken, if nothing is taken before.
static inline uint64_t pacer_ready_at(const struct pacer *pacer)
{
	if (pacer->full_at < pacer->depth)
		return 0;
	return (uint64_t)((pacer->full_at - pacer->depth) >> 32) + 1;
}

// Takes the bytes of a packet, or of several that are sent at once. False, and nothing is taken, if
// the pacer is not ready.
static inline bool pacer_take(struct pacer *pacer, uint32_t bytes, uint64_t now)
{
	if (!pacer_ready(pacer, now))
		return false;
	if (pacer->full_at < (unsigned __int128)now << 32)
		pacer->full_at = (unsigned __int128)now << 32;
	pacer->full_at += (unsigned __int128)pacer->byte_ticks * bytes;
	return true;
}

// The bucket was empty at the time `at`, or later: bytes that were not taken before are lost.
static inline void pacer_empty(struct pacer *pacer, uint64_t at)
{
	const unsigned __int128 full_at = ((unsigned __int128)at << 32) + pacer->depth;

	if (pacer->full_at < full_at)
		pacer->full_at = full_at;
}
