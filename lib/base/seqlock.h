// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A sequence lock (as the Linux kernel's seqcount_t): one thread writes several values, and any
// thread reads all of them as they were at one moment. The writer never waits. A reader that the
// writer disturbed reads again. Both access the values by relaxed atomic operations, such as those
// of base/counter.h and seqlock_copy().
#pragma once

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seqlock {
	atomic_uint changes; // odd while the writer changes the values
};

// Writer only.
static inline void seqlock_begin_write(struct seqlock *lock)
{
	atomic_fetch_add_explicit(&lock->changes, 1, memory_order_acq_rel);
}

static inline void seqlock_end_write(struct seqlock *lock)
{
	atomic_fetch_add_explicit(&lock->changes, 1, memory_order_release);
}

// Waits until no write is in progress. The result is passed to seqlock_is_disturbed().
static inline unsigned seqlock_begin_read(const struct seqlock *lock)
{
	unsigned changes = atomic_load_explicit(&lock->changes, memory_order_acquire);

	while (changes % 2 != 0) {
		sched_yield();
		changes = atomic_load_explicit(&lock->changes, memory_order_acquire);
	}
	return changes;
}

// Whether values may have changed while they were read, so that they have to be read again.
static inline bool seqlock_is_disturbed(const struct seqlock *lock, unsigned begun)
{
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&lock->changes, memory_order_relaxed) != begun;
}

// Copies an object of a multiple of 8 bytes, aligned to 8 bytes, from or to shared memory.
static inline void seqlock_copy(void *to, const void *from, size_t size)
{
	typedef uint64_t __attribute__((may_alias)) word;

	for (size_t i = 0; i < size / sizeof(word); i++)
		__atomic_store_n((word *)to + i,
				 __atomic_load_n((const word *)from + i, __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
}
