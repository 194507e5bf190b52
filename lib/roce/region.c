// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "roce/region.h"

#include <stdlib.h>

bool region_table_create(struct region_table *table, uint32_t n)
{
	*table = (struct region_table){ 0 };
	if (n == 0 || n > REGION_MOST)
		return false;
	table->regions = calloc(n, sizeof(*table->regions));
	table->free = calloc(n, sizeof(*table->free));
	if (table->regions == NULL || table->free == NULL) {
		region_table_destroy(table);
		return false;
	}
	table->n = n;
	for (uint32_t i = 0; i < n; i++)
		table->free[i] = n - 1 - i;
	table->n_free = n;
	return true;
}

void region_table_destroy(struct region_table *table)
{
	free(table->regions);
	free(table->free);
	*table = (struct region_table){ 0 };
}

static bool is_valid(const struct region *region)
{
	return region->memory != NULL && region->length != 0 &&
	       region->address <= UINT64_MAX - region->length;
}

bool region_register(struct region_table *table, const struct region *region, uint32_t *rkey)
{
	struct region *place;
	uint32_t index;
	uint8_t key;

	if (table->n_free == 0 || !is_valid(region))
		return false;
	index = table->free[--table->n_free];
	place = &table->regions[index];
	key = (uint8_t)(place->key + 1);
	*place = *region;
	place->key = key;
	*rkey = index << 8 | key;
	return true;
}

bool region_register_as(struct region_table *table, const struct region *region, uint32_t rkey)
{
	uint32_t i = 0;

	while (i < table->n_free && table->free[i] != rkey >> 8)
		i++;
	if (i == table->n_free || !is_valid(region))
		return false;
	table->free[i] = table->free[--table->n_free];
	table->regions[rkey >> 8] = *region;
	table->regions[rkey >> 8].key = (uint8_t)rkey;
	return true;
}

bool region_renew(struct region_table *table, uint32_t *rkey)
{
	struct region *region = region_find(table, *rkey);

	if (region == NULL)
		return false;
	region->key++;
	*rkey = (*rkey & ~0xFFu) | region->key;
	return true;
}

bool region_remove(struct region_table *table, uint32_t rkey)
{
	struct region *region = region_find(table, rkey);

	if (region == NULL)
		return false;
	region->memory = NULL;
	table->free[table->n_free++] = rkey >> 8;
	return true;
}
