// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "convert/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_line.h"
#include "record/exclusive_rename.h"

static int name_it(struct new_file *file, const char *path)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) + 1 : 0;
	int length;

	file->path = path;
	file->name = path + folder;
	if (file->name[0] == '\0')
		return EISDIR;
	length = snprintf(file->temporary, sizeof(file->temporary), "%.*s.%s.convert", folder, path,
			  file->name);
	if (length < 0 || (size_t)length >= sizeof(file->temporary))
		return ENAMETOOLONG;
	file->temporary_name = file->temporary + folder;
	return 0;
}

static int open_directory(struct new_file *file)
{
	char folder[PATH_MAX];
	int length = (int)(file->name - file->path);

	snprintf(folder, sizeof(folder), "%.*s", length, file->path);
	file->directory = open(length ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return file->directory < 0 ? errno : 0;
}

// EBUSY: another process writes it.
static int open_locked(struct new_file *file)
{
	struct stat status;

	file->file = openat(file->directory, file->temporary_name,
			    O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (file->file < 0)
		return errno;
	// Before the lock, the process that had the file may have removed it or given it its name.
	if (!flock(file->file, LOCK_EX | LOCK_NB) && !fstat(file->file, &status) &&
	    status.st_nlink == 1)
		return ftruncate(file->file, 0) ? errno : 0;
	close(file->file);
	return EBUSY;
}

int new_file_create(struct new_file *file, const char *path, char *error, size_t size)
{
	struct stat status;
	int reason = name_it(file, path);

	if (!reason && stat(path, &status) == 0)
		return error_line(error, size,
				  "%s: exists already: remove it, or name another file", path);
	if (!reason)
		reason = open_directory(file);
	if (reason)
		return error_line(error, size, "%s: %s", path, strerror(reason));
	reason = open_locked(file);
	if (!reason)
		return 0;
	close(file->directory);
	if (reason == EBUSY)
		return error_line(error, size, "%s: another process writes it", path);
	return error_line(error, size, "%s: %s", path, strerror(reason));
}

int new_file_publish(struct new_file *file, uint64_t *bytes, char *error, size_t size)
{
	struct stat status = { 0 };
	int reason = 0;

	if (fsync(file->file) || fstat(file->file, &status))
		reason = errno;
	if (!reason)
		reason = -exclusive_rename(file->directory, file->temporary_name, file->name);
	if (reason) {
		new_file_discard(file);
		return error_line(error, size, "%s: %s", file->path, strerror(reason));
	}
	*bytes = (uint64_t)status.st_size;
	(void)fsync(file->directory); // if it fails, a crash of the machine may undo the name
	close(file->file);
	close(file->directory);
	return 0;
}

void new_file_discard(struct new_file *file)
{
	(void)unlinkat(file->directory, file->temporary_name, 0);
	close(file->file);
	close(file->directory);
}
