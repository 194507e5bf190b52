// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Ring files: who may have a name, what a dead run leaves, and what is told when something is
// wrong.
#include "bench.h"

#include <evring/evring_layout.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define RIVALS 4
#define ROUNDS 20

static void file_path(const struct bench *bench, const char *file_name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", bench->directory, file_name);
}

static bool file_exists(const struct bench *bench, const char *file_name)
{
	char path[128];

	file_path(bench, file_name, path, sizeof(path));
	return access(path, F_OK) == 0;
}

static void put_file(const struct bench *bench, const char *file_name, const char *content)
{
	char path[128];
	FILE *file;

	file_path(bench, file_name, path, sizeof(path));
	file = fopen(path, "we");
	assert_non_null(file);
	fputs(content, file);
	fclose(file);
}

static int create(struct bench *bench, unsigned builder, unsigned n_builders)
{
	const char *group = "main";
	struct evring_parameters parameters = bench_parameters(bench, 4, &group);

	parameters.builder = builder;
	parameters.n_builders = n_builders;
	return evring_create(&bench->ring, &parameters, bench->error);
}

// A process that makes the rings of a run and dies without a word.
static void leave_dead_run(struct bench *bench, unsigned n_builders)
{
	int status;
	pid_t child = bench_fork();

	if (child == 0) {
		for (unsigned b = 0; b < n_builders; b++)
			if (create(bench, b, n_builders) != 0)
				_exit(1);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
}

static void expect_open_error(const struct bench *bench, const char *name, int error,
			      const char *text)
{
	const struct evb_reader_options options = { .directory = bench->directory };
	struct evb_reader *reader;
	struct evb_event event;

	assert_int_equal(evb_reader_open(&reader, name, &options), error);
	assert_non_null(reader);
	if (strstr(evb_reader_error(reader), text) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", evb_reader_error(reader), text);
	assert_int_equal(evb_reader_next(reader, &event, 0), -EPIPE);
	evb_reader_close(reader);
}

static void files__are_named_after_appliance_and_builder(void **state)
{
	struct bench bench;
	struct stat status;
	char path[128];

	(void)state;
	bench_make_directory(&bench);
	assert_int_equal(create(&bench, 3, 5), 0);
	file_path(&bench, "evb-bench/ring.3", path, sizeof(path));
	assert_string_equal(evring_path(bench.ring), path);
	assert_false(evring_on_hugepages(bench.ring));
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0660);
	assert_in_range(status.st_size, evring_bytes(4, EVRING_SLOT_ALIGNMENT),
			evring_bytes(4, EVRING_SLOT_ALIGNMENT) + 2 * sysconf(_SC_PAGESIZE));
	assert_int_equal(evring_bytes(0, 1), 0);
	assert_false(file_exists(&bench, "evb-bench/ring.3.new"));
	assert_int_equal(evring_slots(bench.ring), 4);
	assert_int_equal(evring_slot_size(bench.ring), EVRING_SLOT_ALIGNMENT);
	assert_int_equal((uintptr_t)evring_slot(bench.ring, 3) -
			     (uintptr_t)evring_slot(bench.ring, 0),
			 3 * EVRING_SLOT_ALIGNMENT);
	evring_destroy(bench.ring);
	assert_int_equal(rmdir(bench.directory), 0);
}

static void expect_refusal(struct bench *bench, const struct evring_parameters *parameters,
			   int error, const char *text)
{
	bench->ring = (struct evring *)bench;
	assert_int_equal(evring_create(&bench->ring, parameters, bench->error), error);
	assert_null(bench->ring);
	if (strstr(bench->error, text) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", bench->error, text);
}

static void files__bad_parameters_are_refused(void **state)
{
	const char *group = "main";
	const char *bad_group = "no spaces";
	struct bench bench;
	struct evring_parameters good, bad;

	(void)state;
	bench_make_directory(&bench);
	good = bench_parameters(&bench, 4, &group);
	bad = good;
	bad.name = "a/b";
	expect_refusal(&bench, &bad, -EINVAL, "name: expected 1 to 31 characters");
	bad.name = "";
	expect_refusal(&bench, &bad, -EINVAL, "name: expected 1 to 31 characters");
	bad.name = "abcdefghijklmnopqrstuvwxyz012345"; // 32 characters
	expect_refusal(&bench, &bad, -EINVAL, "name: expected 1 to 31 characters");
	bad = good;
	bad.builder = 1;
	expect_refusal(&bench, &bad, -EINVAL, "builder 1 of 1 does not exist");
	bad = good;
	bad.slots = 0;
	expect_refusal(&bench, &bad, -EINVAL, "0 slots are out of range 1..65536");
	bad.slots = EVRING_MAX_SLOTS + 1;
	expect_refusal(&bench, &bad, -EINVAL, "65537 slots are out of range 1..65536");
	bad = good;
	bad.slot_size = UINT64_MAX;
	expect_refusal(&bench, &bad, -EINVAL, "not possible");
	bad.slot_size = 0;
	expect_refusal(&bench, &bad, -EINVAL, "4 slots of 0 bytes are not possible");
	bad = good;
	bad.groups = &bad_group;
	expect_refusal(&bench, &bad, -EINVAL, "group 0: expected 1 to 31 characters");
	bad = good;
	bad.directory = "/nonexistent";
	expect_refusal(&bench, &bad, -ENOENT, "/nonexistent: No such file");
	assert_int_equal(rmdir(bench.directory), 0);
}

static void files__too_large_ring_leaves_nothing(void **state)
{
	const char *group = "main";
	struct bench bench;
	struct evring_parameters parameters;

	(void)state;
	bench_make_directory(&bench);
	parameters = bench_parameters(&bench, EVRING_MAX_SLOTS, &group);
	parameters.slot_size = UINT64_C(1) << 32; // 256 TiB
	expect_refusal(&bench, &parameters, -ENOSPC, "the ring needs 268435");
	assert_int_equal(rmdir(bench.directory), 0);
}

static void files__slot_size_is_rounded_up(void **state)
{
	const char *group = "main";
	struct bench bench;
	struct evring_parameters parameters;

	(void)state;
	bench_make_directory(&bench);
	parameters = bench_parameters(&bench, 3, &group);
	parameters.slot_size = EVRING_SLOT_ALIGNMENT + 1;
	assert_int_equal(evring_create(&bench.ring, &parameters, bench.error), 0);
	assert_int_equal(evring_slot_size(bench.ring), 2 * EVRING_SLOT_ALIGNMENT);
	memset(evring_slot(bench.ring, 2), 1, 2 * EVRING_SLOT_ALIGNMENT);
	bench_close(&bench);
}

static void files__live_name_is_refused(void **state)
{
	struct bench bench, second;
	int status;
	pid_t child;

	(void)state;
	bench_open(&bench, 4, "main");
	second = bench;
	// The same ring from the same process, another ring from another process.
	assert_int_equal(create(&second, 0, 1), -EEXIST);
	assert_non_null(strstr(second.error, "evb-bench/ring.0: belongs to a live run"));
	child = bench_fork();
	if (child == 0)
		_exit(create(&second, 1, 2) == -EEXIST ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_false(file_exists(&bench, "evb-bench/ring.1.new"));

	assert_int_equal(evring_clean(BENCH_NAME, bench.directory, bench.error), 0);
	assert_int_equal(evring_clean(NULL, bench.directory, bench.error), 0);
	assert_true(file_exists(&bench, "evb-bench/ring.0"));
	bench_close(&bench);
}

static void files__dead_run_is_told_and_replaced(void **state)
{
	struct bench bench;

	(void)state;
	bench_make_directory(&bench);
	leave_dead_run(&bench, 3);
	assert_true(file_exists(&bench, "evb-bench/ring.2"));
	expect_open_error(&bench, BENCH_NAME, -ESTALE, "is dead");

	// The new run has fewer builders: the rings of the others go as well.
	assert_int_equal(create(&bench, 0, 1), 0);
	assert_true(file_exists(&bench, "evb-bench/ring.0"));
	assert_false(file_exists(&bench, "evb-bench/ring.1"));
	assert_false(file_exists(&bench, "evb-bench/ring.2"));
	bench_close(&bench);
}

static void files__clean_removes_dead_runs_only(void **state)
{
	struct bench bench;

	(void)state;
	bench_make_directory(&bench);
	leave_dead_run(&bench, 2);
	put_file(&bench, "evb-other.0.new", ""); // layout version 1 died while making it
	put_file(&bench, "evb-other.1", "not a ring");
	put_file(&bench, "evb-bench/ring.0.backup", "not a ring");
	put_file(&bench, "evb-third", "not a ring");
	put_file(&bench, "notes", "not a ring");
	assert_int_equal(evring_clean("third", bench.directory, bench.error), 0);
	assert_int_equal(evring_clean(BENCH_NAME, bench.directory, bench.error), 2);
	assert_false(file_exists(&bench, "evb-bench/ring.0"));
	assert_true(file_exists(&bench, "evb-other.0.new"));
	assert_int_equal(evring_clean(NULL, bench.directory, bench.error), 1);
	assert_false(file_exists(&bench, "evb-other.0.new"));
	assert_true(file_exists(&bench, "evb-other.1"));
	assert_true(file_exists(&bench, "evb-bench/ring.0.backup"));
	assert_true(file_exists(&bench, "evb-third"));
	assert_true(file_exists(&bench, "notes"));
	assert_int_equal(evring_clean("a b", bench.directory, bench.error), -EINVAL);
	assert_int_equal(evring_clean(NULL, "/nonexistent", bench.error), -ENOENT);
	bench_remove_directory(&bench);
}

// An appliance of layout version 1 and a file that only looks like one.
static void files__older_layouts_are_recognised(void **state)
{
	const struct evring_header header = { .magic = EVRING_MAGIC, .layout_version = 1 };
	struct bench bench;
	FILE *file;
	char path[128];

	(void)state;
	bench_make_directory(&bench);
	put_file(&bench, "evb-bench.1", "somebody's");
	put_file(&bench, "evb-bench.0", "");
	file_path(&bench, "evb-bench.0", path, sizeof(path));
	file = fopen(path, "we");
	assert_int_equal(fwrite(&header, sizeof(header), 1, file), 1);
	fclose(file);
	expect_open_error(&bench, BENCH_NAME, -EPROTO, "layout version 1, this library reads 3");
	assert_int_equal(create(&bench, 0, 1), 0);
	assert_false(file_exists(&bench, "evb-bench.0")); // its run was dead
	assert_true(file_exists(&bench, "evb-bench.1"));
	bench_close(&bench);
}

// Starts a rival that tells its result and lives until `go` is closed.
static pid_t start_rival(struct bench *bench, const int *go, const int *results)
{
	pid_t child = bench_fork();
	char byte;
	int rc;

	if (child != 0)
		return child;
	close(go[1]);
	rc = create(bench, 0, 1);
	byte = rc == 0 ? 'w' : rc == -EEXIST ? 'e' : '?';
	if (write(results[1], &byte, 1) != 1)
		_exit(1);
	while (read(go[0], &byte, 1) > 0)
		;
	_exit(0);
}

static void files__of_rivals_one_wins(void **state)
{
	struct bench bench;

	(void)state;
	bench_make_directory(&bench);
	// From the second round on, they also compete for the removal of the last winner's file.
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned winners = 0, losers = 0;
		pid_t rivals[RIVALS];
		int go[2], results[2];

		assert_int_equal(pipe(go), 0);
		assert_int_equal(pipe(results), 0);
		for (unsigned i = 0; i < RIVALS; i++)
			rivals[i] = start_rival(&bench, go, results);
		for (unsigned i = 0; i < RIVALS; i++) {
			char byte;

			assert_int_equal(read(results[0], &byte, 1), 1);
			winners += byte == 'w';
			losers += byte == 'e';
		}
		assert_int_equal(winners, 1);
		assert_int_equal(losers, RIVALS - 1);
		assert_true(file_exists(&bench, "evb-bench/ring.0"));
		close(go[1]);
		for (unsigned i = 0; i < RIVALS; i++)
			assert_int_equal(waitpid(rivals[i], NULL, 0), rivals[i]);
		close(go[0]);
		close(results[0]);
		close(results[1]);
	}
	assert_int_equal(evring_clean(NULL, bench.directory, bench.error), 1);
	bench_remove_directory(&bench);
}

static void files__reader_says_what_is_wrong(void **state)
{
	const uint32_t version = 99;
	const uint32_t slots = EVRING_MAX_SLOTS;
	struct evb_reader_options options = { .group = "a b" };
	struct evb_reader *reader;
	struct bench bench;
	char path[128], other[128];
	int file;

	(void)state;
	bench_make_directory(&bench);
	expect_open_error(&bench, BENCH_NAME, -ENOENT,
			  "no event ring of builder 0 of an appliance bench");
	expect_open_error(&bench, "../x", -EINVAL, "name must be 1 to 31 characters");
	expect_open_error(&bench, NULL, -EINVAL, "name must be 1 to 31 characters");
	options.directory = bench.directory;
	assert_int_equal(evb_reader_open(&reader, BENCH_NAME, &options), -EINVAL);
	assert_non_null(strstr(evb_reader_error(reader), "group's name"));
	evb_reader_close(reader);

	// One of two rings is there.
	assert_int_equal(create(&bench, 0, 2), 0);
	expect_open_error(&bench, BENCH_NAME, -ENOENT, "no event ring of builder 1");
	evring_destroy(bench.ring);

	assert_int_equal(create(&bench, 0, 1), 0);
	file_path(&bench, "evb-bench/ring.0", path, sizeof(path));
	file_path(&bench, "evb-link", other, sizeof(other));
	assert_int_equal(mkdir(other, 0700), 0);
	file_path(&bench, "evb-link/ring.0", other, sizeof(other));
	assert_int_equal(symlink(path, other), 0);
	expect_open_error(&bench, "link", -ELOOP, "evb-link/ring.0");
	file = open(path, O_RDWR | O_CLOEXEC);
	assert_true(file >= 0);
	assert_int_equal(pwrite(file, &slots, sizeof(slots), offsetof(struct evring_header, slots)),
			 sizeof(slots));
	expect_open_error(&bench, BENCH_NAME, -EPROTO, "contradict");
	assert_int_equal(
	    pwrite(file, &version, sizeof(version), offsetof(struct evring_header, layout_version)),
	    sizeof(version));
	expect_open_error(&bench, BENCH_NAME, -EPROTO, "layout version 99, this library reads 3");
	assert_int_equal(ftruncate(file, 100), 0);
	expect_open_error(&bench, BENCH_NAME, -EPROTO, "is no event ring");
	assert_int_equal(ftruncate(file, 1 << 20), 0); // evring_destroy() writes into the header
	close(file);
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files__are_named_after_appliance_and_builder),
		cmocka_unit_test(files__bad_parameters_are_refused),
		cmocka_unit_test(files__too_large_ring_leaves_nothing),
		cmocka_unit_test(files__slot_size_is_rounded_up),
		cmocka_unit_test(files__live_name_is_refused),
		cmocka_unit_test(files__dead_run_is_told_and_replaced),
		cmocka_unit_test(files__clean_removes_dead_runs_only),
		cmocka_unit_test(files__older_layouts_are_recognised),
		cmocka_unit_test(files__of_rivals_one_wins),
		cmocka_unit_test(files__reader_says_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
