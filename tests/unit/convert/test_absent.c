// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A build without HDF5 refuses with a line that says how to get it.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "convert/convert.h"

static void convert__says_how_to_get_hdf5(void **state)
{
	const struct convert_options options = { .input = "events.mep", .output = "events.h5" };
	struct convert_result result = { 0 };
	char error[CONVERT_ERROR_SIZE];

	(void)state;
	assert_int_equal(convert(&options, &result, error), -1);
	assert_non_null(strstr(error, "-Dhdf5=enabled"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(convert__says_how_to_get_hdf5),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
