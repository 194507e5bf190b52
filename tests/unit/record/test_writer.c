// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The writer role: what its counters tell.

#include "helpers.h"

#include "record/writer_role.h"

static struct role *make_writer(const char *directory, uint64_t rotate_time_ns)
{
	struct recorder_parameters parameters = {
		.appliance = RING_NAME,
		.reader = { .mode = EVB_READER_GROUP, .directory = directory },
		.file = make_parameters(directory, NULL),
	};
	char error[EVENT_FILE_ERROR_SIZE] = "";
	struct role *role;

	parameters.file.rotate_time_ns = rotate_time_ns;
	role = writer_role_create("writer.w", &parameters, error);
	assert_string_equal(error, "");
	return role;
}

static void end(struct evring *ring, struct role *role)
{
	evring_end(ring);
	while (!role->operations->drain(role, 0))
		;
}

static void writer__counts_the_file_that_the_end_of_the_run_finishes(void **state)
{
	struct evring *ring = make_ring(*state);
	struct role *role = make_writer(*state, 0);

	publish(ring, 0, 0);
	role->operations->poll(role, 0);
	assert_int_equal(writer_role_counters(role)->files, 0);
	end(ring, role);
	assert_int_equal(writer_role_counters(role)->files, 1);
	assert_int_equal(writer_role_counters(role)->failures, 0);
	role->operations->fini(role);
	evring_destroy(ring);
}

// At the end no file is open: the time has ended the last one.
static void writer__counts_no_file_that_was_finished_before(void **state)
{
	struct evring *ring = make_ring(*state);
	struct role *role = make_writer(*state, 1);

	publish(ring, 0, 0);
	role->operations->poll(role, 0);
	role->operations->poll(role, 0); // finds no event, and ends the file
	role->operations->housekeep(role, 0);
	assert_int_equal(writer_role_counters(role)->files, 1);
	end(ring, role);
	assert_int_equal(writer_role_counters(role)->files, 1);
	assert_int_equal(writer_role_counters(role)->failures, 0);
	assert_int_equal(count_files(*state), 1 + 1); // and the ring
	role->operations->fini(role);
	evring_destroy(ring);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(writer__counts_the_file_that_the_end_of_the_run_finishes),
		TEST(writer__counts_no_file_that_was_finished_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
