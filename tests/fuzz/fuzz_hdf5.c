// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// An HDF5 file of any layout and content that is converted back: it becomes a file of valid events
// of the size that the HDF5 file has, or is refused with a line, and then there is no output. The
// file itself is one that HDF5 wrote: a damaged one would try HDF5 and not evb.
//
// Input: byte 0 the kinds of attributes, 1 the type and layout of `data`, 2 and 3 its size in units
// of 2^(byte 4 % 56) bytes, or as much as there is, 5 its chunk as a power of two; the others are
// the content.
#include "fuzz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hdf5.h>

#include "convert/convert.h"
#include "convert/hdf5_file.h"

#define HEAD        6u
#define SMALL_CHUNK 24 // log2 of the largest chunk that is tried

static char folder[64], input[80], output[80];

static void remove_folder(void)
{
	unlink(input);
	rmdir(folder);
}

static void make_folder(void)
{
	if (folder[0] != '\0')
		return;
	strcpy(folder, "/dev/shm/evb-fuzz-XXXXXX");
	FUZZ_CHECK(mkdtemp(folder));
	snprintf(input, sizeof(input), "%s/in.h5", folder);
	snprintf(output, sizeof(output), "%s/out", folder);
	hdf5_file_prepare();
	atexit(remove_folder);
}

static void put_attributes(hid_t file, uint8_t how)
{
	static const char *const formats[] = { "mep", "mdf", "", "a text that is longer" };

	if ((how & 3) == 0)
		hdf5_file_put_number(file, "evb_layout", H5T_STD_U32LE, 1);
	else if ((how & 3) == 1)
		hdf5_file_put_number(file, "evb_layout", H5T_STD_U64LE, (how & 16) ? 1 : how);
	else if ((how & 3) == 2)
		hdf5_file_put_text(file, "evb_layout", "1");
	if (how & 32)
		hdf5_file_put_number(file, "format", H5T_STD_U32LE, how);
	else
		hdf5_file_put_text(file, "format", formats[(how >> 2) & 3]);
}

static hid_t type_of(uint8_t how)
{
	switch (how & 7) {
	case 0:
		return H5T_STD_U16LE;
	case 1:
		return H5T_STD_I8LE;
	case 2:
		return H5T_IEEE_F32LE;
	default:
		return H5T_STD_U8LE;
	}
}

// Makes the dataset, if HDF5 accepts what the input says, and writes the content at its begin.
static void put_data(hid_t file, const uint8_t *head, const uint8_t *bytes, size_t size)
{
	const hsize_t units = (hsize_t)head[2] | (hsize_t)head[3] << 8;
	const hsize_t dims[2] = { units == 0 ? size : units << head[4] % 56, 1 };
	const hsize_t chunk[2] = { (hsize_t)1 << head[5] % (SMALL_CHUNK + 1), 1 };
	const hsize_t most[2] = { H5S_UNLIMITED, 1 }, first[2] = { 0 };
	const int rank = (head[1] & 0x40) ? 2 : 1;
	hsize_t n[2] = { size < dims[0] ? size : dims[0], 1 };
	hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
	hid_t space = H5Screate_simple(rank, dims, (head[1] & 8) ? most : NULL);
	hid_t memory = H5Screate_simple(1, n, NULL), data;

	if (head[1] & 8)
		H5Pset_chunk(creation, rank, chunk);
	if ((head[1] & 24) == 24)
		H5Pset_deflate(creation, 1);
	if ((head[1] & 24) == 16)
		H5Pset_layout(creation, H5D_COMPACT);
	data =
	    H5Dcreate2(file, "data", type_of(head[1]), space, H5P_DEFAULT, creation, H5P_DEFAULT);
	if (data >= 0 && !(head[1] & 0x20) && n[0] > 0 &&
	    H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, n, NULL) >= 0)
		(void)H5Dwrite(data, H5T_NATIVE_UINT8, memory, space, H5P_DEFAULT, bytes);
	hdf5_file_close(data);
	hdf5_file_close(memory);
	hdf5_file_close(space);
	hdf5_file_close(creation);
}

static void convert_back(size_t most)
{
	const struct convert_options options = { .input = input, .output = output };
	struct convert_result result = { 0 };
	char error[CONVERT_ERROR_SIZE] = "";
	struct stat status;

	if (convert(&options, &result, error)) {
		FUZZ_CHECK(error[0] != '\0' && strchr(error, '\n') == NULL);
		FUZZ_CHECK(stat(output, &status) != 0);
		return;
	}
	FUZZ_CHECK(stat(output, &status) == 0);
	FUZZ_CHECK((uint64_t)status.st_size == result.output_bytes);
	FUZZ_CHECK(result.output_bytes <= most);
	FUZZ_CHECK((result.events == 0) == (result.output_bytes == 0));
	unlink(output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	hid_t file;

	if (size < HEAD)
		return 0;
	make_folder();
	file = H5Fcreate(input, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	FUZZ_CHECK(file >= 0);
	put_attributes(file, data[0]);
	put_data(file, data, data + HEAD, size - HEAD);
	FUZZ_CHECK(H5Fclose(file) >= 0);
	// What is behind the content is zero, and no event.
	convert_back(size - HEAD);
	return 0;
}
