// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Reads files. The fuzz target replaces config_read_file(), so this function has its own file.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

// The first allocation: most configurations fit. malloc() may fill what it gives.
#define FIRST_SIZE (64u << 10) // bytes, a power of two

// Reads until the end of the file, which may also be a pipe. Returns NULL after config_fail().
static char *read_all(struct config_reader *reader, FILE *file, size_t *length)
{
	size_t size = FIRST_SIZE;
	char *text = malloc(size), *larger = text;

	*length = 0;
	while (larger != NULL) {
		*length += fread(text + *length, 1, size - *length, file);
		if (*length < size || size > CONFIG_FILE_MAXIMUM)
			break;
		size *= 2;
		larger = realloc(text, size);
		text = larger != NULL ? larger : text;
	}
	if (larger == NULL)
		config_fail(reader, "out of memory");
	else if (ferror(file) && errno == EISDIR)
		config_fail(reader, "is a directory");
	else if (ferror(file))
		config_fail(reader, "cannot be read: %s", strerror(errno));
	else if (*length > CONFIG_FILE_MAXIMUM)
		config_fail(reader, "is larger than 16 MiB");
	else
		return text;
	free(text);
	return NULL;
}

char *config_read_file(struct config_reader *reader, const char *path, size_t *length)
{
	FILE *file = fopen(path, "re");
	char *text;

	if (!file) {
		config_fail(reader, "cannot be opened: %s", strerror(errno));
		return NULL;
	}
	text = read_all(reader, file, length);
	fclose(file);
	return text;
}
