// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Sets of event ids, stored as disjoint ranges, which find repeated and missing ids. Any number of
// consecutive ids is one range. The ranges are in a balanced tree: an addition takes time in
// proportion to the logarithm of the number of ranges, in whatever order the ids come.
#pragma once

#include <stdint.h>

struct id_range {
	uint64_t set;         // number of the set
	uint64_t first, last; // both included
};

struct id_ranges {
	void
	    *tree; // of tsearch(): struct id_range; at least one id is missing between two of a set
};

// Adds the ids first to first + n - 1, n >= 1, cut off at 2^64 - 1, to a set. *repeated is the
// number of ids that the set contained already. Returns 0 or -ENOMEM.
int id_ranges_add(struct id_ranges *ranges, uint64_t set, uint64_t first, uint64_t n,
		  uint64_t *repeated);

// Calls `visit` for all ranges, by set, in ascending order.
void id_ranges_walk(const struct id_ranges *ranges,
		    void (*visit)(void *context, const struct id_range *range), void *context);

void id_ranges_fini(struct id_ranges *ranges);
