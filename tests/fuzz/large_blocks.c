// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Keeps large blocks of memory for the next input. An address sanitizer maps each of them anew and
// unmaps it, which takes most of the time of a target that allocates one per input. The linker
// replaces the calls of the program's own objects by these (--wrap). As on the heap, the bytes
// around a block, and a freed block, are poisoned.
#include <sanitizer/asan_interface.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SMALLEST 0x10000u   // bytes
#define LARGEST  0x1000000u // bytes
#define MARGIN   0x1000u    // bytes of the mapping in front of a block and behind it, at least
#define BLOCKS   16u

struct block {
	uint8_t *memory;
	size_t size;     // in use; 0: free
	size_t capacity; // bytes at `memory` that are mapped, margin excluded
};

static struct block blocks[BLOCKS];
static unsigned n_blocks, turn;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

static struct block *find(const void *memory)
{
	for (unsigned i = 0; i < n_blocks; i++)
		if (blocks[i].memory == memory)
			return &blocks[i];
	return NULL;
}

static struct block *map(size_t size)
{
	const size_t capacity = (size + MARGIN - 1) & ~(size_t)(MARGIN - 1);
	uint8_t *memory;

	if (n_blocks == BLOCKS)
		return NULL;
	memory = mmap(NULL, capacity + 2 * MARGIN, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	ASAN_POISON_MEMORY_REGION(memory, capacity + 2 * MARGIN);
	blocks[n_blocks] = (struct block){ .memory = memory + MARGIN, .capacity = capacity };
	return &blocks[n_blocks++];
}

// A free block that is not more than twice as large; NULL: there is none, nor room for another one.
static struct block *take(size_t size)
{
	for (unsigned i = 0; i < n_blocks; i++) {
		struct block *block = &blocks[turn++ % n_blocks];

		if (block->size == 0 && block->capacity >= size && block->capacity / 2 <= size)
			return block;
	}
	return map(size);
}

static void *allocate(size_t size)
{
	struct block *block = size < SMALLEST || size > LARGEST ? NULL : take(size);

	if (block == NULL)
		return NULL;
	block->size = size;
	ASAN_UNPOISON_MEMORY_REGION(block->memory, size);
	return block->memory;
}

void *__wrap_malloc(size_t size)
{
	void *memory = allocate(size);

	return memory ? memory : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	size_t all;
	void *memory = __builtin_mul_overflow(n, size, &all) ? NULL : allocate(all);

	return memory ? memset(memory, 0, all) : __real_calloc(n, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
	struct block *block = memory ? find(memory) : NULL;
	void *grown;

	if (block == NULL)
		return __real_realloc(memory, size);
	grown = __wrap_malloc(size);
	if (grown == NULL)
		return NULL;
	memcpy(grown, memory, size < block->size ? size : block->size);
	__wrap_free(memory);
	return grown;
}

void __wrap_free(void *memory)
{
	struct block *block = memory ? find(memory) : NULL;

	if (block == NULL) {
		__real_free(memory);
		return;
	}
	if (block->size == 0)
		abort(); // freed twice
	ASAN_POISON_MEMORY_REGION(memory, block->size);
	block->size = 0;
}
