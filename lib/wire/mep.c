// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/mep.h"

#define FIXED_SIZE 8u // magic, n MFPs, packet size
#define WORD       4u // bytes, the unit of offsets and packet size

static size_t offsets_at(unsigned n_mfps)
{
	return FIXED_SIZE + 2 * round_up(n_mfps, 2);
}

size_t mep_header_size(unsigned n_mfps, unsigned mfp_align)
{
	return round_up(offsets_at(n_mfps) + WORD * (size_t)n_mfps, mfp_align);
}

static size_t mfp_offset(const struct mep *mep, unsigned index)
{
	return WORD * (size_t)load_le32(mep->offsets + WORD * (size_t)index);
}

enum wire_error mep_decode(const uint8_t *bytes, size_t length, struct mep *mep)
{
	size_t header_size;

	if (length < FIXED_SIZE)
		return WIRE_TRUNCATED;
	if (load_le16(bytes) != MEP_MAGIC)
		return WIRE_BAD_MAGIC;
	mep->bytes = bytes;
	mep->n_mfps = load_le16(bytes + 2);
	mep->size = WORD * (size_t)load_le32(bytes + 4);
	if (length < mep->size)
		return WIRE_TRUNCATED;
	header_size = mep_header_size(mep->n_mfps, WORD);
	if (mep->size < header_size)
		return WIRE_BAD_LENGTH;
	mep->source_ids = bytes + FIXED_SIZE;
	mep->offsets = bytes + offsets_at(mep->n_mfps);
	for (unsigned i = 0; i < mep->n_mfps; i++) {
		size_t offset = mfp_offset(mep, i);

		if (offset < header_size || offset + MFP_HEADER_SIZE > mep->size)
			return WIRE_BAD_ALIGNMENT;
	}
	return WIRE_OK;
}

uint16_t mep_source_id(const struct mep *mep, unsigned index)
{
	return load_le16(mep->source_ids + 2 * (size_t)index);
}

const uint8_t *mep_mfp_bytes(const struct mep *mep, unsigned index, size_t *room)
{
	size_t offset = mfp_offset(mep, index);

	*room = mep->size - offset;
	return mep->bytes + offset;
}

// Moves values[root] down to its place in the heap of n values.
static void sift_down(uint64_t *values, size_t root, size_t n)
{
	uint64_t value = values[root];

	for (size_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
		if (child + 1 < n && values[child + 1] > values[child])
			child++;
		if (values[child] <= value)
			break;
		values[root] = values[child];
		root = child;
	}
	values[root] = value;
}

// Heap sort: qsort() may allocate memory.
static void sort(uint64_t *values, size_t n)
{
	for (size_t root = n / 2; root-- > 0;)
		sift_down(values, root, n);
	while (n-- > 1) {
		uint64_t largest = values[0];

		values[0] = values[n];
		values[n] = largest;
		sift_down(values, 0, n);
	}
}

// An extent is start << 32 | end, in words: sorting the numbers sorts the extents by start.
static enum wire_error check_extents(uint64_t *extents, size_t n)
{
	sort(extents, n);
	for (size_t i = 1; i < n; i++) {
		if (extents[i] >> 32 < (uint32_t)extents[i - 1])
			return WIRE_BAD_ALIGNMENT;
	}
	return WIRE_OK;
}

static enum wire_error check_source_ids(const struct mep *mep, uint64_t *scratch)
{
	for (unsigned i = 0; i < mep->n_mfps; i++)
		scratch[i] = mep_source_id(mep, i);
	sort(scratch, mep->n_mfps);
	for (unsigned i = 1; i < mep->n_mfps; i++) {
		if (scratch[i] == scratch[i - 1])
			return WIRE_BAD_SOURCE;
	}
	return WIRE_OK;
}

// The values that all MFPs of a MEP share.
struct common {
	uint64_t event_id;
	uint16_t n_fragments; // 0: only opaque blocks so far
};

static enum wire_error check_mfp(const struct mep *mep, unsigned index, struct common *common,
				 uint64_t *extent)
{
	size_t room;
	const uint8_t *bytes = mep_mfp_bytes(mep, index, &room);
	uint64_t start = (uint64_t)(bytes - mep->bytes) / WORD;
	struct mfp mfp;
	enum wire_error error = mfp_decode_header(bytes, room, &mfp.header);

	if (!error && mfp.header.n_fragments > 0)
		error = mfp_decode(bytes, room, &mfp);
	if (error)
		return error;
	if (mfp.header.packet_size > room)
		return WIRE_TRUNCATED;
	if (mfp.header.source_id != mep_source_id(mep, index))
		return WIRE_BAD_SOURCE;
	if (index == 0)
		common->event_id = mfp.header.event_id;
	if (mfp.header.event_id != common->event_id)
		return WIRE_BAD_EVENT;
	if (common->n_fragments == 0)
		common->n_fragments = mfp.header.n_fragments;
	if (mfp.header.n_fragments > 0 && mfp.header.n_fragments != common->n_fragments)
		return WIRE_BAD_EVENT;
	*extent = start << 32 | (start + round_up(mfp.header.packet_size, WORD) / WORD);
	return WIRE_OK;
}

enum wire_error mep_check(const struct mep *mep, uint64_t *scratch)
{
	struct common common = { 0 };
	enum wire_error error;

	for (unsigned i = 0; i < mep->n_mfps; i++) {
		error = check_mfp(mep, i, &common, &scratch[i]);
		if (error)
			return error;
	}
	error = check_extents(scratch, mep->n_mfps);
	return error ? error : check_source_ids(mep, scratch);
}

enum wire_error mep_encode_header(uint8_t *bytes, size_t capacity, unsigned n_mfps,
				  const uint16_t *source_ids, const uint32_t *offsets,
				  uint32_t total_words)
{
	size_t header_size, ids_end, first = capacity;

	if (n_mfps > MEP_MAX_MFPS)
		return WIRE_BAD_LENGTH;
	header_size = mep_header_size(n_mfps, WORD);
	if (capacity < header_size)
		return WIRE_NO_ROOM;
	store_le16(bytes, MEP_MAGIC);
	store_le16(bytes + 2, (uint16_t)n_mfps);
	store_le32(bytes + 4, total_words);
	if (n_mfps == 0)
		return WIRE_OK;
	ids_end = FIXED_SIZE + 2 * (size_t)n_mfps;
	memcpy(bytes + FIXED_SIZE, source_ids, 2 * (size_t)n_mfps);
	memset(bytes + ids_end, 0, offsets_at(n_mfps) - ids_end);
	memcpy(bytes + offsets_at(n_mfps), offsets, WORD * (size_t)n_mfps);
	for (unsigned i = 0; i < n_mfps; i++) {
		size_t offset = WORD * (size_t)offsets[i];

		first = offset < first ? offset : first;
	}
	if (first > header_size)
		memset(bytes + header_size, 0, first - header_size);
	return WIRE_OK;
}
