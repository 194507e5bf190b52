// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What both directions need of HDF5: attributes, filters, and its errors as one line.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <hdf5.h>

#include "convert/convert.h"

// To be called first: HDF5 prints no errors of its own, and does nothing at the end of the process.
void hdf5_file_prepare(void);

// Closes an object of any kind; does nothing if it is not open (negative). Unlike other calls of
// HDF5 it does not forget why the last one failed.
void hdf5_file_close(hid_t object);

// Attributes of an open object. The functions that read take integers and texts of fixed length,
// and return false if there is none of this name and kind; texts are cut to `size`.
int hdf5_file_put_number(hid_t object, const char *name, hid_t type, uint64_t value);
int hdf5_file_put_text(hid_t object, const char *name, const char *text);
bool hdf5_file_get_number(hid_t object, const char *name, uint64_t *value);
bool hdf5_file_get_text(hid_t object, const char *name, char *text, size_t size);

// Writes why the last call of HDF5 failed: the system's error if it is one, else HDF5's first
// reason. Returns -1. error[CONVERT_ERROR_SIZE].
int hdf5_file_error(const char *path, char *error);

// Whether HDF5 has the filter of a compression, or all filters of a dataset. Returns 0, or -1 with
// one line that names the package that has it.
int hdf5_file_check_compression(const char *path, enum convert_compression compression,
				char *error);
int hdf5_file_check_filters(const char *path, hid_t dataset, char *error);

// Creates a dataset of `n` items, unsigned integers of `width` bytes. It can grow, and has chunks
// of `chunk` items, at least one. Negative on failure.
hid_t hdf5_file_create_dataset(const struct convert_options *options, hid_t group, const char *name,
			       unsigned width, uint64_t n, uint64_t chunk);

// Writes the items from index `at` on. Returns 0 or -1.
int hdf5_file_write(hid_t dataset, unsigned width, uint64_t at, uint64_t n, const void *items);
