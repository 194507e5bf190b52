// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the fuzz targets share. A target is one LLVMFuzzerTestOneInput(): libFuzzer calls it, or
// replay_main.c where there is no libFuzzer. It takes any bytes, keeps nothing, and ends the
// process if what must hold of every input does not.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                            \
	do {                                                                             \
		if (!(condition)) {                                                      \
			fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, \
				#condition);                                             \
			abort();                                                         \
		}                                                                        \
	} while (0)

// An allocation of n items, at least one, zeroed; the caller frees it. Never NULL.
static inline void *fuzz_allocate(size_t n, size_t item_size)
{
	void *memory = calloc(n ? n : 1, item_size);

	FUZZ_CHECK(memory);
	return memory;
}

// A copy in an allocation of just its size, so that an address sanitizer sees reads beyond.
static inline uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
	uint8_t *copy = calloc(size, 1);

	FUZZ_CHECK(copy || size == 0);
	if (size > 0)
		memcpy(copy, data, size);
	return copy;
}
