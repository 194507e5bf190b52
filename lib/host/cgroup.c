// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the control groups of this process, and those above them, allow: of version 1 and 2, also
// where both are in use.
#include "host/stages.h"

#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STAGE      "cgroup"
#define MOUNT_LINE 4096
#define UNLIMITED  ((uint64_t)1 << 60)  // version 1 writes a very large number for none
#define PROGRAM    ((uint64_t)96 << 20) // of memory, for evb and its libraries

struct controller {
	bool version2;
	char mount[SYSTEM_PATH_SIZE / 2];
	char group[SYSTEM_PATH_SIZE / 2]; // below the mount; empty: the root
};

static bool find_mount(struct controller *found, const struct host_system *system,
		       const char *controller)
{
	FILE *mounts = system_open(system, "/proc/mounts");
	char line[MOUNT_LINE];
	struct mntent entry;
	bool any = false;

	if (mounts == NULL)
		return false;
	while (!any && getmntent_r(mounts, &entry, line, sizeof(line)) != NULL) {
		any = found->version2 ? strcmp(entry.mnt_type, "cgroup2") == 0
				      : strcmp(entry.mnt_type, "cgroup") == 0 &&
					    hasmntopt(&entry, controller) != NULL;
		if (any)
			snprintf(found->mount, sizeof(found->mount), "%s", entry.mnt_dir);
	}
	fclose(mounts); // opened for reading: nothing can be lost
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

static void find_group(struct controller *found, const struct host_system *system,
		       const char *controller)
{
	FILE *file = system_open(system, "/proc/self/cgroup");
	char line[SYSTEM_TEXT_SIZE];
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

static uint64_t read_limit(const struct host_system *system, const char *path)
{
	uint64_t limit = system_number(system, NO_LIMIT, "%s", path);

	return limit < UNLIMITED ? limit : NO_LIMIT;
}

// Cache of files that the kernel can drop: it counts as used, and is not.
static uint64_t read_cache(const struct host_system *system, const char *group, bool version2)
{
	const char *key = version2 ? "inactive_file " : "total_inactive_file ";
	char text[SYSTEM_TEXT_SIZE];
	const char *line;

	if (!system_read(system, text, "%s/memory.stat", group))
		return 0;
	line = strncmp(text, key, strlen(key)) == 0 ? text : NULL;
	for (const char *at = text; line == NULL && (at = strchr(at, '\n')) != NULL;)
		if (strncmp(++at, key, strlen(key)) == 0)
			line = at;
	return line != NULL ? strtoull(line + strlen(key), NULL, 10) : 0;
}

static void tighten(struct cgroup_limit *to, const char *file, uint64_t limit, uint64_t used)
{
	uint64_t room = used < limit ? limit - used : 0;

	if (limit == NO_LIMIT || (to->limit != NO_LIMIT && room >= to->room))
		return;
	to->limit = limit;
	to->room = room;
	snprintf(to->file, sizeof(to->file), "%s", file);
}

static void read_level(struct cgroup_limit *to, const struct host_system *system,
		       const struct controller *controller, const char *group, const char *what)
{
	const char *maximum = controller->version2 ? "max" : "limit_in_bytes";
	const char *current = controller->version2 ? "current" : "usage_in_bytes";
	char file[SYSTEM_PATH_SIZE];
	uint64_t used, cache = 0;

	if (strcmp(what, "memory") == 0)
		cache = read_cache(system, group, controller->version2);
	used = system_number(system, 0, "%s/%s.%s", group, what, current);
	used -= cache < used ? cache : used;
	if (snprintf(file, sizeof(file), "%s/%s.%s", group, what, maximum) < (int)sizeof(file))
		tighten(to, file, read_limit(system, file), used);
}

// From the process's group up to the root. In a container the mount is often that of the group
// itself, and the path that of the host: then all but the root are missing.
static void read_controller(struct cgroup_limit *to, const struct host_system *system,
			    const char *name, const char *what)
{
	for (int version = 1; version <= 2; version++) {
		struct controller controller = { .version2 = version == 2 };
		char group[SYSTEM_PATH_SIZE];
		size_t root;

		if (!find_mount(&controller, system, name))
			continue;
		find_group(&controller, system, name);
		root = strlen(controller.mount);
		snprintf(group, sizeof(group), "%s%s", controller.mount, controller.group);
		for (;;) {
			char *last;

			read_level(to, system, &controller, group, what);
			last = strrchr(group, '/');
			if (last == NULL || (size_t)(last - group) < root)
				break;
			*last = '\0';
		}
	}
}

void cgroup_read(struct cgroup_facts *facts, const struct host_system *system,
		 uint64_t default_page)
{
	char what[32];

	*facts = (struct cgroup_facts){
		.memory = { .limit = NO_LIMIT, .room = NO_LIMIT },
		.hugepages = { .limit = NO_LIMIT, .room = NO_LIMIT },
	};
	read_controller(&facts->memory, system, "memory", "memory");
	if (default_page >= 1u << 30)
		snprintf(what, sizeof(what), "hugetlb.%lluGB",
			 (unsigned long long)default_page >> 30);
	else if (default_page >= 1u << 20)
		snprintf(what, sizeof(what), "hugetlb.%lluMB",
			 (unsigned long long)default_page >> 20);
	else
		snprintf(what, sizeof(what), "hugetlb.%lluKB",
			 (unsigned long long)default_page >> 10);
	read_controller(&facts->hugepages, system, "hugetlb", what);
}

static unsigned long long mib(uint64_t bytes)
{
	return (bytes + (1u << 20) - 1) >> 20;
}

static uint64_t wanted_hugepages(const struct plan *plan)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < plan->n_nodes; i++)
		bytes += plan->nodes[i].hugepage_bytes;
	return bytes;
}

static void judge_hugepages(const struct cgroup_limit *limit, const struct plan *plan,
			    struct host_report *report)
{
	uint64_t wanted = wanted_hugepages(plan);
	struct host_finding *finding;

	if (limit->limit == NO_LIMIT || wanted <= limit->room)
		return;
	finding = report_add(report, HOST_FAIL, STAGE,
			     "%s leaves %llu MiB of hugepages, %llu MiB are wanted: the kernel "
			     "would kill evb (SIGBUS)",
			     limit->file, mib(limit->room), mib(wanted));
	report_remedy(finding, "raise that limit (Kubernetes: limits: hugepages-2Mi), or set "
			       "memory.kind to \"shm\"");
}

static void judge_memory(const struct cgroup_limit *limit, bool hugepages, const struct plan *plan,
			 struct host_report *report)
{
	uint64_t wanted = plan->assembly_bytes + PROGRAM + (hugepages ? 0 : wanted_hugepages(plan));
	struct host_finding *finding;

	if (limit->limit == NO_LIMIT || wanted <= limit->room)
		return;
	if (wanted > limit->limit)
		finding = report_add(report, HOST_FAIL, STAGE,
				     "%s allows %llu MiB of memory, %llu MiB are wanted: the "
				     "kernel would kill evb (out of memory)",
				     limit->file, mib(limit->limit), mib(wanted));
	else
		finding = report_add(report, HOST_WARN, STAGE,
				     "%s leaves %llu of %llu MiB of memory, %llu MiB are wanted",
				     limit->file, mib(limit->room), mib(limit->limit), mib(wanted));
	report_remedy(finding, "raise that limit (a container: --memory), or use fewer slots%s",
		      hugepages ? "" : " or hugepages");
}

void cgroup_judge(const struct cgroup_facts *facts, bool hugepages, const struct plan *plan,
		  struct host_report *report)
{
	const struct cgroup_limit *memory = &facts->memory, *pages = &facts->hugepages;
	unsigned before = report->n_findings;

	if (plan != NULL) {
		if (hugepages)
			judge_hugepages(pages, plan, report);
		judge_memory(memory, hugepages, plan, report);
		if (report->n_findings > before)
			return;
	}
	if (memory->limit != NO_LIMIT)
		report_add(report, HOST_OK, STAGE, "%s leaves %llu of %llu MiB of memory",
			   memory->file, mib(memory->room), mib(memory->limit));
	if (pages->limit != NO_LIMIT)
		report_add(report, HOST_OK, STAGE, "%s leaves %llu of %llu MiB of hugepages",
			   pages->file, mib(pages->room), mib(pages->limit));
	if (memory->limit == NO_LIMIT && pages->limit == NO_LIMIT)
		report_add(report, HOST_OK, STAGE, "no limit of memory or hugepages");
}
