// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// .mfp files: MFPs of one or more sources, one behind the other with nothing between them.
//
// In such a file the k-th MFPs of all sources have the same event id, and all sources have the same
// number of MFPs. The order of the sources is free. End-of-run MFPs (event id 2^64-1) are skipped.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "source/block_maker.h"

// Makes the maker for kind mfp from parameters->file: cycle position k holds the k-th MFP of each
// source, as it stands in the file. All MFPs must have parameters->packing fragments. Returns 0, or
// -1 with one line in error[SOURCE_ERROR_SIZE].
int mfp_file_open(struct block_maker **maker, const struct source_set_parameters *parameters,
		  char *error);

// The same from bytes of malloc(), which belong to the maker then, and are freed on failure;
// parameters->file names them in messages.
int mfp_file_open_bytes(struct block_maker **maker, uint8_t *bytes, size_t size,
			const struct source_set_parameters *parameters, char *error);

// Writes a set's MFPs for n_positions event indices, 0 for one cycle, as they would be sent: event
// ids from first_event on, ODIN patched where the set makes it up. A file of that name is replaced.
// Returns 0, or -1 with one line in error[SOURCE_ERROR_SIZE]; a partial file is removed.
int mfp_file_write(const char *path, const struct source_set *set, uint64_t first_event,
		   uint64_t n_positions, char *error);
