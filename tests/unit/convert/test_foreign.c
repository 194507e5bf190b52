// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// HDF5 files that others made: each is refused with a line that says what it is, and no file; what
// only stores the bytes in another way is taken.

#include "../record/helpers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hdf5.h>

#include "convert/convert.h"

#define NO_VERSION UINT32_MAX

struct foreign {
	uint32_t version;   // NO_VERSION: no attribute
	const char *format; // NULL: no attribute
	hid_t type;         // of `data`; 0: there is none
	hsize_t size;       // of `data`
	hsize_t chunk;      // 0: contiguous
	bool sparse;        // nothing is written
	bool deflate;
	uint8_t changed;   // byte 0 is changed by it
	const char *other; // name of an external file for the bytes
};

static void put_text(hid_t file, const char *text)
{
	hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR), attribute;

	H5Tset_size(type, strlen(text) + 1);
	attribute = H5Acreate2(file, "format", type, space, H5P_DEFAULT, H5P_DEFAULT);
	assert_true(H5Awrite(attribute, type, text) >= 0);
	H5Aclose(attribute);
	H5Sclose(space);
	H5Tclose(type);
}

static void put_version(hid_t file, uint32_t version)
{
	hid_t space = H5Screate(H5S_SCALAR);
	hid_t attribute =
	    H5Acreate2(file, "evb_layout", H5T_STD_U32LE, space, H5P_DEFAULT, H5P_DEFAULT);

	assert_true(H5Awrite(attribute, H5T_NATIVE_UINT32, &version) >= 0);
	H5Aclose(attribute);
	H5Sclose(space);
}

static void put_data(hid_t file, const struct foreign *how, const uint8_t *bytes)
{
	hid_t space = H5Screate_simple(1, &how->size, NULL);
	hid_t creation = H5Pcreate(H5P_DATASET_CREATE), data;

	if (how->chunk)
		H5Pset_chunk(creation, 1, &how->chunk);
	if (how->deflate)
		H5Pset_deflate(creation, 1);
	if (how->other)
		H5Pset_external(creation, how->other, 0, how->size);
	data = H5Dcreate2(file, "data", how->type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
	assert_true(data >= 0);
	if (!how->sparse)
		assert_true(
		    H5Dwrite(data, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0);
	H5Dclose(data);
	H5Pclose(creation);
	H5Sclose(space);
}

// The MEP that the file has, if nothing says otherwise.
static size_t make_bytes(uint8_t *bytes, uint8_t changed)
{
	size_t size = make_file_mep(bytes, 0);

	bytes[0] ^= changed;
	return size;
}

static void make_foreign(const char *path, struct foreign how)
{
	uint8_t *bytes = calloc(1, MEP_ROOM);
	size_t size = make_bytes(bytes, how.changed);
	hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

	assert_true(file >= 0);
	if (!how.size)
		how.size = size;
	if (how.version != NO_VERSION)
		put_version(file, how.version);
	if (how.format)
		put_text(file, how.format);
	if (how.type)
		put_data(file, &how, bytes);
	assert_true(H5Fclose(file) >= 0);
	free(bytes);
}

// Converts it back; returns the line, "" if it is taken.
static const char *line_of(const char *directory, struct foreign how)
{
	static char error[CONVERT_ERROR_SIZE];
	char input[PATH_SIZE], output[PATH_SIZE];
	const struct convert_options options = { .input = input, .output = output };
	struct convert_result result = { 0 };
	unsigned files;

	path_in(input, directory, "foreign.h5");
	path_in(output, directory, "back.mep");
	make_foreign(input, how);
	files = count_files(directory);
	error[0] = '\0';
	if (!convert(&options, &result, error)) {
		assert_int_equal(count_files(directory), files + 1);
		unlink(output);
		return "";
	}
	assert_int_equal(count_files(directory), files);
	return error;
}

static void expect_line(const char *directory, struct foreign how, const char *words)
{
	const char *line = line_of(directory, how);

	if (!strstr(line, words))
		print_error("%s\n", line);
	assert_non_null(strstr(line, words));
}

static void foreign__layouts_are_told(void **state)
{
	const struct foreign good = { .version = 1, .format = "mep", .type = H5T_STD_U8LE };
	struct foreign how = good;

	assert_string_equal(line_of(*state, good), "");
	how.version = NO_VERSION;
	expect_line(*state, how, "it has no attribute evb_layout");
	how.version = 2;
	expect_line(*state, how, "has layout version 2, this evb reads 1");
	how = good;
	how.format = "text of a foreigner, of any length";
	expect_line(*state, how, "its attribute format is not mep or mdf");
	how.format = NULL;
	expect_line(*state, how, "its attribute format is not mep or mdf");
	how.format = "mdf";
	expect_line(*state, how, "has events of a .mdf file");
	how = good;
	how.type = 0;
	expect_line(*state, how, "it has no dataset data");
	how.type = H5T_STD_U16LE;
	expect_line(*state, how, "is no row of bytes");
	how.type = H5T_STD_I8LE; // HDF5 would make 0 of what is negative
	expect_line(*state, how, "is no row of bytes");
	how.type = H5T_IEEE_F32LE;
	expect_line(*state, how, "is no row of bytes");
}

// Bytes that the file states and does not have.
static void foreign__sizes_are_not_trusted(void **state)
{
	const struct foreign good = { .version = 1, .format = "mep", .type = H5T_STD_U8LE };
	struct foreign how = good;

	how.sparse = true;
	how.size = UINT64_C(1) << 60;
	how.chunk = 1 << 20;
	expect_line(*state, how, "is not stored as a whole");
	how.chunk = UINT64_C(1) << 31;
	expect_line(*state, how, "is not stored as a whole");
	how.chunk = 0;
	expect_line(*state, how, "is not stored as a whole");
	how.size = 1 << 20;
	expect_line(*state, how, "is not stored as a whole");
	how = good;
	how.sparse = true;
	how.other = "/dev/zero";
	expect_line(*state, how, "is not stored as a whole");
}

static void foreign__other_storage_is_taken(void **state)
{
	static uint8_t bytes[MEP_ROOM];
	struct foreign how = { .version = 1, .format = "mep", .type = H5T_STD_U8LE, .chunk = 100 };

	assert_string_equal(line_of(*state, how), "");
	how.deflate = true;
	assert_string_equal(line_of(*state, how), "");
	how.chunk = make_file_mep(bytes, 0); // the only one
	assert_string_equal(line_of(*state, how), "");
	how.deflate = false;
	how.chunk = 0;
	assert_string_equal(line_of(*state, how), "");
}

static void foreign__data_are_checked(void **state)
{
	struct foreign how = { .version = 1, .format = "mep", .type = H5T_STD_U8LE, .changed = 1 };

	expect_line(*state, how, "damaged: its data are not of its format");
	how.changed = 0;
	how.size = 100;
	expect_line(*state, how, "damaged: at byte 0 of its data");
}

static void foreign__cut_files_are_told(void **state)
{
	char input[PATH_SIZE], output[PATH_SIZE], error[CONVERT_ERROR_SIZE];
	const struct convert_options options = { .input = input, .output = output };
	struct convert_result result = { 0 };
	uint8_t *bytes;
	size_t size;

	path_in(input, *state, "foreign.h5");
	path_in(output, *state, "back.mep");
	make_foreign(input,
		     (struct foreign){ .version = 1, .format = "mep", .type = H5T_STD_U8LE });
	bytes = read_file(input, &size);
	for (size_t cut = size - 1; cut >= 8; cut /= 2) {
		write_file(input, bytes, cut);
		assert_int_equal(convert(&options, &result, error), -1);
		assert_non_null(strstr(error, "foreign.h5: HDF5: "));
		assert_int_equal(count_files(*state), 1);
	}
	free(bytes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(foreign__layouts_are_told),       TEST(foreign__sizes_are_not_trusted),
		TEST(foreign__other_storage_is_taken), TEST(foreign__data_are_checked),
		TEST(foreign__cut_files_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
