// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "store/file_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error_line.h"
#include "store/block_window.h"
#include "store/file_reader.h"

#define ALIGNMENT   64u
#define BLOCKS_MOST 64u // taken in one poll

struct file_store {
	struct block_window window;
	struct file_reader reader;
	uint64_t taken; // chunks whose blocks were all taken
	uint64_t freed;
	uint32_t restart;
	bool has_begun;
	struct source_allocator allocator;
	void *memory;
};

static struct file_store *file_store_of(struct block_store *store)
{
	return (struct file_store *)store;
}

static struct file_chunk *chunk_at(struct file_store *store, uint64_t number)
{
	return &store->reader.chunks[number % FILE_CHUNKS];
}

static void free_chunks(struct file_store *store)
{
	uint64_t before = store->freed;

	while (store->freed < store->taken &&
	       block_hold_is_free(&chunk_at(store, store->freed)->hold))
		store->freed++;
	if (store->freed != before)
		atomic_store_explicit(&store->reader.freed, store->freed, memory_order_release);
}

// Takes at most *n blocks of a chunk, and subtracts their number; false if the block window is
// full.
static bool take_blocks(struct file_store *store, struct file_chunk *chunk, unsigned *n)
{
	while (*n > 0 && chunk->n_taken < chunk->n_blocks) {
		const struct file_block *from = &chunk->blocks[chunk->n_taken];
		const struct window_block block = {
			.bytes = from->bytes,
			.size = from->size,
			.hold = &chunk->hold,
		};

		if (block_window_put(&store->window, from->event, from->source, &block) ==
		    WINDOW_FULL)
			return false;
		chunk->n_taken++;
		--*n;
	}
	return true;
}

// Whether sources are more out of step than the window holds: events that are released cannot make
// room, because there are none.
static bool is_stuck(struct file_store *store, bool window_is_full)
{
	const struct block_store *base = &store->window.store;
	bool chunks_are_full = store->taken - store->freed == FILE_CHUNKS &&
			       chunk_at(store, store->freed)->hold.blocks > 0;

	return base->released == base->ready && (window_is_full || chunks_are_full);
}

static void poll(struct block_store *base, uint64_t now)
{
	struct file_store *store = file_store_of(base);
	struct file_reader *reader = &store->reader;
	bool ended =
	    atomic_load_explicit(&reader->ended, memory_order_acquire) == store->restart + 1;
	uint64_t filled = atomic_load_explicit(&reader->filled, memory_order_acquire);
	unsigned n = BLOCKS_MOST;
	bool has_room = true;

	(void)now;
	if (!store->has_begun)
		return;
	free_chunks(store);
	while (store->taken < filled && n > 0 && has_room) {
		struct file_chunk *chunk = chunk_at(store, store->taken);

		if (chunk->restart != store->restart)
			chunk->n_taken = chunk->n_blocks;
		has_room = take_blocks(store, chunk, &n);
		store->taken += chunk->n_taken == chunk->n_blocks;
	}
	if (is_stuck(store, !has_room))
		block_window_give_up(&store->window);
	if (ended && store->taken == filled &&
	    (base->end > reader->end || base->ready < reader->end))
		block_window_end(&store->window, reader->end);
}

static void begin(struct block_store *base, uint64_t first)
{
	struct file_store *store = file_store_of(base);

	// The thread has begun with event 0 already.
	if (store->has_begun || first > 0) {
		atomic_store_explicit(&store->reader.first, first, memory_order_relaxed);
		atomic_store_explicit(&store->reader.restart, ++store->restart,
				      memory_order_release);
	}
	store->has_begun = true;
	block_window_begin(base, first);
}

static void destroy(struct block_store *base)
{
	struct file_store *store = file_store_of(base);

	file_reader_close(&store->reader);
	block_window_free(&store->window);
	source_release(&store->allocator, store->memory);
	free(store);
}

static const struct block_store_operations operations = {
	.find = block_window_find,
	.begin = begin,
	.poll = poll,
	.release = block_window_release,
	.destroy = destroy,
};

// --- creation ---

bool file_store_is_for(const struct source_set_parameters *set)
{
	struct stat status;

	return (set->kind == GENERATOR_MFP || set->kind == GENERATOR_MDF) && set->window > 0 &&
	       stat(set->file, &status) == 0 && S_ISREG(status.st_mode) &&
	       (uint64_t)status.st_size > set->window;
}

static int open_file(struct file_reader *reader, const struct source_set_parameters *set)
{
	struct stat status;

	snprintf(reader->name, sizeof(reader->name), "%s", set->file);
	reader->packing = set->packing;
	reader->file = open(set->file, O_RDONLY | O_CLOEXEC);
	if (reader->file < 0 || fstat(reader->file, &status) != 0)
		return error_line(reader->error, SOURCE_ERROR_SIZE, "%s: %s", set->file,
				  strerror(errno));
	reader->size = (uint64_t)status.st_size;
	(void)posix_fadvise(reader->file, 0, 0, POSIX_FADV_SEQUENTIAL); // a hint
	return 0;
}

static bool make_chunks(struct file_store *store, uint64_t window)
{
	struct file_reader *reader = &store->reader;

	reader->chunk_size = window / FILE_CHUNKS / ALIGNMENT * ALIGNMENT;
	store->memory =
	    source_allocate(&store->allocator, reader->chunk_size * FILE_CHUNKS, ALIGNMENT);
	for (unsigned i = 0; i < FILE_CHUNKS && store->memory != NULL; i++)
		reader->chunks[i].memory = (uint8_t *)store->memory + i * reader->chunk_size;
	return store->memory != NULL;
}

static int make(struct file_store *store, const struct file_store_parameters *parameters)
{
	struct file_reader *reader = &store->reader;
	struct block_window_parameters window = {
		.packing = parameters->set.packing,
		.mfps = parameters->mfps,
	};

	if (open_file(reader, &parameters->set) != 0)
		return -1;
	if (!make_chunks(store, parameters->set.window))
		return error_line(reader->error, SOURCE_ERROR_SIZE,
				  "%s: no memory for a window of %llu bytes", reader->name,
				  (unsigned long long)parameters->set.window);
	reader->format =
	    parameters->set.kind == GENERATOR_MDF ? &file_format_mdf : &file_format_mfp;
	if (reader->format->open(reader, &parameters->set) != 0)
		return -1;
	window.ids = reader->ids;
	window.n_sources = reader->n_sources;
	window.largest = (uint32_t)reader->chunk_size;
	window.capacity = block_window_capacity(reader->n_sources);
	if (!block_window_make(&store->window, &window))
		return error_line(reader->error, SOURCE_ERROR_SIZE, "%s: out of memory",
				  reader->name);
	store->window.store.operations = &operations;
	return file_reader_start(reader);
}

uint64_t file_store_memory(unsigned n_sources)
{
	return sizeof(struct file_store) + block_window_memory(n_sources);
}

struct block_store *file_store_create(const struct file_store_parameters *parameters, char *error)
{
	struct file_store *store = aligned_alloc(BLOCK_HOLD_LINE, sizeof(*store));

	if (store == NULL) {
		(void)error_line(error, SOURCE_ERROR_SIZE, "%s: out of memory",
				 parameters->set.file);
		return NULL;
	}
	memset(store, 0, sizeof(*store));
	store->reader.file = -1;
	if (parameters->allocator != NULL)
		store->allocator = *parameters->allocator;
	if (make(store, parameters) == 0)
		return &store->window.store;
	(void)error_line(error, SOURCE_ERROR_SIZE, "%s", store->reader.error);
	destroy(&store->window.store);
	return NULL;
}

const char *file_store_problem(const struct block_store *base)
{
	const struct file_store *store = (const struct file_store *)base;

	if (base->operations != &operations ||
	    atomic_load_explicit(&store->reader.ended, memory_order_acquire) == 0)
		return NULL;
	return store->reader.problem;
}
