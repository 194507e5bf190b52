// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t mep_size(void)
{
	static uint8_t bytes[MEP_ROOM];

	return make_file_mep(bytes, 0);
}

static void event_file__no_event_no_file(void **state)
{
	struct event_file_parameters parameters = make_parameters(*state, NULL);
	struct event_file *file = open_files(&parameters);

	event_file_tick(file, 1);
	assert_int_equal(event_file_close(file), 0);
	assert_int_equal(count_files(*state), 0);
}

static void event_file__hidden_until_whole(void **state)
{
	struct account account = { 0 };
	struct event_file_parameters parameters = make_parameters(*state, &account);
	struct event_file *file = open_files(&parameters);
	char path[PATH_SIZE];

	assert_int_equal(write_event(file, 0, 0), 0);
	assert_int_equal(write_event(file, 1, 0), 0);
	path_in(path, *state, "t-run000077-0000.mep");
	assert_string_equal(event_file_path(file), path);
	assert_false(file_exists(*state, "t-run000077-0000.mep"));
	// What was written is in the file before it is whole.
	expect_events(*state, ".t-run000077-0000.mep.part", 0, 2);
	assert_int_equal(event_file_counters(file).events, 2);
	assert_int_equal(event_file_counters(file).bytes, 2 * mep_size());
	assert_int_equal(event_file_close(file), 0);
	assert_int_equal(count_files(*state), 1);
	expect_events(*state, "t-run000077-0000.mep", 0, 2);
	assert_int_equal(account.n, 1);
	assert_int_equal(account.notices[0].kind, EVENT_FILE_FINISHED);
	assert_string_equal(account.notices[0].path, path);
	assert_int_equal(account.notices[0].events, 2);
	assert_int_equal(account.notices[0].bytes, 2 * mep_size());
}

static void event_file__rotates_by_size(void **state)
{
	struct account account = { 0 };
	struct event_file_parameters parameters = make_parameters(*state, &account);
	struct event_file *file;

	parameters.rotate_size = 3 * mep_size();
	file = open_files(&parameters);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(write_event(file, i, 0), 0);
	assert_int_equal(event_file_counters(file).files, 2);
	assert_int_equal(event_file_close(file), 0);
	assert_int_equal(count_files(*state), 3);
	expect_events(*state, "t-run000077-0000.mep", 0, 3);
	expect_events(*state, "t-run000077-0001.mep", 3, 3);
	expect_events(*state, "t-run000077-0002.mep", 6, 1);
}

static void event_file__one_event_may_exceed_the_size(void **state)
{
	struct event_file_parameters parameters = make_parameters(*state, NULL);
	struct event_file *file;

	parameters.rotate_size = 1;
	file = open_files(&parameters);
	assert_int_equal(write_event(file, 0, 0), 0);
	assert_int_equal(write_event(file, 1, 0), 0);
	assert_int_equal(event_file_close(file), 0);
	expect_events(*state, "t-run000077-0000.mep", 0, 1);
	expect_events(*state, "t-run000077-0001.mep", 1, 1);
}

static void event_file__rotates_by_time(void **state)
{
	struct event_file_parameters parameters = make_parameters(*state, NULL);
	struct event_file *file;

	parameters.rotate_time_ns = 100;
	file = open_files(&parameters);
	assert_int_equal(write_event(file, 0, 1000), 0);
	event_file_tick(file, 1099);
	assert_int_equal(event_file_counters(file).files, 0);
	assert_int_equal(write_event(file, 1, 1099), 0);
	event_file_tick(file, 1100);
	assert_int_equal(event_file_counters(file).files, 1);
	assert_int_equal(write_event(file, 2, 5000), 0);
	assert_int_equal(write_event(file, 3, 5100), 0); // too late for the second file
	assert_int_equal(event_file_close(file), 0);
	expect_events(*state, "t-run000077-0000.mep", 0, 2);
	expect_events(*state, "t-run000077-0001.mep", 2, 1);
	expect_events(*state, "t-run000077-0002.mep", 3, 1);
}

static void event_file__a_run_a_file(void **state)
{
	static uint8_t bytes[MEP_ROOM];
	struct event_file_parameters parameters = make_parameters(*state, NULL);
	struct event_file *file = open_files(&parameters);
	struct evb_event event = make_event(bytes, make_slot_mep(bytes, 0), 0);

	assert_int_equal(write_event(file, 0, 0), 0);
	event.run_number = 1234567;
	assert_int_equal(event_file_write(file, &event, 0), 0);
	assert_int_equal(event_file_close(file), 0);
	expect_events(*state, "t-run000077-0000.mep", 0, 1);
	expect_events(*state, "t-run1234567-0000.mep", 0, 1);
}

static void event_file__never_overwrites(void **state)
{
	struct event_file_parameters parameters = make_parameters(*state, NULL);
	struct event_file *file;
	char path[PATH_SIZE];
	size_t size;
	uint8_t *bytes;

	path_in(path, *state, "t-run000077-0005.mep");
	write_file(path, "old", 3);
	file = open_files(&parameters);
	assert_int_equal(write_event(file, 0, 0), 0);
	// Somebody makes a file of the very name that this one is to get.
	path_in(path, *state, "t-run000077-0006.mep");
	write_file(path, "new", 3);
	assert_int_equal(event_file_close(file), 0);
	bytes = read_file(path, &size);
	assert_int_equal(size, 3);
	assert_memory_equal(bytes, "new", 3);
	free(bytes);
	expect_events(*state, "t-run000077-0007.mep", 0, 1);
	assert_int_equal(count_files(*state), 3);
}

static void event_file__two_writers_share_a_directory(void **state)
{
	struct event_file_parameters parameters = make_parameters(*state, NULL);
	struct event_file *a = open_files(&parameters), *b;

	assert_int_equal(write_event(a, 0, 0), 0);
	b = open_files(&parameters); // must not take the other's open file for a leftover
	assert_int_equal(write_event(b, 1, 0), 0);
	assert_int_equal(write_event(a, 2, 0), 0);
	assert_int_equal(event_file_close(b), 0);
	assert_int_equal(event_file_close(a), 0);
	expect_events(*state, "t-run000077-0001.mep", 1, 1);
	assert_true(file_exists(*state, "t-run000077-0000.mep"));
	assert_int_equal(count_files(*state), 2);
}

static void event_file__refuses_what_is_no_mep(void **state)
{
	struct event_file_parameters parameters = make_parameters(*state, NULL);
	struct event_file *file = open_files(&parameters);
	struct evb_event event = make_event((const uint8_t *)"garbage!", 8, 42);

	assert_int_equal(event_file_write(file, &event, 0), -EBADMSG);
	assert_string_equal(event_file_error(file), "event 42 cannot be written: bad_magic");
	assert_int_equal(event_file_close(file), 0);
	assert_int_equal(count_files(*state), 0);
}

static void expect_no_open(struct event_file_parameters parameters, const char *part)
{
	char error[EVENT_FILE_ERROR_SIZE] = "";
	struct event_file *file;

	assert_int_equal(event_file_open(&file, &parameters, error), -1);
	assert_null(file);
	if (!strstr(error, part))
		fail_msg("\"%s\" is not in \"%s\"", part, error);
}

static void event_file__open_says_what_is_wrong(void **state)
{
	struct event_file_parameters parameters = make_parameters(*state, NULL);
	char path[PATH_SIZE];

	parameters.prefix = "../t";
	expect_no_open(parameters, "prefix");
	parameters.prefix = "";
	expect_no_open(parameters, "prefix");
	parameters.prefix = "t";
	path_in(path, *state, "no/such");
	parameters.directory = path;
	expect_no_open(parameters, "No such file or directory");
	path_in(path, *state, "file");
	write_file(path, "", 0);
	expect_no_open(parameters, "Not a directory");
	parameters.directory = *state;
	parameters.format = FILE_FORMAT_MDF;
	parameters.source_map = "/no/map.json";
	expect_no_open(parameters, "/no/map.json");
}

static void event_file__makes_the_directory(void **state)
{
	char path[PATH_SIZE];
	struct event_file_parameters parameters;
	struct event_file *file;

	path_in(path, *state, "new");
	parameters = make_parameters(path, NULL);
	file = open_files(&parameters);
	assert_int_equal(write_event(file, 0, 0), 0);
	assert_int_equal(event_file_close(file), 0);
	expect_events(path, "t-run000077-0000.mep", 0, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(event_file__no_event_no_file),
		TEST(event_file__hidden_until_whole),
		TEST(event_file__rotates_by_size),
		TEST(event_file__one_event_may_exceed_the_size),
		TEST(event_file__rotates_by_time),
		TEST(event_file__a_run_a_file),
		TEST(event_file__never_overwrites),
		TEST(event_file__two_writers_share_a_directory),
		TEST(event_file__refuses_what_is_no_mep),
		TEST(event_file__open_says_what_is_wrong),
		TEST(event_file__makes_the_directory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
