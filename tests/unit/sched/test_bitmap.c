// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Bitmaps of all depths against plain arrays.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "sched/bitmap.h"

static const uint32_t sizes[] = { 1, 2, 63, 64, 65, 4095, 4096, 4097, 300000 };

static struct bitmap make(uint32_t size, uint8_t **memory)
{
	struct carver carver = { NULL, 0 };
	struct bitmap bitmap;

	bitmap_layout(&bitmap, &carver, size);
	*memory = calloc(1, carver.used);
	assert_non_null(*memory);
	carver = (struct carver){ *memory, 0 };
	bitmap_layout(&bitmap, &carver, size);
	return bitmap;
}

static uint32_t plain_next(const uint8_t *plain, uint32_t size, uint32_t from)
{
	for (uint32_t i = from; i < size; i++) {
		if (plain[i])
			return i;
	}
	return BITMAP_NONE;
}

static uint32_t plain_last(const uint8_t *plain, uint32_t size)
{
	for (uint32_t i = size; i-- > 0;) {
		if (plain[i])
			return i;
	}
	return BITMAP_NONE;
}

static void check(const struct bitmap *bitmap, const uint8_t *plain, uint32_t from)
{
	uint32_t next = plain_next(plain, bitmap->size, from);
	uint32_t first = plain_next(plain, bitmap->size, 0);

	assert_int_equal(bitmap_next(bitmap, from), next);
	assert_int_equal(bitmap_next_around(bitmap, from), next != BITMAP_NONE ? next : first);
	assert_int_equal(bitmap_test(bitmap, from), plain[from]);
	assert_int_equal(bitmap_empty(bitmap), first == BITMAP_NONE);
	if (first != BITMAP_NONE)
		assert_int_equal(bitmap_last(bitmap), plain_last(plain, bitmap->size));
}

static void bitmap__is_a_set(void **state)
{
	struct random random = { 1 };

	(void)state;
	for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t size = sizes[i], steps = size > 5000 ? 300 : 3000;
		uint8_t *memory, *plain = calloc(size, 1);
		struct bitmap bitmap = make(size, &memory);

		assert_non_null(plain);
		for (uint32_t step = 0; step < steps; step++) {
			uint32_t number = (uint32_t)(random_next(&random) % size);
			// Ever fewer members, so that it is sparse and empty at times.
			bool in = random_next(&random) % 4 == 0;

			if (random_next(&random) % 8 == 0)
				number = size - 1;
			plain[number] = in;
			if (in)
				bitmap_set(&bitmap, number);
			else
				bitmap_clear(&bitmap, number);
			check(&bitmap, plain, (uint32_t)(random_next(&random) % size));
		}
		for (uint32_t number = 0; number < size; number++)
			bitmap_clear(&bitmap, number);
		assert_true(bitmap_empty(&bitmap));
		for (uint32_t number = 0; number < size; number++)
			bitmap_set(&bitmap, number);
		for (uint32_t number = 0; number < size; number += 1 + size / 100) {
			assert_int_equal(bitmap_next(&bitmap, number), number);
			bitmap_clear(&bitmap, number);
			assert_int_equal(bitmap_next(&bitmap, number),
					 number + 1 < size ? number + 1 : BITMAP_NONE);
		}
		free(plain);
		free(memory);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bitmap__is_a_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
