// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sorts the MFPs of a MEP by source id. A builder places MFPs in the order of arrival; files and
// banks have the order of source ids.
//
// Only one thread uses an order.
#pragma once

#include "wire/mep.h"

struct mep_order {
	// Sorted: source id << 16 | index of the MFP in the MEP. n_mfps entries.
	uint32_t keys[MEP_MAX_MFPS];
	uint32_t spare[MEP_MAX_MFPS]; // for sorting
};

// Sorts the MFPs of a MEP; equal source ids stay in the order of the MEP.
void mep_order_make(struct mep_order *order, const struct mep *mep);

// The MFP at a position of the order: its index in the MEP, and its source id.
static inline unsigned mep_order_index(const struct mep_order *order, unsigned position)
{
	return order->keys[position] & 0xffff;
}

static inline uint16_t mep_order_source(const struct mep_order *order, unsigned position)
{
	return (uint16_t)(order->keys[position] >> 16);
}
