// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "record/mep_pack.h"

#include <errno.h>

static enum wire_error lay_out(struct mep_pack *pack, uint64_t *size)
{
	const struct mep *mep = &pack->mep;
	uint64_t end = pack->header_size;

	for (unsigned i = 0; i < mep->n_mfps; i++) {
		size_t room;
		const uint8_t *bytes = mep_mfp_bytes(mep, mep_order_index(&pack->order, i), &room);
		struct mfp_header header;
		enum wire_error error = mfp_decode_header(bytes, room, &header);

		if (error)
			return error;
		if (header.packet_size > room)
			return WIRE_TRUNCATED;
		if (end / 4 > UINT32_MAX)
			return WIRE_BAD_LENGTH;
		pack->source_ids[i] = mep_order_source(&pack->order, i);
		pack->offsets[i] = (uint32_t)(end / 4);
		pack->sizes[i] = header.packet_size;
		end += round_up(header.packet_size, MEP_DEFAULT_ALIGN);
	}
	// MFPs that overlap in the built MEP can exceed the length field of the packed MEP.
	if (end / 4 > UINT32_MAX)
		return WIRE_BAD_LENGTH;
	pack->words = (uint32_t)(end / 4);
	*size = end;
	return WIRE_OK;
}

enum wire_error mep_pack_prepare(struct mep_pack *pack, const uint8_t *bytes, size_t length,
				 uint64_t *size)
{
	enum wire_error reason = mep_decode(bytes, length, &pack->mep);

	if (reason)
		return reason;
	mep_order_make(&pack->order, &pack->mep);
	pack->header_size = mep_header_size(pack->mep.n_mfps, MEP_DEFAULT_ALIGN);
	return lay_out(pack, size);
}

static int append_padding(struct gather *gather, size_t size)
{
	static const uint8_t zeros[MEP_DEFAULT_ALIGN];

	return gather_append(gather, zeros, round_up(size, MEP_DEFAULT_ALIGN) - size);
}

int mep_pack_write(const struct mep_pack *pack, struct gather *gather)
{
	int error;
	uint8_t *header = gather_reserve(gather, pack->header_size, &error);

	if (!header)
		return error;
	memset(header, 0, pack->header_size);
	if (mep_encode_header(header, pack->header_size, pack->mep.n_mfps, pack->source_ids,
			      pack->offsets, pack->words))
		return -EBADMSG;
	for (unsigned i = 0; i < pack->mep.n_mfps && !error; i++) {
		size_t room;
		const uint8_t *bytes =
		    mep_mfp_bytes(&pack->mep, mep_order_index(&pack->order, i), &room);

		error = gather_append(gather, bytes, pack->sizes[i]);
		if (!error)
			error = append_padding(gather, pack->sizes[i]);
	}
	return error;
}
