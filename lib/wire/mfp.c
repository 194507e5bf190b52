// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/mfp.h"

#include <stdio.h>

// The sum of this many padded sizes, each at most 2^MFP_MAX_ALIGN, is less than 2^32. So a 32-bit
// accumulator does not overflow, with which the compiler's vector loop is twice as wide.
#define SIZES_PER_BLOCK 32768u

static uint32_t padded_size(uint16_t size, uint32_t align)
{
	return (size + align - 1) & ~(align - 1);
}

// The sum of n little-endian sizes, each rounded up. They may be unaligned.
static uint64_t padded_sum(const uint8_t *sizes, uint32_t n, unsigned align_log2)
{
	const uint32_t align = UINT32_C(1) << align_log2;
	uint64_t sum = 0;

	while (n > 0) {
		uint32_t block = n < SIZES_PER_BLOCK ? n : SIZES_PER_BLOCK, block_sum = 0;

		for (uint32_t i = 0; i < block; i++)
			block_sum += padded_size(load_le16(sizes + 2 * (size_t)i), align);
		sum += block_sum;
		sizes += 2 * (size_t)block;
		n -= block;
	}
	return sum;
}

enum wire_error mfp_decode_header(const uint8_t *bytes, size_t length, struct mfp_header *header)
{
	if (length < MFP_HEADER_SIZE)
		return WIRE_TRUNCATED;
	if (load_le16(bytes) != MFP_MAGIC)
		return WIRE_BAD_MAGIC;
	memcpy(header, bytes, MFP_HEADER_SIZE);
	if (header->align_log2 > MFP_MAX_ALIGN)
		return WIRE_BAD_ALIGNMENT;
	return header->packet_size < MFP_HEADER_SIZE ? WIRE_BAD_LENGTH : WIRE_OK;
}

enum wire_error mfp_decode(const uint8_t *bytes, size_t length, struct mfp *mfp)
{
	enum wire_error error = mfp_decode_header(bytes, length, &mfp->header);
	const struct mfp_header *header = &mfp->header;
	size_t data_offset;

	if (error)
		return error;
	if (length < header->packet_size)
		return WIRE_TRUNCATED;
	data_offset = mfp_data_offset(header->n_fragments);
	if (header->packet_size < data_offset)
		return WIRE_BAD_LENGTH;
	mfp->types = bytes + MFP_HEADER_SIZE;
	mfp->sizes = mfp->types + round_up(header->n_fragments, 4);
	mfp->data = bytes + data_offset;
	if (padded_sum(mfp->sizes, header->n_fragments, header->align_log2) !=
	    header->packet_size - data_offset)
		return WIRE_BAD_LENGTH;
	return WIRE_OK;
}

bool mfp_next_fragment(const struct mfp *mfp, unsigned *index, size_t *offset,
		       struct mfp_fragment *fragment)
{
	if (*index >= mfp->header.n_fragments)
		return false;
	fragment->event_id = mfp->header.event_id + *index;
	fragment->type = mfp->types[*index];
	fragment->size = load_le16(mfp->sizes + 2 * (size_t)*index);
	fragment->payload = mfp->data + *offset;
	*offset += padded_size(fragment->size, UINT32_C(1) << mfp->header.align_log2);
	(*index)++;
	return true;
}

size_t mfp_encoded_size(unsigned n_fragments, const uint16_t *sizes, unsigned align_log2)
{
	uint64_t size;

	if (n_fragments > MFP_MAX_FRAGMENTS || align_log2 > MFP_MAX_ALIGN)
		return 0;
	size = mfp_data_offset(n_fragments) +
	       padded_sum((const uint8_t *)sizes, n_fragments, align_log2);
	return size > UINT32_MAX ? 0 : (size_t)size;
}

// Writes the fixed bytes. Returns the position of the array of sizes.
static uint8_t *write_head(uint8_t *bytes, const struct mfp_header *header)
{
	memcpy(bytes, header, MFP_HEADER_SIZE);
	store_le16(bytes, MFP_MAGIC);
	return bytes + MFP_HEADER_SIZE + round_up(header->n_fragments, 4);
}

// Zeroes the padding after the types and the padding after the sizes.
static void clear_array_padding(uint8_t *bytes, unsigned n_fragments)
{
	uint8_t *types_end = bytes + MFP_HEADER_SIZE + n_fragments;
	uint8_t *sizes = bytes + MFP_HEADER_SIZE + round_up(n_fragments, 4);
	uint8_t *sizes_end = sizes + 2 * (size_t)n_fragments;

	memset(types_end, 0, (size_t)(sizes - types_end));
	memset(sizes_end, 0, (size_t)(bytes + mfp_data_offset(n_fragments) - sizes_end));
}

enum wire_error mfp_encode_header(uint8_t *bytes, size_t capacity, struct mfp_header *header,
				  const uint8_t *types, const uint16_t *sizes)
{
	const unsigned n = header->n_fragments;
	size_t size;
	uint8_t *sizes_at;

	if (header->align_log2 > MFP_MAX_ALIGN)
		return WIRE_BAD_ALIGNMENT;
	size = mfp_encoded_size(n, sizes, header->align_log2);
	if (size == 0)
		return WIRE_BAD_LENGTH;
	if (capacity < size)
		return WIRE_NO_ROOM;
	header->packet_size = (uint32_t)size;
	sizes_at = write_head(bytes, header);
	if (n > 0) {
		memcpy(bytes + MFP_HEADER_SIZE, types, n);
		memcpy(sizes_at, sizes, 2 * (size_t)n);
	}
	clear_array_padding(bytes, n);
	return WIRE_OK;
}

enum wire_error mfp_encode(uint8_t *bytes, size_t capacity, struct mfp_header *header,
			   const uint8_t *types, const uint16_t *sizes,
			   const uint8_t *const *payloads)
{
	enum wire_error error = mfp_encode_header(bytes, capacity, header, types, sizes);
	uint8_t *at;

	if (error)
		return error;
	at = bytes + mfp_data_offset(header->n_fragments);
	for (unsigned i = 0; i < header->n_fragments; i++) {
		size_t padded = padded_size(sizes[i], UINT32_C(1) << header->align_log2);

		if (sizes[i] > 0)
			memcpy(at, payloads[i], sizes[i]);
		memset(at + sizes[i], 0, padded - sizes[i]);
		at += padded;
	}
	return WIRE_OK;
}

enum wire_error mfp_encode_error(uint8_t *bytes, size_t capacity, uint64_t event_id,
				 uint16_t source_id, unsigned n_fragments, uint8_t type)
{
	struct mfp_header header = {
		.event_id = event_id,
		.source_id = source_id,
		.n_fragments = (uint16_t)n_fragments,
	};
	uint8_t *sizes;

	if (n_fragments > MFP_MAX_FRAGMENTS)
		return WIRE_BAD_LENGTH;
	if (capacity < mfp_error_size(n_fragments))
		return WIRE_NO_ROOM;
	header.packet_size = (uint32_t)mfp_error_size(n_fragments);
	sizes = write_head(bytes, &header);
	memset(bytes + MFP_HEADER_SIZE, type, n_fragments);
	memset(sizes, 0, 2 * (size_t)n_fragments);
	clear_array_padding(bytes, n_fragments);
	return WIRE_OK;
}

#define SUBDETECTOR_SHIFT 11 // bits of the number within a subdetector

static const char *const subdetectors[] = {
	[0] = "ODIN",  [2] = "VELO_A",  [3] = "VELO_C",  [4] = "RICH1",   [5] = "UT_A",
	[6] = "UT_C",  [7] = "SCIFI_A", [8] = "SCIFI_C", [9] = "RICH2",   [10] = "PLUME",
	[11] = "ECAL", [12] = "HCAL",   [13] = "MUON_A", [14] = "MUON_C", [15] = "TDET",
};

static const char *const types[] = {
	[9] = "Rich",
	[13] = "Muon",
	[MFP_TYPE_DAQ] = "DAQ",
	[MFP_TYPE_ODIN] = "ODIN",
	[MFP_TYPE_TAE_HEADER] = "TAEHeader",
	[63] = "VP",
	[64] = "FTCluster",
	[66] = "UT",
	[73] = "VPRetinaCluster",
	[77] = "Calo",
	[84] = "Plume",
	[89] = "FragmentThrottled",
	[90] = "BXIDCorrupted",
	[91] = "SyncBXIDCorrupted",
	[MFP_TYPE_FRAGMENT_MISSING] = "FragmentMissing",
	[93] = "FragmentTruncated",
	[94] = "IdleBXIDCorrupted",
	[MFP_TYPE_FRAGMENT_MALFORMED] = "FragmentMalformed",
	[96] = "EVIDJumped",
	[97] = "VeloSPPandCluster",
	[100] = "AlignFifoFull",
	[101] = "FEfragSizeWrong",
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static const char *name_or(const char *const *names, size_t n_names, unsigned index,
			   const char *unlisted)
{
	return index < n_names && names[index] ? names[index] : unlisted;
}

const char *mfp_subdetector_name(uint16_t source_id)
{
	return name_or(subdetectors, COUNT_OF(subdetectors), source_id >> SUBDETECTOR_SHIFT,
		       "UNKNOWN");
}

void mfp_source_name(uint16_t source_id, char text[MFP_SOURCE_NAME_SIZE])
{
	snprintf(text, MFP_SOURCE_NAME_SIZE, mfp_has_subdetector(source_id) ? "0x%04x" : "%u",
		 (unsigned)source_id);
}

const char *mfp_type_name(uint8_t type)
{
	return name_or(types, COUNT_OF(types), type, "Unknown");
}
