// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "record/mep_order.h"

// One pass of a radix sort over eight bits of the keys. (qsort() may allocate memory.)
static void sort_pass(const uint32_t *from, uint32_t *to, unsigned n, unsigned shift)
{
	unsigned starts[257] = { 0 };

	for (unsigned i = 0; i < n; i++)
		starts[((from[i] >> shift) & 0xff) + 1]++;
	for (unsigned i = 0; i < 256; i++)
		starts[i + 1] += starts[i];
	for (unsigned i = 0; i < n; i++)
		to[starts[(from[i] >> shift) & 0xff]++] = from[i];
}

void mep_order_make(struct mep_order *order, const struct mep *mep)
{
	bool sorted = true;

	for (unsigned i = 0; i < mep->n_mfps; i++) {
		order->keys[i] = (uint32_t)mep_source_id(mep, i) << 16 | i;
		sorted = sorted && (i == 0 || order->keys[i - 1] < order->keys[i]);
	}
	if (!sorted) {
		sort_pass(order->keys, order->spare, mep->n_mfps, 16);
		sort_pass(order->spare, order->keys, mep->n_mfps, 24);
	}
}
