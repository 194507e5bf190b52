// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The directories of a run's sockets: DPDK's folder and that of the control socket, both below one
// directory. DPDK makes two levels of folders itself, but not that directory.
#include "host/stages.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "client/runtime_directory.h"

struct folder {
	char path[HOST_TARGET_SIZE];
	char at[HOST_TARGET_SIZE]; // the folder that forbids access: this one, or one above
	int reason;                // errno; 0: the folder exists or can be made
};

// Whether this process may make files in a folder: 0, or the reason as errno. ENOENT also where a
// part of the path is not searchable.
static int may_make_in(const struct host_system *system, const char *path)
{
	return sysfs_access(system->root, path, F_OK) == 0
		   ? sysfs_access(system->root, path, W_OK | X_OK)
		   : ENOENT;
}

// Whether this process may make the missing part of a folder below the directory.
static struct folder look(const struct host_system *system, const char *name)
{
	char path[2 * HOST_TARGET_SIZE];
	// evb makes a directory of its own below /tmp.
	size_t shortest = runtime_directory_is_own() ? strlen("/tmp") : strlen(runtime_directory());
	struct folder folder = { .reason = 0 };

	if (snprintf(path, sizeof(path), "%s/%s", runtime_directory(), name) >= HOST_TARGET_SIZE)
		return folder; // the path is too long for a socket: DPDK reports that
	memcpy(folder.path, path, strlen(path) + 1);
	while ((folder.reason = may_make_in(system, path)) == ENOENT && strlen(path) > shortest)
		*strrchr(path, '/') = '\0';
	memcpy(folder.at, path, strlen(path) + 1);
	return folder;
}

#define NOT_MADE "the folder %s for sockets cannot be made: %s: %s" REMEDY

static struct host_finding *add(struct check *check, enum host_verdict verdict,
				const struct folder *folder)
{
	if (getuid() == 0)
		return report_add(check->report, verdict,
				  NOT_MADE "make %s writable (a container: --tmpfs /run), or set "
					   "RUNTIME_DIRECTORY to a folder that is",
				  folder->path, folder->at, strerror(folder->reason),
				  runtime_directory());
	return report_add(check->report, verdict,
			  NOT_MADE
			  "set XDG_RUNTIME_DIR to a folder of this user, such as /run/user/%u",
			  folder->path, folder->at, strerror(folder->reason), (unsigned)getuid());
}

// DPDK does not start without its folder. Without the folder of the control socket the run cannot
// be commanded, and reports that itself.
void runtime_judge(struct check *check)
{
	struct folder telemetry, control = look(check->system, "evb");
	char name[EVB_NAME_SIZE + 16];

	snprintf(name, sizeof(name), "dpdk/evb-%s",
		 check->plan != NULL ? check->plan->config->name : "NAME");
	telemetry = look(check->system, name);
	if (telemetry.reason != 0)
		add(check, HOST_FAIL, &telemetry);
	else if (control.reason != 0)
		add(check, HOST_WARN, &control)->quiet = true;
	else
		report_add(check->report, HOST_OK, "sockets lie in %s/dpdk and %s/evb",
			   runtime_directory(), runtime_directory());
}
