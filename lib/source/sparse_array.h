// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An array by port or by source id, of which most items are never used: it has memory for 256
// neighbours of each used item, and a walk over it skips the others.
//
// Threads: one per array.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SPARSE_ARRAY_SIZE 65792u // items
#define SPARSE_ARRAY_PAGE 256u

struct sparse_array {
	size_t item_size; // bytes; all other members are 0 at first
	void *pages[SPARSE_ARRAY_SIZE / SPARSE_ARRAY_PAGE];
};

// The item, at first all 0. NULL if memory ran out.
void *sparse_array_use(struct sparse_array *array, uint32_t index);

// The item, NULL if there is no memory for it: it is all 0.
void *sparse_array_find(const struct sparse_array *array, uint32_t index);

// The first item from `index` on that there is memory for. Returns NULL if there is none, else sets
// *found to its index.
void *sparse_array_next(const struct sparse_array *array, uint32_t index, uint32_t *found);

void sparse_array_free(struct sparse_array *array);
