// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// .mfp files that are read ahead. MFPs stay where they were read. The index of an event is the
// number of event ids before its own in the file, of all sources, so that generators with different
// sources of one file agree on it.
#include <stdlib.h>

#include "base/error_line.h"
#include "store/file_reader.h"
#include "wire/mfp.h"

// Decodes the MFP at an offset of the bytes read. 1: the rest of it was not read. -1 with a line.
static int decode(struct file_reader *reader, const uint8_t *bytes, size_t offset, size_t size,
		  struct mfp *mfp)
{
	enum wire_error reason = mfp_decode(bytes + offset, size - offset, mfp);
	bool is_cut = reason == WIRE_TRUNCATED && reader->at + size < reader->size;

	if (is_cut && offset > 0)
		return 1;
	if (is_cut)
		return error_line(reader->error, SOURCE_ERROR_SIZE,
				  "%s: at byte %llu: an MFP has more than %zu bytes, which is 1/%u "
				  "of the window",
				  reader->name, (unsigned long long)reader->at, size, FILE_CHUNKS);
	if (reason != WIRE_OK)
		return file_reader_refuse(reader, reader->at + offset, wire_reason(reason));
	if (mfp->header.event_id != MFP_END_OF_RUN && mfp->header.n_fragments != reader->packing)
		return error_line(reader->error, SOURCE_ERROR_SIZE,
				  "%s: at byte %llu: an MFP of %u fragments, packing is %u",
				  reader->name, (unsigned long long)(reader->at + offset),
				  mfp->header.n_fragments, reader->packing);
	return 0;
}

static uint64_t *id_of(const struct file_reader *reader, uint64_t event)
{
	return &reader->recent[event % FILE_RECENT];
}

// The index of an event id; UINT64_MAX: it is lower than the one before, and not known.
static uint64_t index_of(struct file_reader *reader, uint64_t id)
{
	uint64_t low = reader->pass_began, high = reader->n_events;

	if (low == high || id > *id_of(reader, high - 1)) {
		*id_of(reader, high) = id;
		return reader->n_events++;
	}
	if (high - low > FILE_RECENT)
		low = high - FILE_RECENT;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (*id_of(reader, middle) < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < reader->n_events && *id_of(reader, low) == id ? low : UINT64_MAX;
}

static int take(struct file_reader *reader, struct file_chunk *chunk, size_t offset,
		const struct mfp_header *header)
{
	struct file_block block = {
		.source = reader->index_of[header->source_id],
		.size = header->packet_size,
		.bytes = chunk->memory + offset,
	};

	if (header->event_id == MFP_END_OF_RUN)
		return 0;
	block.event = index_of(reader, header->event_id);
	if (block.event == UINT64_MAX)
		return file_reader_refuse(reader, reader->at + offset, "event ids do not ascend");
	return block.source == NO_SOURCE ? 0 : file_reader_add(reader, chunk, &block);
}

static int fill(struct file_reader *reader, struct file_chunk *chunk)
{
	size_t size, offset = 0;
	int result = 0;

	if (file_reader_read(reader, reader->at, chunk->memory, reader->chunk_size, &size) != 0)
		return -1;
	while (offset < size && result == 0) {
		struct mfp mfp;

		result = decode(reader, chunk->memory, offset, size, &mfp);
		if (result != 0)
			break;
		result = take(reader, chunk, offset, &mfp.header);
		offset += mfp.header.packet_size;
	}
	reader->at += offset;
	if (result < 0)
		return -1;
	return reader->at == reader->size ? file_reader_wrap(reader) : 0;
}

static int open_head(struct file_reader *reader, const struct source_set_parameters *set)
{
	const uint8_t *bytes = reader->chunks[0].memory;
	bool *seen = calloc(UINT16_MAX + 1u, sizeof(*seen));
	size_t size = 0, offset = 0;
	int result = 0;

	reader->recent = calloc(FILE_RECENT, sizeof(*reader->recent));
	if (seen == NULL || reader->recent == NULL)
		result = file_reader_refuse(reader, 0, "out of memory");
	if (result == 0)
		result = file_reader_read(reader, 0, reader->chunks[0].memory, reader->chunk_size,
					  &size);
	while (offset < size && result == 0) {
		struct mfp mfp;

		result = decode(reader, bytes, offset, size, &mfp);
		if (result != 0)
			break;
		seen[mfp.header.source_id] |= mfp.header.event_id != MFP_END_OF_RUN;
		offset += mfp.header.packet_size;
	}
	if (result >= 0)
		result = file_reader_set_sources(reader, set, seen);
	if (result == 0 && reader->n_sources == 0)
		result = file_reader_refuse(reader, 0, "there are no MFPs");
	free(seen);
	return result;
}

const struct file_format file_format_mfp = {
	.open = open_head,
	.fill = fill,
};
