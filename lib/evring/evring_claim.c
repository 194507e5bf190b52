// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_claim.h"
#include "evring_layout.h"
#include "evring_lock.h"
#include "evring_view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOCK_STEP_NS 5000000
#define LOCK_STEPS   400 // 2 s
#define MAKE_TRIES   16
#define RANDOM_PART  ".XXXXXX"

int evring_access_find(struct evring_access *access, unsigned mode, const char *name, char *error)
{
	struct group *group = NULL;
	char *end;

	access->mode = mode != 0 ? mode : EVRING_MODE;
	access->group = (gid_t)-1;
	if (name == NULL || name[0] == '\0')
		return 0;
	group = getgrnam(name);
	access->group = group != NULL ? group->gr_gid : (gid_t)strtoul(name, &end, 10);
	return group != NULL || *end == '\0'
		   ? 0
		   : evring_error(-EINVAL, error, "there is no Unix group %s", name);
}

int evring_access_set(int file, gid_t group, unsigned mode)
{
	if ((group != (gid_t)-1 && fchown(file, (uid_t)-1, group) != 0) || fchmod(file, mode) != 0)
		return -errno;
	return 0;
}

// --- making a place ------------------------------------------------------------------------------

static bool find_own(char place[EVRING_PLACE_SIZE], const char *directory, const char *name)
{
	struct evring_place list[EVRING_MAX_PLACES];

	if (evring_places(directory, name, list) == 0 || list[0].trust != EVRING_TRUST_OWN)
		return false;
	memcpy(place, list[0].path, EVRING_PLACE_SIZE);
	return true;
}

static int make_place(char place[EVRING_PLACE_SIZE], const char *directory, const char *name)
{
	const size_t room = EVRING_PLACE_SIZE - strlen(RANDOM_PART);

	if (find_own(place, directory, name))
		return 0;
	if (snprintf(place, room, "%s/evb-%s", directory, name) >= (int)room)
		return -ENAMETOOLONG;
	if (mkdir(place, 0700) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	// A process of this user may have made it meanwhile. Otherwise the name is another user's,
	// or another file's, and stays as it is.
	if (find_own(place, directory, name))
		return 0;
	strcat(place, RANDOM_PART);
	return mkdtemp(place) != NULL ? 0 : -errno;
}

DIR *evring_place_list(int directory)
{
	const int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;

	if (stream == NULL && copy >= 0)
		close(copy);
	return stream;
}

static bool has_files(int directory)
{
	DIR *stream = evring_place_list(directory);
	const struct dirent *entry;
	bool found = false;

	if (stream == NULL)
		return true;
	while (!found && (entry = readdir(stream)) != NULL)
		found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
			strcmp(entry->d_name, EVRING_LOCK_FILE) != 0;
	closedir(stream);
	return found;
}

static int set_access(const char *place, const struct evring_access *access)
{
	const int file = open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	unsigned readers = access->mode & 044;
	struct stat status;
	int rc;

	if (file < 0)
		return -errno;
	// Users that may use the other rings of the place still may.
	if (has_files(file) && fstat(file, &status) == 0)
		readers |= status.st_mode & 044;
	rc = evring_access_set(file, access->group, 0700 | readers | readers >> 2);
	close(file);
	return rc;
}

// --- locking -------------------------------------------------------------------------------------

// All files of a place are opened and removed relative to its descriptor: a place of another user,
// which root cleans, may be replaced by a link at any time.
int evring_place_open(const char *place)
{
	const int directory = open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (directory < 0)
		return -errno;
	return directory;
}

static int open_lock(int directory, int flags)
{
	const int file =
	    openat(directory, EVRING_LOCK_FILE, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (file < 0)
		return -errno;
	return file;
}

static int wait_for_flock(int file, unsigned steps)
{
	const struct timespec step = { .tv_nsec = LOCK_STEP_NS };

	for (unsigned i = 0; flock(file, LOCK_EX | LOCK_NB) != 0; i++) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (i == steps)
			return -EBUSY;
		nanosleep(&step, NULL);
	}
	return 0;
}

// Returns the descriptor of the locked file or a negative errno: -ENOENT if the place has gone.
static int lock_file(int directory, int flags, unsigned steps)
{
	const int file = open_lock(directory, O_RDWR | flags);
	struct stat status;
	int rc;

	if (file < 0)
		return file;
	rc = wait_for_flock(file, steps);
	// The process that had the lock may have removed the file, and the place with it.
	if (rc == 0 && (fstat(file, &status) != 0 || status.st_nlink == 0))
		rc = -ENOENT;
	if (rc == 0)
		return file;
	close(file);
	return rc;
}

static int lock_place(struct evring_lock *lock, int flags, unsigned steps)
{
	int rc;

	lock->directory = evring_place_open(lock->path);
	if (lock->directory < 0)
		return lock->directory;
	rc = lock_file(lock->directory, flags, steps);
	if (rc < 0) {
		close(lock->directory);
		return rc;
	}
	lock->file = rc;
	return 0;
}

static int make_and_lock(struct evring_lock *lock, const char *directory, const char *name,
			 const struct evring_access *access)
{
	int rc = -ENOENT;

	for (unsigned i = 0; i < MAKE_TRIES && rc == -ENOENT; i++) {
		rc = make_place(lock->path, directory, name);
		if (rc == 0)
			rc = set_access(lock->path, access);
		if (rc == 0)
			rc = lock_place(lock, O_CREAT, LOCK_STEPS);
	}
	return rc;
}

int evring_places_lock(struct evring_locks *locks, const struct evring_directories *directories,
		       const char *name, const struct evring_access *access, char *error)
{
	locks->count = 0;
	for (unsigned i = 0; i < directories->count; i++) {
		struct evring_lock *lock = &locks->list[i];
		const int rc = make_and_lock(lock, directories->list[i].path, name, access);

		if (rc == -EBUSY) {
			evring_error(rc, error, "%s: cannot be locked: %s", lock->path,
				     strerror(-rc));
			evring_places_unlock(locks);
			return rc;
		}
		lock->why = rc;
		locks->count++;
	}
	return 0;
}

void evring_place_unlock(struct evring_lock *lock)
{
	// Failures leave an empty place, which the next run of the name uses.
	if (!has_files(lock->directory)) {
		(void)unlinkat(lock->directory, EVRING_LOCK_FILE, 0);
		(void)rmdir(lock->path);
	}
	close(lock->file);
	close(lock->directory);
}

void evring_places_unlock(struct evring_locks *locks)
{
	for (unsigned i = 0; i < locks->count; i++)
		if (locks->list[i].why == 0)
			evring_place_unlock(&locks->list[i]);
	locks->count = 0;
}

int evring_place_lock(struct evring_lock *lock, const char *place, bool wait)
{
	*lock = (struct evring_lock){ .directory = -1, .file = -1 };
	snprintf(lock->path, sizeof(lock->path), "%s", place);
	return lock_place(lock, 0, wait ? LOCK_STEPS : 0);
}

int evring_place_is_live(int directory, unsigned builder)
{
	const int file = open_lock(directory, O_RDONLY);
	bool held;

	if (file < 0)
		return file == -ENOENT ? 0 : file;
	held = evring_lock_is_held(file, EVRING_LOCK_RING(builder));
	close(file);
	return held;
}

int evring_place_hold(const struct evring_lock *lock, int64_t byte)
{
	const int file = open_lock(lock->directory, O_RDWR);
	int rc;

	if (file < 0)
		return file;
	rc = evring_lock_take(file, byte);
	if (rc == 0)
		return file;
	close(file);
	return rc;
}
