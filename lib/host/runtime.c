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

#define STAGE "folders"

// Whether this process may make files in a folder: 0, or the reason as errno. ENOENT also where a
// part of the path is not searchable.
static int may_make_in(const struct host_system *system, const char *path)
{
	return sysfs_access(system->root, path, F_OK) == 0
		   ? sysfs_access(system->root, path, W_OK | X_OK)
		   : ENOENT;
}

// Whether this process may make the missing part of a folder below the directory.
static void look(struct runtime_folder *folder, const struct host_system *system,
		 const char *directory, const char *name)
{
	char path[2 * HOST_TARGET_SIZE];
	size_t shortest = strlen(directory);

	if (snprintf(path, sizeof(path), "%s/%s", directory, name) >= HOST_TARGET_SIZE)
		return; // the path is too long for a socket: DPDK reports that
	memcpy(folder->path, path, strlen(path) + 1);
	while ((folder->reason = may_make_in(system, path)) == ENOENT && strlen(path) > shortest)
		*strrchr(path, '/') = '\0';
	memcpy(folder->at, path, strlen(path) + 1);
}

void runtime_read(struct runtime_facts *facts, const struct host_system *system,
		  const struct plan *plan)
{
	char name[EVB_NAME_SIZE + 16];

	*facts = (struct runtime_facts){ 0 };
	snprintf(facts->directory, sizeof(facts->directory), "%s", runtime_directory());
	snprintf(name, sizeof(name), "dpdk/evb-%s", plan != NULL ? plan->config->name : "NAME");
	look(&facts->telemetry, system, facts->directory, name);
	look(&facts->control, system, facts->directory, "evb");
}

static struct host_finding *judge(const struct runtime_facts *facts,
				  const struct runtime_folder *folder, enum host_verdict verdict,
				  struct host_report *report)
{
	struct host_finding *finding =
	    report_add(report, verdict, STAGE, "the folder %s for sockets cannot be made: %s: %s",
		       folder->path, folder->at, strerror(folder->reason));

	if (getuid() == 0)
		report_remedy(finding,
			      "make %s writable (a container: --tmpfs /run), or set "
			      "RUNTIME_DIRECTORY to a folder that is",
			      facts->directory);
	else
		report_remedy(finding,
			      "set XDG_RUNTIME_DIR to a folder of this user, such as /run/user/%u",
			      (unsigned)getuid());
	return finding;
}

// DPDK does not start without its folder. Without the folder of the control socket the run cannot
// be commanded, and reports that itself.
void runtime_judge(const struct runtime_facts *facts, struct host_report *report)
{
	if (facts->telemetry.reason != 0)
		judge(facts, &facts->telemetry, HOST_FAIL, report);
	else if (facts->control.reason != 0)
		judge(facts, &facts->control, HOST_WARN, report)->quiet = true;
	else
		report_add(report, HOST_OK, STAGE, "sockets lie in %s/dpdk and %s/evb",
			   facts->directory, facts->directory);
}
