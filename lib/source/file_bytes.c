// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/file_bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error_line.h"

static int read_from(FILE *file, uint64_t most, uint64_t head, uint8_t **bytes, size_t *size)
{
	struct stat status;
	uint8_t *buffer;
	size_t wanted;

	if (fstat(fileno(file), &status))
		return errno;
	if (!S_ISREG(status.st_mode))
		return S_ISDIR(status.st_mode) ? EISDIR : ESPIPE;
	wanted = (uint64_t)status.st_size > most ? head : (size_t)status.st_size;
	buffer = malloc(wanted + 1);
	if (!buffer)
		return ENOMEM;
	*size = fread(buffer, 1, wanted, file);
	if (ferror(file)) {
		int reason = errno;

		free(buffer);
		return reason;
	}
	*bytes = buffer;
	return 0;
}

int file_bytes_read_head(const char *path, uint64_t most, uint64_t head, uint8_t **bytes,
			 size_t *size, char *error)
{
	FILE *file = fopen(path, "rb");
	int reason = file ? read_from(file, most, head, bytes, size) : errno;

	if (file)
		fclose(file);
	if (!reason)
		return 0;
	return error_line(error, SOURCE_ERROR_SIZE, "%s: %s", path, strerror(reason));
}

int file_bytes_read(const char *path, uint8_t **bytes, size_t *size, char *error)
{
	return file_bytes_read_head(path, UINT64_MAX, 0, bytes, size, error);
}
