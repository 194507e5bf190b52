// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim_system/pool.h"

#include <stdlib.h>

void pool_init(struct pool *pool, size_t size)
{
	*pool = (struct pool){ .size = (size + 7) & ~(size_t)7 };
}

void pool_free(struct pool *pool)
{
	for (uint32_t i = 0; i < pool->n_chunks; i++)
		free(pool->chunks[i]);
	free(pool->chunks);
	free(pool->free);
}

static bool grow(struct pool *pool)
{
	const size_t n = pool->n_chunks + 1u;
	uint32_t *numbers = realloc(pool->free, n * POOL_CHUNK * sizeof(*numbers));
	uint8_t **chunks;

	if (numbers == NULL)
		return false;
	pool->free = numbers;
	chunks = realloc(pool->chunks, n * sizeof(*chunks));
	if (chunks == NULL)
		return false;
	pool->chunks = chunks;
	chunks[pool->n_chunks] = malloc(POOL_CHUNK * pool->size);
	if (chunks[pool->n_chunks] == NULL)
		return false;
	for (uint32_t i = 0; i < POOL_CHUNK; i++)
		numbers[pool->n_free++] = pool->n_chunks * POOL_CHUNK + POOL_CHUNK - 1 - i;
	pool->n_chunks++;
	return true;
}

uint32_t pool_take(struct pool *pool)
{
	if (pool->n_free == 0 && (pool->n_chunks == POOL_MOST_CHUNK || !grow(pool)))
		return POOL_NONE;
	pool->n_used++;
	return pool->free[--pool->n_free];
}

void pool_give_back(struct pool *pool, uint32_t number)
{
	pool->free[pool->n_free++] = number;
	pool->n_used--;
}
