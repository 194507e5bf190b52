// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A recorder on a real event ring.

#include "helpers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/recorder.h"

#define KILL_PERIOD 15u
#define WHOLE       "t-run000077-0000.mep"

static struct recorder_parameters parameters_of(const char *directory, enum evb_reader_mode mode)
{
	return (struct recorder_parameters){
		.appliance = RING_NAME,
		.reader = { .mode = mode, .directory = directory },
		.file = make_parameters(directory, NULL),
	};
}

static struct recorder *open_recorder(const char *directory, enum evb_reader_mode mode)
{
	const struct recorder_parameters parameters = parameters_of(directory, mode);
	char error[EVENT_FILE_ERROR_SIZE] = "";
	struct recorder *recorder;

	recorder_open(&recorder, &parameters, error);
	assert_string_equal(error, "");
	return recorder;
}

static void recorder__writes_and_releases(void **state)
{
	struct evring *ring = make_ring(*state);
	struct recorder *recorder = open_recorder(*state, EVB_READER_GROUP);
	uint32_t slots[RING_SLOTS];

	for (uint32_t i = 0; i < 3; i++)
		publish(ring, i, i);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(recorder_poll(recorder, 0, 0), 1);
	assert_int_equal(recorder_poll(recorder, 0, 0), 0);
	assert_int_equal(evring_reclaim(ring, slots, RING_SLOTS), 3);
	evring_end(ring);
	assert_int_equal(recorder_poll(recorder, 0, 0), -EPIPE);
	assert_int_equal(recorder_counters(recorder).file.events, 3);
	assert_int_equal(recorder_close(recorder), 0);
	expect_events(*state, WHOLE, 0, 3);
	evring_destroy(ring);
}

static void recorder__spy_holds_nothing_back(void **state)
{
	struct evring *ring = make_ring(*state);
	struct recorder *spy = open_recorder(*state, EVB_READER_SPY);
	struct recorder *member;

	publish(ring, 0, 0);
	assert_int_equal(recorder_poll(spy, 0, 0), 1);
	assert_int_equal(recorder_poll(spy, 0, 0), 0);
	assert_int_equal(recorder_close(spy), 0);
	expect_events(*state, WHOLE, 0, 1);
	member = open_recorder(*state, EVB_READER_GROUP);
	assert_int_equal(recorder_poll(member, 0, 0), 1); // it is still there
	assert_int_equal(recorder_close(member), 0);
	evring_destroy(ring);
}

static void limit_files(rlim_t limit)
{
	struct rlimit limits;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limits), 0);
	limits.rlim_cur = limit < limits.rlim_max ? limit : limits.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limits), 0);
}

static void recorder__keeps_an_event_until_there_is_room(void **state)
{
	struct evring *ring = make_ring(*state);
	struct recorder *recorder = open_recorder(*state, EVB_READER_GROUP);
	uint32_t slots[RING_SLOTS];

	publish(ring, 0, 0);
	publish(ring, 1, 1);
	limit_files(9000);
	assert_int_equal(recorder_poll(recorder, 0, 0), -EAGAIN);
	assert_int_equal(recorder_poll(recorder, 0, 0), -EAGAIN);
	limit_files(RLIM_INFINITY);
	assert_int_equal(recorder_counters(recorder).pending, 1);
	assert_int_equal(evring_reclaim(ring, slots, RING_SLOTS), 0);
	assert_int_equal(recorder_poll(recorder, 0, 0), 1);
	assert_int_equal(recorder_poll(recorder, 0, 0), 1);
	assert_int_equal(recorder_counters(recorder).pending, 0);
	assert_int_equal(evring_reclaim(ring, slots, RING_SLOTS), 2);
	assert_int_equal(recorder_close(recorder), 0);
	expect_events(*state, WHOLE, 0, 2);
	evring_destroy(ring);
}

// A recorder that ends while the disk is full does not release what it could not write.
static void recorder__end_without_room_loses_nothing(void **state)
{
	struct evring *ring = make_ring(*state);
	struct recorder *recorder;
	pid_t child;
	int status;

	publish(ring, 0, 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		recorder = open_recorder(*state, EVB_READER_GROUP);
		limit_files(9000);
		status = recorder_poll(recorder, 0, 0) != -EAGAIN;
		_exit(status || recorder_close(recorder) ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(evring_reap(ring), 0); // it gave the event back itself
	recorder = open_recorder(*state, EVB_READER_GROUP);
	assert_int_equal(recorder_poll(recorder, 0, 0), 1);
	assert_int_equal(recorder_close(recorder), 0);
	expect_events(*state, WHOLE, 0, 1);
	evring_destroy(ring);
}

static pid_t start_recorder(const char *directory)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		struct recorder *recorder = open_recorder(directory, EVB_READER_GROUP);

		while (recorder_poll(recorder, 1, 0) >= 0)
			;
		_exit(1);
	}
	return child;
}

// Publishes n_events, kills the recorder after every KILL_PERIOD of them and starts another one.
static void record_under_fire(const char *directory, uint64_t n_events)
{
	struct evring *ring = make_ring(directory);
	uint32_t slots[RING_SLOTS];
	unsigned n_free = RING_SLOTS, kills = 0;
	uint64_t published = 0, released = 0;
	pid_t child = -1;

	for (uint32_t i = 0; i < RING_SLOTS; i++)
		slots[i] = i;
	while (released < n_events) {
		unsigned got;

		if (child < 0)
			child = start_recorder(directory);
		while (n_free && published < n_events)
			publish(ring, slots[--n_free], published++);
		got = evring_reclaim(ring, slots + n_free, RING_SLOTS - n_free);
		n_free += got;
		released += got;
		if (released >= KILL_PERIOD * (kills + 1) || released == n_events) {
			kill(child, SIGKILL);
			assert_int_equal(waitpid(child, NULL, 0), child);
			child = -1;
			kills++;
			evring_reap(ring);
		}
	}
	assert_in_range(kills, n_events / KILL_PERIOD / 2, n_events / KILL_PERIOD + 1);
	assert_int_equal(recorder_close(open_recorder(directory, EVB_READER_GROUP)), 0); // recovers
	evring_destroy(ring);
}

// All files of the directory together hold the events 0 .. n - 1, each once, in this order.
static void expect_all_events(const char *directory, uint64_t n)
{
	uint64_t next = 0;

	for (unsigned sequence = 0; next < n; sequence++) {
		char name[64], path[PATH_SIZE];
		size_t size, at = 0;
		uint8_t *bytes;

		snprintf(name, sizeof(name), "t-run000077-%04u.mep", sequence);
		path_in(path, directory, name);
		bytes = read_file(path, &size);
		while (at < size) {
			struct mep mep;
			size_t room;

			assert_int_equal(mep_decode(bytes + at, size - at, &mep), WIRE_OK);
			assert_int_equal(load_le64(mep_mfp_bytes(&mep, 0, &room) + 8), next);
			next++;
			at += mep.size;
		}
		free(bytes);
	}
	assert_int_equal(next, n);
}

static void recorder__killed_again_and_again_writes_each_event_once(void **state)
{
	record_under_fire(*state, 400);
	expect_all_events(*state, 400);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(recorder__writes_and_releases),
		TEST(recorder__spy_holds_nothing_back),
		TEST(recorder__keeps_an_event_until_there_is_room),
		TEST(recorder__end_without_room_loses_nothing),
		TEST(recorder__killed_again_and_again_writes_each_event_once),
	};

	signal(SIGXFSZ, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
