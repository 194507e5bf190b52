// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "port/unmap_guard.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_interrupts.h>

static void *waits_with;
static void (*_Atomic waits)(void *context);

void unmap_guard_set(void (*wait)(void *context), void *context)
{
	waits_with = context;
	atomic_store_explicit(&waits, wait, memory_order_release);
}

// The sanitizers have to see each unmapping themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// The driver is a shared library, whose call reaches this function instead of that of libc.
int munmap(void *address, size_t length)
{
	void (*wait)(void *context) = atomic_load_explicit(&waits, memory_order_acquire);

	if (wait != NULL && rte_thread_is_intr())
		wait(waits_with);
	return (int)syscall(SYS_munmap, address, length);
}

#endif
