// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Where the slots of a builder lie for peers that WRITE by RDMA. The builder reports it to the
// manager in BUILDER, grants and requests carry it, and the port of the builder checks each packet
// against it. The addresses are only names: the builder decides where in its slot a block lies.
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
