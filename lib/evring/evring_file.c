// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_file.h"
#include "evring_lock.h"
#include "evring_memory.h"
#include "evring_stale.h"
#include "evring_view.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
	if (rc == 0)
		rc = evring_access_set(file, access->group, mode);
	if (rc == 0)
		return file;
	(void)unlink(path);
	close(file);
	return rc;
}

static int open_new(struct evring_file *file, const struct evring_lock *lock,
		    const struct evring_access *access)
{
	int rc = evring_place_hold(lock, EVRING_LOCK_RING(file->builder));

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
	int rc = evring_access_find(&access, parameters->mode, parameters->unix_group, error);

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
	rc = evring_memory_reserve(&file->memory, file->file, directory, plan->file_size, error);
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

void evring_file_discard(struct evring_file *file, uint64_t size)
{
	struct evring_lock lock;
	char path[EVRING_PATH_SIZE];

	// Failure leaves files that the next run of the name removes.
	if (evring_place_lock(&lock, file->place, true) == 0) {
		(void)evring_place_path(path, file->place,
					file->shown ? EVRING_FILE_RING : EVRING_FILE_RING_NEW,
					file->builder);
		// The file may have been removed by hand, and another run may have its name by now.
		if (evring_file_is(file->file, path)) {
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
