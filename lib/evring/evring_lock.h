// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Locks on single bytes of a ring file (EVRING_LOCK_... in evring_layout.h). A lock belongs to the
// open file description: two of one process exclude each other, a copy of the descriptor (dup,
// fork) shares it, and the kernel drops it when the last copy is gone, however the process ended.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Returns 0, -EAGAIN if another description holds it, or another negative errno.
// The descriptor must be open for writing.
int evring_lock_take(int file, int64_t byte);

// As evring_lock_take(), but tries for about a second.
int evring_lock_wait(int file, int64_t byte);

void evring_lock_drop(int file, int64_t byte);

// Whether another description holds the lock. True also if the kernel would not tell: nobody is
// declared dead on an error.
bool evring_lock_is_held(int file, int64_t byte);
