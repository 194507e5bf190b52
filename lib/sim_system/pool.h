// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A pool of records of one size, which are named by their numbers. It grows by whole chunks, so
// that a record never moves, and gives nothing back before it is freed.
//
// Threads: one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_NONE       UINT32_MAX
#define POOL_CHUNK      1024u // records
#define POOL_MOST_CHUNK 65536u

struct pool {
	size_t size; // bytes of a record
	uint8_t **chunks;
	uint32_t n_chunks;
	uint32_t *free; // numbers of the free records
	uint32_t n_free;
	uint32_t n_used;
};

// size: at least 1 byte, of records that need no more than 8 bytes of alignment.
void pool_init(struct pool *pool, size_t size);
void pool_free(struct pool *pool);

// POOL_NONE: there is no memory. The content of the record is undefined.
uint32_t pool_take(struct pool *pool);
void pool_give_back(struct pool *pool, uint32_t number);

static inline void *pool_at(const struct pool *pool, uint32_t number)
{
	return pool->chunks[number / POOL_CHUNK] + (number % POOL_CHUNK) * pool->size;
}
