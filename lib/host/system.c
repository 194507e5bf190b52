// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "host/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

const struct host_system host_system_here = { .root = "" };

// What does not fit names nothing.
static void under_root(const struct host_system *system, char path[SYSTEM_PATH_SIZE],
		       const char *format, va_list list)
{
	int n = snprintf(path, SYSTEM_PATH_SIZE, "%s", system->root);

	if (n >= SYSTEM_PATH_SIZE ||
	    vsnprintf(path + n, SYSTEM_PATH_SIZE - (size_t)n, format, list) >= SYSTEM_PATH_SIZE - n)
		path[0] = '\0';
}

static bool read_text(const char *path, char text[SYSTEM_TEXT_SIZE])
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	text[0] = '\0';
	if (file < 0)
		return false;
	n = read(file, text, SYSTEM_TEXT_SIZE - 1);
	close(file);
	if (n < 0)
		return false;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	return true;
}

bool system_read(const struct host_system *system, char text[SYSTEM_TEXT_SIZE], const char *format,
		 ...)
{
	char path[SYSTEM_PATH_SIZE];
	va_list list;

	va_start(list, format);
	under_root(system, path, format, list);
	va_end(list);
	return read_text(path, text);
}

uint64_t system_number(const struct host_system *system, uint64_t otherwise, const char *format,
		       ...)
{
	char path[SYSTEM_PATH_SIZE], text[SYSTEM_TEXT_SIZE], *end;
	unsigned long long number;
	va_list list;

	va_start(list, format);
	under_root(system, path, format, list);
	va_end(list);
	if (!read_text(path, text) || text[0] < '0' || text[0] > '9')
		return otherwise;
	number = strtoull(text, &end, 10);
	return *end == '\0' ? number : otherwise;
}

FILE *system_open(const struct host_system *system, const char *path)
{
	char whole[SYSTEM_PATH_SIZE];

	if (snprintf(whole, sizeof(whole), "%s%s", system->root, path) >= (int)sizeof(whole))
		return NULL;
	return fopen(whole, "re");
}

bool system_exists(const struct host_system *system, const char *format, ...)
{
	char path[SYSTEM_PATH_SIZE];
	va_list list;

	va_start(list, format);
	under_root(system, path, format, list);
	va_end(list);
	return access(path, F_OK) == 0;
}

static bool may(const struct host_system *system, const char *path, int mode)
{
	char whole[SYSTEM_PATH_SIZE];

	return snprintf(whole, sizeof(whole), "%s%s", system->root, path) < (int)sizeof(whole) &&
	       access(whole, mode) == 0;
}

bool system_may_read(const struct host_system *system, const char *path)
{
	return may(system, path, R_OK);
}

bool system_may_use(const struct host_system *system, const char *path)
{
	return may(system, path, R_OK | W_OK);
}

int system_may_make_in(const struct host_system *system, const char *path)
{
	char whole[SYSTEM_PATH_SIZE];

	if (snprintf(whole, sizeof(whole), "%s%s", system->root, path) >= (int)sizeof(whole))
		return ENAMETOOLONG;
	if (access(whole, F_OK) != 0)
		return ENOENT;
	return access(whole, W_OK | X_OK) == 0 ? 0 : errno;
}

bool system_link_name(const struct host_system *system, char *name, size_t size, const char *format,
		      ...)
{
	char path[SYSTEM_PATH_SIZE], target[SYSTEM_PATH_SIZE];
	const char *last;
	va_list list;
	ssize_t n;

	va_start(list, format);
	under_root(system, path, format, list);
	va_end(list);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	last = strrchr(target, '/');
	snprintf(name, size, "%s", last != NULL ? last + 1 : target);
	return true;
}

bool system_room(const struct host_system *system, const char *path, uint64_t *free, uint64_t *size)
{
	char whole[SYSTEM_PATH_SIZE];
	struct statvfs room;

	if (snprintf(whole, sizeof(whole), "%s%s", system->root, path) >= (int)sizeof(whole) ||
	    statvfs(whole, &room) != 0)
		return false;
	*free = (uint64_t)room.f_bavail * room.f_frsize;
	*size = (uint64_t)room.f_blocks * room.f_frsize;
	return true;
}
