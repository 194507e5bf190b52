// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Where a builder's slots lie for peers that WRITE by RDMA: what the manager is told in BUILDER,
// grants and requests carry, and the builder's port checks each packet against. The addresses are
// names; where in its slot a block lies the builder decides.
#pragma once

#include <stdint.h>

struct placement {
	uint64_t address; // of slot 0
	uint64_t stride;  // bytes from slot to slot, a power of two, larger than a slot
	uint64_t slot_size;
	uint32_t slots;
	uint32_t rkey; // 0: data is not placed by RDMA
};

static inline uint64_t placement_of_slot(const struct placement *placement, uint32_t slot)
{
	return placement->address + slot * placement->stride;
}
