// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reads files. The fuzz target replaces config_read_file(), so this function has its own file.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

// Reads until the end of the file, which may also be a pipe. Returns false after config_fail().
static bool read_all(struct config_reader *reader, FILE *file, char *text, size_t *length)
{
	*length = fread(text, 1, CONFIG_FILE_MAXIMUM + 1, file);
	if (ferror(file) && errno == EISDIR)
		config_fail(reader, "is a directory");
	else if (ferror(file))
		config_fail(reader, "cannot be read: %s", strerror(errno));
	else if (*length > CONFIG_FILE_MAXIMUM)
		config_fail(reader, "is larger than 16 MiB");
	else
		return true;
	return false;
}

char *config_read_file(struct config_reader *reader, const char *path, size_t *length)
{
	FILE *file = fopen(path, "re");
	char *text;

	if (!file) {
		config_fail(reader, "cannot be opened: %s", strerror(errno));
		return NULL;
	}
	text = malloc(CONFIG_FILE_MAXIMUM + 1); // the kernel gives the pages that are written to
	if (!text)
		config_fail(reader, "out of memory");
	if (text && !read_all(reader, file, text, length)) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}
