// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "fuzz.h"

#include <sanitizer/asan_interface.h>
#include <stdbool.h>

#define ALIGNMENT 64u
#define ROOMS     16u      // used in turn, so that a freed one stays poisoned for a while
#define LARGEST   0x10000u // bytes; larger memory comes from the heap
// Bytes from one room to the next. What is not in use is poisoned, at least half of it; and rooms
// begin in different sets of the caches.
#define STRIDE 0x20440u

static struct {
	_Alignas(ALIGNMENT) uint8_t bytes[STRIDE];
} rooms[ROOMS + 1];             // the bytes of the first one lie in front of the second: never used
static size_t sizes[ROOMS + 1]; // bytes in use
static uint32_t used;           // bits by room
static unsigned turn;
static bool ready;

static void *take_heap(size_t size)
{
	void *memory = malloc(size + 1);

	FUZZ_CHECK(memory);
	ASAN_POISON_MEMORY_REGION((uint8_t *)memory + size, 1);
	return memory;
}

static void *take(size_t size)
{
	if (!ready) {
		ASAN_POISON_MEMORY_REGION(rooms, sizeof(rooms));
		ready = true;
	}
	if (size > LARGEST)
		return take_heap(size);
	for (unsigned i = 0; i < ROOMS; i++) {
		unsigned room = turn++ % ROOMS;

		if (used >> room & 1)
			continue;
		used |= UINT32_C(1) << room;
		sizes[room + 1] = size;
		ASAN_UNPOISON_MEMORY_REGION(rooms[room + 1].bytes, size);
		return rooms[room + 1].bytes;
	}
	return take_heap(size);
}

void *fuzz_allocate(size_t n, size_t item_size)
{
	void *memory = take(n * item_size);

	if (n * item_size > 0)
		memset(memory, 0, n * item_size);
	return memory;
}

uint8_t *fuzz_copy(const uint8_t *data, size_t size)
{
	uint8_t *copy = take(size);

	if (size > 0)
		memcpy(copy, data, size);
	return copy;
}

void fuzz_free(void *memory)
{
	size_t at = (uintptr_t)memory - (uintptr_t)rooms[1].bytes, room = at / STRIDE;

	if ((uintptr_t)memory < (uintptr_t)rooms[1].bytes || room >= ROOMS) {
		free(memory);
		return;
	}
	FUZZ_CHECK(used >> room & 1 && at % STRIDE == 0);
	used &= ~(UINT32_C(1) << room);
	ASAN_POISON_MEMORY_REGION(memory, sizes[room + 1]);
}
