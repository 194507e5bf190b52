// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Files of events to HDF5 and back: the same bytes, or a line that says why not, and then no file.

#include "../record/helpers.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hdf5.h>

#include "convert/convert.h"

#define EVENTS     3u
#define LARGE_SIZE (5u << 20) // bytes, of several chunks
#define BLOSC      32001

// The conversion of one file of the directory to another one.
struct conversion {
	struct convert_options options;
	struct convert_result result;
	char input[PATH_SIZE], output[PATH_SIZE], error[CONVERT_ERROR_SIZE];
};

static struct conversion *prepare(const char *directory, const char *input, const char *output)
{
	struct conversion *conversion = calloc(1, sizeof(*conversion));

	assert_non_null(conversion);
	path_in(conversion->input, directory, input);
	path_in(conversion->output, directory, output);
	conversion->options = (struct convert_options){
		.input = conversion->input,
		.output = conversion->output,
		.program = "test",
		.level = 1,
	};
	return conversion;
}

static void succeed(struct conversion *conversion)
{
	int status = convert(&conversion->options, &conversion->result, conversion->error);

	if (status)
		print_error("%s\n", conversion->error);
	assert_int_equal(status, 0);
	free(conversion);
}

static void be_refused(struct conversion *conversion, const char *why)
{
	int status = convert(&conversion->options, &conversion->result, conversion->error);

	assert_int_equal(status, -1);
	if (!strstr(conversion->error, why))
		print_error("%s\n", conversion->error);
	assert_non_null(strstr(conversion->error, why));
	assert_null(strchr(conversion->error, '\n'));
	free(conversion);
}

static void write_meps(const char *directory, const char *name, size_t least_size)
{
	uint8_t *bytes = malloc(least_size + EVENTS * (size_t)MEP_ROOM);
	size_t size = 0;
	char path[PATH_SIZE];

	assert_non_null(bytes);
	for (unsigned i = 0; i < EVENTS || size < least_size; i++)
		size += make_file_mep(bytes + size, i * FRAGMENTS);
	path_in(path, directory, name);
	write_file(path, bytes, size);
	free(bytes);
}

static void expect_same(const char *directory, const char *one, const char *other)
{
	char path[PATH_SIZE];
	size_t size, other_size;
	uint8_t *bytes, *others;

	path_in(path, directory, one);
	bytes = read_file(path, &size);
	path_in(path, directory, other);
	others = read_file(path, &other_size);
	assert_int_equal(size, other_size);
	assert_memory_equal(bytes, others, size);
	free(bytes);
	free(others);
}

static void go_and_return(const char *directory, enum convert_compression compression)
{
	struct conversion *conversion = prepare(directory, "a.mep", "a.h5");

	conversion->options.compression = compression;
	write_meps(directory, "a.mep", LARGE_SIZE);
	succeed(conversion);
	succeed(prepare(directory, "a.h5", "b.mep"));
	expect_same(directory, "a.mep", "b.mep");
	assert_int_equal(count_files(directory), 3);
}

static void convert__returns_the_same_bytes(void **state)
{
	go_and_return(*state, CONVERT_PLAIN);
}

static void convert__deflates(void **state)
{
	go_and_return(*state, CONVERT_DEFLATE);
}

static void convert__compresses_by_zstd(void **state)
{
	if (H5Zfilter_avail(BLOSC) <= 0) {
		write_meps(*state, "a.mep", 0);
		struct conversion *conversion = prepare(*state, "a.mep", "a.h5");

		conversion->options.compression = CONVERT_ZSTD;
		be_refused(conversion, "install hdf5-filter-plugin-blosc-serial");
		return;
	}
	go_and_return(*state, CONVERT_ZSTD);
}

static void convert__takes_empty_files(void **state)
{
	char path[PATH_SIZE];

	path_in(path, *state, "a.mdf");
	write_file(path, "", 0);
	succeed(prepare(*state, "a.mdf", "a.h5"));
	succeed(prepare(*state, "a.h5", "b.mdf"));
	expect_same(*state, "a.mdf", "b.mdf");
}

static void convert__counts(void **state)
{
	struct conversion *conversion = prepare(*state, "a.mep", "a.h5");

	write_meps(*state, "a.mep", 0);
	assert_int_equal(convert(&conversion->options, &conversion->result, conversion->error), 0);
	assert_true(conversion->result.to_hdf5);
	assert_int_equal(conversion->result.events, EVENTS);
	assert_int_equal(conversion->result.fragments, EVENTS * MEP_SOURCES * FRAGMENTS);
	free(conversion);
}

static void convert__replaces_no_file(void **state)
{
	write_meps(*state, "a.mep", 0);
	write_meps(*state, "a.h5", 0);
	be_refused(prepare(*state, "a.mep", "a.h5"), "exists already");
	expect_same(*state, "a.mep", "a.h5");
	be_refused(prepare(*state, "a.mep", "a.mep"), "name it .h5");
	be_refused(prepare(*state, "a.mep", "none/a.h5"), "No such file or directory");
	be_refused(prepare(*state, "none.mep", "b.h5"), "none.mep: No such file or directory");
	assert_int_equal(count_files(*state), 2);
}

// A leftover is overwritten; a file that a process holds is not touched.
static void convert__tells_leftovers_from_files_that_are_written(void **state)
{
	char path[PATH_SIZE];
	int file;

	write_meps(*state, "a.mep", 0);
	write_meps(*state, ".a.h5.convert", LARGE_SIZE);
	path_in(path, *state, ".a.h5.convert");
	file = open(path, O_RDONLY);
	assert_int_equal(flock(file, LOCK_EX), 0);
	be_refused(prepare(*state, "a.mep", "a.h5"), "another process writes it");
	assert_true(file_exists(*state, ".a.h5.convert"));
	close(file);
	succeed(prepare(*state, "a.mep", "a.h5"));
	succeed(prepare(*state, "a.h5", "b.mep"));
	expect_same(*state, "a.mep", "b.mep");
	assert_int_equal(count_files(*state), 3);
}

static void convert__refuses_what_are_no_events(void **state)
{
	char path[PATH_SIZE];
	uint8_t *bytes;
	size_t size;

	path_in(path, *state, "text.h5");
	write_file(path, "not an HDF5 file", 16);
	be_refused(prepare(*state, "text.h5", "b.mep"), "would be HDF5");
	be_refused(prepare(*state, "text.h5", "b.h5"), "neither HDF5 nor");
	write_meps(*state, "a.mep", LARGE_SIZE);
	path_in(path, *state, "a.mep");
	bytes = read_file(path, &size);
	path_in(path, *state, "cut.mep");
	write_file(path, bytes, size - 8);
	be_refused(prepare(*state, "cut.mep", "cut.h5"), "evb dump --verify checks it");
	path_in(path, *state, "blocks.mfp");
	size = make_mfp(bytes, size, 0, 1, 100);
	write_file(path, bytes, size);
	be_refused(prepare(*state, "blocks.mfp", "blocks.h5"), "no built events");
	free(bytes);
	assert_int_equal(count_files(*state), 4);
}

static bool stop_at_half(void *context, uint64_t done, uint64_t total)
{
	unsigned *calls = context;

	assert_true(done <= total);
	(*calls)++;
	return done < total / 2;
}

static void convert__stopped_leaves_nothing(void **state)
{
	static const char *const names[][2] = { { "a.mep", "b.h5" }, { "a.h5", "b.mep" } };

	write_meps(*state, "a.mep", LARGE_SIZE);
	succeed(prepare(*state, "a.mep", "a.h5"));
	for (unsigned i = 0; i < 2; i++) {
		struct conversion *conversion = prepare(*state, names[i][0], names[i][1]);
		unsigned calls = 0;

		conversion->options.go_on = stop_at_half;
		conversion->options.context = &calls;
		assert_int_equal(
		    convert(&conversion->options, &conversion->result, conversion->error),
		    CONVERT_STOPPED);
		assert_in_range(calls, 2, 4);
		assert_int_equal(count_files(*state), 2);
		free(conversion);
	}
}

// At each limit of the size of files: whatever HDF5 was about to write, there is a line, and no
// file.
static void convert__reports_a_full_disk(void **state)
{
	static const unsigned limits[] = { 100, 5000, 1u << 20, 3u << 20, (5u << 20) + 300000 };
	struct rlimit limit;

	write_meps(*state, "a.mep", LARGE_SIZE);
	succeed(prepare(*state, "a.mep", "a.h5"));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	for (unsigned i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct rlimit small = { .rlim_cur = limits[i], .rlim_max = limit.rlim_max };

		assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
		be_refused(prepare(*state, "a.mep", "b.h5"), "b.h5: HDF5: File too large");
		if (limits[i] < LARGE_SIZE)
			be_refused(prepare(*state, "a.h5", "b.mep"), "b.mep: File too large");
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
		assert_int_equal(count_files(*state), 2);
	}
	succeed(prepare(*state, "a.mep", "b.h5"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(convert__returns_the_same_bytes),
		TEST(convert__deflates),
		TEST(convert__compresses_by_zstd),
		TEST(convert__takes_empty_files),
		TEST(convert__counts),
		TEST(convert__replaces_no_file),
		TEST(convert__tells_leftovers_from_files_that_are_written),
		TEST(convert__refuses_what_are_no_events),
		TEST(convert__stopped_leaves_nothing),
		TEST(convert__reports_a_full_disk),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
