// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Checks text in UTF-8 (RFC 3629).
#pragma once

#include <stddef.h>

// Bytes of the first character of a text; 0 at the end of the text and for invalid bytes.
size_t utf8_length(const char *text);
