// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the fuzz targets share. A target is one LLVMFuzzerTestOneInput(): libFuzzer calls it, or
// replay_main.c where there is no libFuzzer. It takes any bytes, keeps nothing, and ends the
// process if what must hold of every input does not.
//
// Memory for inputs and copies of them: allocated and freed some millions of times per second.
// With an address sanitizer the bytes behind its end, and all its bytes after fuzz_free(), are
// poisoned as those of the heap are.
//
// Threads: one.
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

// Memory for n items, zeroed; to be freed by fuzz_free(). Never NULL.
void *fuzz_allocate(size_t n, size_t item_size);

// A copy in memory of just its size; to be freed by fuzz_free(). Never NULL.
uint8_t *fuzz_copy(const uint8_t *data, size_t size);

void fuzz_free(void *memory);
