// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "store/file_reader.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error_line.h"
#include "dpdk/release.h"

#define WAIT_NS 200000 // until the thread looks again for a free chunk

int file_reader_refuse(struct file_reader *reader, uint64_t offset, const char *what)
{
	return error_line(reader->error, SOURCE_ERROR_SIZE, "%s: at byte %llu: %s", reader->name,
			  (unsigned long long)offset, what);
}

int file_reader_read(struct file_reader *reader, uint64_t offset, uint8_t *bytes, size_t size,
		     size_t *n_read)
{
	*n_read = 0;
	while (*n_read < size && offset + *n_read < reader->size) {
		ssize_t n =
		    pread(reader->file, bytes + *n_read, size - *n_read, (off_t)(offset + *n_read));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return file_reader_refuse(reader, offset + *n_read,
						  n < 0 ? strerror(errno)
							: "the file became shorter");
		*n_read += (size_t)n;
	}
	return 0;
}

static int out_of_memory(struct file_reader *reader)
{
	return error_line(reader->error, SOURCE_ERROR_SIZE, "%s: out of memory", reader->name);
}

int file_reader_set_sources(struct file_reader *reader, const struct source_set_parameters *set,
			    const bool *seen)
{
	unsigned most = set->n_ids > 0 ? set->n_ids : UINT16_MAX + 1u;

	reader->ids = calloc(most, sizeof(*reader->ids));
	reader->index_of = malloc((UINT16_MAX + 1u) * sizeof(*reader->index_of));
	if (reader->ids == NULL || reader->index_of == NULL)
		return out_of_memory(reader);
	for (unsigned i = 0; i <= UINT16_MAX; i++)
		reader->index_of[i] = NO_SOURCE;
	for (unsigned i = 0; i < most; i++) {
		uint16_t id = set->n_ids > 0 ? set->ids[i] : (uint16_t)i;

		if (!seen[id] && set->n_ids > 0)
			return error_line(reader->error, SOURCE_ERROR_SIZE,
					  "%s: it has no source %u in its first %zu bytes",
					  reader->name, id, reader->chunk_size);
		if (!seen[id])
			continue;
		reader->index_of[id] = reader->n_sources;
		reader->ids[reader->n_sources++] = id;
	}
	return 0;
}

int file_reader_add(struct file_reader *reader, struct file_chunk *chunk,
		    const struct file_block *block)
{
	if (block->event < reader->wanted)
		return 0;
	if (!array_reserve(&chunk->blocks, &chunk->capacity, chunk->n_blocks + 1,
			   sizeof(*chunk->blocks)))
		return out_of_memory(reader);
	chunk->blocks[chunk->n_blocks++] = *block;
	return 0;
}

int file_reader_wrap(struct file_reader *reader)
{
	uint64_t pass = reader->n_events - reader->pass_began;

	if (pass == 0)
		return error_line(reader->error, SOURCE_ERROR_SIZE, "%s: there are no events",
				  reader->name);
	if (reader->wanted > reader->n_events)
		reader->n_events += (reader->wanted - reader->n_events) / pass * pass;
	reader->pass_began = reader->n_events;
	reader->at = 0;
	return 0;
}

// --- the thread ---

static void wait_a_little(void)
{
	const struct timespec time = { .tv_nsec = WAIT_NS };

	(void)nanosleep(&time, NULL);
}

// Whether the lcore asked for a restart since the last one.
static bool takes_restart(struct file_reader *reader, uint32_t *restart)
{
	uint32_t asked = atomic_load_explicit(&reader->restart, memory_order_acquire);

	if (asked == *restart)
		return false;
	*restart = asked;
	reader->wanted = atomic_load_explicit(&reader->first, memory_order_relaxed);
	reader->n_events = reader->pass_began = 0;
	reader->at = 0;
	if (reader->format->restart != NULL)
		reader->format->restart(reader);
	return true;
}

// The first problem stays the one that is reported, whatever a further restart finds.
static void end(struct file_reader *reader, uint32_t restart)
{
	if (atomic_load_explicit(&reader->ended, memory_order_relaxed) == 0)
		memcpy(reader->problem, reader->error, sizeof(reader->problem));
	reader->end = reader->n_events;
	atomic_store_explicit(&reader->ended, restart + 1, memory_order_release);
}

static dpdk_thread_result read_ahead(void *context)
{
	struct file_reader *reader = context;
	uint64_t filled = 0;
	uint32_t restart = 0;
	bool failed = false;

	while (!atomic_load_explicit(&reader->stop, memory_order_relaxed)) {
		struct file_chunk *chunk = &reader->chunks[filled % FILE_CHUNKS];

		if (takes_restart(reader, &restart))
			failed = false;
		if (failed || filled - atomic_load_explicit(&reader->freed, memory_order_acquire) ==
				  FILE_CHUNKS) {
			wait_a_little();
			continue;
		}
		chunk->n_blocks = chunk->n_taken = 0;
		chunk->restart = restart;
		failed = reader->format->fill(reader, chunk) != 0;
		if (chunk->n_blocks > 0)
			atomic_store_explicit(&reader->filled, ++filled, memory_order_release);
		if (failed)
			end(reader, restart);
	}
	return 0;
}

// The thread takes no signals: they are for the control thread.
int file_reader_start(struct file_reader *reader)
{
	sigset_t all, before;
	int reason;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	reason = dpdk_control_thread(&reader->thread, "evb-file", read_ahead, reader);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (reason != 0)
		return error_line(reader->error, SOURCE_ERROR_SIZE,
				  "%s: no thread that reads it: %s", reader->name,
				  strerror(-reason));
	reader->has_thread = true;
	return 0;
}

void file_reader_close(struct file_reader *reader)
{
	atomic_store(&reader->stop, true);
	if (reader->has_thread)
		pthread_join(reader->thread, NULL);
	if (reader->format != NULL && reader->format->close != NULL)
		reader->format->close(reader);
	for (unsigned i = 0; i < FILE_CHUNKS; i++)
		free(reader->chunks[i].blocks);
	if (reader->file >= 0)
		close(reader->file);
	free(reader->ids);
	free(reader->index_of);
	free(reader->recent);
}
