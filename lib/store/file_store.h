// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The store of a file that is read during the run, of any length: a window of the file is in
// memory. Kinds mfp and mdf. Events are those of the source set of the same file
// (source/source_set.h), and repeat as it does, under two conditions:
//
// - All sources of the file, or with `ids` all of these, occur in its first chunk. In MDF files, no
//   bank of another source occurs later.
// - .mfp: event ids ascend, except for sources that are out of step by less than the window.
//   Otherwise blocks are missing, or the file ends there.
//
// A thread reads ahead: it fills chunks of the window, and the store's poll() takes their blocks
// into a block window. When all chunks are full, the thread waits. A chunk is used again when all
// its events are released and its hold is free.
//
// Where the file cannot be read or is malformed, it ends: the store has no events from there on,
// and file_store_problem() says why. block_store_begin() reads the file again.
#pragma once

#include "source/source_set.h"
#include "store/block_store.h"

#define FILE_CHUNKS SOURCE_PARTS // of the window, of equal size

struct file_store_parameters {
	struct source_set_parameters set; // of kind mfp or mdf, with a window
	bool mfps; // an error MFP stands in the place of a missing block; else nothing
	const struct source_allocator *allocator; // of the window; NULL: malloc and free
};

// Whether the file of a set is larger than its window, so that it is not loaded. False if it has no
// window, or the file cannot be examined.
bool file_store_is_for(const struct source_set_parameters *set);

// Bytes that a store of so many sources allocates beside its window of the file, without the list
// of each chunk's blocks, which depends on their sizes: 24 bytes per block.
uint64_t file_store_memory(unsigned n_sources);

// Control thread. NULL with one line in error[SOURCE_ERROR_SIZE].
struct block_store *file_store_create(const struct file_store_parameters *parameters, char *error);

// Why the file ended before its time, one line; NULL: it did not. Any thread.
const char *file_store_problem(const struct block_store *store);
