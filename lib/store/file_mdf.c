// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// MDF files that are read ahead: the events are packed into MFPs (source/mdf_packer.h), one part of
// the file after the other. The sources are those of the first part.
#include <stdlib.h>
#include <string.h>

#include "base/error_line.h"
#include "source/mdf_packer.h"
#include "source/mdf_sources.h"
#include "store/file_reader.h"
#include "wire/mdf.h"

#define ALIGNMENT 64u

struct of_mdf {
	struct mdf_known *known;
	struct source_set_parameters set; // the strings and ids are those of the reader
	uint64_t n_records;               // of this pass over the file, before reader->at
	uint64_t n_pass;                  // records of the file; 0: not known yet
};

// Records of the file that follow each other; behind the last of the file comes the first.
struct part {
	uint8_t *bytes;
	size_t *offsets; // [n_records + 1]
	size_t n_records;
	size_t edge; // offset of the first record of the file; SIZE_MAX: none, or it is the first
};

static void free_part(struct part *part)
{
	free(part->bytes);
	free(part->offsets);
	*part = (struct part){ 0 };
}

static uint64_t offset_in_file(const struct file_reader *reader, const struct part *part,
			       size_t offset)
{
	return offset >= part->edge ? offset - part->edge : reader->at + offset;
}

static int read_bytes(struct file_reader *reader, struct part *part)
{
	uint64_t from = reader->at;
	size_t n = 0, used = 0;

	for (; used < reader->chunk_size; used += n) {
		if (file_reader_read(reader, from, part->bytes + used, reader->chunk_size - used,
				     &n) != 0)
			return -1;
		from += n;
		if (from < reader->size)
			continue;
		from = 0;
		part->edge = used + n;
	}
	return 0;
}

// Finds the records that are whole.
static int find_records(struct file_reader *reader, struct part *part)
{
	size_t size = reader->chunk_size, at = 0;

	while (at < size) {
		size_t end = at < part->edge && part->edge < size ? part->edge : size;
		struct mdf_header header;
		enum wire_error reason = mdf_decode(part->bytes + at, end - at, &header);

		if (reason == WIRE_TRUNCATED && end == size)
			return 0;
		if (reason != WIRE_OK)
			return file_reader_refuse(reader, offset_in_file(reader, part, at),
						  wire_reason(reason));
		at += header.size;
		part->offsets[++part->n_records] = at;
	}
	return 0;
}

static int read_part(struct file_reader *reader, struct part *part)
{
	*part = (struct part){
		.bytes = malloc(reader->chunk_size),
		.offsets = calloc(reader->chunk_size / MDF_HEADER_SIZE + 2, sizeof(size_t)),
		.edge = SIZE_MAX,
	};
	if (part->bytes == NULL || part->offsets == NULL)
		return file_reader_refuse(reader, reader->at, "out of memory");
	if (read_bytes(reader, part) != 0 || find_records(reader, part) != 0)
		return -1;
	if (part->n_records < reader->packing)
		return error_line(reader->error, SOURCE_ERROR_SIZE,
				  "%s: at byte %llu: %u events have more than %zu bytes, which is "
				  "1/%u of the window",
				  reader->name, (unsigned long long)reader->at, reader->packing,
				  reader->chunk_size, FILE_CHUNKS);
	part->n_records -= part->n_records % reader->packing;
	return 0;
}

// The maker of the MFPs of a part. It takes the bytes over.
static int open_maker(struct file_reader *reader, struct part *part, struct block_maker **maker)
{
	struct of_mdf *mdf = reader->of_format;
	struct mdf_events *events;

	if (mdf_events_parse(&events, part->bytes, part->offsets[part->n_records], reader->name,
			     reader->error) != 0)
		return -1;
	part->bytes = NULL;
	if ((mdf->known == NULL && mdf_sources_learn(&mdf->known, events, reader->error) != 0) ||
	    mdf_packer_open_part(maker, events, &mdf->set, mdf->known, reader->error) != 0) {
		mdf_events_free(events);
		return -1;
	}
	return 0;
}

// Writes the MFPs of one event. 1: the chunk has no room for them.
static int write_event(struct file_reader *reader, struct file_chunk *chunk,
		       struct block_maker *maker, unsigned cycle, size_t *used)
{
	size_t before = chunk->n_blocks, at = *used;

	for (unsigned i = 0; i < maker->n_sources; i++) {
		struct file_block block = {
			.event = reader->n_events,
			.source = i,
			.bytes = chunk->memory + at,
		};
		size_t size = maker->size(maker, cycle, i, reader->error);

		if (size == 0)
			return -1;
		if (at + round_up(size, ALIGNMENT) > reader->chunk_size) {
			chunk->n_blocks = before;
			return 1;
		}
		block.size = (uint32_t)size;
		if (block.event >= reader->wanted)
			maker->write(maker, cycle, i, chunk->memory + at, size);
		if (file_reader_add(reader, chunk, &block) != 0)
			return -1;
		at += round_up(size, ALIGNMENT);
	}
	*used = at;
	reader->n_events++;
	return 0;
}

// Goes on behind the records that were used. Whole cycles below the wanted event are left out.
static void advance(struct file_reader *reader, const struct part *part, size_t n_records)
{
	struct of_mdf *mdf = reader->of_format;
	size_t end = part->offsets[n_records];
	uint64_t cycle;

	for (size_t i = 0; i < n_records; i++) {
		mdf->n_records++;
		if (part->offsets[i + 1] == part->edge) {
			mdf->n_pass = mdf->n_records;
			mdf->n_records = 0;
		}
	}
	reader->at = offset_in_file(reader, part, end);
	if (mdf->n_pass == 0 || reader->wanted <= reader->n_events)
		return;
	cycle = mdf_packer_cycle(mdf->n_pass, reader->packing);
	reader->n_events += (reader->wanted - reader->n_events) / cycle * cycle;
}

static int fill(struct file_reader *reader, struct file_chunk *chunk)
{
	struct block_maker *maker = NULL;
	unsigned n_written = 0;
	struct part part;
	size_t used = 0;
	int result = read_part(reader, &part);

	if (result == 0)
		result = open_maker(reader, &part, &maker);
	while (result == 0 && n_written < maker->n_cycle) {
		result = write_event(reader, chunk, maker, n_written, &used);
		n_written += result == 0;
	}
	if (result == 1 && n_written > 0)
		result = 0;
	else if (result == 1)
		result = file_reader_refuse(
		    reader, reader->at,
		    "the MFPs of an event are larger than an eighth of the window");
	if (result == 0)
		advance(reader, &part, (size_t)n_written * reader->packing);
	if (maker != NULL)
		maker->close(maker);
	free_part(&part);
	return result;
}

static void restart(struct file_reader *reader)
{
	struct of_mdf *mdf = reader->of_format;

	mdf->n_records = 0;
}

static int set_sources(struct file_reader *reader, const struct source_set_parameters *set)
{
	const struct of_mdf *mdf = reader->of_format;
	bool *seen = calloc(UINT16_MAX + 1u, sizeof(*seen));
	int result;

	if (seen == NULL)
		return file_reader_refuse(reader, 0, "out of memory");
	for (unsigned i = 0; i < mdf->known->n; i++)
		seen[mdf->known->rows[i].id] = true;
	result = file_reader_set_sources(reader, set, seen);
	free(seen);
	return result;
}

static int open_head(struct file_reader *reader, const struct source_set_parameters *set)
{
	struct of_mdf *mdf = calloc(1, sizeof(*mdf));
	struct block_maker *maker = NULL;
	struct part part;
	int result;

	reader->of_format = mdf;
	if (mdf == NULL)
		return file_reader_refuse(reader, 0, "out of memory");
	mdf->set = *set;
	mdf->set.file = reader->name;
	mdf->set.n_ids = 0;
	result = read_part(reader, &part);
	if (result == 0)
		result = open_maker(reader, &part, &maker);
	if (maker != NULL)
		maker->close(maker);
	free_part(&part);
	if (result == 0)
		result = set_sources(reader, set);
	mdf->set.ids = reader->ids;
	mdf->set.n_ids = reader->n_sources;
	return result;
}

static void close_format(struct file_reader *reader)
{
	struct of_mdf *mdf = reader->of_format;

	if (mdf != NULL)
		free(mdf->known);
	free(mdf);
}

const struct file_format file_format_mdf = {
	.open = open_head,
	.restart = restart,
	.fill = fill,
	.close = close_format,
};
