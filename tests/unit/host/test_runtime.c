// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The folders of the sockets of a run, below the directory that the environment names.
#include "fixture.h"

#include <stdlib.h>

static int make(void **state)
{
	if (fixture_make(state) != 0)
		return -1;
	return setenv("RUNTIME_DIRECTORY", "/run", 1);
}

static void judge(struct fixture *fixture)
{
	report_reset(fixture);
	judge_stage(fixture, "folders");
}

static void folders__are_made_when_needed(void **state)
{
	struct fixture *fixture = *state;

	tree_folder(fixture, "/run");
	judge(fixture);
	assert_finding(fixture, HOST_OK, "folders", "/run/dpdk and /run/evb", NULL);
	assert_counts(fixture, 1, 0, 0, 0);
	tree_folder(fixture, "/run/dpdk/evb-fixture");
	tree_folder(fixture, "/run/evb");
	judge(fixture);
	assert_counts(fixture, 1, 0, 0, 0);
}

static void directory__has_to_be_there(void **state)
{
	struct fixture *fixture = *state;

	judge(fixture);
	assert_finding(fixture, HOST_FAIL, "folders",
		       "the folder /run/dpdk/evb-fixture for sockets cannot be made: /run: No such",
		       "folder");
	assert_counts(fixture, 0, 0, 1, 0);
}

static void folder__of_dpdk_may_be_in_the_way(void **state)
{
	struct fixture *fixture = *state;

	tree_write(fixture, "/run/dpdk", "no folder");
	judge(fixture);
	assert_finding(fixture, HOST_FAIL, "folders", "/run/dpdk/evb-fixture for sockets",
		       "folder");
	assert_counts(fixture, 0, 0, 1, 0);
}

static void folder__of_control_may_be_in_the_way(void **state)
{
	struct fixture *fixture = *state;

	tree_write(fixture, "/run/evb", "no folder");
	judge(fixture);
	assert_true(assert_finding(fixture, HOST_WARN, "folders",
				   "/run/evb for sockets cannot be made", NULL)
			->quiet);
	assert_counts(fixture, 0, 1, 0, 0);
}

static void environment__names_the_directory(void **state)
{
	struct fixture *fixture = *state;

	tree_folder(fixture, "/elsewhere");
	assert_int_equal(setenv("RUNTIME_DIRECTORY", "/elsewhere", 1), 0);
	judge(fixture);
	assert_finding(fixture, HOST_OK, "folders", "/elsewhere/dpdk", NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(folders__are_made_when_needed),     TEST(directory__has_to_be_there),
		TEST(folder__of_dpdk_may_be_in_the_way), TEST(folder__of_control_may_be_in_the_way),
		TEST(environment__names_the_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
