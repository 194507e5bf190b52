// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/stages.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sysfs/mounts.h"

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

void mounts_read(struct check *check)
{
	const char *directory =
	    check->plan != NULL ? check->plan->config->event_ring.directory : "";
	const char *root = check->system->root;
	struct mounts_facts *facts = &check->mounts;
	struct sysfs_mount list[MOUNTS_MOST];
	uint64_t size;

	facts->available = sysfs_meminfo(root, "MemAvailable", NO_LIMIT);
	facts->default_page = sysfs_meminfo(root, "Hugepagesize", 0);
	facts->n_hugetlbfs = sysfs_mounts(root, "hugetlbfs", NULL, list, MOUNTS_MOST);
	for (unsigned i = 0; i < facts->n_hugetlbfs; i++) {
		struct mounts_hugetlbfs *mount = &facts->hugetlbfs[i];

		strcpy(mount->path, list[i].path);
		mount->page = list[i].page_size[0] != '\0' ? sysfs_page_size(list[i].page_size)
							   : facts->default_page;
		mount->usable = sysfs_access(root, mount->path, R_OK | W_OK) == 0;
		facts->directory_hugepages |= strcmp(mount->path, directory) == 0;
	}
	facts->has_shm = sysfs_room(root, SHM, &facts->shm_free, &facts->shm_size);
	// A tmpfs without a limit reports a size of 0.
	if (facts->shm_size == 0)
		facts->shm_free = NO_LIMIT;
	if (directory[0] == '\0')
		return;
	facts->directory_exists = sysfs_room(root, directory, &facts->directory_free, &size);
	facts->directory_usable = sysfs_access(root, directory, R_OK | W_OK) == 0;
}

static void judge_directory(struct check *check)
{
	const char *directory = check->plan->config->event_ring.directory;
	const struct mounts_facts *facts = &check->mounts;
	uint64_t wanted = check->plan->ring_bytes;

	if (!facts->directory_exists)
		report_add(check->report, HOST_FAIL,
			   "event_ring.directory: there is no %s" REMEDY
			   "mkdir -p %s, or name another",
			   directory, directory);
	else if (!facts->directory_usable)
		report_add(check->report, HOST_FAIL,
			   "event_ring.directory: %s may not be written by this user" REMEDY
			   "chown or chmod it, or name another",
			   directory);
	else if (!facts->directory_hugepages && facts->directory_free < wanted)
		report_add(check->report, HOST_FAIL,
			   "event_ring.directory: %s has %llu MiB free, the slots take %llu "
			   "MiB" REMEDY "fewer or smaller slots (builders[].slots, .slot_size), or "
			   "another directory",
			   directory, mib(facts->directory_free), mib(wanted));
	else
		report_add(check->report, HOST_OK, "%s, %llu MiB", directory, mib(wanted));
}

// There are hugepages, but no file system through which processes could share them.
static void judge_missing_mount(struct check *check, enum host_verdict verdict)
{
	const struct mounts_facts *facts = &check->mounts;
	const char *path = facts->hugetlbfs[0].path;

	if (facts->n_hugetlbfs > 0) {
		report_add(check->report, verdict,
			   "the hugetlbfs at %s may not be written by this user" REMEDY
			   "as root: chown %u:%u %s",
			   path, (unsigned)getuid(), (unsigned)getgid(), path);
		return;
	}
	report_add(check->report, verdict,
		   "no hugetlbfs is mounted, so slots cannot lie in hugepages" REMEDY
		   "as root: mkdir -p " HUGEPAGES
		   " && mount -t hugetlbfs -o pagesize=%lluM nodev " HUGEPAGES,
		   mib(facts->default_page));
	report_change(check->report, HOST_CHANGE_MOUNT, HUGEPAGES, "%lluM",
		      mib(facts->default_page));
}

static void judge_shm(struct check *check)
{
	const struct mounts_facts *facts = &check->mounts;
	uint64_t wanted = check->plan->ring_bytes;
	uint64_t size = facts->shm_size - facts->shm_free + wanted;

	if (!facts->has_shm)
		report_add(check->report, HOST_FAIL,
			   "there is no " SHM REMEDY "as root: mkdir -p " SHM
			   " && mount -t tmpfs tmpfs " SHM);
	else if (facts->shm_free < wanted)
		report_add(check->report, HOST_FAIL,
			   SHM " has %llu MiB free, the slots take %llu MiB" REMEDY
			       "as root: mount -o remount,size=%lluM " SHM
			       " (a container: --shm-size %lluM), or fewer slots",
			   mib(facts->shm_free), mib(wanted), mib(size), mib(size));
	else if (facts->available < wanted)
		report_add(check->report, HOST_FAIL,
			   "%llu MiB of memory are available, the slots take %llu MiB" REMEDY
			   "fewer or smaller slots (builders[].slots, .slot_size)",
			   mib(facts->available), mib(wanted));
	else
		report_add(check->report, HOST_OK, SHM ", %llu MiB", mib(wanted));
}

void mounts_describe(struct check *check)
{
	const struct mounts_facts *facts = &check->mounts;
	char page[16];

	for (unsigned i = 0; i < facts->n_hugetlbfs; i++) {
		mounts_page_name(facts->hugetlbfs[i].page, page);
		report_add(check->report, HOST_OK, "hugetlbfs at %s, pages of %s%s",
			   facts->hugetlbfs[i].path, page,
			   facts->hugetlbfs[i].usable ? "" : ", not for this user");
	}
	if (facts->has_shm && facts->shm_size > 0)
		report_add(check->report, HOST_OK, SHM ", %llu of %llu MiB free",
			   mib(facts->shm_free), mib(facts->shm_size));
}

void mounts_judge(struct check *check)
{
	const struct config *config = check->plan->config;
	const struct mounts_hugetlbfs *mount = check->mounts.hugetlbfs;
	const struct mounts_hugetlbfs *end = mount + check->mounts.n_hugetlbfs;
	bool wants = config->memory.kind == MEMORY_HUGEPAGES;
	bool prefers = config->memory.kind == MEMORY_AUTO && check->hugepages_suffice;

	while (mount < end && !mount->usable)
		mount++;
	if (config->n_builders == 0) {
		report_add(check->report, HOST_OK, "none: nothing is built here");
		return;
	}
	if (config->event_ring.directory[0] != '\0') {
		judge_directory(check);
		return;
	}
	if ((wants || prefers) && mount == end)
		judge_missing_mount(check, wants ? HOST_FAIL : HOST_WARN);
	if (mount < end && (wants || check->hugepages_suffice))
		report_add(check->report, HOST_OK, "%s, %llu MiB", mount->path,
			   mib(check->plan->ring_bytes));
	else if (!wants)
		judge_shm(check);
}
