// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as an MFP: the fragments of what decodes lie inside, one behind the other, and encoding
// them again gives an MFP that says the same and encodes to itself.
#include "fuzz.h"

#include "wire/mfp.h"

static void check_walk(const struct mfp *mfp, const uint8_t *end)
{
	struct mfp_fragment fragment;
	const uint8_t *previous_end = mfp->data;
	unsigned index = 0;
	size_t offset = 0;

	while (mfp_next_fragment(mfp, &index, &offset, &fragment)) {
		FUZZ_CHECK(fragment.payload >= previous_end && fragment.payload <= end);
		FUZZ_CHECK(fragment.size <= (size_t)(end - fragment.payload));
		FUZZ_CHECK(fragment.event_id == mfp->header.event_id + index - 1);
		previous_end = fragment.payload + fragment.size;
	}
	FUZZ_CHECK(index == mfp->header.n_fragments);
	FUZZ_CHECK(mfp->data + offset == end);
}

// The caller frees it.
static uint8_t *encode(const struct mfp *mfp)
{
	const unsigned n = mfp->header.n_fragments;
	const uint8_t **payloads = fuzz_allocate(n, sizeof(*payloads));
	uint16_t *sizes = fuzz_allocate(n, sizeof(*sizes));
	uint8_t *bytes = fuzz_allocate(mfp->header.packet_size, 1);
	struct mfp_header header = mfp->header;
	struct mfp_fragment fragment;
	unsigned index = 0;
	size_t offset = 0;

	while (mfp_next_fragment(mfp, &index, &offset, &fragment)) {
		payloads[index - 1] = fragment.payload;
		sizes[index - 1] = fragment.size;
	}
	FUZZ_CHECK(mfp_encoded_size(n, sizes, header.align_log2) == mfp->header.packet_size);
	header.packet_size = 0;
	FUZZ_CHECK(mfp_encode(bytes, mfp->header.packet_size, &header, mfp->types, sizes,
			      payloads) == WIRE_OK);
	FUZZ_CHECK(header.packet_size == mfp->header.packet_size);
	FUZZ_CHECK(mfp_encode(bytes, header.packet_size - 1, &header, mfp->types, sizes,
			      payloads) == WIRE_NO_ROOM);
	fuzz_free(payloads);
	fuzz_free(sizes);
	return bytes;
}

static void check_same(const struct mfp *one, const struct mfp *other)
{
	struct mfp_fragment fragment, other_fragment;
	unsigned index = 0, other_index = 0;
	size_t offset = 0, other_offset = 0;

	FUZZ_CHECK(one->header.event_id == other->header.event_id);
	FUZZ_CHECK(one->header.packet_size == other->header.packet_size);
	FUZZ_CHECK(one->header.n_fragments == other->header.n_fragments);
	FUZZ_CHECK(one->header.source_id == other->header.source_id);
	FUZZ_CHECK(one->header.align_log2 == other->header.align_log2);
	FUZZ_CHECK(one->header.version == other->header.version);
	while (mfp_next_fragment(one, &index, &offset, &fragment)) {
		FUZZ_CHECK(mfp_next_fragment(other, &other_index, &other_offset, &other_fragment));
		FUZZ_CHECK(fragment.type == other_fragment.type);
		FUZZ_CHECK(fragment.size == other_fragment.size);
		FUZZ_CHECK(offset == other_offset);
		FUZZ_CHECK(memcmp(fragment.payload, other_fragment.payload, fragment.size) == 0);
	}
}

static void check_patch(uint8_t *bytes, const struct mfp_header *before)
{
	struct mfp_header header;

	mfp_patch_event_id(bytes, ~before->event_id);
	FUZZ_CHECK(mfp_decode_header(bytes, MFP_HEADER_SIZE, &header) == WIRE_OK);
	FUZZ_CHECK(header.event_id == ~before->event_id);
	FUZZ_CHECK(header.packet_size == before->packet_size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mfp_header header;
	struct mfp mfp, again;
	uint8_t *bytes, *bytes_again;
	enum wire_error header_error = mfp_decode_header(data, size, &header);
	enum wire_error error = mfp_decode(data, size, &mfp);

	if (header_error)
		FUZZ_CHECK(error == header_error);
	if (error)
		return 0;
	FUZZ_CHECK(mfp.header.packet_size <= size);
	check_walk(&mfp, data + mfp.header.packet_size);
	mfp_subdetector_name(mfp.header.source_id);
	for (unsigned i = 0; i < mfp.header.n_fragments; i++)
		FUZZ_CHECK(mfp_type_name(mfp.types[i])[0] != '\0');

	bytes = encode(&mfp);
	FUZZ_CHECK(mfp_decode(bytes, mfp.header.packet_size, &again) == WIRE_OK);
	check_same(&mfp, &again);
	bytes_again = encode(&again);
	FUZZ_CHECK(memcmp(bytes, bytes_again, mfp.header.packet_size) == 0);
	check_patch(bytes_again, &mfp.header);
	fuzz_free(bytes_again);
	fuzz_free(bytes);
	return 0;
}
