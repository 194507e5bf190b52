// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Whole files of text, such as configurations.
#pragma once

#include <stddef.h>

#define TEXT_FILE_MAXIMUM (16u << 20) // bytes
#define TEXT_FILE_ERROR   128         // bytes

// Reads a file of at most TEXT_FILE_MAXIMUM bytes to its end; it may be a pipe. Returns NULL with
// one line, which does not name the file, in error[TEXT_FILE_ERROR]. The caller frees the text,
// which has no closing 0.
char *text_file_read(const char *path, size_t *length, char *error);
