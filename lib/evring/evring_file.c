// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_file.h"
#include "evring_lock.h"
#include "evring_stale.h"
#include "evring_view.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "sysfs/file.h"

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

// Makes a file in a place that only this user can write to. members.N may be opened by those who
// may write the ring, and by nobody else: its mode has a right to read only beside a right to
// write.
static int make_one(int directory, const char *place, enum evring_file_kind kind, unsigned builder,
		    const struct evring_access *access)
{
	const unsigned writers = access->mode & 0222;
	const unsigned mode = kind == EVRING_FILE_MEMBERS ? writers | writers << 1 : access->mode;
	char path[EVRING_PATH_SIZE];
	int file, rc = 0;

	if (!evring_place_path(path, place, kind, builder))
		return -ENAMETOOLONG;
	file = openat(directory, path + strlen(place) + 1,
		      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return -errno;
	if (kind != EVRING_FILE_MEMBERS)
		rc = evring_lock_take(file, EVRING_LOCK_OWNER);
	if (rc == 0 &&
	    ((access->group != (gid_t)-1 && fchown(file, (uid_t)-1, access->group) != 0) ||
	     fchmod(file, mode) != 0))
		rc = -errno;
	if (rc == 0)
		return file;
	(void)unlink(path);
	close(file);
	return rc;
}

static int open_new(struct evring_file *file, const struct evring_lock *lock,
		    const struct evring_access *access)
{
	int rc = evring_place_hold(lock, file->builder);

	if (rc < 0)
		return rc;
	file->hold = rc;
	file->members =
	    make_one(lock->directory, file->place, EVRING_FILE_MEMBERS, file->builder, access);
	rc = file->members;
	if (rc >= 0) {
		rc = file->file = make_one(lock->directory, file->place, EVRING_FILE_RING_NEW,
					   file->builder, access);
		if (rc < 0)
			close(file->members); // the next run of the name removes the file
	}
	if (rc < 0)
		close(file->hold);
	return rc < 0 ? rc : 0;
}

static int find_access(struct evring_access *access, const struct evring_parameters *parameters,
		       char *error)
{
	const char *name = parameters->unix_group;
	struct group *group = NULL;
	char *end;

	access->mode = parameters->mode != 0 ? parameters->mode : EVRING_MODE;
	access->group = (gid_t)-1;
	if (name == NULL || name[0] == '\0')
		return 0;
	group = getgrnam(name);
	access->group = group != NULL ? group->gr_gid : (gid_t)strtoul(name, &end, 10);
	return group != NULL || *end == '\0'
		   ? 0
		   : evring_error(-EINVAL, error, "there is no Unix group %s", name);
}

// From here until evring_file_show(), the locked file under the new name reserves the name.
static int reserve_name(struct evring_file *file, const struct evring_parameters *parameters,
			const struct evring_directories *searched, unsigned chosen, char *error)
{
	struct evring_survey survey = {
		.name = parameters->name,
		.owner = evring_owner(),
		.builder = parameters->builder,
		.text = error,
	};
	const char *directory = searched->list[chosen].path;
	const struct evring_lock *lock;
	struct evring_access access;
	struct evring_locks locks;
	int rc = find_access(&access, parameters, error);

	if (rc == 0)
		rc = evring_places_lock(&locks, searched, parameters->name, &access, error);
	if (rc != 0)
		return rc;
	lock = &locks.list[chosen];
	evring_survey(&survey, searched);
	if (survey.taken) {
		rc = -survey.taken_errno;
	} else {
		rc = lock->why;
		memcpy(file->place, lock->path, sizeof(file->place));
		if (rc == 0)
			rc = open_new(file, lock, &access);
		if (rc != 0)
			evring_error(rc, error, "%s/evb-%s: %s", directory, parameters->name,
				     strerror(-rc));
	}
	evring_places_unlock(&locks);
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

	*file = (struct evring_file){ .builder = parameters->builder };
	rc =
	    reserve_name(file, parameters, searched, (unsigned)(directory - searched->list), error);
	if (rc != 0)
		return rc;
	rc = reserve_memory(file, directory, plan->file_size, error);
	if (rc != 0)
		evring_file_discard(file, plan->file_size);
	return rc;
}

int evring_file_show(struct evring_file *file, char *error)
{
	char new_path[EVRING_PATH_SIZE];
	struct evring_lock lock;
	// A process that lists the directory while a file is renamed may find neither name.
	int rc = evring_place_lock(&lock, file->place, true);

	if (rc != 0)
		return evring_error(rc, error, "%s: cannot be locked: %s", file->place,
				    strerror(-rc));
	// The paths fit: the longer one was made before.
	(void)evring_place_path(new_path, file->place, EVRING_FILE_RING_NEW, file->builder);
	(void)evring_place_path(file->path, file->place, EVRING_FILE_RING, file->builder);
	file->shown = rename(new_path, file->path) == 0;
	if (!file->shown)
		rc = evring_error(-errno, error, "%s: %s", file->path, strerror(errno));
	evring_place_unlock(&lock);
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
	struct evring_lock lock;
	char path[EVRING_PATH_SIZE];

	// Failure leaves files that the next run of the name removes.
	if (evring_place_lock(&lock, file->place, true) == 0) {
		(void)evring_place_path(path, file->place,
					file->shown ? EVRING_FILE_RING : EVRING_FILE_RING_NEW,
					file->builder);
		if (is_ours(file, path)) {
			(void)unlink(path);
			(void)evring_place_path(path, file->place, EVRING_FILE_MEMBERS,
						file->builder);
			(void)unlink(path);
		}
		evring_place_unlock(&lock);
	}
	if (file->memory != NULL)
		munmap(file->memory, size);
	close(file->file);
	close(file->members);
	close(file->hold);
}
