// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WHOLE   "t-run000077-0000.mep"
#define PART    "." WHOLE ".part"
#define JOURNAL "." WHOLE ".journal"

// A process that writes events 0 .. n - 1 and is killed.
static void write_and_die(const char *directory, unsigned n)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		struct event_file_parameters parameters = make_parameters(directory, NULL);
		struct event_file *file = open_files(&parameters);

		for (unsigned i = 0; i < n; i++)
			if (write_event(file, i, 0))
				_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void append(const char *directory, const char *name, const void *bytes, size_t size)
{
	char path[PATH_SIZE];
	FILE *file;

	path_in(path, directory, name);
	file = fopen(path, "ab");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	fclose(file);
}

// Opens and closes without writing; the account has the recovered files.
static void recover(const char *directory, struct account *account)
{
	struct event_file_parameters parameters = make_parameters(directory, account);

	assert_int_equal(event_file_close(open_files(&parameters)), 0);
}

static void recovery__keeps_what_a_killed_writer_wrote(void **state)
{
	struct account account = { 0 };
	char path[PATH_SIZE];

	write_and_die(*state, 3);
	assert_true(file_exists(*state, PART));
	recover(*state, &account);
	expect_events(*state, WHOLE, 0, 3);
	assert_int_equal(count_files(*state), 1);
	assert_int_equal(account.n, 1);
	assert_int_equal(account.notices[0].kind, EVENT_FILE_RECOVERED);
	assert_int_equal(account.notices[0].cut, 0);
	path_in(path, *state, WHOLE);
	assert_string_equal(account.notices[0].path, path);
}

// The kill came while the fourth event was being written: all of it was in the file, but it was
// not said so yet, and hence it was not released.
static void recovery__cuts_what_the_journal_does_not_have(void **state)
{
	static uint8_t bytes[MEP_ROOM];
	struct account account = { 0 };
	size_t size = make_file_mep(bytes, 3);

	write_and_die(*state, 3);
	append(*state, PART, bytes, size);
	recover(*state, &account);
	expect_events(*state, WHOLE, 0, 3);
	assert_int_equal(account.notices[0].cut, size);
}

static void recovery__without_journal_keeps_whole_events(void **state)
{
	static uint8_t bytes[MEP_ROOM];
	struct account account = { 0 };
	size_t size = make_file_mep(bytes, 3);
	char path[PATH_SIZE];

	write_and_die(*state, 3);
	append(*state, PART, bytes, size - 1);
	path_in(path, *state, JOURNAL);
	assert_int_equal(unlink(path), 0);
	recover(*state, &account);
	expect_events(*state, WHOLE, 0, 3);
	assert_int_equal(account.notices[0].cut, size - 1);
}

// After a crash of the machine the size in the journal may be larger or smaller than the file.
static void recovery__does_not_believe_a_journal_of_another_boot(void **state)
{
	struct account account = { 0 };
	char path[PATH_SIZE];
	uint8_t *bytes;
	size_t size;

	write_and_die(*state, 3);
	path_in(path, *state, JOURNAL);
	bytes = read_file(path, &size);
	bytes[8] ^= 1;             // first byte of the boot's name
	store_le64(bytes + 48, 1); // size: the file has more
	write_file(path, bytes, size);
	free(bytes);
	recover(*state, &account);
	expect_events(*state, WHOLE, 0, 3);
	assert_int_equal(count_files(*state), 1);
}

static void recovery__removes_what_has_no_event(void **state)
{
	struct account account = { 0 };
	char path[PATH_SIZE];

	path_in(path, *state, PART);
	write_file(path, "half an eve", 11);
	recover(*state, &account);
	assert_int_equal(count_files(*state), 0);
	assert_int_equal(account.n, 1);
	assert_int_equal(account.notices[0].kind, EVENT_FILE_REMOVED);
	assert_int_equal(account.notices[0].cut, 11);
}

static void recovery__does_not_overwrite(void **state)
{
	struct account account = { 0 };
	char path[PATH_SIZE];

	write_and_die(*state, 2);
	path_in(path, *state, WHOLE);
	write_file(path, "old", 3);
	recover(*state, &account);
	expect_events(*state, "t-run000077-0001.mep", 0, 2);
	assert_int_equal(count_files(*state), 2);
}

static void recovery__leaves_others_alone(void **state)
{
	struct account account = { 0 };
	struct event_file_parameters parameters = make_parameters(*state, &account);
	struct event_file *file = open_files(&parameters);
	char path[PATH_SIZE];

	assert_int_equal(write_event(file, 0, 0), 0); // is alive
	path_in(path, *state, ".other-run000077-0000.mep.part");
	write_file(path, "half", 4); // has another prefix
	path_in(path, *state, ".t-run77-0000.mep.part");
	write_file(path, "half", 4); // is none of ours
	recover(*state, &account);
	assert_int_equal(account.n, 0);
	assert_int_equal(count_files(*state), 4);
	assert_int_equal(event_file_close(file), 0);
	expect_events(*state, WHOLE, 0, 1);
}

static void recovery__removes_a_journal_without_a_file(void **state)
{
	struct account account = { 0 };
	char path[PATH_SIZE];

	path_in(path, *state, JOURNAL);
	write_file(path, "", 0);
	recover(*state, &account);
	assert_int_equal(account.n, 0);
	assert_int_equal(count_files(*state), 0);
}

// The kill came between writing event 2 and releasing it: it comes again.
static void recovery__does_not_write_the_last_event_twice(void **state)
{
	struct event_file_parameters parameters = make_parameters(*state, NULL);
	struct event_file *file;

	write_and_die(*state, 3);
	file = open_files(&parameters);
	assert_int_equal(write_event(file, 2, 0), 0);
	assert_int_equal(write_event(file, 3, 0), 0);
	assert_int_equal(event_file_counters(file).repeated, 1);
	assert_int_equal(event_file_counters(file).events, 1);
	assert_int_equal(event_file_close(file), 0);
	expect_events(*state, WHOLE, 0, 3);
	expect_events(*state, "t-run000077-0001.mep", 3, 1);
}

// Another run of the appliance may use the same run number and event ids.
static void recovery__takes_only_the_very_event_for_the_last(void **state)
{
	static uint8_t bytes[MEP_ROOM];
	struct event_file_parameters parameters = make_parameters(*state, NULL);
	struct evb_event event = make_event(bytes, make_slot_mep(bytes, 2), 2);
	struct event_file *file;

	write_and_die(*state, 3);
	file = open_files(&parameters);
	event.first_ns++;
	assert_int_equal(event_file_write(file, &event, 0), 0);
	assert_int_equal(event_file_counters(file).repeated, 0);
	assert_int_equal(event_file_counters(file).events, 1);
	assert_int_equal(event_file_close(file), 0);
}

// Writes events and reports each, until it is killed.
static pid_t start_writer(const char *directory, int say)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		struct event_file_parameters parameters = make_parameters(directory, NULL);
		struct event_file *file = open_files(&parameters);

		for (unsigned i = 0; !write_event(file, i, 0); i++)
			if (write(say, &i, sizeof(i)) != sizeof(i))
				break;
		_exit(1);
	}
	close(say);
	return child;
}

// The file that is recovered holds the events 0, 1, ... without a gap: all that the writer said to
// have written, and at most the one behind.
static void recovery__at_random_moments(void **state)
{
	static uint8_t bytes[MEP_ROOM];
	const size_t mep_size = make_file_mep(bytes, 0);

	for (unsigned round = 0; round < 20; round++) {
		struct account account = { 0 };
		unsigned said = 0, number, found;
		char path[PATH_SIZE];
		int pipes[2];
		pid_t child;

		assert_int_equal(pipe(pipes), 0);
		child = start_writer(*state, pipes[1]);
		while (said <= 3 * round && read(pipes[0], &number, sizeof(number)) > 0)
			said = number + 1;
		kill(child, SIGKILL);
		assert_int_equal(waitpid(child, NULL, 0), child);
		while (read(pipes[0], &number, sizeof(number)) > 0)
			said = number + 1;
		close(pipes[0]);
		recover(*state, &account);
		assert_int_equal(account.n, 1);
		found = (unsigned)(account.notices[0].bytes / mep_size);
		assert_in_range(found, said, said + 1);
		expect_events(*state, WHOLE, 0, found);
		path_in(path, *state, WHOLE);
		assert_int_equal(unlink(path), 0);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(recovery__keeps_what_a_killed_writer_wrote),
		TEST(recovery__cuts_what_the_journal_does_not_have),
		TEST(recovery__without_journal_keeps_whole_events),
		TEST(recovery__does_not_believe_a_journal_of_another_boot),
		TEST(recovery__removes_what_has_no_event),
		TEST(recovery__does_not_overwrite),
		TEST(recovery__leaves_others_alone),
		TEST(recovery__removes_a_journal_without_a_file),
		TEST(recovery__does_not_write_the_last_event_twice),
		TEST(recovery__takes_only_the_very_event_for_the_last),
		TEST(recovery__at_random_moments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
