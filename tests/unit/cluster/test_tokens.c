// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The tokens of a builder.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cluster/tokens.h"

static void tokens__are_credited_once(void **state)
{
	struct tokens tokens;
	bool seen[5] = { false };

	(void)state;
	assert_true(tokens_make(&tokens, 5, 3));
	for (unsigned i = 0; i < 5; i++) {
		uint32_t token = tokens_next_credit(&tokens);

		assert_true(token < 5 && !seen[token]);
		seen[token] = true;
		assert_int_equal(tokens.tokens[token].generation, 1);
	}
	assert_int_equal(tokens_next_credit(&tokens), TOKEN_NONE);
	tokens_grant(&tokens, 3, 77, 1);
	assert_int_equal(tokens.n_free, 4);
	assert_int_equal(tokens_find(&tokens, 77), 3);
	tokens_release(&tokens, 3);
	assert_int_equal(tokens_find(&tokens, 77), TOKEN_NONE);
	assert_int_equal(tokens_next_credit(&tokens), 3);
	assert_int_equal(tokens.tokens[3].generation, 2);
	tokens_uncredit(&tokens);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(tokens_next_credit(&tokens), i);
	tokens_free(&tokens);
}

static void tokens__of_one_event_are_found_in_order(void **state)
{
	struct tokens tokens;

	(void)state;
	assert_true(tokens_make(&tokens, 4, 3));
	tokens_grant(&tokens, 2, 5, 1);
	tokens_grant(&tokens, 0, 5 + 16, 1); // of the same bucket
	tokens_grant(&tokens, 1, 5, 2);
	assert_int_equal(tokens_find(&tokens, 5), 2);
	assert_int_equal(tokens_find(&tokens, 5 + 16), 0);
	tokens_release(&tokens, 2);
	assert_int_equal(tokens_find(&tokens, 5), 1);
	tokens_release(&tokens, 0);
	assert_int_equal(tokens_find(&tokens, 5), 1);
	// What was granted before it was credited had left the list.
	assert_int_equal(tokens.n_uncredited, 3);
	tokens_free(&tokens);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tokens__are_credited_once),
		cmocka_unit_test(tokens__of_one_event_are_found_in_order),
	};

	return cmocka_run_group_tests_name("tokens", tests, NULL, NULL);
}
