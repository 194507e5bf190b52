// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/file_bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error_line.h"

static int read_all(FILE *file, uint8_t **bytes, size_t *size)
{
	struct stat status;
	uint8_t *buffer;

	if (fstat(fileno(file), &status))
		return errno;
	if (!S_ISREG(status.st_mode))
		return S_ISDIR(status.st_mode) ? EISDIR : ESPIPE;
	buffer = malloc((size_t)status.st_size + 1);
	if (!buffer)
		return ENOMEM;
	*size = fread(buffer, 1, (size_t)status.st_size, file);
	if (ferror(file)) {
		int reason = errno;

		free(buffer);
		return reason;
	}
	*bytes = buffer;
	return 0;
}

int file_bytes_read(const char *path, uint8_t **bytes, size_t *size, char *error)
{
	FILE *file = fopen(path, "rb");
	int reason = file ? read_all(file, bytes, size) : errno;

	if (file)
		fclose(file);
	if (!reason)
		return 0;
	return error_line(error, SOURCE_ERROR_SIZE, "%s: %s", path, strerror(reason));
}
