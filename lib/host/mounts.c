// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/stages.h"

#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAGE      "event rings"
#define MOUNT_LINE 4096
#define SHM        "/dev/shm"
#define HUGEPAGES  "/dev/hugepages" // where it is mounted if nobody has

// "2M" as in the option pagesize; 0 if it is none.
static uint64_t parse_page(const char *text)
{
	char *end;
	unsigned long long number = strtoull(text, &end, 10);

	switch (*end) {
	case 'K':
	case 'k':
		return number << 10;
	case 'M':
	case 'm':
		return number << 20;
	case 'G':
	case 'g':
		return number << 30;
	default:
		return number;
	}
}

void mounts_page_name(uint64_t page, char text[16])
{
	if (page >= 1u << 30)
		snprintf(text, 16, "%u GiB", (unsigned)(page >> 30) & 0xfff);
	else if (page >= 1u << 20)
		snprintf(text, 16, "%u MiB", (unsigned)(page >> 20) & 0xfff);
	else
		snprintf(text, 16, "%u KiB", (unsigned)(page >> 10) & 0xfff);
}

static void add_mount(struct mounts_facts *facts, const struct host_system *system,
		      const struct mntent *entry)
{
	struct mounts_hugetlbfs *mount = &facts->hugetlbfs[facts->n_hugetlbfs];
	char *page = hasmntopt(entry, "pagesize");

	if (facts->n_hugetlbfs == MOUNTS_MOST)
		return;
	snprintf(mount->path, sizeof(mount->path), "%s", entry->mnt_dir);
	mount->page = page != NULL ? parse_page(page + strlen("pagesize=")) : facts->default_page;
	mount->usable = system_may_use(system, mount->path);
	facts->n_hugetlbfs++;
}

static void read_mounts(struct mounts_facts *facts, const struct host_system *system)
{
	FILE *mounts = system_open(system, "/proc/mounts");
	char line[MOUNT_LINE];
	struct mntent entry;

	if (mounts == NULL)
		return;
	while (getmntent_r(mounts, &entry, line, sizeof(line)) != NULL)
		if (strcmp(entry.mnt_type, "hugetlbfs") == 0)
			add_mount(facts, system, &entry);
	fclose(mounts); // opened for reading: nothing can be lost
}

static void read_memory(struct mounts_facts *facts, const struct host_system *system)
{
	FILE *file = system_open(system, "/proc/meminfo");
	unsigned long long kib;
	char line[128];

	facts->available = NO_LIMIT;
	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			facts->available = kib << 10;
		if (sscanf(line, "Hugepagesize: %llu kB", &kib) == 1)
			facts->default_page = kib << 10;
	}
	fclose(file); // opened for reading: nothing can be lost
}

void mounts_read(struct mounts_facts *facts, const struct host_system *system,
		 const struct plan *plan)
{
	const char *directory = plan != NULL ? plan->config->event_ring.directory : "";
	uint64_t size;

	*facts = (struct mounts_facts){ 0 };
	read_memory(facts, system);
	read_mounts(facts, system);
	facts->has_shm = system_room(system, SHM, &facts->shm_free, &facts->shm_size);
	// A tmpfs without a limit says that it has nothing.
	if (facts->shm_size == 0)
		facts->shm_free = NO_LIMIT;
	if (directory[0] == '\0')
		return;
	facts->directory_exists = system_room(system, directory, &facts->directory_free, &size);
	facts->directory_usable = system_may_use(system, directory);
	for (unsigned i = 0; i < facts->n_hugetlbfs; i++)
		facts->directory_hugepages |= strcmp(facts->hugetlbfs[i].path, directory) == 0;
}

static unsigned long long mib(uint64_t bytes)
{
	return (bytes + (1u << 20) - 1) >> 20;
}

static void judge_directory(const struct mounts_facts *facts, const struct plan *plan,
			    struct host_report *report)
{
	const char *directory = plan->config->event_ring.directory;
	struct host_finding *finding;

	if (!facts->directory_exists) {
		finding = report_add(report, HOST_FAIL, STAGE,
				     "event_ring.directory: there is no %s", directory);
		report_remedy(finding, "mkdir -p %s, or name another", directory);
	} else if (!facts->directory_usable) {
		finding = report_add(report, HOST_FAIL, STAGE,
				     "event_ring.directory: %s may not be written by this user",
				     directory);
		report_remedy(finding, "chown or chmod it, or name another");
	} else if (!facts->directory_hugepages && facts->directory_free < plan->ring_bytes) {
		finding = report_add(
		    report, HOST_FAIL, STAGE,
		    "event_ring.directory: %s has %llu MiB free, the slots take %llu MiB",
		    directory, mib(facts->directory_free), mib(plan->ring_bytes));
		report_remedy(finding, "fewer or smaller slots (builders[].slots, .slot_size), or "
				       "another directory");
	} else {
		report_add(report, HOST_OK, STAGE, "%s, %llu MiB", directory,
			   mib(plan->ring_bytes));
	}
}

static const struct mounts_hugetlbfs *usable_mount(const struct mounts_facts *facts)
{
	for (unsigned i = 0; i < facts->n_hugetlbfs; i++)
		if (facts->hugetlbfs[i].usable)
			return &facts->hugetlbfs[i];
	return NULL;
}

static void add_mount_change(const struct mounts_facts *facts, struct host_report *report)
{
	report_change(report, HOST_CHANGE_MOUNT, STAGE, HUGEPAGES, "%lluM",
		      mib(facts->default_page));
}

// Hugepages are there, and no file system through which processes share them.
static void judge_missing_mount(const struct mounts_facts *facts, enum host_verdict verdict,
				struct host_report *report)
{
	struct host_finding *finding;

	if (facts->n_hugetlbfs > 0) {
		const char *path = facts->hugetlbfs[0].path;

		finding = report_add(report, verdict, STAGE,
				     "the hugetlbfs at %s may not be written by this user", path);
		report_remedy(finding, "as root: chown %u:%u %s", (unsigned)getuid(),
			      (unsigned)getgid(), path);
		return;
	}
	finding = report_add(report, verdict, STAGE,
			     "no hugetlbfs is mounted, so slots cannot lie in hugepages");
	report_remedy(finding,
		      "as root: mkdir -p " HUGEPAGES
		      " && mount -t hugetlbfs -o pagesize=%lluM nodev " HUGEPAGES,
		      mib(facts->default_page));
	add_mount_change(facts, report);
}

static void judge_shm(const struct mounts_facts *facts, const struct plan *plan,
		      struct host_report *report)
{
	struct host_finding *finding;

	if (!facts->has_shm) {
		finding = report_add(report, HOST_FAIL, STAGE, "there is no " SHM);
		report_remedy(finding, "as root: mkdir -p " SHM " && mount -t tmpfs tmpfs " SHM);
	} else if (facts->shm_free < plan->ring_bytes) {
		finding = report_add(report, HOST_FAIL, STAGE,
				     SHM " has %llu MiB free, the slots take %llu MiB",
				     mib(facts->shm_free), mib(plan->ring_bytes));
		report_remedy(finding,
			      "as root: mount -o remount,size=%lluM " SHM
			      " (a container: --shm-size %lluM), or fewer slots",
			      mib(facts->shm_size - facts->shm_free + plan->ring_bytes),
			      mib(facts->shm_size - facts->shm_free + plan->ring_bytes));
	} else if (facts->available < plan->ring_bytes) {
		finding = report_add(report, HOST_FAIL, STAGE,
				     "%llu MiB of memory are available, the slots take %llu MiB",
				     mib(facts->available), mib(plan->ring_bytes));
		report_remedy(finding, "fewer or smaller slots (builders[].slots, .slot_size)");
	} else {
		report_add(report, HOST_OK, STAGE, SHM ", %llu MiB", mib(plan->ring_bytes));
	}
}

static void describe(const struct mounts_facts *facts, struct host_report *report)
{
	char page[16];

	for (unsigned i = 0; i < facts->n_hugetlbfs; i++) {
		mounts_page_name(facts->hugetlbfs[i].page, page);
		report_add(report, HOST_OK, STAGE, "hugetlbfs at %s, pages of %s%s",
			   facts->hugetlbfs[i].path, page,
			   facts->hugetlbfs[i].usable ? "" : ", not for this user");
	}
	if (facts->has_shm && facts->shm_size > 0)
		report_add(report, HOST_OK, STAGE, SHM ", %llu of %llu MiB free",
			   mib(facts->shm_free), mib(facts->shm_size));
}

void mounts_judge(const struct mounts_facts *facts, bool hugepages, const struct plan *plan,
		  struct host_report *report)
{
	const struct mounts_hugetlbfs *mount = usable_mount(facts);

	if (plan == NULL) {
		describe(facts, report);
		return;
	}
	if (plan->config->n_builders == 0) {
		report_add(report, HOST_OK, STAGE, "none: nothing is built here");
		return;
	}
	if (plan->config->event_ring.directory[0] != '\0') {
		judge_directory(facts, plan, report);
		return;
	}
	if (plan->config->memory.kind == CONFIG_MEMORY_HUGEPAGES && mount == NULL) {
		judge_missing_mount(facts, HOST_FAIL, report);
		return;
	}
	if (plan->config->memory.kind == CONFIG_MEMORY_AUTO && hugepages && mount == NULL)
		judge_missing_mount(facts, HOST_WARN, report);
	if (plan->config->memory.kind == CONFIG_MEMORY_HUGEPAGES || (hugepages && mount != NULL))
		report_add(report, HOST_OK, STAGE, "%s, %llu MiB", mount->path,
			   mib(plan->ring_bytes));
	else
		judge_shm(facts, plan, report);
}
