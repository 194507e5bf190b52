// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The page of a report, made by embed_page.py from the files in page/. Its data replaces the text
// "/*DATA*/".
#pragma once

#include <stddef.h>

extern const char simulation_page[];
extern const size_t simulation_page_size;
