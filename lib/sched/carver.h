// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Cuts one piece of memory into parts. Without memory it only adds up what the parts take, so that
// the same code measures and lays out.
//
// Threads: belongs to one thread.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CARVER_ALIGNMENT 64u

struct carver {
	uint8_t *memory; // NULL: measure only
	size_t used;
};

// The next part, aligned to a cache line; NULL when measuring.
static inline void *carve(struct carver *carver, size_t count, size_t size)
{
	size_t at = carver->used;

	carver->used += (count * size + CARVER_ALIGNMENT - 1) & ~(size_t)(CARVER_ALIGNMENT - 1);
	return carver->memory != NULL ? carver->memory + at : NULL;
}
