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
#include "evring/evring_lock.h"
#include "evring/evring_stale.h"
#include "producer/producer_layout.h"
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

struct ring_search {
	struct check *check;
	const char *directory; // as the operator knows it, without the system's root
	bool hugepages;
};

static void count_dead(const struct ring_search *search, const struct stat *status)
{
	struct runs_facts *facts = &search->check->runs;
	unsigned n = facts->n_dead_in;

	facts->dead_rings++;
	*(search->hugepages ? &facts->dead_hugepage_bytes : &facts->dead_bytes) +=
	    (uint64_t)status->st_blocks * 512;
	if ((n == 0 || strcmp(facts->dead_in[n - 1], search->directory) != 0) &&
	    n < sizeof(facts->dead_in) / sizeof(facts->dead_in[0]))
		snprintf(facts->dead_in[facts->n_dead_in++], HOST_TARGET_SIZE, "%s",
			 search->directory);
}

static void read_ring(const struct evring_place *place, unsigned builder, const char *path,
		      const struct ring_search *search, int directory)
{
	const struct check *check = search->check;
	struct runs_facts *facts = &search->check->runs;
	const int live = evring_place_is_live(directory, builder);
	struct stat status;

	// A run of another user cannot be judged, nor removed, and does not take the name.
	if (live == 0 && lstat(path, &status) == 0)
		count_dead(search, &status);
	if (live <= 0 || place->owner != geteuid() || facts->lives || check->plan == NULL ||
	    strcmp(check->plan->config->name, place->name) != 0)
		return;
	facts->lives = true;
	snprintf(facts->lives_at, sizeof(facts->lives_at), "%s", path);
}

// A producer ring outlives its process, with blocks that the next run takes.
static void read_producer_ring(const struct evring_place *place, const char *file_name,
			       const struct ring_search *search, int directory)
{
	const int file =
	    openat(directory, file_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct runs_facts *facts = &search->check->runs;
	struct stat status;

	if (file < 0)
		return; // another user's: that user is asked for it
	if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
	    !evring_lock_is_held(file, EVRING_LOCK_OWNER)) {
		facts->left_rings++;
		facts->left_bytes += (uint64_t)status.st_blocks * 512;
		snprintf(facts->left_at, sizeof(facts->left_at), "%s/%.63s", place->path,
			 file_name);
	}
	close(file);
}

static void read_place(const struct evring_place *place, void *context)
{
	const int directory = evring_place_open(place->path);
	DIR *stream = directory >= 0 ? evring_place_list(directory) : NULL;
	const struct dirent *entry;

	while (stream != NULL && (entry = readdir(stream)) != NULL) {
		char path[EVRING_PATH_SIZE];
		enum evring_file_kind kind;
		unsigned builder;

		if (evring_place_parse(entry->d_name, &kind, &builder) &&
		    kind != EVRING_FILE_MEMBERS &&
		    evring_place_path(path, place->path, kind, builder))
			read_ring(place, builder, path, context, directory);
		else if (strncmp(entry->d_name, PRODUCER_FILE_PREFIX,
				 strlen(PRODUCER_FILE_PREFIX)) == 0)
			read_producer_ring(place, entry->d_name, context, directory);
	}
	if (stream != NULL)
		closedir(stream);
	if (directory >= 0)
		close(directory);
}

static void read_old(int directory, const char *file_name, void *context)
{
	struct stat status;

	if (fstatat(directory, file_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
		count_dead(context, &status);
}

static void read_rings(struct check *check, const char *directory, bool hugepages)
{
	struct ring_search search = { check, directory, hugepages };
	char whole[SYSFS_PATH_SIZE];

	if (snprintf(whole, sizeof(whole), "%s%s", check->system->root, directory) >=
	    (int)sizeof(whole))
		return;
	evring_places_visit(whole, NULL, read_place, &search);
	evring_old_visit(whole, NULL, read_old, &search);
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
	if (facts->left_rings > 0)
		report_add(check->report, HOST_WARN,
			   "%u producer ring%s without a process, %llu MiB: %s" REMEDY
			   "the next run with such a ring takes what it holds; remove the file if "
			   "there will be none",
			   facts->left_rings, facts->left_rings == 1 ? "" : "s",
			   (unsigned long long)(facts->left_bytes >> 20), facts->left_at);
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
