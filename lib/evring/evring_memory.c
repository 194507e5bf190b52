// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_memory.h"
#include "evring_view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sysfs/file.h"

// A tmpfs may be larger than the memory; filling that would end the wrong processes.
static int check_room(int file, const struct evring_directory *directory, uint64_t size,
		      char *error)
{
	struct statfs file_system;
	uint64_t room = sysfs_meminfo("", "MemAvailable", UINT64_MAX);

	if (directory->hugepages || fstatfs(file, &file_system) != 0)
		return 0; // populate() finds out
	// A tmpfs without a limit reports 0 blocks.
	if (file_system.f_blocks != 0) {
		const uint64_t unused =
		    (uint64_t)file_system.f_bavail * (uint64_t)file_system.f_bsize;

		room = unused < room ? unused : room;
	}
	if (size <= room)
		return 0;
	return evring_error(-ENOSPC, error,
			    "%s: the ring needs %" PRIu64 " MiB, there are %" PRIu64 " MiB",
			    directory->path, size >> 20, room >> 20);
}

// Makes the kernel allocate all pages now.
static int populate(void *memory, int file, const struct evring_directory *directory, uint64_t size)
{
	bool touched;
	int rc;

	// Large pages, where the tmpfs supports them on request; otherwise without effect.
	if (!directory->hugepages)
		(void)madvise(memory, size, MADV_HUGEPAGE);
	do
		rc = madvise(memory, size, MADV_POPULATE_WRITE);
	while (rc != 0 && errno == EINTR);
	touched = rc == 0;
	// EFAULT: the kernel could not allocate a page. EINVAL: the kernel does not know the
	// request (before Linux 5.14).
	if (rc != 0 && errno != EINVAL)
		return errno == EFAULT || errno == ENOMEM ? -ENOSPC : -errno;
	do
		rc = fallocate(file, 0, 0, (off_t)size);
	while (rc != 0 && errno == EINTR);
	if (rc != 0 && (errno != EOPNOTSUPP || !touched))
		return -errno;
	for (uint64_t at = 0; !touched && at < size; at += directory->page_size)
		((volatile uint8_t *)memory)[at] = 0;
	return 0;
}

int evring_memory_reserve(void **memory, int file, const struct evring_directory *directory,
			  uint64_t size, char *error)
{
	int rc = check_room(file, directory, size, error);

	*memory = NULL;
	if (rc != 0)
		return rc;
	if (ftruncate(file, (off_t)size) != 0)
		rc = -errno;
	if (rc == 0) {
		*memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
		if (*memory == MAP_FAILED) {
			rc = errno == ENOMEM ? -ENOSPC : -errno;
			*memory = NULL;
		}
	}
	if (rc == 0)
		rc = populate(*memory, file, directory, size);
	if (rc != 0)
		evring_error(rc, error,
			     "%s: no memory for the ring, %" PRIu64 " pages of %" PRIu64 " KiB: %s",
			     directory->path, size / directory->page_size,
			     directory->page_size >> 10, strerror(-rc));
	return rc;
}
