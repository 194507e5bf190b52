// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What drives the fuzz targets: memory that ends where it should, and mutations.
#include "fuzz.h"

#include <sanitizer/asan_interface.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

#include "mutate.h"

#ifdef __SANITIZE_ADDRESS__
static bool is_poisoned(const void *at)
{
	return __asan_address_is_poisoned(at);
}
#else
#define is_poisoned(at) ((void)(at), true)
#endif

static bool is_zero(const uint8_t *bytes, size_t size)
{
	return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

static void memory__ends_at_poisoned_bytes(void **state)
{
	static const size_t sizes[] = { 0, 1, 7, 8, 9, 63, 64, 1000, 65536, 65537, 1000001 };

	(void)state;
	for (unsigned i = 0; i < 40 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i % (sizeof(sizes) / sizeof(sizes[0]))];
		uint8_t *memory = fuzz_allocate(size, 1);

		assert_true(is_zero(memory, size));
		memset(memory, 0xFF, size);
		assert_true(is_poisoned(memory - 1) && is_poisoned(memory + size));
		assert_true(is_poisoned(memory + size + 8));
		fuzz_free(memory);
		assert_true(size == 0 || is_poisoned(memory));
	}
}

static void memory__is_separate(void **state)
{
	uint8_t *memory[40];
	uint8_t bytes[40];

	(void)state;
	for (uint8_t i = 0; i < 40; i++) {
		memset(bytes, i, sizeof(bytes));
		memory[i] = fuzz_copy(bytes, sizeof(bytes));
	}
	for (unsigned i = 0; i < 40; i++) {
		for (unsigned j = 0; j < sizeof(bytes); j++)
			assert_int_equal(memory[i][j], i);
		fuzz_free(memory[i]);
	}
}

static void large_blocks__are_poisoned_around(void **state)
{
	uint8_t *block = calloc(3, 100001), *other = malloc(70000), *grown;

	(void)state;
	assert_true(is_zero(block, 300003));
	assert_true(is_poisoned(block - 1) && is_poisoned(block + 300003));
	assert_true(is_poisoned(other - 1) && is_poisoned(other + 70000));
	block[300002] = 7;
	grown = realloc(block, 400000);
	assert_int_equal(grown[300002], 7);
	assert_true(is_poisoned(grown + 400000));
	free(grown);
	free(other);
	assert_true(is_poisoned(grown) && is_poisoned(other));
}

// The memory is as large as the header says, so that an address sanitizer sees a larger one.
static void mutate__stays_in_the_memory(void **state)
{
	static const uint8_t of[10] = "abcdefg", other[30] = { 1, 2, 3 };
	const struct input others[] = { { NULL, 0 }, { (uint8_t *)(uintptr_t)other, 30 } };
	struct random random = { 1 };
	bool has_length[11] = { false };
	unsigned n_longer = 0;

	(void)state;
	for (unsigned i = 0; i < 50000; i++) {
		size_t size = i % 11;
		struct input input = { fuzz_allocate(size + MUTATE_MAX_GROWTH, 1), size };

		memcpy(input.bytes, of, size);
		mutate(&input, &others[i % 2], &random);
		assert_true(input.size <= size + MUTATE_MAX_GROWTH);
		n_longer += input.size > size;
		if (size == 10 && input.size <= 10)
			has_length[input.size] = true;
		fuzz_free(input.bytes);
	}
	assert_true(n_longer > 0);
	for (unsigned i = 0; i <= 10; i++)
		assert_true(has_length[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory__ends_at_poisoned_bytes),
		cmocka_unit_test(memory__is_separate),
		cmocka_unit_test(large_blocks__are_poisoned_around),
		cmocka_unit_test(mutate__stays_in_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
