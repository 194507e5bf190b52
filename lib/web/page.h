// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The page, made by embed_page.py from the files in page/.
#pragma once

#include <stddef.h>

extern const char web_page[];
extern const size_t web_page_size;

// Content-Security-Policy that lets the page run, and nothing else.
extern const char web_page_policy[];
