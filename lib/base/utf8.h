// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which bytes are text in UTF-8.
#pragma once

#include <stddef.h>

// Bytes of the character that a text begins with; 0 if it is none. Of the end of the text, too.
size_t utf8_length(const char *text);
