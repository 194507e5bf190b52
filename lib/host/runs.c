// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Other runs: a live run with the name of the plan, and the leftovers of dead runs. Whether an
// event ring is live depends on its lock, as in lib/evring; a run-time folder is live if a process
// listens to its socket.
#include "host/stages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "client/runtime_directory.h"
#include "evring/evring_directory.h"
#include "evring/evring_layout.h"
#include "evring/evring_lock.h"
#include "sysfs/mounts.h"

#define SHM           "/dev/shm"
#define FOLDER_PREFIX "evb-"
#define SOCKET        "dpdk_telemetry.v2"
#define NEW_FOLDER_S  60 // a process makes its folder some time before it listens

// --- reading -------------------------------------------------------------------------------------

// The process that listens to a socket; 0: none, -1: unknown.
static pid_t listener(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	pid_t result = -1;
	int file;

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s", path) >=
	    (int)sizeof(address.sun_path))
		return -1;
	file = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (file < 0)
		return -1;
	if (connect(file, (const struct sockaddr *)&address, sizeof(address)) != 0)
		result = errno == ECONNREFUSED || errno == ENOENT ? 0 : -1;
	else if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid > 0)
		result = peer.pid;
	close(file);
	return result;
}

static bool is_old(const char *folder)
{
	struct stat status;

	return stat(folder, &status) == 0 && time(NULL) - status.st_mtime > NEW_FOLDER_S;
}

static bool folder_is_dead(const char *folder)
{
	char path[SYSFS_PATH_SIZE];

	if (snprintf(path, sizeof(path), "%s/" SOCKET, folder) >= (int)sizeof(path))
		return false;
	return listener(path) == 0 && (access(path, F_OK) == 0 || is_old(folder));
}

// Calls a function for each folder of a dead run. Returns the number of these folders.
static unsigned for_dead_folders(const char *directory, void (*call)(const char *folder))
{
	DIR *stream = opendir(directory);
	const struct dirent *entry;
	unsigned n = 0;

	if (stream == NULL)
		return 0;
	while ((entry = readdir(stream)) != NULL) {
		char folder[SYSFS_PATH_SIZE];

		if (strncmp(entry->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)) != 0 ||
		    snprintf(folder, sizeof(folder), "%s/%s", directory, entry->d_name) >=
			(int)sizeof(folder) ||
		    !folder_is_dead(folder))
			continue;
		if (call != NULL)
			call(folder);
		n++;
	}
	closedir(stream);
	return n;
}

static void read_folders(struct check *check)
{
	struct runs_facts *facts = &check->runs;
	char path[SYSFS_PATH_SIZE];
	pid_t pid;

	snprintf(facts->folders, sizeof(facts->folders), "%.*s/dpdk", HOST_TARGET_SIZE - 6,
		 runtime_directory());
	snprintf(path, sizeof(path), "%s%s", check->system->root, facts->folders);
	facts->dead_folders = for_dead_folders(path, NULL);
	if (check->plan == NULL ||
	    snprintf(path, sizeof(path), "%s%s/" FOLDER_PREFIX "%s/" SOCKET, check->system->root,
		     facts->folders, check->plan->config->name) >= (int)sizeof(path))
		return;
	pid = listener(path);
	if (pid > 0) {
		facts->lives = true;
		facts->pid = pid;
		snprintf(facts->lives_at, sizeof(facts->lives_at), "%s", path);
	}
}

static void read_ring(struct check *check, const char *directory, bool hugepages, const char *path,
		      bool is_plans)
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct runs_facts *facts = &check->runs;
	unsigned n = facts->n_dead_in;
	struct stat status;

	// A folder of another user cannot be judged, nor removed.
	if (file < 0)
		return;
	if (evring_lock_is_held(file, EVRING_LOCK_OWNER)) {
		if (is_plans && !facts->lives) {
			facts->lives = true;
			snprintf(facts->lives_at, sizeof(facts->lives_at), "%s", path);
		}
	} else if (fstat(file, &status) == 0) {
		facts->dead_rings++;
		*(hugepages ? &facts->dead_hugepage_bytes : &facts->dead_bytes) +=
		    (uint64_t)status.st_blocks * 512;
		if ((n == 0 || strcmp(facts->dead_in[n - 1], directory) != 0) &&
		    n < sizeof(facts->dead_in) / sizeof(facts->dead_in[0]))
			snprintf(facts->dead_in[facts->n_dead_in++], HOST_TARGET_SIZE, "%s",
				 directory);
	}
	close(file);
}

static void read_rings(struct check *check, const char *directory, bool hugepages)
{
	char whole[SYSFS_PATH_SIZE];
	const struct dirent *entry;
	DIR *stream;

	if (snprintf(whole, sizeof(whole), "%s%s", check->system->root, directory) >=
	    (int)sizeof(whole))
		return;
	stream = opendir(whole);
	if (stream == NULL)
		return;
	while ((entry = readdir(stream)) != NULL) {
		char name[EVRING_NAME_SIZE], path[SYSFS_PATH_SIZE];
		unsigned builder;
		bool is_new;

		if (evring_directory_parse(entry->d_name, name, &builder, &is_new) &&
		    snprintf(path, sizeof(path), "%s/%s", whole, entry->d_name) < (int)sizeof(path))
			read_ring(check, directory, hugepages, path,
				  check->plan != NULL &&
				      strcmp(check->plan->config->name, name) == 0);
	}
	closedir(stream);
}

void runs_read(struct check *check)
{
	const char *directory =
	    check->plan != NULL ? check->plan->config->event_ring.directory : "";
	bool seen = directory[0] == '\0' || strcmp(directory, SHM) == 0;
	struct sysfs_mount list[MOUNTS_MOST];
	unsigned n = sysfs_mounts(check->system->root, "hugetlbfs", NULL, list, MOUNTS_MOST);

	read_folders(check);
	for (unsigned i = 0; i < n; i++) {
		read_rings(check, list[i].path, true);
		seen |= strcmp(directory, list[i].path) == 0;
	}
	read_rings(check, SHM, false);
	if (!seen)
		read_rings(check, directory, false);
}

// --- judging -------------------------------------------------------------------------------------

void runs_judge_live(struct check *check)
{
	const char *name = check->plan->config->name;
	char process[32] = "";

	if (check->runs.pid > 0)
		snprintf(process, sizeof(process), "process %d, ", (int)check->runs.pid);
	if (check->runs.lives)
		report_add(check->report, HOST_FAIL,
			   "an appliance %s runs already (%s%s)" REMEDY
			   "stop it, or give this one another `name` (--set name=...)",
			   name, process, check->runs.lives_at);
	else
		report_add(check->report, HOST_OK, "no other run is called %s", name);
}

void runs_judge_dead(struct check *check)
{
	const struct runs_facts *facts = &check->runs;

	if (facts->dead_rings > 0)
		report_add(check->report, HOST_WARN,
			   "%u event ring%s of dead runs in %s%s, %llu MiB of hugepages and %llu "
			   "MiB of memory" REMEDY "evb host prepare removes them",
			   facts->dead_rings, facts->dead_rings == 1 ? "" : "s", facts->dead_in[0],
			   facts->n_dead_in > 1 ? " and elsewhere" : "",
			   (unsigned long long)(facts->dead_hugepage_bytes >> 20),
			   (unsigned long long)(facts->dead_bytes >> 20));
	for (unsigned i = 0; i < facts->n_dead_in; i++)
		report_change(check->report, HOST_CHANGE_REMOVE_EVENT_RINGS, facts->dead_in[i],
			      "%s", "");
	if (facts->dead_folders == 0)
		return;
	report_add(check->report, HOST_WARN,
		   "%u run-time folder%s of dead runs in %s; they do no harm" REMEDY
		   "evb host prepare removes them",
		   facts->dead_folders, facts->dead_folders == 1 ? "" : "s", facts->folders);
	report_change(check->report, HOST_CHANGE_REMOVE_FOLDERS, facts->folders, "%s", "");
}

// --- removing ------------------------------------------------------------------------------------

// Removes only files that DPDK made.
static bool is_dpdk_file(const char *name)
{
	static const char *const begins[] = { "dpdk_telemetry", "config",    "fbarray_",
					      "hugepage_info",  "mp_socket", "rtemap" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(name, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static void remove_folder(const char *folder)
{
	DIR *stream = opendir(folder);
	const struct dirent *entry;

	if (stream == NULL)
		return;
	while ((entry = readdir(stream)) != NULL)
		if (is_dpdk_file(entry->d_name))
			(void)unlinkat(dirfd(stream), entry->d_name, 0); // rmdir() fails then
	closedir(stream);
	(void)rmdir(folder); // fails if the folder has other files
}

unsigned runs_remove_folders(const char *directory)
{
	unsigned before = for_dead_folders(directory, remove_folder);

	return before - for_dead_folders(directory, NULL);
}
