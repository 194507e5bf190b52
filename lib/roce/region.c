// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "roce/region.h"

#include <stdlib.h>

bool region_table_create(struct region_table *table, uint32_t n)
{
	*table = (struct region_table){ .n = n };
	if (n == 0 || n > REGION_MOST)
		return false;
	table->regions = calloc(n, sizeof(*table->regions));
	return table->regions != NULL;
}

void region_table_destroy(struct region_table *table)
{
	free(table->regions);
	*table = (struct region_table){ 0 };
}

bool region_register(struct region_table *table, const struct region *region, uint32_t rkey)
{
	uint32_t index = rkey >> 8;

	if (index >= table->n || table->regions[index].memory != NULL || region->memory == NULL ||
	    region->length == 0 || region->address > UINT64_MAX - region->length)
		return false;
	table->regions[index] = *region;
	table->regions[index].key = (uint8_t)rkey;
	return true;
}
