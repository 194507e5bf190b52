// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/sparse_array.h"

#include <stdlib.h>

#define PAGES (SPARSE_ARRAY_SIZE / SPARSE_ARRAY_PAGE)

void *sparse_array_find(const struct sparse_array *array, uint32_t index)
{
	char *page = array->pages[index / SPARSE_ARRAY_PAGE];

	return page ? page + (index % SPARSE_ARRAY_PAGE) * array->item_size : NULL;
}

void *sparse_array_use(struct sparse_array *array, uint32_t index)
{
	void **page = &array->pages[index / SPARSE_ARRAY_PAGE];

	if (!*page)
		*page = calloc(SPARSE_ARRAY_PAGE, array->item_size);
	return sparse_array_find(array, index);
}

void *sparse_array_next(const struct sparse_array *array, uint32_t index, uint32_t *found)
{
	while (index < SPARSE_ARRAY_SIZE && !array->pages[index / SPARSE_ARRAY_PAGE])
		index = (index / SPARSE_ARRAY_PAGE + 1) * SPARSE_ARRAY_PAGE;
	*found = index;
	return index < SPARSE_ARRAY_SIZE ? sparse_array_find(array, index) : NULL;
}

void sparse_array_free(struct sparse_array *array)
{
	for (unsigned i = 0; i < PAGES; i++)
		free(array->pages[i]);
}
