// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The lines of a text that cJSON has parsed, which itself forgets them.
#pragma once

#include <stddef.h>

// Writes the lines in which the first n elements of a list begin; the list is a member of the root
// object of a text that config_read_json() has parsed.
void json_list_lines(const char *text, size_t length, const char *list, unsigned *lines,
		     unsigned n);
