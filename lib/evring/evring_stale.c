// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_stale.h"
#include "evring_lock.h"
#include "evring_members.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define LOCK_STEP_NS 5000000
#define LOCK_STEPS   400 // 2 s

static int lock_directory(int file)
{
	const struct timespec step = { .tv_nsec = LOCK_STEP_NS };

	for (unsigned i = 0; i < LOCK_STEPS; i++) {
		if (flock(file, LOCK_EX | LOCK_NB) == 0)
			return 0;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		nanosleep(&step, NULL);
	}
	return -EBUSY;
}

int evring_directories_lock(struct evring_directory_locks *locks,
			    const struct evring_directories *directories, char *error)
{
	locks->count = 0;
	for (unsigned i = 0; i < directories->count; i++) {
		const char *path = directories->list[i].path;
		int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		int rc;

		if (file < 0)
			continue; // not readable for this user, so it has no files of this user
		rc = lock_directory(file);
		if (rc != 0) {
			evring_error(rc, error, "%s: cannot be locked: %s", path, strerror(-rc));
			close(file);
			evring_directories_unlock(locks);
			return rc;
		}
		locks->files[locks->count++] = file;
	}
	return 0;
}

void evring_directories_unlock(struct evring_directory_locks *locks)
{
	while (locks->count > 0)
		close(locks->files[--locks->count]);
}

static void set_taken(struct evring_survey *survey, int error, const char *path, const char *why)
{
	survey->taken = true;
	survey->taken_errno = error;
	evring_error(-error, survey->text, "%s: %s", path, why);
}

static void judge_live(struct evring_survey *survey, const char *path, unsigned builder,
		       const struct evring_header *header)
{
	// A file that is still being made has no owner in its header.
	if (header->owner != survey->owner || builder == survey->builder)
		set_taken(survey, EEXIST, path, "belongs to a live run of this name");
}

static void judge(struct evring_survey *survey, const char *path, unsigned builder, bool is_new)
{
	struct evring_header header = { 0 };
	uint64_t size;
	const int file = evring_open_file(path, O_RDONLY, &size);
	bool is_ring;

	if (file == -ENOENT)
		return;
	if (file < 0) {
		set_taken(survey, -file, path, "cannot be opened to see whether its run lives");
		return;
	}
	is_ring = pread(file, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
		  header.magic == EVRING_MAGIC;
	if (evring_lock_is_held(file, EVRING_LOCK_OWNER))
		judge_live(survey, path, builder, &header);
	else if (!is_ring && !is_new)
		set_taken(survey, EEXIST, path, "is no event ring; remove it by hand");
	else if (unlink(path) == 0)
		survey->removed++;
	else
		set_taken(survey, errno, path, "of a dead run cannot be removed");
	close(file);
}

static void survey_directory(struct evring_survey *survey, const struct evring_directory *directory)
{
	DIR *stream = opendir(directory->path);
	const struct dirent *entry;

	if (stream == NULL)
		return;
	while ((entry = readdir(stream)) != NULL) {
		char name[EVRING_NAME_SIZE], path[EVRING_PATH_SIZE];
		unsigned builder;
		bool is_new;

		if (!evring_directory_parse(entry->d_name, name, &builder, &is_new) ||
		    (survey->name != NULL && strcmp(survey->name, name) != 0) ||
		    !evring_directory_path(path, directory, name, builder,
					   is_new ? EVRING_NEW_SUFFIX : ""))
			continue;
		judge(survey, path, builder, is_new);
	}
	closedir(stream);
}

void evring_survey(struct evring_survey *survey, const struct evring_directories *directories)
{
	survey->removed = 0;
	survey->taken = false;
	for (unsigned i = 0; i < directories->count; i++)
		survey_directory(survey, &directories->list[i]);
}

int evring_clean(const char *name, const char *directory, char *error)
{
	struct evring_survey survey = { .name = name, .text = error };
	struct evring_directories directories;
	struct evring_directory_locks locks;
	int rc;

	if (name != NULL && !evring_name_is_valid(name))
		return evring_error(-EINVAL, error, "%s: is no name of an appliance", name);
	rc = evring_directories_find(&directories, directory, error);
	if (rc == 0)
		rc = evring_directories_lock(&locks, &directories, error);
	if (rc != 0)
		return rc;
	evring_survey(&survey, &directories);
	evring_directories_unlock(&locks);
	return (int)survey.removed;
}
