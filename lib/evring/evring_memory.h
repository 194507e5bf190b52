// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reserving the memory of a new ring file. Control thread.
#pragma once

#include "evring_directory.h"

// Makes an empty file `size` bytes long, a multiple of the directory's page size, maps it as
// writable, and makes the kernel allocate all of its pages. *memory is not NULL if the file is
// mapped, also after a failure. Returns 0, -ENOSPC, or another negative errno, with one line in
// error[EVRING_ERROR_SIZE].
int evring_memory_reserve(void **memory, int file, const struct evring_directory *directory,
			  uint64_t size, char *error);
