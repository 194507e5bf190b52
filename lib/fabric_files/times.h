// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Histograms of times: text with a time and a weight per line, "120us 35". Empty lines, and what
// follows a '#', are comments.
#pragma once

#include <stddef.h>

#include "sim/law.h"

#define FABRIC_TIMES_ERROR 512 // bytes, as CONFIG_ERROR_SIZE

// Reads the text of a file, which messages call `name`. Returns 0, or -1 with one line in
// error[FABRIC_TIMES_ERROR]: "NAME:LINE: what is wrong". Free the times in both cases.
int fabric_times_parse(struct sim_times *times, const char *text, size_t length, const char *name,
		       char *error);
