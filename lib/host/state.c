// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/change.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_line.h"

#define LARGEST   (1 << 20) // bytes of a state file
#define PATH_SIZE 512

#define FAIL(error, ...) error_line(error, STATE_ERROR_SIZE, __VA_ARGS__)

static bool directory_of(const char *path, char directory[PATH_SIZE])
{
	char copy[PATH_SIZE];

	if (snprintf(copy, sizeof(copy), "%s", path) >= PATH_SIZE - 8)
		return false;
	strcpy(directory, dirname(copy));
	return true;
}

// --- entries -------------------------------------------------------------------------------------

const char *state_text(const cJSON *entry, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, key));

	return text != NULL ? text : "";
}

cJSON *state_find(const struct state *state, enum host_change_kind kind, const char *target)
{
	cJSON *entry;

	cJSON_ArrayForEach(entry, state->changes)
	{
		if (change_kind_of(state_text(entry, "kind")) == kind &&
		    strcmp(state_text(entry, "target"), target) == 0)
			return entry;
	}
	return NULL;
}

cJSON *state_record(struct state *state, enum host_change_kind kind, const char *target,
		    const char *before, const char *after)
{
	cJSON *entry = state_find(state, kind, target);

	if (entry != NULL) {
		(void)cJSON_ReplaceItemInObjectCaseSensitive(entry, "after",
							     cJSON_CreateString(after));
		return entry;
	}
	entry = cJSON_CreateObject();
	if (cJSON_AddStringToObject(entry, "kind", change_kind_name(kind)) != NULL &&
	    cJSON_AddStringToObject(entry, "target", target) != NULL &&
	    cJSON_AddStringToObject(entry, "before", before) != NULL &&
	    cJSON_AddStringToObject(entry, "after", after) != NULL &&
	    cJSON_AddItemToArray(state->changes, entry))
		return entry;
	cJSON_Delete(entry);
	return NULL;
}

void state_remove(struct state *state, cJSON *entry)
{
	cJSON_Delete(cJSON_DetachItemViaPointer(state->changes, entry));
}

// --- reading -------------------------------------------------------------------------------------

// evb writes, as root, to files that the state file names: only to those that it changes itself.
static bool is_sound(enum host_change_kind kind, const char *target)
{
	if (kind >= HOST_N_CHANGE_KINDS || !change_is_setting(kind) || target[0] == '\0' ||
	    strlen(target) >= HOST_TARGET_SIZE || strstr(target, "..") != NULL)
		return false;
	if (kind == HOST_CHANGE_WRITE)
		return strncmp(target, "/sys/", 5) == 0 || strncmp(target, "/proc/irq/", 10) == 0;
	if (kind == HOST_CHANGE_MOUNT)
		return target[0] == '/';
	return strchr(target, '/') == NULL;
}

static bool are_sound(const cJSON *changes)
{
	const cJSON *entry;

	cJSON_ArrayForEach(entry, changes)
	{
		if (!is_sound(change_kind_of(state_text(entry, "kind")),
			      state_text(entry, "target")))
			return false;
	}
	return cJSON_IsArray(changes);
}

static int read_file(struct state *state, int file, const char *path, char *error)
{
	struct stat status;
	cJSON *root = NULL;
	char *text;
	ssize_t n;

	if (fstat(file, &status) != 0)
		return FAIL(error, "%s: %s", path, strerror(errno));
	if ((status.st_uid != 0 && status.st_uid != geteuid()) ||
	    (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return FAIL(error, "%s: others may write it, so it is not believed; remove it",
			    path);
	text = malloc(LARGEST);
	if (text == NULL)
		return FAIL(error, "out of memory");
	n = read(file, text, LARGEST);
	if (n > 0)
		root = cJSON_ParseWithLength(text, (size_t)n);
	free(text);
	cJSON_Delete(state->changes);
	state->changes = cJSON_DetachItemFromObjectCaseSensitive(root, "changes");
	cJSON_Delete(root);
	return are_sound(state->changes)
		   ? 0
		   : FAIL(error, "%s: is not as evb wrote it; remove it by hand", path);
}

// Of two processes that prepare or restore at the same time, the second is refused.
static int take_lock(struct state *state, const char *path, char *error)
{
	char directory[PATH_SIZE];

	if (!directory_of(path, directory))
		return FAIL(error, "%s: %s", path, strerror(ENAMETOOLONG));
	if (mkdir(directory, 0755) != 0 && errno != EEXIST)
		return FAIL(error, "%s cannot be made: %s: be root, or name another --state file",
			    directory, strerror(errno));
	state->lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state->lock < 0) {
		state->lock = 0;
		return FAIL(error, "%s: %s", directory, strerror(errno));
	}
	if (flock(state->lock, LOCK_EX | LOCK_NB) != 0)
		return FAIL(error, "%s: another evb host prepare or restore is at work", directory);
	return 0;
}

int state_open(struct state *state, const char *path, char *error)
{
	int file, result;

	if (take_lock(state, path, error) != 0)
		return -1;
	state->changes = cJSON_CreateArray();
	file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0)
		return errno == ENOENT ? 0 : FAIL(error, "%s: %s", path, strerror(errno));
	result = read_file(state, file, path, error);
	close(file);
	return result;
}

// --- writing -------------------------------------------------------------------------------------

static int write_text(const char *path, const char *text, char *error)
{
	char part[PATH_SIZE];
	int file, result = 0;

	snprintf(part, sizeof(part), "%s.new", path);
	file = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0)
		return FAIL(error, "%s: %s", part, strerror(errno));
	if (write(file, text, strlen(text)) != (ssize_t)strlen(text) || fsync(file) != 0)
		result = FAIL(error, "%s: %s", part, strerror(errno));
	close(file);
	if (result == 0 && rename(part, path) != 0)
		result = FAIL(error, "%s: %s", path, strerror(errno));
	return result;
}

int state_save(const struct state *state, const char *path, char *error)
{
	char directory[PATH_SIZE];
	cJSON *root;
	char *text;
	int result;

	if (cJSON_GetArraySize(state->changes) == 0) {
		if (unlink(path) != 0 && errno != ENOENT)
			return FAIL(error, "%s: %s", path, strerror(errno));
		if (directory_of(path, directory))
			(void)rmdir(directory); // fails if the directory has other files
		return 0;
	}
	root = cJSON_CreateObject();
	text = cJSON_AddItemReferenceToObject(root, "changes", state->changes) ? cJSON_Print(root)
									       : NULL;
	cJSON_Delete(root);
	if (text == NULL)
		return FAIL(error, "out of memory");
	result = write_text(path, text, error);
	free(text);
	return result;
}

void state_close(struct state *state)
{
	if (state->lock > 0)
		close(state->lock);
	cJSON_Delete(state->changes);
	*state = (struct state){ 0 };
}
