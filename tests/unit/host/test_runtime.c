// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The folders of the sockets of a run, below the directory that the environment names.
#include "fixture.h"

#include <stdlib.h>
#include <sys/stat.h>

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

// The keys of a system of nodes: none, none that others cannot read, some.
static void keys__of_a_system(void **state)
{
	static const char digits[] =
	    "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n";
	struct fixture *fixture = *state;
	char *path = fixture->config->event_manager.key_file;

	judge_stage(fixture, "keys");
	assert_counts(fixture, 0, 0, 0, 0);
	fixture->config->cluster.n_nodes = 2;
	judge_stage(fixture, "keys");
	assert_finding(fixture, HOST_WARN, "keys", "not authenticated",
		       "set event_manager.key_file");
	report_reset(fixture);
	tree_write(fixture, "/key", digits);
	snprintf(path, EVB_PATH_SIZE, "%s/key", fixture->root);
	assert_int_equal(chmod(path, 0644), 0);
	judge_stage(fixture, "keys");
	assert_finding(fixture, HOST_FAIL, "keys", "other users can read", NULL);
	report_reset(fixture);
	assert_int_equal(chmod(path, 0600), 0);
	judge_stage(fixture, "keys");
	assert_finding(fixture, HOST_OK, "keys", "has 1 key", NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(folders__are_made_when_needed),     TEST(directory__has_to_be_there),
		TEST(folder__of_dpdk_may_be_in_the_way), TEST(folder__of_control_may_be_in_the_way),
		TEST(environment__names_the_directory),  TEST(keys__of_a_system),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
