// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "host/change.h"

#define LARGEST   (1 << 20) // bytes of a state file
#define PATH_SIZE 512

static int fail(char *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int fail(char *error, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(error, STATE_ERROR_SIZE, format, list);
	va_end(list);
	return -1;
}

static bool split(const char *path, char directory[PATH_SIZE])
{
	char *last;

	if (snprintf(directory, PATH_SIZE, "%s", path) >= PATH_SIZE - 8)
		return false;
	last = strrchr(directory, '/');
	if (last == NULL)
		strcpy(directory, ".");
	else if (last == directory)
		directory[1] = '\0';
	else
		*last = '\0';
	return true;
}

// --- entries -------------------------------------------------------------------------------------

struct state_entry *state_find(const struct state *state, enum host_change_kind kind,
			       const char *target)
{
	for (unsigned i = 0; i < state->n; i++)
		if (state->entries[i].kind == kind && strcmp(state->entries[i].target, target) == 0)
			return &state->entries[i];
	return NULL;
}

struct state_entry *state_add(struct state *state, enum host_change_kind kind, const char *target,
			      const char *before, const char *after)
{
	struct state_entry *entry;

	if (state->n == state->room) {
		unsigned room = state->room > 0 ? 2 * state->room : 16;

		entry = realloc(state->entries, room * sizeof(*entry));
		if (entry == NULL)
			return NULL;
		state->entries = entry;
		state->room = room;
	}
	entry = &state->entries[state->n++];
	*entry = (struct state_entry){ .kind = kind };
	snprintf(entry->target, sizeof(entry->target), "%s", target);
	snprintf(entry->before, sizeof(entry->before), "%s", before);
	snprintf(entry->after, sizeof(entry->after), "%s", after);
	return entry;
}

void state_remove(struct state *state, unsigned index)
{
	state->n--;
	memmove(&state->entries[index], &state->entries[index + 1],
		(state->n - index) * sizeof(state->entries[0]));
}

// --- reading -------------------------------------------------------------------------------------

static const char *text_of(const cJSON *item, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, key));

	return text != NULL ? text : "";
}

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

static int read_entries(struct state *state, const cJSON *root, const char *path, char *error)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(root, "changes"))
	{
		enum host_change_kind kind = change_kind_of(text_of(item, "kind"));
		const char *target = text_of(item, "target");

		if (!is_sound(kind, target))
			return fail(error, "%s: is not as evb wrote it; remove it by hand", path);
		if (state_add(state, kind, target, text_of(item, "before"),
			      text_of(item, "after")) == NULL)
			return fail(error, "out of memory");
	}
	return 0;
}

static int read_file(struct state *state, int file, const char *path, char *error)
{
	struct stat status;
	cJSON *root = NULL;
	char *text;
	ssize_t n;
	int result;

	if (fstat(file, &status) != 0)
		return fail(error, "%s: %s", path, strerror(errno));
	if ((status.st_uid != 0 && status.st_uid != geteuid()) ||
	    (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return fail(error, "%s: others may write it, so it is not believed; remove it",
			    path);
	text = malloc(LARGEST);
	if (text == NULL)
		return fail(error, "out of memory");
	n = read(file, text, LARGEST);
	if (n > 0)
		root = cJSON_ParseWithLength(text, (size_t)n);
	free(text);
	if (root == NULL)
		return fail(error, "%s: is not as evb wrote it; remove it by hand", path);
	result = read_entries(state, root, path, error);
	cJSON_Delete(root);
	return result;
}

// Of two processes that prepare or restore at the same time, the second is refused.
static int take_lock(struct state *state, const char *path, char *error)
{
	char directory[PATH_SIZE];

	if (!split(path, directory))
		return fail(error, "%s: %s", path, strerror(ENAMETOOLONG));
	if (mkdir(directory, 0755) != 0 && errno != EEXIST)
		return fail(error, "%s cannot be made: %s: be root, or name another --state file",
			    directory, strerror(errno));
	state->lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state->lock < 0) {
		state->lock = 0;
		return fail(error, "%s: %s", directory, strerror(errno));
	}
	if (flock(state->lock, LOCK_EX | LOCK_NB) != 0)
		return fail(error, "%s: another evb host prepare or restore is at work", directory);
	return 0;
}

int state_open(struct state *state, const char *path, char *error)
{
	int file, result;

	if (take_lock(state, path, error) != 0)
		return -1;
	file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (file < 0)
		return errno == ENOENT ? 0 : fail(error, "%s: %s", path, strerror(errno));
	result = read_file(state, file, path, error);
	close(file);
	return result;
}

// --- writing -------------------------------------------------------------------------------------

static char *to_text(const struct state *state)
{
	cJSON *root = cJSON_CreateObject();
	cJSON *list = cJSON_AddArrayToObject(root, "changes");
	char *text;

	for (unsigned i = 0; i < state->n; i++) {
		const struct state_entry *entry = &state->entries[i];
		cJSON *item = cJSON_CreateObject();

		// If memory runs out, cJSON_Print() returns NULL or an incomplete list.
		(void)cJSON_AddStringToObject(item, "kind", change_kind_name(entry->kind));
		(void)cJSON_AddStringToObject(item, "target", entry->target);
		(void)cJSON_AddStringToObject(item, "before", entry->before);
		(void)cJSON_AddStringToObject(item, "after", entry->after);
		(void)cJSON_AddItemToArray(list, item);
	}
	text = cJSON_Print(root);
	cJSON_Delete(root);
	return text;
}

static int write_text(const char *path, const char *text, char *error)
{
	char part[PATH_SIZE];
	int file, result = 0;

	snprintf(part, sizeof(part), "%s.new", path);
	file = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (file < 0)
		return fail(error, "%s: %s", part, strerror(errno));
	if (write(file, text, strlen(text)) != (ssize_t)strlen(text) || fsync(file) != 0)
		result = fail(error, "%s: %s", part, strerror(errno));
	close(file);
	if (result == 0 && rename(part, path) != 0)
		result = fail(error, "%s: %s", path, strerror(errno));
	return result;
}

int state_save(const struct state *state, const char *path, char *error)
{
	char directory[PATH_SIZE];
	char *text;
	int result;

	if (state->n == 0) {
		if (unlink(path) != 0 && errno != ENOENT)
			return fail(error, "%s: %s", path, strerror(errno));
		if (split(path, directory))
			(void)rmdir(directory); // fails if the directory has other files
		return 0;
	}
	text = to_text(state);
	if (text == NULL)
		return fail(error, "out of memory");
	result = write_text(path, text, error);
	free(text);
	return result;
}

void state_close(struct state *state)
{
	if (state->lock > 0)
		close(state->lock);
	free(state->entries);
	*state = (struct state){ 0 };
}
