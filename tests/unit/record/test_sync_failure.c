// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A disk that fails as Linux reports it: the sync that meets the error returns it once, the pages
// that could not be written count as clean, and the next sync succeeds without their data.

#include "helpers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHOLE(sequence)   "t-run000077-000" #sequence ".mep"
#define PART(sequence)    "." WHOLE(sequence) ".part"
#define JOURNAL(sequence) "." WHOLE(sequence) ".journal"

// What the next syncs of files do.
static struct {
	unsigned failed; // this number fails, and all after them succeed
	int error;
	size_t hole_at, hole_size; // what the first failed sync does not write
} disk;

static void break_disk(unsigned failed, int error)
{
	static uint8_t bytes[MEP_ROOM];
	size_t size = make_file_mep(bytes, 0);

	disk.failed = failed;
	disk.error = error;
	disk.hole_at = size; // the second event of the file
	disk.hole_size = size;
}

static int sync_file(int file)
{
	static const uint8_t nothing[MEP_ROOM];
	struct stat status;

	assert_int_equal(fstat(file, &status), 0);
	if (disk.failed == 0 || S_ISDIR(status.st_mode))
		return 0;
	disk.failed--;
	if ((size_t)status.st_size >= disk.hole_at + disk.hole_size)
		assert_int_equal(pwrite(file, nothing, disk.hole_size, (off_t)disk.hole_at),
				 disk.hole_size);
	errno = disk.error;
	return -1;
}

// In the place of the C library's.
int fdatasync(int file)
{
	return sync_file(file);
}

int fsync(int file)
{
	return sync_file(file);
}

// Every third event is synced.
static struct event_file_parameters syncing(const char *directory, struct account *account)
{
	static uint8_t bytes[MEP_ROOM];
	struct event_file_parameters parameters = make_parameters(directory, account);

	parameters.sync_size = 3 * make_file_mep(bytes, 0);
	return parameters;
}

// Writes the events first .. first + n - 1, each until it is written; returns how often one was
// not.
static unsigned write_all(struct event_file *file, unsigned first, unsigned n)
{
	unsigned refused = 0;

	for (unsigned i = first; i < first + n; i++)
		while (write_event(file, i, 0))
			assert_true(refused++ < 100);
	return refused;
}

// The event whose sync failed is written again, to another file. The two before it had been
// released: they are told as lost, and their file does not get its final name.
static void fails_the_file(void **state, int error)
{
	struct account account = { 0 };
	struct event_file_parameters parameters = syncing(*state, &account);
	struct event_file *file = open_files(&parameters);

	break_disk(1, error);
	assert_int_equal(write_all(file, 0, 4), 1);
	assert_false(file_exists(*state, WHOLE(0)));
	assert_true(file_exists(*state, PART(0)));
	assert_false(file_exists(*state, JOURNAL(0)));
	assert_int_equal(event_file_counters(file).failures, 1);
	assert_int_equal(event_file_counters(file).lost, 2);
	assert_int_equal(event_file_counters(file).events, 4);
	assert_int_equal(account.notices[0].kind, EVENT_FILE_FAILED);
	assert_int_equal(account.notices[0].events, 2);
	assert_int_equal(account.notices[1].kind, EVENT_FILE_PAUSED);
	assert_int_equal(account.notices[2].kind, EVENT_FILE_RESUMED);
	assert_int_equal(event_file_close(file), -1);
	expect_events(*state, WHOLE(1), 2, 2);
}

static void sync__that_failed_fails_the_file(void **state)
{
	fails_the_file(state, EIO);
}

// Also these come when pages could not be written that count as clean then.
static void sync__without_room_fails_the_file(void **state)
{
	fails_the_file(state, ENOSPC);
}

// A disk that stays broken takes no further events: each is synced before it is released.
static void sync__that_goes_on_failing_loses_no_more(void **state)
{
	struct account account = { 0 };
	struct event_file_parameters parameters = syncing(*state, &account);
	struct event_file *file = open_files(&parameters);

	assert_int_equal(write_event(file, 0, 0), 0);
	assert_int_equal(write_event(file, 1, 0), 0);
	break_disk(21, EIO);
	for (unsigned i = 0; i < 21; i++)
		assert_int_equal(write_event(file, 2, 0), -EAGAIN);
	assert_int_equal(account.n, 2); // failed, paused
	assert_int_equal(write_event(file, 2, 0), 0);
	assert_int_equal(event_file_counters(file).lost, 2);
	assert_int_equal(event_file_counters(file).failures, 1);
	assert_int_equal(event_file_close(file), -1);
	expect_events(*state, WHOLE(1), 2, 1);
}

static void sync__that_failed_at_the_end_fails_the_file(void **state)
{
	struct account account = { 0 };
	struct event_file_parameters parameters = make_parameters(*state, &account);
	struct event_file *file = open_files(&parameters);

	assert_int_equal(write_all(file, 0, 3), 0);
	break_disk(1, EIO);
	assert_int_equal(event_file_finish(file), -1);
	assert_int_equal(event_file_counters(file).lost, 3);
	assert_int_equal(event_file_counters(file).failures, 1);
	assert_int_equal(event_file_close(file), -1);
	assert_false(file_exists(*state, WHOLE(0)));
	assert_false(file_exists(*state, JOURNAL(0)));
}

// What the disk has is found by reading it, not in the journal.
static void sync__that_failed_is_not_hidden_by_the_recovery(void **state)
{
	struct account account = { 0 };
	struct event_file_parameters parameters = make_parameters(*state, &account);
	struct event_file *file = open_files(&parameters);

	assert_int_equal(write_all(file, 0, 3), 0);
	break_disk(1, EIO);
	assert_int_equal(event_file_close(file), -1);
	account.n = 0;
	assert_int_equal(event_file_close(open_files(&parameters)), 0);
	expect_events(*state, WHOLE(0), 0, 1);
	assert_int_equal(account.n, 1);
	assert_int_equal(account.notices[0].kind, EVENT_FILE_RECOVERED);
	assert_int_equal(account.notices[0].cut, 2 * account.notices[0].bytes);
}

// The recovery's own sync of the file of a killed writer fails.
static void sync__that_failed_in_a_recovery_is_not_hidden_by_the_next(void **state)
{
	struct account account = { 0 };
	struct event_file_parameters parameters = make_parameters(*state, &account);
	struct event_file *file = open_files(&parameters);
	char path[PATH_SIZE];
	uint8_t *part, *journal;
	size_t part_size, journal_size;

	assert_int_equal(write_all(file, 0, 3), 0);
	path_in(path, *state, PART(0));
	part = read_file(path, &part_size);
	path_in(path, *state, JOURNAL(0));
	journal = read_file(path, &journal_size);
	assert_int_equal(event_file_close(file), 0);
	path_in(path, *state, WHOLE(0));
	assert_int_equal(unlink(path), 0);
	path_in(path, *state, PART(0));
	write_file(path, part, part_size);
	path_in(path, *state, JOURNAL(0));
	write_file(path, journal, journal_size);
	free(part);
	free(journal);

	break_disk(1, EIO);
	assert_int_equal(event_file_close(open_files(&parameters)), -1);
	assert_false(file_exists(*state, WHOLE(0)));
	assert_int_equal(event_file_close(open_files(&parameters)), 0);
	expect_events(*state, WHOLE(0), 0, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sync__that_failed_fails_the_file),
		TEST(sync__without_room_fails_the_file),
		TEST(sync__that_goes_on_failing_loses_no_more),
		TEST(sync__that_failed_at_the_end_fails_the_file),
		TEST(sync__that_failed_is_not_hidden_by_the_recovery),
		TEST(sync__that_failed_in_a_recovery_is_not_hidden_by_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
