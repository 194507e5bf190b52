// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A set of event ids, stored as disjoint ranges, which finds repeated and missing ids. Any number
// of consecutive ids is one range.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct id_range {
	uint64_t first, last; // both included
};

struct id_ranges {
	struct id_range *ranges; // ascending; at least one id is missing between two ranges
	size_t n;
	size_t capacity;
};

// Adds the ids first to first + n - 1, n >= 1, cut off at 2^64 - 1. *repeated is the number of ids
// that the set contained already. Returns 0 or -ENOMEM.
int id_ranges_add(struct id_ranges *ranges, uint64_t first, uint64_t n, uint64_t *repeated);
void id_ranges_fini(struct id_ranges *ranges);
