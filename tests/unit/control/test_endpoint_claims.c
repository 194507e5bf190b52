// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Processes that claim the same node number, in 10 000 random histories (claims.h).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "claims.h"

#ifdef __SANITIZE_ADDRESS__
#define HISTORIES 500u
#else
#define HISTORIES 2500u
#endif

static void expect_nothing_broken(unsigned n_zero, unsigned n_one)
{
	struct claims_sums sums = { 0 };
	const char *broken = claims_run(n_zero, n_one, HISTORIES, &sums);

	if (broken)
		fail_msg("%s", broken);
	assert_true(sums.refused > HISTORIES / 50 && sums.restarted > HISTORIES / 50);
}

static void claims__two_processes(void **state)
{
	(void)state;
	expect_nothing_broken(1, 2);
}

static void claims__three_processes(void **state)
{
	(void)state;
	expect_nothing_broken(1, 3);
}

static void claims__four_processes(void **state)
{
	(void)state;
	expect_nothing_broken(1, 4);
}

static void claims__two_processes_of_both_numbers(void **state)
{
	(void)state;
	expect_nothing_broken(2, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims__two_processes),
		cmocka_unit_test(claims__three_processes),
		cmocka_unit_test(claims__four_processes),
		cmocka_unit_test(claims__two_processes_of_both_numbers),
	};

	return cmocka_run_group_tests_name("endpoint_claims", tests, NULL, NULL);
}
