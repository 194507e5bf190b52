// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "evring/evb_mep.h"

#include <errno.h>

#include "wire/mdf.h"
#include "wire/mep.h"

#define WORD             4u // bytes, the unit of a MEP's offsets and size
#define FIXED_SIZE       8u // of a MEP's header: magic, number of MFPs, size
#define SUBDETECTOR_BIT  11 // of a source id
#define ODIN_SUBDETECTOR 0

// The bytes of a spy's event may change at any time. The compiler may not read a value that was
// checked a second time: it must not know where the value came from.
static uint32_t read_once(uint32_t value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

static uint16_t read_u16(const uint8_t *bytes)
{
	return (uint16_t)read_once(load_le16(bytes));
}

// Bytes of the header without padding; the offsets are its last part.
static size_t header_size(const struct evb_mep *mep)
{
	return mep_header_size(mep->n_sources, WORD);
}

static uint16_t id_in_table(const struct evb_mep *mep, unsigned index)
{
	return read_u16((const uint8_t *)mep->data + FIXED_SIZE + 2 * (size_t)index);
}

// Checks that the fixed part of MFP `index` lies inside. Returns its first byte and *room, the
// bytes from there to the end of the MEP; or NULL.
static const uint8_t *mfp_place(const struct evb_mep *mep, unsigned index, size_t *room)
{
	const uint8_t *offsets =
	    (const uint8_t *)mep->data + header_size(mep) - WORD * (size_t)mep->n_sources;
	size_t offset = WORD * (size_t)read_once(load_le32(offsets + WORD * (size_t)index));

	if (offset < header_size(mep) || offset > mep->length ||
	    mep->length - offset < MFP_HEADER_SIZE)
		return NULL;
	*room = mep->length - offset;
	return (const uint8_t *)mep->data + offset;
}

// Checks all of an MFP but the sizes of its fragments. Returns its first byte, or NULL.
static const uint8_t *mfp_open(const struct evb_mep *mep, unsigned index, struct mfp_header *header)
{
	size_t room;
	const uint8_t *bytes = mfp_place(mep, index, &room);

	if (bytes == NULL || mfp_decode_header(bytes, room, header) != WIRE_OK)
		return NULL;
	// From here on, only the copy of the header is read.
	__asm__ volatile("" : : "r"(header) : "memory");
	if (header->align_log2 > MFP_MAX_ALIGN || header->packet_size > room ||
	    header->packet_size < mfp_data_offset(header->n_fragments) ||
	    header->source_id != id_in_table(mep, index))
		return NULL;
	return bytes;
}

int evb_mep_open(struct evb_mep *mep, const void *data, size_t length)
{
	const uint8_t *bytes = data;
	struct mfp_header header;

	*mep = (struct evb_mep){ .data = data };
	if (length < FIXED_SIZE || load_le16(bytes) != MEP_MAGIC)
		return -EBADMSG;
	mep->n_sources = read_u16(bytes + 2);
	mep->length = WORD * (size_t)read_once(load_le32(bytes + 4));
	if (mep->length > length || mep->length < header_size(mep))
		return -EBADMSG;
	for (unsigned i = 0; i < mep->n_sources && mep->n_events == 0; i++) {
		if (mfp_open(mep, i, &header) == NULL)
			return -EBADMSG;
		mep->event_id = header.event_id;
		mep->n_events = header.n_fragments;
	}
	return 0;
}

static uint32_t flags_of(const struct evb_source *source, const struct mfp_header *header)
{
	const struct mfp mfp = {
		.header = *header,
		.types = source->types,
		.sizes = source->sizes,
	};

	if (header->n_fragments == 0)
		return EVB_SOURCE_OPAQUE;
	if (!mfp_nothing_usable(&mfp))
		return 0;
	return EVB_SOURCE_MISSING |
	       (source->types[0] == MFP_TYPE_FRAGMENT_MALFORMED ? EVB_SOURCE_MALFORMED : 0);
}

int evb_mep_source(const struct evb_mep *mep, unsigned index, struct evb_source *source)
{
	struct mfp_header header;
	const uint8_t *bytes;
	size_t data_offset;

	if (index >= mep->n_sources)
		return -EINVAL;
	bytes = mfp_open(mep, index, &header);
	if (bytes == NULL || header.event_id != mep->event_id ||
	    (header.n_fragments > 0 && header.n_fragments != mep->n_events))
		return -EBADMSG;
	data_offset = mfp_data_offset(header.n_fragments);
	*source = (struct evb_source){
		.id = header.source_id,
		.n_fragments = header.n_fragments,
		.version = header.version,
		.align_log2 = header.align_log2,
		.event_id = header.event_id,
		.data = bytes,
		.length = header.packet_size,
		.types = bytes + MFP_HEADER_SIZE,
		.sizes = bytes + MFP_HEADER_SIZE + round_up(header.n_fragments, 4),
		.payload = bytes + data_offset,
		.payload_length = header.packet_size - data_offset,
	};
	source->flags = flags_of(source, &header);
	return 0;
}

int evb_mep_find(const struct evb_mep *mep, uint16_t source_id, struct evb_source *source)
{
	for (unsigned i = 0; i < mep->n_sources; i++) {
		if (id_in_table(mep, i) == source_id)
			return evb_mep_source(mep, i, source);
	}
	return -ENOENT;
}

int evb_source_next(struct evb_source *source, struct evb_fragment *fragment)
{
	const uint32_t index = source->next_index;
	const uint8_t *sizes = source->sizes;
	uint16_t length;

	if (index >= source->n_fragments)
		return 0;
	length = read_u16(sizes + 2 * (size_t)index);
	if (source->next_offset > source->payload_length ||
	    length > source->payload_length - source->next_offset)
		return -EBADMSG;
	*fragment = (struct evb_fragment){
		.event_id = source->event_id + index,
		.data = (const uint8_t *)source->payload + source->next_offset,
		.length = length,
		.type = source->types[index],
	};
	source->next_offset += round_up(length, (size_t)1 << source->align_log2);
	source->next_index = index + 1;
	return 1;
}

int evb_odin_decode(const struct evb_fragment *fragment, struct evb_odin *odin)
{
	struct odin decoded;

	if (fragment->type != MFP_TYPE_ODIN || fragment->length != ODIN_SIZE ||
	    odin_decode(fragment->data, fragment->length, &decoded) != WIRE_OK)
		return 0;
	*odin = (struct evb_odin){
		.run = decoded.run,
		.event_type = decoded.event_type,
		.step = decoded.step,
		.gps_us = decoded.gps_us,
		.tck = decoded.tck,
		.partition = decoded.partition,
		.bunch = decoded.bunch,
		.orbit = decoded.orbit,
		.event_id = decoded.event_id,
	};
	return 1;
}

// ODIN's fragment number `index` of one source, as evb_mep_odin() returns it.
static int odin_of_source(struct evb_source *source, unsigned index, struct evb_odin *odin)
{
	struct evb_fragment fragment;

	if (index >= source->n_fragments || source->types[index] != MFP_TYPE_ODIN)
		return 0;
	for (unsigned i = 0; i <= index; i++) {
		if (evb_source_next(source, &fragment) != 1)
			return -EBADMSG;
	}
	return evb_odin_decode(&fragment, odin);
}

int evb_mep_odin(const struct evb_mep *mep, unsigned index, struct evb_odin *odin)
{
	struct evb_source source;
	int found;

	if (index >= mep->n_events)
		return -EINVAL;
	for (unsigned i = 0; i < mep->n_sources; i++) {
		if (id_in_table(mep, i) >> SUBDETECTOR_BIT != ODIN_SUBDETECTOR)
			continue;
		found = evb_mep_source(mep, i, &source);
		if (found == 0)
			found = odin_of_source(&source, index, odin);
		if (found != 0)
			return found;
	}
	return 0;
}
