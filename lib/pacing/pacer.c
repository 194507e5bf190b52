// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "pacing/pacer.h"

#define FRACTION_BITS 32

typedef unsigned __int128 wide;

// A full_at that is never reached.
#define NEVER (~(wide)0)

// Rounded up, so that the rate is never exceeded.
static uint64_t byte_ticks(uint64_t ticks_per_second, uint64_t rate)
{
	wide ticks;

	if (rate == PACER_UNLIMITED)
		return 0;
	ticks = (((wide)ticks_per_second << FRACTION_BITS) + rate - 1) / rate;
	return ticks < UINT64_MAX ? (uint64_t)ticks : UINT64_MAX;
}

// The time that these bytes and `part` / 2^64 of one more take.
static wide time_of(uint64_t bytes, uint64_t part, uint64_t ticks)
{
	return (wide)bytes * ticks + (((wide)part * ticks) >> 64);
}

static void use_rate(struct pacer *pacer, uint64_t rate)
{
	pacer->rate = rate;
	if (rate == 0) {
		pacer->full_at = NEVER;
		pacer->depth = 0;
		return;
	}
	pacer->byte_ticks = byte_ticks(pacer->ticks_per_second, rate);
	pacer->depth = (wide)pacer->byte_ticks * pacer->burst;
	if (pacer->depth == 0)
		pacer->depth = 1; // unlimited: the bucket always has room
}

// Stores how many bytes are missing in the bucket.
static void store_missing(struct pacer *pacer, uint64_t now)
{
	wide time = (wide)now << FRACTION_BITS, missing;

	if (pacer->rate == 0)
		return; // stored when the rate was set to 0
	pacer->missing = 0;
	pacer->missing_part = 0;
	if (pacer->byte_ticks == 0 || pacer->full_at <= time)
		return;
	missing = pacer->full_at - time;
	pacer->missing = (uint64_t)(missing / pacer->byte_ticks);
	pacer->missing_part = (uint64_t)(((missing % pacer->byte_ticks) << 64) / pacer->byte_ticks);
}

void pacer_init(struct pacer *pacer, uint64_t ticks_per_second, uint64_t rate, uint32_t burst,
		uint64_t now)
{
	*pacer = (struct pacer){ .ticks_per_second = ticks_per_second };
	pacer_set(pacer, rate, burst, now);
}

void pacer_set(struct pacer *pacer, uint64_t rate, uint32_t burst, uint64_t now)
{
	store_missing(pacer, now);
	pacer->burst = burst;
	use_rate(pacer, rate);
	if (rate != 0)
		pacer->full_at = ((wide)now << FRACTION_BITS) +
				 time_of(pacer->missing, pacer->missing_part, pacer->byte_ticks);
}
