// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sysfs/cgroup.h"

#include <stdlib.h>
#include <string.h>

#include "sysfs/mounts.h"

#define VERY_LARGE ((uint64_t)1 << 60) // version 1 writes such a number where there is no limit

struct controller {
	bool version2;
	char mount[SYSFS_MOUNT_SIZE];
	char group[SYSFS_PATH_SIZE / 2]; // below the mount; empty: the root
};

static bool find_mount(struct controller *found, const char *root, const char *controller)
{
	struct sysfs_mount mount;
	bool any = found->version2 ? sysfs_mounts(root, "cgroup2", NULL, &mount, 1) > 0
				   : sysfs_mounts(root, "cgroup", controller, &mount, 1) > 0;

	if (any)
		strcpy(found->mount, mount.path);
	return any;
}

// "8:memory,hugetlb:/group" of version 1, "0::/group" of version 2.
static bool line_is_of(char *line, const struct controller *found, const char *controller,
		       const char **group)
{
	char *names = strchr(line, ':'), *path, *place = NULL;

	if (names == NULL)
		return false;
	path = strchr(++names, ':');
	if (path == NULL)
		return false;
	*path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	*group = strcmp(path, "/") == 0 ? "" : path;
	if (found->version2)
		return names[0] == '\0';
	for (const char *name = strtok_r(names, ",", &place); name != NULL;
	     name = strtok_r(NULL, ",", &place))
		if (strcmp(name, controller) == 0)
			return true;
	return false;
}

static void find_group(struct controller *found, const char *root, const char *controller)
{
	FILE *file = sysfs_open(root, "/proc/self/cgroup");
	char line[SYSFS_TEXT_SIZE];
	const char *group;

	found->group[0] = '\0';
	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL)
		if (line_is_of(line, found, controller, &group)) {
			snprintf(found->group, sizeof(found->group), "%s", group);
			break;
		}
	fclose(file); // opened for reading: nothing can be lost
}

static uint64_t read_limit(const char *root, const char *path)
{
	uint64_t limit = sysfs_number(root, CGROUP_NO_LIMIT, "%s", path);

	return limit < VERY_LARGE ? limit : CGROUP_NO_LIMIT;
}

// Bytes of cached files that the kernel can drop: they count as used, but are available.
static uint64_t read_cache(const char *root, const char *group, bool version2)
{
	const char *key = version2 ? "inactive_file " : "total_inactive_file ";
	char path[SYSFS_PATH_SIZE], text[SYSFS_TEXT_SIZE];

	if (snprintf(path, sizeof(path), "%s/memory.stat", group) >= (int)sizeof(path) ||
	    !sysfs_field(root, path, key, text))
		return 0;
	return strtoull(text, NULL, 10);
}

static void tighten(struct cgroup_limit *to, const char *file, uint64_t limit, uint64_t used)
{
	uint64_t room = used < limit ? limit - used : 0;

	if (limit == CGROUP_NO_LIMIT || (to->limit != CGROUP_NO_LIMIT && room >= to->room))
		return;
	to->limit = limit;
	to->room = room;
	snprintf(to->file, sizeof(to->file), "%s", file);
}

static void read_level(struct cgroup_limit *to, const char *root,
		       const struct controller *controller, const char *group, const char *what)
{
	const char *maximum = controller->version2 ? "max" : "limit_in_bytes";
	const char *current = controller->version2 ? "current" : "usage_in_bytes";
	char file[SYSFS_PATH_SIZE];
	uint64_t used, cache = 0;

	if (strcmp(what, "memory") == 0)
		cache = read_cache(root, group, controller->version2);
	used = sysfs_number(root, 0, "%s/%s.%s", group, what, current);
	used -= cache < used ? cache : used;
	if (snprintf(file, sizeof(file), "%s/%s.%s", group, what, maximum) < (int)sizeof(file))
		tighten(to, file, read_limit(root, file), used);
}

// From the process's group up to the root. In a container the mount is often that of the group
// itself, and the path that of the host: then all but the root are missing.
static void read_controller(struct cgroup_limit *to, const char *root, const char *name,
			    const char *what)
{
	for (int version = 1; version <= 2; version++) {
		struct controller controller = { .version2 = version == 2 };
		char group[SYSFS_PATH_SIZE];
		size_t top;

		if (!find_mount(&controller, root, name))
			continue;
		find_group(&controller, root, name);
		top = strlen(controller.mount);
		snprintf(group, sizeof(group), "%s%s", controller.mount, controller.group);
		for (;;) {
			char *last;

			read_level(to, root, &controller, group, what);
			last = strrchr(group, '/');
			if (last == NULL || (size_t)(last - group) < top)
				break;
			*last = '\0';
		}
	}
}

void cgroup_read(struct cgroup_facts *facts, const char *root, uint64_t default_page)
{
	unsigned shift = default_page >= 1u << 30 ? 30 : default_page >= 1u << 20 ? 20 : 10;
	char what[32];

	*facts = (struct cgroup_facts){
		.memory = { .limit = CGROUP_NO_LIMIT, .room = CGROUP_NO_LIMIT },
		.hugepages = { .limit = CGROUP_NO_LIMIT, .room = CGROUP_NO_LIMIT },
	};
	read_controller(&facts->memory, root, "memory", "memory");
	snprintf(what, sizeof(what), "hugetlb.%llu%cB", (unsigned long long)default_page >> shift,
		 " KMG"[shift / 10]);
	read_controller(&facts->hugepages, root, "hugetlb", what);
}
