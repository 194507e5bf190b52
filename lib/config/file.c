// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reads files. The fuzz target replaces config_read_file(), so this function has its own file.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config/internal.h"

// Reads until the end of the file, which may also be a pipe.
static char *read_open_file(struct config_reader *reader, int descriptor, size_t *length)
{
	size_t capacity = 0;
	char *text = NULL;

	*length = 0;
	for (;;) {
		if (*length == capacity) {
			capacity = capacity ? 2 * capacity : 16384;
			char *larger = realloc(text, capacity);
			if (!larger) {
				config_fail(reader, "out of memory");
				break;
			}
			text = larger;
		}
		ssize_t n_read = read(descriptor, text + *length, capacity - *length);
		if (n_read == 0)
			return text;
		if (n_read < 0) {
			config_fail(reader, "cannot be read: %s", strerror(errno));
			break;
		}
		*length += (size_t)n_read;
		if (*length > CONFIG_FILE_MAXIMUM) {
			config_fail(reader, "is larger than 16 MiB");
			break;
		}
	}
	free(text);
	return NULL;
}

char *config_read_file(struct config_reader *reader, const char *path, size_t *length)
{
	char *text = NULL;
	struct stat status;

	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0 || fstat(descriptor, &status))
		config_fail(reader, "cannot be opened: %s", strerror(errno));
	else if (S_ISDIR(status.st_mode))
		config_fail(reader, "is a directory");
	else
		text = read_open_file(reader, descriptor, length);
	if (descriptor >= 0)
		close(descriptor);
	return text;
}
