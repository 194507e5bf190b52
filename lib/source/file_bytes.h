// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reads a whole file into memory.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "source/generator.h"

// Reads a regular file. The caller frees *bytes, which is not NULL for an empty file. Returns 0, or
// -1 with one line in error[SOURCE_ERROR_SIZE].
int file_bytes_read(const char *path, uint8_t **bytes, size_t *size, char *error);

// The same for the first `head` bytes of a file that is larger than `most` bytes.
int file_bytes_read_head(const char *path, uint64_t most, uint64_t head, uint8_t **bytes,
			 size_t *size, char *error);
