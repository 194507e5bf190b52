// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An HDF5 file of events back to the file it was made from. Of its datasets only `data` is read:
// the others are an index of it.

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error_line.h"
#include "base/quote.h"
#include "convert/convert_internal.h"
#include "convert/hdf5_file.h"
#include "convert/layout.h"

#define LARGEST_CHUNK (UINT64_C(16) << 20) // bytes; a whole one is in memory
#define FORMAT_SIZE   8

struct from_hdf5 {
	const struct convert_options *options;
	struct convert_result *result;
	char *error;
	hid_t file, data;
	uint64_t size; // bytes of `data`
	uint64_t step; // bytes to be read at once: whole chunks
	// For the check of the output:
	struct inspect *inspect;
	bool wrong;
};

static int refuse(const struct from_hdf5 *from, const char *why)
{
	return error_line(from->error, CONVERT_ERROR_SIZE, "%s: %s", from->options->input, why);
}

static int fail(const struct from_hdf5 *from)
{
	return hdf5_file_error(from->options->input, from->error);
}

static int check_layout(struct from_hdf5 *from)
{
	const char *ending = strrchr(from->options->output, '.');
	char format[FORMAT_SIZE] = "";
	uint64_t version;

	if (!hdf5_file_get_number(from->file, LAYOUT_VERSION_NAME, &version))
		return refuse(from, "not an HDF5 file of evb convert: it has no "
				    "attribute " LAYOUT_VERSION_NAME);
	if (version != LAYOUT_VERSION)
		return error_line(from->error, CONVERT_ERROR_SIZE,
				  "%s: has layout version %" PRIu64
				  ", this evb reads %u: use the evb that wrote it",
				  from->options->input, version, LAYOUT_VERSION);
	(void)hdf5_file_get_text(from->file, LAYOUT_FORMAT_NAME, format, sizeof(format));
	from->result->kind = !strcmp(format, "mep")   ? INSPECT_MEP
			     : !strcmp(format, "mdf") ? INSPECT_MDF
						      : INSPECT_UNKNOWN;
	if (from->result->kind == INSPECT_UNKNOWN)
		return refuse(from, "its attribute " LAYOUT_FORMAT_NAME " is not mep or mdf");
	if (ending && (!strcmp(ending, ".mep") || !strcmp(ending, ".mdf")) &&
	    strcmp(ending + 1, format) != 0)
		return error_line(from->error, CONVERT_ERROR_SIZE,
				  "%s: has events of a .%s file: name the output so",
				  from->options->input, format);
	return 0;
}

// Sets `size`.
static bool is_row_of_bytes(struct from_hdf5 *from)
{
	hid_t space = H5Dget_space(from->data);
	hid_t type = H5Dget_type(from->data);
	hsize_t size = 0;
	bool good = H5Sis_simple(space) > 0 && H5Sget_simple_extent_ndims(space) == 1 &&
		    H5Sget_simple_extent_dims(space, &size, NULL) == 1 &&
		    H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == 1 &&
		    H5Tget_sign(type) == H5T_SGN_NONE;

	from->size = size;
	hdf5_file_close(type);
	hdf5_file_close(space);
	return good;
}

// HDF5 1.10 does not count the chunk of a dataset that has one only, which is small.
static bool chunks_hold_all(struct from_hdf5 *from, hid_t creation)
{
	hid_t space = H5Dget_space(from->data);
	hsize_t chunk = 0, n = 0;
	bool good = H5Pget_chunk(creation, 1, &chunk) == 1 && chunk > 0 && chunk <= LARGEST_CHUNK;

	if (good && from->size > chunk)
		good = H5Dget_num_chunks(from->data, space, &n) >= 0 &&
		       n >= from->size / chunk + (from->size % chunk != 0);
	hdf5_file_close(space);
	if (good && chunk < LAYOUT_CHUNK)
		chunk *= LAYOUT_CHUNK / chunk;
	from->step = chunk;
	return good;
}

// HDF5 would read bytes that are not stored as zeros, as many as the file states. Files that were
// rewritten (h5repack) may have other chunks and filters, or none. Sets `step`.
static bool is_stored(struct from_hdf5 *from)
{
	hid_t creation = H5Dget_create_plist(from->data);
	hsize_t file_size = 0;
	bool good = false;

	from->step = LAYOUT_CHUNK;
	switch (H5Pget_layout(creation)) {
	case H5D_CHUNKED:
		good = chunks_hold_all(from, creation);
		break;
	case H5D_CONTIGUOUS:
		good = H5Pget_external_count(creation) == 0 &&
		       H5Fget_filesize(from->file, &file_size) >= 0 && from->size <= file_size &&
		       H5Dget_storage_size(from->data) == from->size;
		break;
	case H5D_COMPACT: // at most 64 KiB
		good = true;
		break;
	default:
		break;
	}
	hdf5_file_close(creation);
	return good;
}

static int open_data(struct from_hdf5 *from)
{
	hid_t access = H5Pcreate(H5P_DATASET_ACCESS);

	// Whole chunks are read at once: a cache would only be one more copy.
	if (H5Lexists(from->file, LAYOUT_DATA_NAME, H5P_DEFAULT) > 0 &&
	    H5Pset_chunk_cache(access, 0, 0, 1) >= 0)
		from->data = H5Dopen2(from->file, LAYOUT_DATA_NAME, access);
	hdf5_file_close(access);
	if (from->data < 0)
		return refuse(from, "damaged: it has no dataset " LAYOUT_DATA_NAME);
	if (!is_row_of_bytes(from))
		return refuse(from, "damaged: its dataset " LAYOUT_DATA_NAME " is no row of bytes");
	if (!is_stored(from))
		return refuse(from,
			      "damaged: its dataset " LAYOUT_DATA_NAME " is not stored as a whole");
	return hdf5_file_check_filters(from->options->input, from->data, from->error);
}

static herr_t read_bytes(const struct from_hdf5 *from, uint64_t at, uint64_t size, uint8_t *bytes)
{
	const hsize_t first = at, n = size;
	hid_t memory = H5Screate_simple(1, &n, NULL);
	hid_t space = H5Dget_space(from->data);
	herr_t status = H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &n, NULL);

	if (status >= 0)
		status = H5Dread(from->data, H5T_STD_U8LE, memory, space, H5P_DEFAULT, bytes);
	hdf5_file_close(space);
	hdf5_file_close(memory);
	return status;
}

static int write_all(const struct from_hdf5 *from, int file, const uint8_t *bytes, uint64_t size)
{
	while (size) {
		ssize_t n = write(file, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_line(from->error, CONVERT_ERROR_SIZE, "%s: %s",
					  from->options->output, strerror(errno));
		bytes += n;
		size -= (uint64_t)n;
	}
	return 0;
}

static int copy(const struct from_hdf5 *from, int file)
{
	uint8_t *bytes = malloc(from->step);
	uint64_t at = 0, size;
	int status = 0;

	if (!bytes)
		return refuse(from, "out of memory");
	for (; at < from->size && !status; at += size) {
		size = from->size - at < from->step ? from->size - at : from->step;
		if (read_bytes(from, at, size, bytes) < 0)
			status = fail(from);
		else
			status = write_all(from, file, bytes, size);
		if (!status && !convert_goes_on(from->options, at + size, from->size))
			status = CONVERT_STOPPED;
	}
	free(bytes);
	return status;
}

static void check_kind(void *context, const struct inspect_file *file)
{
	struct from_hdf5 *from = context;

	if (file->kind == from->result->kind)
		return;
	from->wrong = true;
	(void)refuse(from, "damaged: its data are not of its format");
	inspect_stop(from->inspect);
}

static void take_problem(void *context, const struct inspect_problem *problem)
{
	struct from_hdf5 *from = context;

	if (!from->wrong)
		(void)error_line(from->error, CONVERT_ERROR_SIZE,
				 "%s: damaged: at byte %" PRIu64 " of its data: %s (%s)",
				 from->options->input, problem->offset, problem->text,
				 wire_reason(problem->reason));
	from->wrong = true;
	inspect_stop(from->inspect);
}

// The output has valid events only.
static int check_output(struct from_hdf5 *from, const char *path)
{
	const struct inspect_options how = { 0 };
	const struct inspect_visitor visitor = {
		.context = from,
		.file = check_kind,
		.problem = take_problem,
	};
	struct inspect_summary summary;

	if (from->size == 0)
		return 0;
	from->inspect = inspect_open(&how, &visitor);
	if (!from->inspect)
		return refuse(from, "out of memory");
	if (inspect_read(from->inspect, path, from->error))
		from->wrong = true;
	inspect_finish(from->inspect, &summary);
	inspect_close(from->inspect);
	from->result->events = summary.meps + summary.records;
	from->result->fragments = summary.fragments + summary.banks;
	return from->wrong ? -1 : 0;
}

int convert_from_hdf5(const struct convert_options *options, int file, const char *path,
		      struct convert_result *result, char *error)
{
	struct from_hdf5 from = {
		.options = options,
		.result = result,
		.error = error,
		.data = -1,
	};
	hsize_t file_size = 0;
	int status;

	hdf5_file_prepare();
	from.file = H5Fopen(options->input, H5F_ACC_RDONLY, H5P_DEFAULT);
	if (from.file < 0)
		return fail(&from);
	status = check_layout(&from);
	if (!status)
		status = open_data(&from);
	if (!status)
		status = copy(&from, file);
	if (H5Fget_filesize(from.file, &file_size) >= 0)
		result->input_bytes = file_size;
	hdf5_file_close(from.data);
	hdf5_file_close(from.file);
	return status ? status : check_output(&from, path);
}
