// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Counters that one thread writes and any thread reads, without a lock: relaxed atomic accesses are
// never torn and cost no more than plain ones. A sum over several counters is exact only when the
// writers are idle, since counters may change between the reads.
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
