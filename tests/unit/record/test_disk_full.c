// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define DISK_SIZE (256u * 1024u) // about sixteen events

// The largest size that files of this process may have.
static void limit_files(rlim_t limit)
{
	struct rlimit limits;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limits), 0);
	limits.rlim_cur = limit < limits.rlim_max ? limit : limits.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limits), 0);
}

static void event_file__pauses_and_resumes(void **state)
{
	struct account account = { 0 };
	struct event_file_parameters parameters = make_parameters(*state, &account);
	struct event_file *file = open_files(&parameters);

	limit_files(9000); // less than one event, more than its first piece
	assert_int_equal(write_event(file, 0, 0), -EAGAIN);
	assert_int_equal(write_event(file, 0, 0), -EAGAIN);
	limit_files(RLIM_INFINITY);
	assert_int_equal(account.n, 1); // reported once
	assert_int_equal(account.notices[0].kind, EVENT_FILE_PAUSED);
	assert_non_null(strstr(account.notices[0].cause, "t-run000077-0000.mep: File too large"));
	assert_int_equal(event_file_counters(file).pauses, 1);
	assert_int_equal(event_file_counters(file).events, 0);
	expect_events(*state, ".t-run000077-0000.mep.part", 0, 0); // the partial event is cut off
	assert_int_equal(write_event(file, 0, 0), 0);
	assert_int_equal(account.n, 2);
	assert_int_equal(account.notices[1].kind, EVENT_FILE_RESUMED);
	assert_int_equal(event_file_close(file), 0);
	expect_events(*state, "t-run000077-0000.mep", 0, 1);
}

static void event_file__paused_without_an_event_leaves_nothing(void **state)
{
	struct event_file_parameters parameters = make_parameters(*state, NULL);
	struct event_file *file = open_files(&parameters);

	limit_files(9000);
	assert_int_equal(write_event(file, 0, 0), -EAGAIN);
	limit_files(RLIM_INFINITY);
	assert_int_equal(event_file_close(file), 0);
	assert_int_equal(count_files(*state), 0);
}

static void event_file__begins_a_new_file_at_the_largest_size(void **state)
{
	struct event_file_parameters parameters = make_parameters(*state, NULL);
	struct event_file *file = open_files(&parameters);

	limit_files(40000); // two events and a part of the third
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(write_event(file, i, 0), 0);
	limit_files(RLIM_INFINITY);
	assert_int_equal(event_file_close(file), 0);
	expect_events(*state, "t-run000077-0000.mep", 0, 2);
	expect_events(*state, "t-run000077-0001.mep", 2, 2);
	expect_events(*state, "t-run000077-0002.mep", 4, 1);
}

// A small file system of the test's own; false if this machine does not let it have one.
static bool mount_disk(const char *path)
{
	char options[32];

	if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return false;
	// So that nobody else sees the mount. It goes with the process.
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return false;
	snprintf(options, sizeof(options), "size=%u", DISK_SIZE);
	return !mount("tmpfs", path, "tmpfs", 0, options);
}

static void fill_disk(const char *directory, const char *name)
{
	char path[PATH_SIZE], block[4096] = { 0 };
	int file;

	path_in(path, directory, name);
	file = open(path, O_CREAT | O_WRONLY, 0644);
	assert_true(file >= 0);
	while (write(file, block, sizeof(block)) > 0)
		;
	close(file);
}

static void event_file__waits_for_room_on_the_disk(void **state)
{
	struct account account = { 0 };
	struct event_file_parameters parameters;
	struct event_file *file;
	char path[PATH_SIZE], filler[PATH_SIZE];
	unsigned written = 0;

	path_in(path, *state, "disk");
	path_in(filler, path, "filler");
	assert_int_equal(mkdir(path, 0755), 0);
	if (!mount_disk(path)) {
		print_message("no file system can be mounted here: skipped\n");
		rmdir(path);
		skip();
	}
	parameters = make_parameters(path, &account);
	file = open_files(&parameters);
	assert_int_equal(write_event(file, 0, 0), 0);
	assert_int_equal(write_event(file, 1, 0), 0);
	fill_disk(path, "filler");
	assert_int_equal(write_event(file, 2, 0), -EAGAIN);
	assert_int_equal(write_event(file, 2, 0), -EAGAIN);
	assert_int_equal(account.n, 1);
	assert_non_null(strstr(account.notices[0].cause, "No space left on device"));
	expect_events(path, ".t-run000077-0000.mep.part", 0, 2);
	assert_int_equal(unlink(filler), 0);
	for (written = 2; !write_event(file, written, 0); written++)
		;
	assert_in_range(written, 10, 20);
	assert_int_equal(account.n, 3); // paused, resumed, paused
	assert_int_equal(event_file_counters(file).pauses, 2);
	assert_int_equal(event_file_close(file), 0); // also on a full disk
	expect_events(path, "t-run000077-0000.mep", 0, written);
	assert_int_equal(count_files(path), 1);
	assert_int_equal(umount2(path, MNT_DETACH), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(event_file__pauses_and_resumes),
		TEST(event_file__paused_without_an_event_leaves_nothing),
		TEST(event_file__begins_a_new_file_at_the_largest_size),
		TEST(event_file__waits_for_room_on_the_disk),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
