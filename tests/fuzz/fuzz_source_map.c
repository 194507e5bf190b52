// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fuzz.h"

#include "source/source_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct source_map *map;
	char error[SOURCE_ERROR_SIZE];

	if (source_map_parse(&map, (const char *)data, size, "fuzz", error))
		return 0;
	// every entry that was read is found again
	for (unsigned i = 0; i < map->n_entries; i++) {
		if (source_map_find(map, map->entries[i].id) != &map->entries[i])
			abort();
	}
	source_map_free(map);
	return 0;
}
