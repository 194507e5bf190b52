// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as a MEP: the MFPs of what decodes lie inside; of what passes the check they decode and
// do not overlap; and its header encodes to itself.
#include "fuzz.h"

#include "wire/mep.h"

// Compares all pairs.
static void check_disjoint(const struct mep *mep)
{
	for (unsigned i = 0; i < mep->n_mfps; i++) {
		struct mfp_header header;
		size_t room;
		const uint8_t *mfp = mep_mfp_bytes(mep, i, &room);

		FUZZ_CHECK(mfp_decode_header(mfp, room, &header) == WIRE_OK);
		FUZZ_CHECK(header.packet_size <= room);
		FUZZ_CHECK(header.source_id == mep_source_id(mep, i));
		for (unsigned j = 0; j < mep->n_mfps; j++) {
			const uint8_t *other = mep_mfp_bytes(mep, j, &room);

			if (i == j)
				continue;
			FUZZ_CHECK(mep_source_id(mep, i) != mep_source_id(mep, j));
			FUZZ_CHECK(other < mfp || other >= mfp + header.packet_size);
		}
	}
}

static void check_header_again(const struct mep *mep)
{
	const size_t header_size = mep_header_size(mep->n_mfps, 4);
	uint16_t *ids = fuzz_allocate(mep->n_mfps, sizeof(*ids));
	uint32_t *offsets = fuzz_allocate(mep->n_mfps, sizeof(*offsets));
	uint8_t *bytes = fuzz_copy(mep->bytes, mep->size);
	struct mep again;

	for (unsigned i = 0; i < mep->n_mfps; i++) {
		size_t room;

		ids[i] = mep_source_id(mep, i);
		offsets[i] = (uint32_t)((mep_mfp_bytes(mep, i, &room) - mep->bytes) / 4);
	}
	FUZZ_CHECK(mep_encode_header(bytes, header_size - 1, mep->n_mfps, ids, offsets, 0) ==
		   WIRE_NO_ROOM);
	FUZZ_CHECK(mep_encode_header(bytes, mep->size, mep->n_mfps, ids, offsets,
				     (uint32_t)(mep->size / 4)) == WIRE_OK);
	FUZZ_CHECK(mep_decode(bytes, mep->size, &again) == WIRE_OK);
	FUZZ_CHECK(again.size == mep->size && again.n_mfps == mep->n_mfps);
	FUZZ_CHECK(memcmp(again.source_ids, mep->source_ids, 2 * (size_t)mep->n_mfps) == 0);
	FUZZ_CHECK(memcmp(again.offsets, mep->offsets, 4 * (size_t)mep->n_mfps) == 0);
	for (unsigned i = 0; i < mep->n_mfps; i++)
		FUZZ_CHECK(memcmp(bytes + 4 * (size_t)offsets[i],
				  mep->bytes + 4 * (size_t)offsets[i], MFP_HEADER_SIZE) == 0);
	fuzz_free(ids);
	fuzz_free(offsets);
	fuzz_free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mep mep;
	uint64_t *scratch;

	if (mep_decode(data, size, &mep) != WIRE_OK)
		return 0;
	FUZZ_CHECK(mep.size <= size);
	for (unsigned i = 0; i < mep.n_mfps; i++) {
		size_t room;
		const uint8_t *mfp = mep_mfp_bytes(&mep, i, &room);

		FUZZ_CHECK(mfp >= data + mep_header_size(mep.n_mfps, 4));
		FUZZ_CHECK(room >= MFP_HEADER_SIZE && mfp + room == data + mep.size);
	}
	scratch = fuzz_allocate(mep.n_mfps, sizeof(*scratch));
	if (mep_check(&mep, scratch) == WIRE_OK)
		check_disjoint(&mep);
	fuzz_free(scratch);
	check_header_again(&mep);
	return 0;
}
