// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The one line with which a function reports why it failed.
#pragma once

#include <stddef.h>

// Formats the line into error[size], cut if too long. Returns -1, for the caller to return.
int error_line(char *error, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
