// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A whole file in memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "source/generator.h"

// Reads the file; one byte of value 0, not counted in *size, is behind the last. The caller frees
// *bytes. Returns 0, or -1 with one line in error[SOURCE_ERROR_SIZE].
int file_bytes_read(const char *path, uint8_t **bytes, size_t *size, char *error);
