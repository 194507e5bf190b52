// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Other runs: alive under the same name, or dead with something left behind.
#include "fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "evring/evring_layout.h"
#include "evring/evring_lock.h"
#include "host/change.h"

#define PLACE  "/dev/hugepages/evb-fixture"
#define RING   PLACE "/ring.0"
#define FOLDER "/run/dpdk/evb-fixture"

static int make(void **state)
{
	if (fixture_make(state) != 0)
		return -1;
	return setenv("RUNTIME_DIRECTORY", "/run", 1);
}

static void whole(const struct fixture *fixture, const char *path, char text[256])
{
	assert_true(snprintf(text, 256, "%s%s", fixture->root, path) < 256);
}

static void judge(struct fixture *fixture)
{
	report_reset(fixture);
	tree_write(fixture, "/proc/mounts", "nodev /dev/hugepages hugetlbfs rw 0 0\n");
	judge_stage(fixture, "name");
	judge_facts(fixture, "leftovers");
}

// A socket that somebody listens to, or that nobody listens to any more.
static int make_socket(const struct fixture *fixture, const char *folder, bool listens)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	tree_folder(fixture, folder);
	assert_true(snprintf(address.sun_path, sizeof(address.sun_path), "%s%s/dpdk_telemetry.v2",
			     fixture->root, folder) < (int)sizeof(address.sun_path));
	assert_true(file >= 0);
	assert_int_equal(bind(file, (const struct sockaddr *)&address, sizeof(address)), 0);
	if (listens)
		assert_int_equal(listen(file, 1), 0);
	return file;
}

static void runs__none(void **state)
{
	struct fixture *fixture = *state;

	judge(fixture);
	assert_finding(fixture, HOST_OK, "name", "no other run is called fixture", NULL);
	assert_finding(fixture, HOST_OK, "leftovers", "none", NULL);
	assert_counts(fixture, 2, 0, 0, 0);
}

static void runs__alive_by_their_socket(void **state)
{
	struct fixture *fixture = *state;
	char text[64];
	int file = make_socket(fixture, FOLDER, true);

	judge(fixture);
	snprintf(text, sizeof(text), "fixture runs already (process %d,", (int)getpid());
	assert_finding(fixture, HOST_FAIL, "name", text, "`name`");
	assert_counts(fixture, 1, 0, 1, 0);
	strcpy(fixture->config->name, "other");
	judge(fixture);
	assert_counts(fixture, 2, 0, 0, 0);
	close(file);
}

static void runs__alive_by_their_ring(void **state)
{
	struct fixture *fixture = *state;
	char path[256];
	int file;

	tree_write(fixture, RING, "ring");
	tree_write(fixture, PLACE "/lock", "");
	whole(fixture, PLACE "/lock", path);
	file = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(evring_lock_take(file, EVRING_LOCK_RING(0)), 0);
	judge(fixture);
	assert_finding(fixture, HOST_FAIL, "name", RING, NULL);
	assert_finding(fixture, HOST_OK, "leftovers", "none", NULL);
	strcpy(fixture->config->name, "other");
	judge(fixture);
	assert_counts(fixture, 2, 0, 0, 0);
	close(file);
	judge(fixture);
	assert_counts(fixture, 1, 1, 0, 1);
}

static void runs__dead_with_rings(void **state)
{
	struct fixture *fixture = *state;
	char path[256];

	tree_write(fixture, RING, "ring");
	tree_write(fixture, "/dev/hugepages/evb-other/ring.1.new", "ring");
	tree_write(fixture, "/dev/shm/evb-old.0", ""); // of layout version 1
	tree_write(fixture, "/dev/hugepages/evb-note", "no ring");
	tree_write(fixture, "/dev/shm/evb-third.x1y2z3/ring.0", "ring");
	judge(fixture);
	assert_finding(fixture, HOST_WARN, "leftovers",
		       "4 event rings of dead runs in /dev/hugepages and elsewhere",
		       "evb host prepare");
	assert_counts(fixture, 1, 1, 0, 2);
	assert_change(fixture, HOST_CHANGE_REMOVE_EVENT_RINGS, "/dev/hugepages", "");
	assert_change(fixture, HOST_CHANGE_REMOVE_EVENT_RINGS, "/dev/shm", "");
	whole(fixture, "/dev/hugepages/evb-note", path);
	assert_int_equal(access(path, F_OK), 0); // looked at, not touched
	whole(fixture, RING, path);
	assert_int_equal(access(path, F_OK), 0);
}

static void runs__producer_rings_without_a_process(void **state)
{
	struct fixture *fixture = *state;
	char path[256];
	int file;

	tree_write(fixture, PLACE "/producer.input", "ring");
	judge(fixture);
	assert_finding(fixture, HOST_WARN, "leftovers", "1 producer ring without a process",
		       "remove the file");
	assert_counts(fixture, 1, 1, 0, 0); // nothing is removed
	whole(fixture, PLACE "/producer.input", path);
	file = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(evring_lock_take(file, EVRING_LOCK_OWNER), 0);
	judge(fixture);
	assert_finding(fixture, HOST_OK, "leftovers", "none", NULL);
	close(file);
}

// The directory of the configuration may be one that is looked through anyway.
static void runs__dead_rings_count_once(void **state)
{
	struct fixture *fixture = *state;

	tree_write(fixture, RING, "ring");
	tree_write(fixture, "/mnt/rings/evb-third/ring.0", "ring");
	strcpy(fixture->config->event_ring.directory, "/dev/hugepages");
	judge(fixture);
	assert_finding(fixture, HOST_WARN, "leftovers", "1 event ring of dead runs in", NULL);
	assert_counts(fixture, 1, 1, 0, 1);
	strcpy(fixture->config->event_ring.directory, "/mnt/rings");
	judge(fixture);
	assert_finding(fixture, HOST_WARN, "leftovers", "2 event rings of dead runs in", NULL);
	assert_counts(fixture, 1, 1, 0, 2);
}

static void runs__dead_with_folders(void **state)
{
	struct fixture *fixture = *state;
	int alive = make_socket(fixture, FOLDER, true);
	char path[256];

	close(make_socket(fixture, "/run/dpdk/evb-dead", false));
	tree_write(fixture, "/run/dpdk/evb-dead/fbarray_memzone", "");
	tree_folder(fixture, "/run/dpdk/evb-young");
	tree_folder(fixture, "/run/dpdk/rte");
	strcpy(fixture->config->name, "other");
	judge(fixture);
	assert_finding(fixture, HOST_WARN, "leftovers", "1 run-time folder of dead runs in",
		       "evb host prepare");
	assert_counts(fixture, 1, 1, 0, 1);
	assert_int_equal(change_remove(&fixture->system, HOST_CHANGE_REMOVE_FOLDERS, "/run/dpdk"),
			 1);
	whole(fixture, "/run/dpdk/evb-dead", path);
	assert_int_not_equal(access(path, F_OK), 0);
	whole(fixture, FOLDER "/dpdk_telemetry.v2", path);
	assert_int_equal(access(path, F_OK), 0);
	whole(fixture, "/run/dpdk/evb-young", path);
	assert_int_equal(access(path, F_OK), 0);
	close(alive);
}

static void runs__dead_with_files_of_somebody_else(void **state)
{
	struct fixture *fixture = *state;
	char path[256];

	close(make_socket(fixture, "/run/dpdk/evb-dead", false));
	tree_write(fixture, "/run/dpdk/evb-dead/notes.txt", "mine");
	assert_int_equal(change_remove(&fixture->system, HOST_CHANGE_REMOVE_FOLDERS, "/run/dpdk"),
			 1);
	whole(fixture, "/run/dpdk/evb-dead/notes.txt", path);
	assert_int_equal(access(path, F_OK), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(runs__none),
		TEST(runs__alive_by_their_socket),
		TEST(runs__alive_by_their_ring),
		TEST(runs__dead_with_rings),
		TEST(runs__dead_rings_count_once),
		TEST(runs__producer_rings_without_a_process),
		TEST(runs__dead_with_folders),
		TEST(runs__dead_with_files_of_somebody_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
