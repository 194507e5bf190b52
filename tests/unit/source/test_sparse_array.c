// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/sparse_array.h"

static void next__finds_used_items_in_order(void **state)
{
	static const uint32_t used[] = { 65536, 0, 255, 256, 40000 };
	static const uint32_t expected[] = { 0, 255, 256, 40000, 65536 };
	struct sparse_array array = { .item_size = sizeof(uint64_t) };
	const uint64_t *item;
	unsigned n = 0;
	uint32_t at;

	(void)state;
	assert_null(sparse_array_next(&array, 0, &at));
	assert_null(sparse_array_find(&array, 40000));
	for (unsigned i = 0; i < 5; i++)
		++*(uint64_t *)sparse_array_use(&array, used[i]);
	for (at = 0; (item = sparse_array_next(&array, at, &at)) != NULL; at++) {
		assert_ptr_equal(item, sparse_array_find(&array, at));
		if (*item == 0)
			continue;
		assert_true(n < 5);
		assert_int_equal(at, expected[n++]);
	}
	assert_int_equal(n, 5);
	assert_null(sparse_array_find(&array, 10000));
	sparse_array_free(&array);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(next__finds_used_items_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
