// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The thread of a file store: it reads ahead into the chunks of the window. Internal to lib/store.
//
// Chunks are filled, taken and freed in turn. `filled` and `freed` count chunks since the start;
// the thread writes the one, the lcore the other. The thread owns chunk n from freed = n + 1 -
// FILE_CHUNKS on, and the lcore from filled = n + 1 on.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "base/limits.h"
#include "store/file_store.h"

#define NO_SOURCE   UINT32_MAX
#define FILE_RECENT 4096u // event ids that a late MFP may refer to, a power of two

// A block in a chunk.
struct file_block {
	uint64_t event; // index
	uint32_t source;
	uint32_t size;
	const uint8_t *bytes;
};

struct file_chunk {
	struct block_hold hold;
	uint8_t *memory;           // chunk_size bytes
	struct file_block *blocks; // those of the wanted sources, in the order of the file
	size_t n_blocks, capacity;
	size_t n_taken;   // by the lcore
	uint32_t restart; // number of the restart that the chunk belongs to
};

struct file_reader;

// What the reader of a kind of file implements. restart and close may be NULL.
struct file_format {
	// Reads the head of the file: sets the sources. Control thread.
	int (*open)(struct file_reader *reader, const struct source_set_parameters *set);
	// The next bytes are those of the beginning of the file.
	void (*restart)(struct file_reader *reader);
	// Fills a chunk with what follows, at least one byte of the file.
	int (*fill)(struct file_reader *reader, struct file_chunk *chunk);
	void (*close)(struct file_reader *reader);
};

struct file_reader {
	const struct file_format *format;
	char name[EVB_PATH_SIZE];
	int file;
	uint64_t size; // of the file
	uint32_t packing;
	size_t chunk_size;
	uint16_t *ids; // of the wanted sources, ascending
	unsigned n_sources;
	uint32_t *index_of; // [65536], by source id: index into ids, or NO_SOURCE
	struct file_chunk chunks[FILE_CHUNKS];
	pthread_t thread;
	bool has_thread;

	// The lcore asks for a restart: event first, then the number.
	_Atomic uint64_t first;
	_Atomic uint32_t restart;
	_Atomic uint64_t freed; // chunks
	_Atomic bool stop;

	// Of the thread
	_Atomic uint64_t filled; // chunks
	// Number + 1 of the restart since which the file ended, behind the chunks that are filled;
	// 0: it has not ended. A further restart reads it again.
	_Atomic uint32_t ended;
	uint64_t end; // first event that the file does not have; valid while `ended` is as above
	char error[SOURCE_ERROR_SIZE];
	char problem[SOURCE_ERROR_SIZE]; // why it ended first; valid once `ended` is not 0
	uint64_t at;                     // offset of the next byte to read
	uint64_t n_events;               // index of the next new event
	uint64_t pass_began;             // index of the first event of this pass over the file
	uint64_t wanted;                 // blocks of events below are not wanted
	uint64_t *recent;                // kind mfp: event ids, by the low bits of the index
	void *of_format;
};

extern const struct file_format file_format_mfp;
extern const struct file_format file_format_mdf;

// Writes the line that says what is wrong at an offset of the file. Returns -1.
int file_reader_refuse(struct file_reader *reader, uint64_t offset, const char *what);

// Reads `size` bytes at an offset, fewer at the end of the file. Returns 0, or -1 with a line.
int file_reader_read(struct file_reader *reader, uint64_t offset, uint8_t *bytes, size_t size,
		     size_t *n_read);

// Sets the sources: those of `set`, each of which must be `seen`, or all that are. [65536].
int file_reader_set_sources(struct file_reader *reader, const struct source_set_parameters *set,
			    const bool *seen);

// Adds a block of a wanted event.
int file_reader_add(struct file_reader *reader, struct file_chunk *chunk,
		    const struct file_block *block);

// The thread has read the file to its end and starts again. Whole passes below the wanted event are
// left out.
int file_reader_wrap(struct file_reader *reader);

int file_reader_start(struct file_reader *reader);
// Ends the thread and frees all.
void file_reader_close(struct file_reader *reader);
