// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Fabrics obey the laws of laws.h.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "laws.h"

static void check_all(const struct law *laws, size_t n)
{
	bool all = true;

	for (size_t i = 0; i < n; i++) {
		char message[LAW_MESSAGE] = "it cannot be simulated";

		if (laws[i].check(message))
			continue;
		print_error("%s: %s\n", laws[i].name, message);
		all = false;
	}
	assert_true(all);
}

static void laws__of_queues_hold(void **state)
{
	(void)state;
	check_all(laws_of_queues, n_laws_of_queues);
}

static void laws__of_switches_hold(void **state)
{
	(void)state;
	check_all(laws_of_switches, n_laws_of_switches);
}

static void laws__of_links_hold(void **state)
{
	(void)state;
	check_all(laws_of_links, n_laws_of_links);
}

static void laws__of_routes_hold(void **state)
{
	(void)state;
	check_all(laws_of_routes, n_laws_of_routes);
}

static void laws__of_buffers_hold(void **state)
{
	(void)state;
	check_all(laws_of_buffers, n_laws_of_buffers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(laws__of_queues_hold),  cmocka_unit_test(laws__of_switches_hold),
		cmocka_unit_test(laws__of_links_hold),   cmocka_unit_test(laws__of_routes_hold),
		cmocka_unit_test(laws__of_buffers_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
