// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_stale.h"
#include "evring_lock.h"
#include "evring_members.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void set_taken(struct evring_survey *survey, int error, const char *path, const char *why)
{
	survey->taken = true;
	survey->taken_errno = error;
	evring_error(-error, survey->text, "%s: %s", path, why);
}

static uint64_t owner_of(int directory, const char *file_name)
{
	const int file =
	    openat(directory, file_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct evring_header header = { 0 };

	// A file that is still being made has no owner in its header.
	if (file >= 0) {
		(void)!pread(file, &header, sizeof(header), 0);
		close(file);
	}
	return header.owner;
}

static void judge(struct evring_survey *survey, int directory, const char *place,
		  const char *file_name)
{
	enum evring_file_kind kind;
	unsigned builder;
	char path[EVRING_PATH_SIZE];
	int live;

	if (!evring_place_parse(file_name, &kind, &builder))
		return;
	if (!evring_place_path(path, place, kind, builder))
		return;
	live = evring_place_is_live(directory, builder);
	if (live < 0)
		set_taken(survey, -live, path, "cannot be opened to see whether its run lives");
	else if (live == 0 && unlinkat(directory, file_name, 0) == 0)
		survey->removed += kind != EVRING_FILE_MEMBERS;
	else if (live == 0)
		set_taken(survey, errno, path, "of a dead run cannot be removed");
	else if (kind != EVRING_FILE_MEMBERS &&
		 (owner_of(directory, file_name) != survey->owner || builder == survey->builder))
		set_taken(survey, EEXIST, path, "belongs to a live run of this name");
}

static void survey_place(struct evring_survey *survey, int directory, const char *place)
{
	DIR *stream = evring_place_list(directory);
	const struct dirent *entry;

	if (stream == NULL)
		return;
	while ((entry = readdir(stream)) != NULL)
		judge(survey, directory, place, entry->d_name);
	closedir(stream);
}

static bool is_dead_old(int file)
{
	const uid_t user = geteuid();
	struct stat status;
	uint64_t magic = 0;

	if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
	    (user != 0 && status.st_uid != user) || evring_lock_is_held(file, EVRING_LOCK_OWNER))
		return false;
	// An empty file, or one without magic, was being made.
	return status.st_size == 0 ||
	       (pread(file, &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
		(magic == EVRING_MAGIC || magic == 0));
}

void evring_old_visit(const char *path, const char *name, evring_old_visitor *visit, void *context)
{
	DIR *stream = opendir(path);
	const struct dirent *entry;

	if (stream == NULL)
		return;
	while ((entry = readdir(stream)) != NULL) {
		char found[EVRING_NAME_SIZE];
		int file;

		if (!evring_old_parse(entry->d_name, found) ||
		    (name != NULL && strcmp(name, found) != 0))
			continue;
		file = openat(dirfd(stream), entry->d_name,
			      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (file < 0)
			continue;
		if (is_dead_old(file))
			visit(dirfd(stream), entry->d_name, context);
		close(file);
	}
	closedir(stream);
}

static void remove_old(int directory, const char *file_name, void *context)
{
	struct evring_survey *survey = context;

	survey->removed += unlinkat(directory, file_name, 0) == 0;
}

static void survey_own(const struct evring_place *place, void *context)
{
	int directory;

	if (place->trust != EVRING_TRUST_OWN)
		return;
	directory = evring_place_open(place->path);
	if (directory < 0)
		return;
	survey_place(context, directory, place->path);
	close(directory);
}

void evring_survey(struct evring_survey *survey, const struct evring_directories *directories)
{
	survey->removed = 0;
	survey->taken = false;
	for (unsigned i = 0; i < directories->count; i++) {
		evring_places_visit(directories->list[i].path, survey->name, survey_own, survey);
		evring_old_visit(directories->list[i].path, survey->name, remove_old, survey);
	}
}

static void clean_place(const struct evring_place *place, void *context)
{
	struct evring_lock lock;

	// Only root can lock another user's place; that user cannot make root wait.
	if (evring_place_lock(&lock, place->path, place->trust == EVRING_TRUST_OWN) != 0)
		return;
	survey_place(context, lock.directory, lock.path);
	evring_place_unlock(&lock);
}

int evring_clean(const char *name, const char *directory, char *error)
{
	struct evring_survey survey = { .name = name, .text = error };
	struct evring_directories directories;
	int rc;

	if (name != NULL && !evring_name_is_valid(name))
		return evring_error(-EINVAL, error, "%s: is no name of an appliance", name);
	rc = evring_directories_find(&directories, directory, error);
	if (rc != 0)
		return rc;
	for (unsigned i = 0; i < directories.count; i++) {
		evring_places_visit(directories.list[i].path, name, clean_place, &survey);
		evring_old_visit(directories.list[i].path, name, remove_old, &survey);
	}
	return (int)survey.removed;
}
