// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sysfs/file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

// A path that does not fit becomes "", which names no file.
__attribute__((format(printf, 3, 0))) static void under_root(const char *root,
							     char path[SYSFS_PATH_SIZE],
							     const char *format, va_list list)
{
	int n = snprintf(path, SYSFS_PATH_SIZE, "%s", root);

	if (n >= SYSFS_PATH_SIZE ||
	    vsnprintf(path + n, SYSFS_PATH_SIZE - (size_t)n, format, list) >= SYSFS_PATH_SIZE - n)
		path[0] = '\0';
}

// The same of a path without a format.
static void join(const char *root, char whole[SYSFS_PATH_SIZE], const char *path)
{
	if (snprintf(whole, SYSFS_PATH_SIZE, "%s%s", root, path) >= SYSFS_PATH_SIZE)
		whole[0] = '\0';
}

static bool read_text(const char *path, char text[SYSFS_TEXT_SIZE])
{
	FILE *file = fopen(path, "re");
	size_t n;
	bool failed;

	text[0] = '\0';
	if (file == NULL)
		return false;
	n = fread(text, 1, SYSFS_TEXT_SIZE - 1, file);
	failed = ferror(file) != 0;
	fclose(file); // opened for reading: nothing can be lost
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	return !failed;
}

bool sysfs_read(const char *root, char text[SYSFS_TEXT_SIZE], const char *format, ...)
{
	char path[SYSFS_PATH_SIZE];
	va_list list;

	va_start(list, format);
	under_root(root, path, format, list);
	va_end(list);
	return read_text(path, text);
}

uint64_t sysfs_number(const char *root, uint64_t otherwise, const char *format, ...)
{
	char path[SYSFS_PATH_SIZE], text[SYSFS_TEXT_SIZE], *end;
	unsigned long long number;
	va_list list;

	va_start(list, format);
	under_root(root, path, format, list);
	va_end(list);
	if (!read_text(path, text) || text[0] < '0' || text[0] > '9')
		return otherwise;
	number = strtoull(text, &end, 10);
	return *end == '\0' ? number : otherwise;
}

FILE *sysfs_open(const char *root, const char *path)
{
	char whole[SYSFS_PATH_SIZE];

	join(root, whole, path);
	return fopen(whole, "re");
}

bool sysfs_field(const char *root, const char *path, const char *key, char text[SYSFS_TEXT_SIZE])
{
	FILE *file = sysfs_open(root, path);
	char line[SYSFS_TEXT_SIZE];
	bool found = false;

	if (file == NULL)
		return false;
	while (fgets(line, sizeof(line), file) != NULL) {
		const char *value = line + strlen(key);

		if (strncmp(line, key, strlen(key)) != 0)
			continue;
		value += strspn(value, " \t");
		snprintf(text, SYSFS_TEXT_SIZE, "%.*s", (int)strcspn(value, "\n"), value);
		found = true;
	}
	fclose(file); // opened for reading: nothing can be lost
	return found;
}

uint64_t sysfs_meminfo(const char *root, const char *name, uint64_t otherwise)
{
	char key[64], text[SYSFS_TEXT_SIZE];

	snprintf(key, sizeof(key), "%s:", name);
	if (!sysfs_field(root, "/proc/meminfo", key, text) || text[0] < '0' || text[0] > '9')
		return otherwise;
	return strtoull(text, NULL, 10) << 10; // "1234 kB"
}

bool sysfs_exists(const char *root, const char *format, ...)
{
	char path[SYSFS_PATH_SIZE];
	va_list list;

	va_start(list, format);
	under_root(root, path, format, list);
	va_end(list);
	return access(path, F_OK) == 0;
}

int sysfs_access(const char *root, const char *path, int mode)
{
	char whole[SYSFS_PATH_SIZE];

	join(root, whole, path);
	if (whole[0] == '\0')
		return ENAMETOOLONG;
	return access(whole, mode) == 0 ? 0 : errno;
}

bool sysfs_link_name(const char *root, char *name, size_t size, const char *format, ...)
{
	char path[SYSFS_PATH_SIZE], target[SYSFS_PATH_SIZE];
	const char *last;
	va_list list;
	ssize_t n;

	va_start(list, format);
	under_root(root, path, format, list);
	va_end(list);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return false;
	target[n] = '\0';
	last = strrchr(target, '/');
	snprintf(name, size, "%s", last != NULL ? last + 1 : target);
	return true;
}

bool sysfs_room(const char *root, const char *path, uint64_t *free, uint64_t *size)
{
	char whole[SYSFS_PATH_SIZE];
	struct statvfs room;

	join(root, whole, path);
	if (statvfs(whole, &room) != 0)
		return false;
	*free = (uint64_t)room.f_bavail * room.f_frsize;
	*size = (uint64_t)room.f_blocks * room.f_frsize;
	return true;
}
