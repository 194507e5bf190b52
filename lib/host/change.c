// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "evring/evring.h"
#include "host/stages.h"
#include "sysfs/mounts.h"

#define ABSENT "absent" // the directory does not exist
#define EMPTY  "empty"  // nothing is mounted on the directory

#define SETTINGS HOST_CHANGE_REMOVE_FOLDERS // the kinds before are settings

static const char *const kind_names[] = {
	[HOST_CHANGE_WRITE] = "write",
	[HOST_CHANGE_MOUNT] = "mount",
	[HOST_CHANGE_MTU] = "mtu",
	[HOST_CHANGE_LINK] = "link",
	[HOST_CHANGE_CHANNELS] = "channels",
	[HOST_CHANGE_RINGS] = "rings",
	[HOST_CHANGE_REMOVE_FOLDERS] = "remove-folders",
	[HOST_CHANGE_REMOVE_EVENT_RINGS] = "remove-event-rings",
};

bool change_is_setting(enum host_change_kind kind)
{
	return kind < SETTINGS;
}

const char *change_kind_name(enum host_change_kind kind)
{
	return kind_names[kind];
}

enum host_change_kind change_kind_of(const char *name)
{
	unsigned kind = 0;

	while (kind < HOST_N_CHANGE_KINDS && strcmp(kind_names[kind], name) != 0)
		kind++;
	return (enum host_change_kind)kind;
}

// --- files ---------------------------------------------------------------------------------------

static bool whole_path(const struct host_system *system, const char *target,
		       char path[SYSFS_PATH_SIZE])
{
	return snprintf(path, SYSFS_PATH_SIZE, "%s%s", system->root, target) < SYSFS_PATH_SIZE;
}

static int get_file(const struct host_system *system, const char *target,
		    char value[HOST_VALUE_SIZE])
{
	char text[SYSFS_TEXT_SIZE];

	if (!sysfs_read(system->root, text, "%s", target))
		return -errno;
	if (strlen(text) >= HOST_VALUE_SIZE)
		return -E2BIG;
	strcpy(value, text);
	return 0;
}

static int set_file(const struct host_system *system, const char *target, const char *value)
{
	char path[SYSFS_PATH_SIZE];
	int file, result = 0;

	if (!whole_path(system, target, path))
		return -ENAMETOOLONG;
	file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (file < 0)
		return -errno;
	if (write(file, value, strlen(value)) != (ssize_t)strlen(value))
		result = -errno;
	if (close(file) != 0 && result == 0)
		result = -errno;
	return result;
}

// --- mounts --------------------------------------------------------------------------------------

// The page size, "2M", of the hugetlbfs that was mounted last on the target; "" without such a
// mount.
static void find_mount(const struct host_system *system, const char *target,
		       char value[HOST_VALUE_SIZE])
{
	struct sysfs_mount list[MOUNTS_MOST];
	unsigned n = sysfs_mounts(system->root, "hugetlbfs", NULL, list, MOUNTS_MOST);

	value[0] = '\0';
	for (unsigned i = 0; i < n; i++)
		if (strcmp(list[i].path, target) == 0)
			snprintf(value, HOST_VALUE_SIZE, "%s",
				 list[i].page_size[0] != '\0' ? list[i].page_size : "default");
}

static int get_mount(const struct host_system *system, const char *target,
		     char value[HOST_VALUE_SIZE])
{
	find_mount(system, target, value);
	if (value[0] == '\0')
		strcpy(value, sysfs_exists(system->root, "%s", target) ? EMPTY : ABSENT);
	return 0;
}

static int unmount(const struct host_system *system, const char *path, const char *target)
{
	char value[HOST_VALUE_SIZE];

	find_mount(system, target, value);
	return value[0] == '\0' || umount2(path, UMOUNT_NOFOLLOW) == 0 ? 0 : -errno;
}

static int set_mount(const struct host_system *system, const char *target, const char *value)
{
	char path[SYSFS_PATH_SIZE], options[32 + 16];
	int result;

	if (!whole_path(system, target, path))
		return -ENAMETOOLONG;
	if (strcmp(value, ABSENT) == 0 || strcmp(value, EMPTY) == 0) {
		result = unmount(system, path, target);
		if (result != 0 || strcmp(value, EMPTY) == 0)
			return result;
		return rmdir(path) == 0 || errno == ENOENT ? 0 : -errno;
	}
	if (mkdir(path, 0755) != 0 && errno != EEXIST)
		return -errno;
	snprintf(options, sizeof(options), "pagesize=%.15s", value);
	return mount("nodev", path, "hugetlbfs", 0, options) == 0 ? 0 : -errno;
}

// --- interfaces ----------------------------------------------------------------------------------

static int get_link(const struct host_system *system, enum host_change_kind kind,
		    const char *target, char value[HOST_VALUE_SIZE])
{
	struct host_link link = { 0 };
	bool combined;

	if (!system->read_link(target, &link))
		return -ENODEV;
	combined = link.channels.combined > 0;
	switch (kind) {
	case HOST_CHANGE_MTU:
		snprintf(value, HOST_VALUE_SIZE, "%u", link.mtu);
		return 0;
	case HOST_CHANGE_LINK:
		strcpy(value, link.up ? "up" : "down");
		return 0;
	case HOST_CHANGE_CHANNELS:
		snprintf(value, HOST_VALUE_SIZE, "%s %u", combined ? "combined" : "rx",
			 combined ? link.channels.combined : link.channels.rx);
		return link.has_channels ? 0 : -EOPNOTSUPP;
	case HOST_CHANGE_RINGS:
		snprintf(value, HOST_VALUE_SIZE, "rx %u", link.rx_ring);
		return link.has_rings ? 0 : -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
}

static int set_link(enum host_change_kind kind, const char *target, const char *value)
{
	char which[16];
	unsigned number;

	switch (kind) {
	case HOST_CHANGE_MTU:
		return sscanf(value, "%u", &number) == 1 ? host_link_set_mtu(target, number)
							 : -EINVAL;
	case HOST_CHANGE_LINK:
		return host_link_set_up(target, strcmp(value, "up") == 0);
	case HOST_CHANGE_CHANNELS:
		if (sscanf(value, "%15s %u", which, &number) != 2)
			return -EINVAL;
		return host_link_set_channels(target, strcmp(which, "combined") == 0, number);
	case HOST_CHANGE_RINGS:
		return sscanf(value, "rx %u", &number) == 1 ? host_link_set_rx_ring(target, number)
							    : -EINVAL;
	default:
		return -EINVAL;
	}
}

// --- all -----------------------------------------------------------------------------------------

int change_get(const struct host_system *system, enum host_change_kind kind, const char *target,
	       char value[HOST_VALUE_SIZE])
{
	value[0] = '\0';
	if (kind == HOST_CHANGE_WRITE)
		return get_file(system, target, value);
	if (kind == HOST_CHANGE_MOUNT)
		return get_mount(system, target, value);
	return get_link(system, kind, target, value);
}

int change_set(const struct host_system *system, enum host_change_kind kind, const char *target,
	       const char *value)
{
	if (kind == HOST_CHANGE_WRITE)
		return set_file(system, target, value);
	if (kind == HOST_CHANGE_MOUNT)
		return set_mount(system, target, value);
	return set_link(kind, target, value);
}

int change_remove(const struct host_system *system, enum host_change_kind kind, const char *target)
{
	char path[SYSFS_PATH_SIZE], error[EVRING_ERROR_SIZE];

	if (!whole_path(system, target, path))
		return -ENAMETOOLONG;
	if (kind == HOST_CHANGE_REMOVE_FOLDERS)
		return (int)runs_remove_folders(path);
	return evring_clean(NULL, path, error);
}
