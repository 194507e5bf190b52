// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What makes the blocks of a source set: one implementation for each kind of generator.
//
// Use: open (synthetic_open(), mdf_packer_open(), mfp_file_open()), ask for the size of every
// block, allocate, let every block be written, close. Internal to lib/source.
#pragma once

#include "config/config.h"
#include "source/source_set.h"

// What is wanted of a maker.
struct block_request {
	const struct config_generator *generator;
	const uint16_t *ids; // sources wanted, ascending
	unsigned n_ids;      // 0: all of the file
	uint32_t packing;    // 1..MFP_MAX_FRAGMENTS
	uint32_t run_number;
};

struct block_maker {
	const uint16_t *ids; // ascending; owned by the maker
	unsigned n_sources;
	unsigned n_cycle;
	int odin_source; // index into ids of the source whose ODIN fragments are made up, or -1

	// Bytes of a block; 0 if it cannot be made, with a line in error[SOURCE_ERROR_SIZE].
	size_t (*size)(struct block_maker *maker, unsigned cycle, unsigned source, char *error);
	// Writes the whole block, of the size that size() told.
	void (*write)(struct block_maker *maker, unsigned cycle, unsigned source, uint8_t *bytes,
		      size_t size);
	void (*close)(struct block_maker *maker);
};
