// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Other local users: what they put under an appliance's name, lock or may open stops no start, and
// keeps no dead process alive.
#include "bench.h"

#include <evring/evring_layout.h>
#include <evring/evring_place.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOBODY 65534
#define BYTES  80 // owner, table and members

static const char *path_in(const struct bench *bench, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", bench->directory, name);
	return path;
}

static int put_file(const struct bench *bench, const char *name)
{
	const int file = open(path_in(bench, name), O_RDWR | O_CREAT | O_CLOEXEC, 0666);

	assert_true(file >= 0);
	return file;
}

static void lock_bytes(int file, short type, int64_t first)
{
	struct flock lock = {
		.l_type = type, .l_start = first, .l_len = BYTES, .l_whence = SEEK_SET
	};

	assert_int_equal(fcntl(file, F_OFD_SETLK, &lock), 0);
}

static int create(struct bench *bench)
{
	const char *group = "main";
	const struct evring_parameters parameters = bench_parameters(bench, 4, &group);

	return evring_create(&bench->ring, &parameters, bench->error);
}

// The appliance starts, and its consumers find its ring and no other.
static void expect_start(struct bench *bench)
{
	struct evb_reader *reader;
	struct evb_event event;

	if (create(bench) != 0)
		fail_msg("%s", bench->error);
	bench->n_free = 1;
	bench->free_slots[0] = 0;
	bench->published = 0;
	assert_true(bench_publish(bench));
	reader = bench_member(bench, "main");
	event = bench_take(reader, 0);
	bench_release(reader, &event);
	evb_reader_close(reader);
	evring_destroy(bench->ring);
}

static void local__locks_on_the_directory_stop_no_start(void **state)
{
	struct bench bench;
	int file;

	(void)state;
	bench_make_directory(&bench);
	file = open(bench.directory, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(file, LOCK_EX), 0);
	expect_start(&bench);
	close(file);
	assert_int_equal(rmdir(bench.directory), 0);
}

static void local__what_has_the_name_stops_no_start(void **state)
{
	struct bench bench;
	int file;

	(void)state;
	bench_make_directory(&bench);
	file = put_file(&bench, "evb-bench");
	expect_start(&bench);
	close(file);
	unlink(path_in(&bench, "evb-bench"));
	assert_int_equal(symlink("/nonexistent/x", path_in(&bench, "evb-bench")), 0);
	expect_start(&bench);
	assert_int_equal(readlink(path_in(&bench, "evb-bench"), bench.error, 32), 14);
	unlink(path_in(&bench, "evb-bench"));
	assert_int_equal(symlink("/nonexistent/x", path_in(&bench, "evb-bench.0")), 0);
	expect_start(&bench);
	unlink(path_in(&bench, "evb-bench.0"));
	bench_remove_directory(&bench);
}

static void local__a_fake_ring_stops_no_start(void **state)
{
	const uint64_t magic = EVRING_MAGIC;
	struct bench bench;
	int file;

	(void)state;
	bench_make_directory(&bench);
	file = put_file(&bench, "evb-bench.0");
	assert_int_equal(write(file, &magic, sizeof(magic)), sizeof(magic));
	lock_bytes(file, F_WRLCK, EVRING_LOCK_OWNER);
	expect_start(&bench);
	close(file);
	bench_remove_directory(&bench);
}

// Another user's directory with a ring that looks live. Only root can make one here.
static void local__another_users_place_stops_no_start(void **state)
{
	struct bench bench;
	int file;

	(void)state;
	if (geteuid() != 0)
		skip();
	bench_make_directory(&bench);
	assert_int_equal(mkdir(path_in(&bench, "evb-bench"), 0755), 0);
	file = put_file(&bench, "evb-bench/lock");
	lock_bytes(file, F_WRLCK, EVRING_LOCK_OWNER);
	assert_int_equal(flock(file, LOCK_EX), 0);
	close(put_file(&bench, "evb-bench/ring.0"));
	assert_int_equal(chown(path_in(&bench, "evb-bench"), NOBODY, NOBODY), 0);
	expect_start(&bench);
	assert_int_equal(evring_clean(NULL, bench.directory, bench.error), 0);
	assert_int_equal(access(path_in(&bench, "evb-bench/ring.0"), F_OK), 0);
	close(file);
	assert_int_equal(evring_clean(NULL, bench.directory, bench.error), 1);
	assert_int_equal(rmdir(bench.directory), 0);
}

// Places of another user that come before the appliance's own, and more than a reader tries.
static void local__many_places_of_others_hide_no_ring(void **state)
{
	struct bench bench;

	(void)state;
	if (geteuid() != 0)
		skip();
	bench_make_directory(&bench);
	for (unsigned i = 0; i < 3 * EVRING_MAX_PLACES; i++) {
		char name[64];

		snprintf(name, sizeof(name), i == 0 ? "evb-bench" : "evb-bench.0000%02u", i);
		assert_int_equal(mkdir(path_in(&bench, name), 0755), 0);
		assert_int_equal(chown(path_in(&bench, name), NOBODY, NOBODY), 0);
	}
	expect_start(&bench);
	bench_remove_directory(&bench);
}

// A member that has taken an event and dies.
static void lose_member(const struct bench *bench)
{
	struct evb_event event;
	int status;
	const pid_t child = bench_fork();

	if (child == 0) {
		if (evb_reader_next(bench_member(bench, "main"), &event, 1000) == 1)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

// Whoever may only read a file can take shared locks on it.
static void local__shared_locks_keep_nobody_alive(void **state)
{
	struct evb_reader_options options = { 0 };
	struct evb_reader *reader;
	struct evb_event event;
	struct bench bench;
	int file;

	(void)state;
	bench_open(&bench, 4, "main");
	options.directory = bench.directory;
	assert_true(bench_publish(&bench));
	lose_member(&bench);
	file = open(evring_path(bench.ring), O_RDONLY | O_CLOEXEC);
	assert_true(file >= 0);
	lock_bytes(file, F_RDLCK, EVRING_LOCK_TABLE);
	assert_int_equal(evring_reap(bench.ring), 1);
	reader = bench_member(&bench, "main");
	event = bench_take(reader, 0);
	bench_release(reader, &event);
	evb_reader_close(reader);
	evring_destroy(bench.ring);

	// A dead run whose file somebody locks: told as dead, and replaced.
	if (bench_fork() == 0) {
		if (create(&bench) == 0)
			kill(getpid(), SIGKILL);
		_exit(1);
	}
	assert_true(wait(NULL) > 0);
	close(file);
	file = open(path_in(&bench, "evb-bench/ring.0"), O_RDONLY | O_CLOEXEC);
	if (file < 0)
		file = open(path_in(&bench, "evb-bench.0"), O_RDONLY | O_CLOEXEC);
	lock_bytes(file, F_RDLCK, EVRING_LOCK_OWNER);
	assert_int_equal(evb_reader_open(&reader, BENCH_NAME, &options), -ESTALE);
	evb_reader_close(reader);
	expect_start(&bench);
	close(file);
	bench_remove_directory(&bench);
}

static unsigned mode_of(const struct bench *bench, const char *name)
{
	struct stat status;

	assert_int_equal(stat(path_in(bench, name), &status), 0);
	return status.st_mode & 07777;
}

static void local__mode_says_who_reads_and_who_joins(void **state)
{
	static const unsigned modes[][3] = {
		// ring, place, members
		{ 0600, 0700, 0600 }, { 0640, 0750, 0600 }, { 0644, 0755, 0600 },
		{ 0660, 0750, 0660 }, { 0664, 0755, 0660 }, { 0666, 0755, 0666 },
	};
	const char *group = "main";
	struct bench bench;
	char number[16];
	struct evring_parameters parameters;

	(void)state;
	bench_make_directory(&bench);
	parameters = bench_parameters(&bench, 4, &group);
	snprintf(number, sizeof(number), "%u", (unsigned)getegid());
	parameters.unix_group = number;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		parameters.mode = modes[i][0];
		assert_int_equal(evring_create(&bench.ring, &parameters, bench.error), 0);
		assert_int_equal(mode_of(&bench, "evb-bench/ring.0"), modes[i][0]);
		assert_int_equal(mode_of(&bench, "evb-bench"), modes[i][1]);
		assert_int_equal(mode_of(&bench, "evb-bench/members.0"), modes[i][2]);
		assert_int_equal(mode_of(&bench, "evb-bench/lock"), 0600);
		evring_destroy(bench.ring);
	}
	parameters.unix_group = "no such group";
	assert_int_equal(evring_create(&bench.ring, &parameters, bench.error), -EINVAL);
	assert_non_null(strstr(bench.error, "there is no Unix group no such group"));
	assert_int_equal(rmdir(bench.directory), 0);
}

// A member may write the ring file, and may truncate it: the appliance and its own readers go on to
// an end in order.
static void local__a_truncated_ring_is_told_and_kills_nobody(void **state)
{
	struct evb_reader *reader;
	struct evb_event held, event;
	struct bench bench;
	int rc = 0;

	(void)state;
	bench_open(&bench, 8, "main");
	reader = bench_member(&bench, "main");
	assert_true(bench_publish(&bench));
	held = bench_take(reader, 0);
	assert_false(evring_is_cut(bench.ring));
	assert_int_equal(truncate(evring_path(bench.ring), 0), 0);
	assert_true(evring_is_cut(bench.ring));
	for (unsigned i = 0; i < 3; i++) {
		while (bench_publish(&bench))
			;
		bench_collect(&bench);
		evring_reap(bench.ring);
	}
	assert_false(evb_event_intact(reader, &held));
	for (unsigned i = 0; i < 20 && rc == 0; i++)
		rc = evb_reader_next(reader, &event, 50);
	assert_int_equal(rc, -EPIPE);
	assert_int_equal(evb_reader_release(reader, &held), -EINVAL);
	evb_reader_close(reader);
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local__locks_on_the_directory_stop_no_start),
		cmocka_unit_test(local__what_has_the_name_stops_no_start),
		cmocka_unit_test(local__a_fake_ring_stops_no_start),
		cmocka_unit_test(local__another_users_place_stops_no_start),
		cmocka_unit_test(local__many_places_of_others_hide_no_ring),
		cmocka_unit_test(local__shared_locks_keep_nobody_alive),
		cmocka_unit_test(local__mode_says_who_reads_and_who_joins),
		cmocka_unit_test(local__a_truncated_ring_is_told_and_kills_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
