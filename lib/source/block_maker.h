// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A block maker makes the blocks of a source set; each kind of generator has its own
// implementation.
//
// Use: open it (synthetic_open(), mdf_packer_open(), mfp_file_open()), request the size of each
// block, allocate, let it write each block, close it. Internal to lib/source.
#pragma once

#include "source/source_set.h"

struct block_maker {
	const uint16_t *ids; // ascending; of the maker, or of the parameters, which outlive it
	unsigned n_sources;
	unsigned n_cycle;
	bool once;        // the events do not repeat
	uint64_t missing; // error MFPs that stand for MFPs which are not whole in a capture
	int odin_source;  // index into ids of the source whose ODIN fragments are synthetic, or -1

	// Bytes of a block; 0 if it cannot be made, with one line in error[SOURCE_ERROR_SIZE].
	size_t (*size)(struct block_maker *maker, unsigned cycle, unsigned source, char *error);
	// Writes the whole block, of the size that size() returned.
	void (*write)(struct block_maker *maker, unsigned cycle, unsigned source, uint8_t *bytes,
		      size_t size);
	void (*close)(struct block_maker *maker);
};
