// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A process that may write a ring file may also truncate it. An access to memory behind the file's
// end raises SIGBUS, which would end the appliance. In the appliance, guarded memory of a truncated
// file is replaced by private memory full of zeros: all accesses go on, no other process sees what
// they write, and zeros mean "no event" and "no member" to all readers of the layout.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct evring_guard;

// Installs the handler of SIGBUS, unless it is installed. Signals about other memory are passed on
// to the handler that was installed before.
void evring_guard_start(void);

// Guards memory from now on, if the handler is installed. Returns NULL if it is not, or if memory
// ran out: the memory is not guarded then. Any thread.
struct evring_guard *evring_guard_add(void *memory, size_t size);

// Before the memory is unmapped. NULL is ignored.
void evring_guard_remove(struct evring_guard *guard);

// Whether the memory was replaced. NULL: false.
bool evring_guard_hit(const struct evring_guard *guard);
