// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "convert/hdf5_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"
#include "base/quote.h"

#define BLOSC \
	32001 // https://portal.hdfgroup.org/documentation/hdf5-docs/registered_filter_plugins.html
#define BLOSC_PACKAGE  "hdf5-filter-plugin-blosc-serial"
#define BLOSC_LEVEL    4
#define BLOSC_SHUFFLE  5
#define BLOSC_CODEC    6
#define BLOSC_ZSTD     5u
#define BLOSC_N_VALUES 7

void hdf5_file_prepare(void)
{
	// A file that could not be closed, as the disk is full, would crash HDF5 at the end of the
	// process.
	(void)H5dont_atexit();
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void hdf5_file_close(hid_t object)
{
	hid_t errors = -1;

	if (object < 0)
		return;
	if (H5Eget_num(H5E_DEFAULT) > 0)
		errors = H5Eget_current_stack();
	H5Idec_ref(object);
	if (errors >= 0)
		H5Eset_current_stack(errors);
}

static int put(hid_t object, const char *name, hid_t type, const void *value)
{
	hid_t space = H5Screate(H5S_SCALAR);
	hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	int status = attribute < 0 || H5Awrite(attribute, type, value) < 0 ? -1 : 0;

	hdf5_file_close(attribute);
	hdf5_file_close(space);
	return status;
}

int hdf5_file_put_number(hid_t object, const char *name, hid_t type, uint64_t value)
{
	// Little endian: the first bytes are those of a narrower type.
	return put(object, name, type, &value);
}

int hdf5_file_put_text(hid_t object, const char *name, const char *text)
{
	hid_t type = H5Tcopy(H5T_C_S1);
	int status = -1;

	if (H5Tset_size(type, strlen(text) + 1) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0)
		status = put(object, name, type, text);
	hdf5_file_close(type);
	return status;
}

// Opens an attribute of one value of a class. Negative: there is none.
static hid_t open_attribute(hid_t object, const char *name, H5T_class_t class, hid_t *type)
{
	hid_t attribute = H5Aexists(object, name) > 0 ? H5Aopen(object, name, H5P_DEFAULT) : -1;
	hid_t space;
	bool good;

	if (attribute < 0)
		return -1;
	space = H5Aget_space(attribute);
	*type = H5Aget_type(attribute);
	good = H5Sget_simple_extent_npoints(space) == 1 && H5Tget_class(*type) == class &&
	       (class != H5T_STRING || H5Tis_variable_str(*type) == 0);
	hdf5_file_close(space);
	if (good)
		return attribute;
	hdf5_file_close(*type);
	hdf5_file_close(attribute);
	return -1;
}

bool hdf5_file_get_number(hid_t object, const char *name, uint64_t *value)
{
	hid_t type, attribute = open_attribute(object, name, H5T_INTEGER, &type);
	bool read;

	if (attribute < 0)
		return false;
	read = H5Aread(attribute, H5T_NATIVE_UINT64, value) >= 0;
	hdf5_file_close(type);
	hdf5_file_close(attribute);
	return read;
}

bool hdf5_file_get_text(hid_t object, const char *name, char *text, size_t size)
{
	hid_t type, attribute = open_attribute(object, name, H5T_STRING, &type);
	hid_t wanted;
	bool read;

	if (attribute < 0)
		return false;
	// HDF5 cuts or pads to what is wanted; the character set must be that of the file.
	wanted = H5Tcopy(type);
	read = H5Tset_size(wanted, size) >= 0 && H5Tset_strpad(wanted, H5T_STR_NULLTERM) >= 0 &&
	       H5Aread(attribute, wanted, text) >= 0;
	hdf5_file_close(wanted);
	hdf5_file_close(type);
	hdf5_file_close(attribute);
	return read;
}

// The reasons of a failure, from the innermost.
struct reason {
	bool any;
	char text[CONVERT_ERROR_SIZE];
};

static herr_t take_reason(unsigned n, const H5E_error2_t *entry, void *context)
{
	struct reason *reason = context;
	const char *system = entry->desc ? strstr(entry->desc, "errno = ") : NULL;

	(void)n;
	if (!entry->desc || reason->any)
		return 0;
	reason->any = true;
	snprintf(reason->text, sizeof(reason->text), "%s",
		 system ? strerror(atoi(system + strlen("errno = "))) : entry->desc);
	return 0;
}

int hdf5_file_error(const char *path, char *error)
{
	struct reason reason = { .text = "it gives no reason" };

	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_reason, &reason);
	H5Eclear2(H5E_DEFAULT);
	return error_line(error, CONVERT_ERROR_SIZE, "%s: HDF5: %s", path, reason.text);
}

static int check_filter(const char *path, H5Z_filter_t filter, const char *name, char *error)
{
	if (H5Zfilter_avail(filter) > 0)
		return 0;
	H5Eclear2(H5E_DEFAULT);
	if (filter == BLOSC)
		return error_line(error, CONVERT_ERROR_SIZE,
				  "%s: HDF5 has no plugin for zstd: install " BLOSC_PACKAGE
				  ", or set HDF5_PLUGIN_PATH",
				  path);
	return error_line(error, CONVERT_ERROR_SIZE,
			  "%s: HDF5 has no plugin for filter %d (%s): set HDF5_PLUGIN_PATH", path,
			  (int)filter, quote_bare(name).text);
}

int hdf5_file_check_compression(const char *path, enum convert_compression compression, char *error)
{
	if (compression == CONVERT_PLAIN)
		return 0;
	if (compression == CONVERT_DEFLATE)
		return check_filter(path, H5Z_FILTER_DEFLATE, "deflate", error);
	return check_filter(path, BLOSC, "blosc", error);
}

int hdf5_file_check_filters(const char *path, hid_t dataset, char *error)
{
	hid_t creation = H5Dget_create_plist(dataset);
	int n = H5Pget_nfilters(creation);
	int status = 0;

	for (int i = 0; i < n && !status; i++) {
		char name[64] = "";
		size_t n_values = 0;
		unsigned flags;
		H5Z_filter_t filter = H5Pget_filter2(creation, (unsigned)i, &flags, &n_values, NULL,
						     sizeof(name) - 1, name, NULL);

		status = filter < 0 ? hdf5_file_error(path, error)
				    : check_filter(path, filter, name, error);
	}
	hdf5_file_close(creation);
	return status;
}

// Incompressible chunks are stored as they are.
static herr_t compress(hid_t creation, const struct convert_options *options, unsigned width)
{
	unsigned values[BLOSC_N_VALUES] = { 0 };

	if (options->compression == CONVERT_PLAIN)
		return 0;
	if (options->compression == CONVERT_DEFLATE) {
		if (width > 1 && H5Pset_shuffle(creation) < 0)
			return -1;
		return H5Pset_deflate(creation, options->level);
	}
	values[BLOSC_LEVEL] = options->level;
	values[BLOSC_SHUFFLE] = width > 1;
	values[BLOSC_CODEC] = BLOSC_ZSTD;
	return H5Pset_filter(creation, BLOSC, H5Z_FLAG_OPTIONAL, BLOSC_N_VALUES, values);
}

static hid_t type_of(unsigned width)
{
	switch (width) {
	case 1:
		return H5T_STD_U8LE;
	case 2:
		return H5T_STD_U16LE;
	case 4:
		return H5T_STD_U32LE;
	default:
		return H5T_STD_U64LE;
	}
}

hid_t hdf5_file_create_dataset(const struct convert_options *options, hid_t group, const char *name,
			       unsigned width, uint64_t n, uint64_t chunk)
{
	const hsize_t items = n, most = H5S_UNLIMITED, of_chunk = chunk > 0 ? chunk : 1;
	hid_t space = H5Screate_simple(1, &items, &most);
	hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
	hid_t access = H5Pcreate(H5P_DATASET_ACCESS);
	hid_t dataset = -1;

	// Every byte is written, and the same events give the same file. Whole chunks are written
	// at once: a cache would only be one more copy. Without a cache HDF5 1.10 loses the only
	// chunk of a dataset whose size cannot change.
	if (H5Pset_chunk(creation, 1, &of_chunk) >= 0 &&
	    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER) >= 0 &&
	    H5Pset_obj_track_times(creation, false) >= 0 &&
	    compress(creation, options, width) >= 0 && H5Pset_chunk_cache(access, 0, 0, 1) >= 0)
		dataset =
		    H5Dcreate2(group, name, type_of(width), space, H5P_DEFAULT, creation, access);
	hdf5_file_close(access);
	hdf5_file_close(creation);
	hdf5_file_close(space);
	return dataset;
}

int hdf5_file_write(hid_t dataset, unsigned width, uint64_t at, uint64_t n, const void *items)
{
	const hsize_t first = at, count = n;
	hid_t memory = H5Screate_simple(1, &count, NULL);
	hid_t space = H5Dget_space(dataset);
	herr_t status = H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &count, NULL);

	if (status >= 0)
		status = H5Dwrite(dataset, type_of(width), memory, space, H5P_DEFAULT, items);
	hdf5_file_close(space);
	hdf5_file_close(memory);
	return status < 0 ? -1 : 0;
}
