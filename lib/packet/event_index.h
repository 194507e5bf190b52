// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Computes event indices (event id / packing) and remainders without a division on the hot path.
#pragma once

#include <stdint.h>

#include <rte_reciprocal.h>

struct divisor {
	uint64_t value; // >= 1
	struct rte_reciprocal_u64 reciprocal;
};

static inline struct divisor divisor_make(uint64_t value)
{
	struct divisor divisor = { .value = value };

	if (value > 1)
		divisor.reciprocal = rte_reciprocal_value_u64(value);
	return divisor;
}

static inline uint64_t divide(uint64_t n, const struct divisor *divisor)
{
	return divisor->value == 1 ? n : rte_reciprocal_divide_u64(n, &divisor->reciprocal);
}

static inline uint64_t remainder_of(uint64_t n, const struct divisor *divisor)
{
	return n - divide(n, divisor) * divisor->value;
}
