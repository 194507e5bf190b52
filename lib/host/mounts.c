// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/stages.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sysfs/mounts.h"

#define STAGE     "event rings"
#define SHM       "/dev/shm"
#define HUGEPAGES "/dev/hugepages" // mount point, if there is no hugetlbfs yet

void mounts_page_name(uint64_t page, char text[16])
{
	if (page >= 1u << 30)
		snprintf(text, 16, "%u GiB", (unsigned)(page >> 30) & 0xfff);
	else if (page >= 1u << 20)
		snprintf(text, 16, "%u MiB", (unsigned)(page >> 20) & 0xfff);
	else
		snprintf(text, 16, "%u KiB", (unsigned)(page >> 10) & 0xfff);
}

void mounts_read(struct mounts_facts *facts, const struct host_system *system,
		 const struct plan *plan)
{
	const char *directory = plan != NULL ? plan->config->event_ring.directory : "";
	struct sysfs_mount list[MOUNTS_MOST];
	uint64_t size;

	*facts = (struct mounts_facts){
		.available = sysfs_meminfo(system->root, "MemAvailable", NO_LIMIT),
		.default_page = sysfs_meminfo(system->root, "Hugepagesize", 0),
		.n_hugetlbfs = sysfs_mounts(system->root, "hugetlbfs", NULL, list, MOUNTS_MOST),
	};
	for (unsigned i = 0; i < facts->n_hugetlbfs; i++) {
		struct mounts_hugetlbfs *mount = &facts->hugetlbfs[i];

		strcpy(mount->path, list[i].path);
		mount->page = list[i].page_size[0] != '\0' ? sysfs_page_size(list[i].page_size)
							   : facts->default_page;
		mount->usable = sysfs_access(system->root, mount->path, R_OK | W_OK) == 0;
	}
	facts->has_shm = sysfs_room(system->root, SHM, &facts->shm_free, &facts->shm_size);
	// A tmpfs without a limit reports a size of 0.
	if (facts->shm_size == 0)
		facts->shm_free = NO_LIMIT;
	if (directory[0] == '\0')
		return;
	facts->directory_exists =
	    sysfs_room(system->root, directory, &facts->directory_free, &size);
	facts->directory_usable = sysfs_access(system->root, directory, R_OK | W_OK) == 0;
	for (unsigned i = 0; i < facts->n_hugetlbfs; i++)
		facts->directory_hugepages |= strcmp(facts->hugetlbfs[i].path, directory) == 0;
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

// There are hugepages, but no file system through which processes could share them.
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
	if (plan->config->memory.kind == MEMORY_HUGEPAGES && mount == NULL) {
		judge_missing_mount(facts, HOST_FAIL, report);
		return;
	}
	if (plan->config->memory.kind == MEMORY_AUTO && hugepages && mount == NULL)
		judge_missing_mount(facts, HOST_WARN, report);
	if (plan->config->memory.kind == MEMORY_HUGEPAGES || (hugepages && mount != NULL))
		report_add(report, HOST_OK, STAGE, "%s, %llu MiB", mount->path,
			   mib(plan->ring_bytes));
	else
		judge_shm(facts, plan, report);
}
