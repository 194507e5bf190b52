// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "convert/convert.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error_line.h"
#include "convert/convert_internal.h"
#include "convert/new_file.h"

// The first bytes of an HDF5 file (HDF5 File Format Specification, Superblock).
static const uint8_t SIGNATURE[] = { 0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n' };

// Sets *is_hdf5. Returns 0 or an errno.
static int look_at(const char *path, bool *is_hdf5)
{
	uint8_t bytes[sizeof(SIGNATURE)];
	FILE *file = fopen(path, "rb");
	int reason = 0;

	if (!file)
		return errno;
	*is_hdf5 = fread(bytes, 1, sizeof(bytes), file) == sizeof(bytes) &&
		   !memcmp(bytes, SIGNATURE, sizeof(bytes));
	if (ferror(file))
		reason = errno;
	fclose(file);
	return reason;
}

static bool has_ending(const char *path, const char *ending)
{
	const char *dot = strrchr(path, '.');

	return dot && !strcmp(dot, ending);
}

int convert(const struct convert_options *options, struct convert_result *result, char *error)
{
	struct new_file output;
	int status = look_at(options->input, &result->to_hdf5);

	if (status)
		return error_line(error, CONVERT_ERROR_SIZE, "%s: %s", options->input,
				  strerror(status));
	result->to_hdf5 = !result->to_hdf5;
	if (result->to_hdf5 &&
	    (has_ending(options->output, ".mep") || has_ending(options->output, ".mdf")))
		return error_line(error, CONVERT_ERROR_SIZE,
				  "%s: would be HDF5, as %s is not: name it .h5", options->output,
				  options->input);
	if (new_file_create(&output, options->output, error, CONVERT_ERROR_SIZE))
		return -1;
	if (result->to_hdf5)
		status = convert_to_hdf5(options, output.temporary, result, error);
	else
		status = convert_from_hdf5(options, output.file, output.temporary, result, error);
	if (status) {
		new_file_discard(&output);
		return status;
	}
	return new_file_publish(&output, &result->output_bytes, error, CONVERT_ERROR_SIZE);
}
