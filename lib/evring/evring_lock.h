// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Locks on single bytes of a ring file (EVRING_LOCK_... in evring_layout.h). A lock belongs to an
// open file description: two descriptions in one process exclude each other, a copy of a descriptor
// (dup, fork) shares its locks, and the kernel drops them when the last copy is closed, also when
// the process dies.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Returns 0, -EAGAIN if another description holds it, or another negative errno.
// The descriptor must be open for writing.
int evring_lock_take(int file, int64_t byte);

// As evring_lock_take(), but tries for about 1 s.
int evring_lock_wait(int file, int64_t byte);

void evring_lock_drop(int file, int64_t byte);

// Whether another description holds the lock; shared locks, which any process that may read the
// file can take, do not count. Also true if the kernel returns an error: an error must not make a
// live process count as dead.
bool evring_lock_is_held(int file, int64_t byte);
