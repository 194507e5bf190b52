// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Counters that one thread writes and any thread reads, without a lock: relaxed accesses keep each
// value whole and cost no more than plain ones. Sums over several counters may differ by what
// happens between the reads; they are exact when the writers are at rest.
#pragma once

#include <stdint.h>

// Writer only.
static inline void counter_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

// Any thread.
static inline uint64_t counter_read(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}
