// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A set of event ids, kept as disjoint ranges: what was seen once, twice or never. Ids that come in
// order cost one range, whatever their number.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct id_range {
	uint64_t first, last; // both included
};

struct id_ranges {
	struct id_range *ranges; // ascending, with at least one id between two
	size_t n;
	size_t capacity;
};

// Adds ids first .. first + n - 1, n >= 1, cut off at 2^64 - 1. *repeated: how many were there
// already. Returns 0 or -ENOMEM.
int id_ranges_add(struct id_ranges *ranges, uint64_t first, uint64_t n, uint64_t *repeated);
void id_ranges_fini(struct id_ranges *ranges);
