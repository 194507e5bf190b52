// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Writes the input on which the process ends to a file.
//
// Threads: one.
#pragma once

#include <stdint.h>
#include <stdlib.h>

#define HANG_SECONDS 10 // of CPU time, for one input

struct last_input {
	const uint8_t *bytes;
	size_t size;
	uint64_t n; // inputs, this one included
};

extern struct last_input last_input;

// The input that is tried next.
static inline void last_input_set(const uint8_t *bytes, size_t size)
{
	last_input.bytes = bytes;
	last_input.size = size;
	last_input.n++;
}

// From now on, if a sanitizer finds an error, a check fails, or one input takes HANG_SECONDS, the
// process prints the number of inputs, writes the last one to a file, prints the file's name, and
// ends with status 1 or by a signal. The name is `prefix`, "mutation-", `seed` and the input's
// number; both texts are the caller's and must stay.
void last_input_watch(const char *prefix, const char *seed);

// Prints the number of inputs.
void last_input_report(void);
