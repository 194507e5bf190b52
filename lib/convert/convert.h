// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Converts a file of built events (.mep, .mdf) to HDF5, and such an HDF5 file back to the same
// bytes. convert/layout.h has the layout of the HDF5 file.
//
// The output has a temporary name, .NAME.convert in its directory, until it is whole and synced; a
// file that exists is never replaced. Nothing that an HDF5 file states is trusted: sizes are
// compared with what is stored, and the events of the output are checked.
//
// One thread of a process converts at a time: HDF5 has state of its own.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "inspect/inspect.h"

#define CONVERT_ERROR_SIZE 512
#define CONVERT_STOPPED    1

// Of an HDF5 file's chunks.
enum convert_compression {
	CONVERT_PLAIN,
	CONVERT_DEFLATE, // part of HDF5
	CONVERT_ZSTD,    // by the plugin Blosc (filter 32001)
};

struct convert_options {
	const char *input;
	const char *output;
	const char *program; // name and version, for the HDF5 file
	// For conversion to HDF5:
	enum convert_compression compression;
	unsigned level; // of compression, 1 to 9
	// Called for each MiB of events, or each event if it is larger. `done` and `total` are
	// bytes of events; false ends the conversion. NULL: it goes on to the end.
	bool (*go_on)(void *context, uint64_t done, uint64_t total);
	void *context;
};

struct convert_result {
	bool to_hdf5;
	enum inspect_kind kind; // of the events: INSPECT_MEP or INSPECT_MDF
	uint64_t events;        // MEPs or MDF records
	uint64_t fragments;     // fragments or banks
	uint64_t input_bytes;
	uint64_t output_bytes;
};

// Returns 0; CONVERT_STOPPED; or -1 with one line in error[CONVERT_ERROR_SIZE]. Unless it returns
// 0, the output does not exist.
int convert(const struct convert_options *options, struct convert_result *result, char *error);
