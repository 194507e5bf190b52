// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_file.h"
#include "evring_lock.h"
#include "evring_stale.h"
#include "evring_view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "sysfs/file.h"

#define FILE_MODE 0660

uint64_t evring_owner(void)
{
	static uint64_t owner;
	static pid_t drawn_by;

	// A child made by fork() is another owner.
	if (drawn_by != getpid()) {
		struct timespec now;

		if (getrandom(&owner, sizeof(owner), GRND_NONBLOCK) != (ssize_t)sizeof(owner)) {
			clock_gettime(CLOCK_REALTIME, &now);
			owner = ((uint64_t)now.tv_sec << 30 | (uint64_t)now.tv_nsec) ^
				(uint64_t)getpid() << 44;
		}
		owner |= 1; // 0 stands for "not written yet"
		drawn_by = getpid();
	}
	return owner;
}

static int open_new(struct evring_file *file, char *error)
{
	int rc;

	file->file = open(file->new_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	if (file->file < 0)
		return evring_error(-errno, error, "%s: %s", file->new_path, strerror(errno));
	rc = evring_lock_take(file->file, EVRING_LOCK_OWNER);
	// The mode is set again because the process's umask has cut it.
	if (rc == 0 && fchmod(file->file, FILE_MODE) != 0)
		rc = -errno;
	if (rc != 0) {
		evring_error(rc, error, "%s: %s", file->new_path, strerror(-rc));
		unlink(file->new_path);
		close(file->file);
	}
	return rc;
}

// From here until evring_file_show(), the locked file under the new name reserves the name.
static int reserve_name(struct evring_file *file, const struct evring_parameters *parameters,
			const struct evring_directories *searched, char *error)
{
	struct evring_survey survey = {
		.name = parameters->name,
		.owner = evring_owner(),
		.builder = parameters->builder,
		.text = error,
	};
	struct evring_directory_locks locks;
	int rc = evring_directories_lock(&locks, searched, error);

	if (rc != 0)
		return rc;
	evring_survey(&survey, searched);
	rc = survey.taken ? -survey.taken_errno : open_new(file, error);
	evring_directories_unlock(&locks);
	return rc;
}

// A tmpfs may be larger than the memory; filling that would end the wrong processes.
static int check_room(const struct evring_file *file, const struct evring_directory *directory,
		      uint64_t size, char *error)
{
	struct statfs file_system;
	uint64_t room = sysfs_meminfo("", "MemAvailable", UINT64_MAX);

	if (directory->hugepages || fstatfs(file->file, &file_system) != 0)
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
static int populate(struct evring_file *file, const struct evring_directory *directory,
		    uint64_t size)
{
	bool touched;
	int rc;

	// Large pages, where the tmpfs supports them on request; otherwise without effect.
	if (!directory->hugepages)
		(void)madvise(file->memory, size, MADV_HUGEPAGE);
	do
		rc = madvise(file->memory, size, MADV_POPULATE_WRITE);
	while (rc != 0 && errno == EINTR);
	touched = rc == 0;
	// EFAULT: the kernel could not allocate a page. EINVAL: the kernel does not know the
	// request (before Linux 5.14).
	if (rc != 0 && errno != EINVAL)
		return errno == EFAULT || errno == ENOMEM ? -ENOSPC : -errno;
	do
		rc = fallocate(file->file, 0, 0, (off_t)size);
	while (rc != 0 && errno == EINTR);
	if (rc != 0 && (errno != EOPNOTSUPP || !touched))
		return -errno;
	for (uint64_t at = 0; !touched && at < size; at += directory->page_size)
		((volatile uint8_t *)file->memory)[at] = 0;
	return 0;
}

static int reserve_memory(struct evring_file *file, const struct evring_directory *directory,
			  uint64_t size, char *error)
{
	int rc = check_room(file, directory, size, error);

	if (rc != 0)
		return rc;
	if (ftruncate(file->file, (off_t)size) != 0)
		rc = -errno;
	if (rc == 0) {
		file->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file->file, 0);
		if (file->memory == MAP_FAILED) {
			rc = errno == ENOMEM ? -ENOSPC : -errno;
			file->memory = NULL;
		}
	}
	if (rc == 0)
		rc = populate(file, directory, size);
	if (rc != 0)
		evring_error(rc, error,
			     "%s: no memory for the ring, %" PRIu64 " pages of %" PRIu64 " KiB: %s",
			     directory->path, size / directory->page_size,
			     directory->page_size >> 10, strerror(-rc));
	return rc;
}

int evring_file_make(struct evring_file *file, const struct evring_parameters *parameters,
		     const struct evring_directory *directory,
		     const struct evring_directories *searched, const struct evring_header *plan,
		     char *error)
{
	int rc;

	file->memory = NULL;
	if (!evring_directory_path(file->new_path, directory, parameters->name, parameters->builder,
				   EVRING_NEW_SUFFIX) ||
	    !evring_directory_path(file->path, directory, parameters->name, parameters->builder,
				   ""))
		return evring_error(-ENAMETOOLONG, error, "%s: %s", directory->path,
				    strerror(ENAMETOOLONG));
	rc = reserve_name(file, parameters, searched, error);
	if (rc != 0)
		return rc;
	rc = reserve_memory(file, directory, plan->file_size, error);
	if (rc != 0)
		evring_file_discard(file, plan->file_size);
	return rc;
}

int evring_file_show(struct evring_file *file, const struct evring_directory *directory,
		     char *error)
{
	struct evring_directories directories = { .list = { *directory }, .count = 1 };
	struct evring_directory_locks locks;
	// A process that lists the directory while a file is renamed may find neither name.
	int rc = evring_directories_lock(&locks, &directories, error);

	if (rc != 0)
		return rc;
	if (rename(file->new_path, file->path) == 0) {
		file->new_path[0] = 0;
	} else {
		rc = evring_error(-errno, error, "%s: %s", file->path, strerror(errno));
	}
	evring_directories_unlock(&locks);
	return rc;
}

// The file may have been removed by hand, and another run may have its name by now.
static bool is_ours(const struct evring_file *file, const char *path)
{
	struct stat ours, there;

	return fstat(file->file, &ours) == 0 && stat(path, &there) == 0 &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

void evring_file_discard(struct evring_file *file, uint64_t size)
{
	const char *path = file->new_path[0] != 0 ? file->new_path : file->path;

	// Failure leaves a file that the next run of the name removes.
	if (is_ours(file, path))
		(void)unlink(path);
	if (file->memory != NULL)
		munmap(file->memory, size);
	close(file->file);
}
