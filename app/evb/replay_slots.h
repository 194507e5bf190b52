// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Slots for the events of a capture.
#pragma once

#include <stdint.h>

#include "builder/assembly.h"
#include "wire/mep.h"

#define REPLAY_SLOTS_SPARE     64u // beyond twice the events that the capture has open at a time
#define REPLAY_SLOTS_MOST      4096u
#define REPLAY_RING_BYTES      (2048ull << 20) // that the slots may take
#define REPLAY_SLOT_SIZE_LEAST (64u << 10)

static inline uint64_t replay_slot_size(uint64_t largest_event, unsigned n_sources,
					uint32_t packing)
{
	uint64_t size = largest_event +
			n_sources * (uint64_t)(MFP_HEADER_SIZE + MEP_DEFAULT_ALIGN) +
			assembly_smallest_slot(n_sources, packing);

	return size < REPLAY_SLOT_SIZE_LEAST ? REPLAY_SLOT_SIZE_LEAST : size;
}

static inline uint64_t replay_slots(uint64_t largest_open, uint64_t slot_size)
{
	uint64_t slots = 2 * largest_open + REPLAY_SLOTS_SPARE;

	if (slots > REPLAY_SLOTS_MOST)
		slots = REPLAY_SLOTS_MOST;
	if (slots > REPLAY_RING_BYTES / slot_size)
		slots = REPLAY_RING_BYTES / slot_size;
	return slots > 0 ? slots : 1;
}
