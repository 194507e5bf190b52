// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/mfp_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error_line.h"
#include "source/file_bytes.h"
#include "wire/mfp.h"

struct entry {
	struct mfp_header header;
	const uint8_t *bytes;
};

struct mfp_file {
	struct block_maker maker;
	const char *name;
	uint8_t *bytes; // of the file
	uint32_t packing;
	uint16_t ids[UINT16_MAX + 1];
	struct entry *entries; // by source id, then in the order of the file
	size_t n_entries;
	size_t capacity;
	size_t n_cycle; // MFPs of each source
};

static int refuse(const struct mfp_file *file, size_t offset, const char *what, char *error)
{
	return error_line(error, SOURCE_ERROR_SIZE, "%s: at byte %zu: %s", file->name, offset,
			  what);
}

static int out_of_memory(const struct mfp_file *file, char *error)
{
	return error_line(error, SOURCE_ERROR_SIZE, "%s: out of memory", file->name);
}

static int add_entry(struct mfp_file *file, const struct mfp *mfp, const uint8_t *bytes,
		     char *error)
{
	if (!array_reserve(&file->entries, &file->capacity, file->n_entries + 1,
			   sizeof(*file->entries)))
		return out_of_memory(file, error);
	file->entries[file->n_entries++] = (struct entry){ mfp->header, bytes };
	return 0;
}

static int read_entries(struct mfp_file *file, size_t size, char *error)
{
	const uint8_t *bytes = file->bytes;
	size_t offset = 0;

	while (offset < size) {
		struct mfp mfp;
		enum wire_error reason = mfp_decode(bytes + offset, size - offset, &mfp);

		if (reason)
			return refuse(file, offset, wire_reason(reason), error);
		if (mfp.header.event_id == MFP_END_OF_RUN) {
			offset += mfp.header.packet_size;
			continue;
		}
		if (mfp.header.n_fragments != file->packing)
			return error_line(error, SOURCE_ERROR_SIZE,
					  "%s: at byte %zu: an MFP of %u fragments, packing is %u",
					  file->name, offset, mfp.header.n_fragments,
					  file->packing);
		if (add_entry(file, &mfp, bytes + offset, error))
			return -1;
		offset += mfp.header.packet_size;
	}
	return file->n_entries ? 0 : refuse(file, 0, "there are no MFPs", error);
}

static int by_source(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (a->header.source_id != b->header.source_id)
		return a->header.source_id < b->header.source_id ? -1 : 1;
	return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

// The number of entries from `start` on that belong to one source.
static size_t run_length(const struct mfp_file *file, size_t start)
{
	uint16_t id = file->entries[start].header.source_id;
	size_t end = start;

	while (end < file->n_entries && file->entries[end].header.source_id == id)
		end++;
	return end - start;
}

// Checks that the source whose n_cycle entries begin at `start` has the events of the first source.
static int check_source(const struct mfp_file *file, size_t start, size_t n_cycle, char *error)
{
	const struct entry *first = file->entries, *entries = &file->entries[start];
	size_t length = run_length(file, start);

	if (length != n_cycle)
		return error_line(error, SOURCE_ERROR_SIZE,
				  "%s: source %u has %zu MFPs, but source %u has %zu", file->name,
				  entries->header.source_id, length, first->header.source_id,
				  n_cycle);
	for (size_t i = 0; i < n_cycle; i++) {
		if (entries[i].header.event_id == first[i].header.event_id)
			continue;
		return error_line(
		    error, SOURCE_ERROR_SIZE,
		    "%s: MFP %zu of source %u has event id %llu, but that of source %u %llu",
		    file->name, i, entries->header.source_id,
		    (unsigned long long)entries[i].header.event_id, first->header.source_id,
		    (unsigned long long)first[i].header.event_id);
	}
	return 0;
}

static int compare_id(const void *key, const void *entry)
{
	uint16_t id = *(const uint16_t *)key,
		 other = ((const struct entry *)entry)->header.source_id;

	return (id > other) - (id < other);
}

// Drops the entries of sources that are not wanted.
static int choose(struct mfp_file *file, const struct source_set_parameters *parameters,
		  char *error)
{
	size_t n_cycle = file->n_cycle, n_sources = parameters->n_ids;
	struct entry *chosen = malloc(n_sources * n_cycle * sizeof(*chosen));

	if (!chosen)
		return out_of_memory(file, error);
	for (size_t i = 0; i < n_sources; i++) {
		const struct entry *found =
		    bsearch(&parameters->ids[i], file->entries, file->n_entries / n_cycle,
			    n_cycle * sizeof(*found), compare_id);

		if (!found) {
			snprintf(error, SOURCE_ERROR_SIZE, "%s: it has no source %u", file->name,
				 parameters->ids[i]);
			free(chosen);
			return -1;
		}
		memcpy(&chosen[i * n_cycle], found, n_cycle * sizeof(*found));
	}
	free(file->entries);
	file->entries = chosen;
	file->n_entries = n_sources * n_cycle;
	return 0;
}

static int set_sources(struct mfp_file *file, const struct source_set_parameters *parameters,
		       char *error)
{
	size_t n_cycle;

	qsort(file->entries, file->n_entries, sizeof(*file->entries), by_source);
	n_cycle = run_length(file, 0);
	for (size_t start = 0; start < file->n_entries; start += n_cycle) {
		if (check_source(file, start, n_cycle, error))
			return -1;
	}
	file->n_cycle = n_cycle;
	file->maker.n_cycle = (unsigned)n_cycle;
	if (parameters->n_ids && choose(file, parameters, error))
		return -1;
	file->maker.n_sources = (unsigned)(file->n_entries / n_cycle);
	for (unsigned i = 0; i < file->maker.n_sources; i++)
		file->ids[i] = file->entries[i * n_cycle].header.source_id;
	file->maker.ids = file->ids;
	return 0;
}

static const struct entry *entry_at(const struct block_maker *maker, unsigned cycle,
				    unsigned source)
{
	const struct mfp_file *file = (const struct mfp_file *)maker;

	return &file->entries[source * file->n_cycle + cycle];
}

static size_t block_size(struct block_maker *maker, unsigned cycle, unsigned source, char *error)
{
	(void)error; // every block of a file that was read can be made
	return entry_at(maker, cycle, source)->header.packet_size;
}

static void write_block(struct block_maker *maker, unsigned cycle, unsigned source, uint8_t *bytes,
			size_t size)
{
	memcpy(bytes, entry_at(maker, cycle, source)->bytes, size);
}

static void close_file(struct block_maker *maker)
{
	struct mfp_file *file = (struct mfp_file *)maker;

	free(file->bytes);
	free(file->entries);
	free(file);
}

int mfp_file_open_bytes(struct block_maker **maker, uint8_t *bytes, size_t size,
			const struct source_set_parameters *parameters, char *error)
{
	struct mfp_file *file = calloc(1, sizeof(*file));

	if (!file) {
		free(bytes);
		return error_line(error, SOURCE_ERROR_SIZE, "out of memory");
	}
	file->bytes = bytes;
	file->name = parameters->file;
	file->packing = parameters->packing;
	file->maker = (struct block_maker){
		.odin_source = -1,
		.size = block_size,
		.write = write_block,
		.close = close_file,
	};
	if (read_entries(file, size, error) || set_sources(file, parameters, error)) {
		close_file(&file->maker);
		return -1;
	}
	*maker = &file->maker;
	return 0;
}

int mfp_file_open(struct block_maker **maker, const struct source_set_parameters *parameters,
		  char *error)
{
	uint8_t *bytes;
	size_t size;

	if (file_bytes_read(parameters->file, &bytes, &size, error))
		return -1;
	return mfp_file_open_bytes(maker, bytes, size, parameters, error);
}

static size_t largest_block(const struct source_set *set)
{
	size_t largest = 0;

	for (size_t i = 0; i < (size_t)set->n_cycle * set->n_sources; i++)
		largest = set->blocks[i].size > largest ? set->blocks[i].size : largest;
	return largest;
}

// True on failure, errno set.
static bool write_mfps(FILE *out, const struct source_set *set, uint64_t first_event,
		       uint64_t n_positions, uint8_t *scratch)
{
	for (uint64_t position = 0; position < n_positions; position++) {
		uint64_t event = first_event + position * set->packing;

		for (unsigned source = 0; source < set->n_sources; source++) {
			const struct source_block *block =
			    source_set_block(set, (unsigned)(position % set->n_cycle), source);

			memcpy(scratch, block->bytes, block->size);
			mfp_patch_event_id(scratch, event);
			if ((int)source == set->odin_source)
				(void)source_set_patch_odin(scratch, block->size, event);
			if (fwrite(scratch, 1, block->size, out) != block->size)
				return true;
		}
	}
	return false;
}

int mfp_file_write(const char *path, const struct source_set *set, uint64_t first_event,
		   uint64_t n_positions, char *error)
{
	uint8_t *scratch = malloc(largest_block(set));
	FILE *out = scratch ? fopen(path, "wb") : NULL;
	struct stat status;
	bool regular;
	int reason;

	if (!out) {
		reason = errno;
		free(scratch);
		return error_line(error, SOURCE_ERROR_SIZE, "%s: %s", path, strerror(reason));
	}
	if (!n_positions)
		n_positions = set->n_cycle;
	regular = !fstat(fileno(out), &status) && S_ISREG(status.st_mode);
	reason = write_mfps(out, set, first_event, n_positions, scratch) ? errno : 0;
	if (fclose(out) && !reason)
		reason = errno;
	free(scratch);
	if (!reason)
		return 0;
	if (regular)
		unlink(path);
	return error_line(error, SOURCE_ERROR_SIZE, "%s: %s", path, strerror(reason));
}
