// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_directory.h"
#include "evring_members.h"

#include <ctype.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sysfs/mounts.h"

#define FILE_PREFIX "evb-"
#define SHM_PATH    "/dev/shm"
#define MAX_MOUNTS  32

static bool same_path(const struct evring_directories *directories, const char *path)
{
	for (unsigned i = 0; i < directories->count; i++)
		if (strcmp(directories->list[i].path, path) == 0)
			return true;
	return false;
}

// Returns 0 or a negative errno.
static int add(struct evring_directories *directories, const char *path)
{
	struct evring_directory *directory = &directories->list[directories->count];
	const size_t length = strlen(path);
	struct statfs file_system;

	if (length >= sizeof(directory->path))
		return -ENAMETOOLONG;
	if (directories->count == EVRING_MAX_DIRECTORIES || same_path(directories, path))
		return 0;
	if (statfs(path, &file_system) != 0)
		return -errno;
	memcpy(directory->path, path, length + 1);
	directory->hugepages = file_system.f_type == HUGETLBFS_MAGIC;
	directory->page_size =
	    directory->hugepages ? (uint64_t)file_system.f_bsize : (uint64_t)sysconf(_SC_PAGESIZE);
	directories->count++;
	return 0;
}

static int by_page_size(const void *left, const void *right)
{
	const struct evring_directory *a = left, *b = right;

	return (a->page_size > b->page_size) - (a->page_size < b->page_size);
}

static void add_hugepage_mounts(struct evring_directories *directories)
{
	struct sysfs_mount mounts[MAX_MOUNTS];
	unsigned n = sysfs_mounts("", "hugetlbfs", NULL, mounts, MAX_MOUNTS);

	// Mounts that are not usable, or hidden by another, are left out. One place is reserved for
	// /dev/shm.
	for (unsigned i = 0; i < n && directories->count < EVRING_MAX_DIRECTORIES - 1; i++)
		(void)add(directories, mounts[i].path);
	qsort(directories->list, directories->count, sizeof(directories->list[0]), by_page_size);
}

int evring_directories_find(struct evring_directories *directories, const char *directory,
			    char *error)
{
	int rc;

	directories->count = 0;
	if (directory == NULL) {
		add_hugepage_mounts(directories);
		(void)add(directories, SHM_PATH); // its absence shows as an empty list
		return 0;
	}
	rc = add(directories, directory);
	return rc == 0 ? 0 : evring_error(rc, error, "%s: %s", directory, strerror(-rc));
}

bool evring_old_path(char *path, const struct evring_directory *directory, const char *name,
		     unsigned builder)
{
	return snprintf(path, EVRING_OLD_PATH_SIZE, "%s/" FILE_PREFIX "%s.%u", directory->path,
			name, builder) < EVRING_OLD_PATH_SIZE;
}

bool evring_old_parse(const char *file_name, char name[EVRING_NAME_SIZE])
{
	size_t length;
	char *end;

	if (strncmp(file_name, FILE_PREFIX, strlen(FILE_PREFIX)) != 0)
		return false;
	file_name += strlen(FILE_PREFIX);
	length = strcspn(file_name, ".");
	if (length >= EVRING_NAME_SIZE || !isdigit((unsigned char)file_name[length + 1]))
		return false;
	memcpy(name, file_name, length);
	name[length] = 0;
	return evring_name_is_valid(name) &&
	       strtoul(file_name + length + 1, &end, 10) < EVRING_MAX_BUILDERS &&
	       (end[0] == '\0' || strcmp(end, ".new") == 0);
}
