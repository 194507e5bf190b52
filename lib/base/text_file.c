// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "base/text_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"

// The first allocation: most configurations fit. malloc() may fill what it gives.
#define FIRST_SIZE (64u << 10) // bytes, a power of two

static char *read_all(FILE *file, size_t *length, char *error)
{
	size_t size = FIRST_SIZE;
	char *text = malloc(size), *larger = text;

	*length = 0;
	while (larger != NULL) {
		*length += fread(text + *length, 1, size - *length, file);
		if (*length < size || size > TEXT_FILE_MAXIMUM)
			break;
		size *= 2;
		larger = realloc(text, size);
		text = larger != NULL ? larger : text;
	}
	if (larger == NULL)
		error_line(error, TEXT_FILE_ERROR, "out of memory");
	else if (ferror(file) && errno == EISDIR)
		error_line(error, TEXT_FILE_ERROR, "is a directory");
	else if (ferror(file))
		error_line(error, TEXT_FILE_ERROR, "cannot be read: %s", strerror(errno));
	else if (*length > TEXT_FILE_MAXIMUM)
		error_line(error, TEXT_FILE_ERROR, "is larger than 16 MiB");
	else
		return text;
	free(text);
	return NULL;
}

char *text_file_read(const char *path, size_t *length, char *error)
{
	FILE *file = fopen(path, "re");
	char *text;

	if (!file) {
		error_line(error, TEXT_FILE_ERROR, "cannot be opened: %s", strerror(errno));
		return NULL;
	}
	text = read_all(file, length, error);
	fclose(file);
	return text;
}
