// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring_place.h"
#include "evring_members.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX        "evb-"
#define RANDOM_LENGTH 6 // as mkdtemp() makes them
#define MAX_GROUPS    256

static const char *const begins[] = {
	[EVRING_FILE_RING] = "ring.",
	[EVRING_FILE_RING_NEW] = "ring.",
	[EVRING_FILE_MEMBERS] = "members.",
};

// evb-NAME or evb-NAME.XXXXXX
static bool parse_place(const char *entry, char name[EVRING_NAME_SIZE])
{
	size_t length;

	if (strncmp(entry, PREFIX, strlen(PREFIX)) != 0)
		return false;
	entry += strlen(PREFIX);
	length = strcspn(entry, ".");
	if (length >= EVRING_NAME_SIZE ||
	    (entry[length] == '.' && strlen(entry + length + 1) != RANDOM_LENGTH))
		return false;
	memcpy(name, entry, length);
	name[length] = '\0';
	return evring_name_is_valid(name);
}

static bool is_own_group(gid_t group)
{
	gid_t groups[MAX_GROUPS];
	const int n = getgroups(MAX_GROUPS, groups);

	for (int i = 0; i < n; i++)
		if (groups[i] == group)
			return true;
	return group == getegid();
}

static enum evring_trust trust_of(const struct stat *status)
{
	if (status->st_uid == geteuid())
		return EVRING_TRUST_OWN;
	if (status->st_uid == 0)
		return EVRING_TRUST_ROOT;
	return (status->st_mode & 07) == 0 && is_own_group(status->st_gid) ? EVRING_TRUST_GROUP
									   : EVRING_TRUST_NONE;
}

void evring_places_visit(const char *path, const char *name, evring_place_visitor *visit,
			 void *context)
{
	DIR *stream = opendir(path);
	const struct dirent *entry;

	if (stream == NULL)
		return;
	while ((entry = readdir(stream)) != NULL) {
		struct evring_place place;
		struct stat status;

		if (!parse_place(entry->d_name, place.name) ||
		    (name != NULL && strcmp(name, place.name) != 0) ||
		    fstatat(dirfd(stream), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISDIR(status.st_mode) ||
		    snprintf(place.path, sizeof(place.path), "%s/%s", path, entry->d_name) >=
			(int)sizeof(place.path))
			continue;
		place.owner = status.st_uid;
		place.trust = trust_of(&status);
		visit(&place, context);
	}
	closedir(stream);
}

struct listing {
	struct evring_place *list;
	unsigned count;
};

// The more trusted place comes first, then the one without random characters.
static bool is_before(const struct evring_place *a, const struct evring_place *b)
{
	const size_t length = strlen(a->path), other = strlen(b->path);

	if (a->trust != b->trust)
		return a->trust < b->trust;
	return length != other ? length < other : strcmp(a->path, b->path) < 0;
}

static void insert(const struct evring_place *place, void *context)
{
	struct listing *listing = context;
	unsigned at = 0, last;

	while (at < listing->count && is_before(&listing->list[at], place))
		at++;
	if (at == EVRING_MAX_PLACES)
		return;
	if (listing->count < EVRING_MAX_PLACES)
		listing->count++;
	last = listing->count - 1;
	memmove(&listing->list[at + 1], &listing->list[at], (last - at) * sizeof(*listing->list));
	listing->list[at] = *place;
}

unsigned evring_places(const char *path, const char *name,
		       struct evring_place list[EVRING_MAX_PLACES])
{
	struct listing listing = { .list = list };

	evring_places_visit(path, name, insert, &listing);
	return listing.count;
}

bool evring_place_path(char path[EVRING_PATH_SIZE], const char *place, enum evring_file_kind kind,
		       unsigned builder)
{
	return snprintf(path, EVRING_PATH_SIZE, "%s/%s%u%s", place, begins[kind], builder,
			kind == EVRING_FILE_RING_NEW ? EVRING_NEW_SUFFIX : "") < EVRING_PATH_SIZE;
}

bool evring_place_parse(const char *file_name, enum evring_file_kind *kind, unsigned *builder)
{
	unsigned long number;
	char *end;

	*kind = file_name[0] == 'm' ? EVRING_FILE_MEMBERS : EVRING_FILE_RING;
	if (strncmp(file_name, begins[*kind], strlen(begins[*kind])) != 0)
		return false;
	file_name += strlen(begins[*kind]);
	if (!isdigit((unsigned char)file_name[0]))
		return false;
	number = strtoul(file_name, &end, 10);
	if (number >= EVRING_MAX_BUILDERS)
		return false;
	*builder = (unsigned)number;
	if (*kind == EVRING_FILE_RING && strcmp(end, EVRING_NEW_SUFFIX) == 0) {
		*kind = EVRING_FILE_RING_NEW;
		return true;
	}
	return end[0] == '\0';
}
