// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The MFPs of a MEP in the order of their source ids. A builder places MFPs as they arrive; files
// and banks are in source order.
//
// An order belongs to one thread. It allocates only when a MEP has more MFPs than all before.
#pragma once

#include "wire/mep.h"

struct mep_order {
	// Sorted: source id << 16 | index of the MFP in the MEP. n_mfps entries.
	uint32_t *keys;
	uint32_t *spare;
	unsigned capacity;
};

// Sorts; equal source ids stay in the order of the MEP. Returns 0 or -ENOMEM.
int mep_order_make(struct mep_order *order, const struct mep *mep);
void mep_order_fini(struct mep_order *order);

// The index in the MEP of the MFP at a position of the order, and its source id.
static inline unsigned mep_order_index(const struct mep_order *order, unsigned position)
{
	return order->keys[position] & 0xffff;
}

static inline uint16_t mep_order_source(const struct mep_order *order, unsigned position)
{
	return (uint16_t)(order->keys[position] >> 16);
}
