// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 64u // items

bool array_reserve(void *array, size_t *room, size_t n, size_t size)
{
	size_t wanted = *room > 0 ? *room : LEAST;
	void *items, *moved;

	while (wanted < n)
		wanted *= 2;
	if (wanted == *room)
		return true;
	// The pointer is of the caller's type.
	memcpy(&items, array, sizeof(items));
	moved = realloc(items, wanted * size);
	if (moved == NULL)
		return false;
	memcpy(array, &moved, sizeof(moved));
	*room = wanted;
	return true;
}
