// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The directories into which writers and results write, and their room. A run makes the directory
// itself if only the last part of the path is missing, and reports what fails.
#include "host/stages.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LEAST_ROOM (1ULL << 30) // bytes, below which a disk fills within seconds or minutes

// The directory above: "." for a name alone.
static void above(const char *path, char parent[EVB_PATH_SIZE])
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		length--;
	while (length > 0 && path[length - 1] != '/')
		length--;
	snprintf(parent, EVB_PATH_SIZE, "%.*s", (int)length, path);
	if (length == 0)
		strcpy(parent, ".");
}

static void judge(struct check *check, const char *kind, const char *name, const char *directory,
		  uint64_t file_size)
{
	const char *root = check->system->root;
	const uint64_t least = file_size > LEAST_ROOM ? file_size : LEAST_ROOM;
	char parent[EVB_PATH_SIZE];
	uint64_t room, size;
	int reason;

	if (sysfs_access(root, directory, F_OK) != 0) {
		above(directory, parent);
		directory = parent;
	}
	reason = sysfs_access(root, directory, W_OK | X_OK);
	if (reason != 0)
		report_add(check->report, HOST_FAIL,
			   "%s %s: %s: %s" REMEDY
			   "make the directory, and give it to the user of evb",
			   kind, name, directory, strerror(reason));
	else if (!sysfs_room(root, directory, &room, &size))
		report_add(check->report, HOST_WARN, "%s %s: %s: the free room is unknown", kind,
			   name, directory);
	else if (room < least)
		report_add(check->report, HOST_WARN,
			   "%s %s: %s has %llu MiB free" REMEDY
			   "make room, or write to another disk: %llu MiB are little for a run",
			   kind, name, directory, (unsigned long long)(room >> 20), mib(least));
	else
		report_add(check->report, HOST_OK, "%s %s: %s has %llu MiB free", kind, name,
			   directory, (unsigned long long)(room >> 20));
}

void outputs_judge(struct check *check)
{
	const struct config *config = check->plan->config;

	for (unsigned i = 0; i < config->n_writers; i++)
		judge(check, "writer", config->writers[i].name, config->writers[i].directory,
		      config->writers[i].rotate_size);
	for (unsigned i = 0; i < config->n_results; i++)
		if (config->results[i].to == CONFIG_RESULTS_FILE &&
		    config->results[i].directory[0] != '\0')
			judge(check, "results", config->results[i].name,
			      config->results[i].directory, 0);
}
