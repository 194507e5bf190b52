// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "record/mep_to_mdf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error_line.h"
#include "evring/evb_reader.h"
#include "record/mep_order.h"
#include "source/source_map.h"

// The position up to which an MFP has been converted.
struct cursor {
	struct mfp mfp;
	unsigned index;
	size_t offset;
	uint16_t bank_source_id;
	bool is_missing; // the event is incomplete, and the source sent nothing usable
};

struct mep_to_mdf {
	struct source_map *map; // NULL: none
	struct mep_order order;
	uint64_t scratch[MEP_MAX_MFPS];
	struct cursor cursors[MEP_MAX_MFPS]; // in source order
	unsigned n_cursors;
	unsigned next_event;
	unsigned n_events;
	uint32_t flags;
	uint32_t run_number;
};

uint64_t mep_to_mdf_memory(void)
{
	return sizeof(struct mep_to_mdf);
}

int mep_to_mdf_open(struct mep_to_mdf **converter, const char *source_map, char *error,
		    size_t error_size)
{
	char map_error[SOURCE_ERROR_SIZE];
	struct mep_to_mdf *made = calloc(1, sizeof(*made));

	*converter = NULL;
	if (!made)
		return error_line(error, error_size, "out of memory");
	if (source_map && *source_map && source_map_load(&made->map, source_map, map_error)) {
		free(made);
		return error_line(error, error_size, "%s", map_error);
	}
	*converter = made;
	return 0;
}

void mep_to_mdf_close(struct mep_to_mdf *converter)
{
	if (!converter)
		return;
	source_map_free(converter->map);
	free(converter);
}

static uint16_t bank_source_id(const struct mep_to_mdf *converter, uint16_t source_id)
{
	const struct source_map_entry *entry =
	    converter->map ? source_map_find(converter->map, source_id) : NULL;

	return entry ? entry->bank_source_id : source_id;
}

// type and size: of the cursor's next fragment.
static bool makes_bank(const struct cursor *cursor, uint8_t type, uint16_t size)
{
	return type != MFP_TYPE_FRAGMENT_MISSING || size || cursor->is_missing;
}

// Sets up the cursor of one MFP and adds the bytes of its banks to *total.
static int add_mfp(struct mep_to_mdf *converter, const struct mep *mep, unsigned position,
		   uint64_t *total, char *error, size_t error_size)
{
	struct cursor *cursor = &converter->cursors[position];
	const struct mfp *mfp = &cursor->mfp;
	uint16_t source_id = mep_order_source(&converter->order, position);
	size_t room;
	const uint8_t *bytes =
	    mep_mfp_bytes(mep, mep_order_index(&converter->order, position), &room);

	*cursor = (struct cursor){ .bank_source_id = bank_source_id(converter, source_id) };
	if (mfp_decode(bytes, room, &cursor->mfp)) {
		snprintf(error, error_size,
			 "source 0x%04x has an opaque block, which has no form in MDF", source_id);
		return -ENOTSUP;
	}
	cursor->is_missing =
	    (converter->flags & EVB_EVENT_INCOMPLETE) != 0 && mfp_nothing_usable(mfp);
	for (unsigned i = 0; i < mfp->header.n_fragments; i++) {
		uint16_t size = load_le16(mfp->sizes + 2 * i);

		if (size > MDF_MAX_BANK_PAYLOAD) {
			snprintf(error, error_size,
				 "source 0x%04x has a fragment of %u bytes, a bank of MDF "
				 "holds at most %u",
				 source_id, size, MDF_MAX_BANK_PAYLOAD);
			return -ENOTSUP;
		}
		if (makes_bank(cursor, mfp->types[i], size))
			*total += mdf_bank_size(size);
	}
	return 0;
}

int mep_to_mdf_begin(struct mep_to_mdf *converter, const struct mep_to_mdf_event *event,
		     uint64_t *total, char *error, size_t error_size)
{
	struct mep mep;
	enum wire_error reason = mep_decode(event->data, event->length, &mep);
	int refused = 0;

	converter->next_event = 0;
	converter->n_events = 0;
	if (!reason)
		reason = mep_check(&mep, converter->scratch);
	if (reason) {
		snprintf(error, error_size, "no sound MEP: %s", wire_reason(reason));
		return -EBADMSG;
	}
	mep_order_make(&converter->order, &mep);
	converter->flags = event->flags;
	converter->run_number = event->run_number;
	converter->n_cursors = mep.n_mfps;
	*total = 0;
	for (unsigned i = 0; i < mep.n_mfps && !refused; i++)
		refused = add_mfp(converter, &mep, i, total, error, error_size);
	if (refused)
		return refused;
	converter->n_events = mep.n_mfps ? converter->cursors[0].mfp.header.n_fragments : 0;
	*total += (uint64_t)converter->n_events * MDF_HEADER_SIZE;
	if (*total > UINT32_MAX) {
		snprintf(error, error_size, "the MEP makes more than 4 GiB of MDF records");
		converter->n_events = 0;
		return -ENOTSUP;
	}
	return 0;
}

size_t mep_to_mdf_next_size(const struct mep_to_mdf *converter)
{
	size_t size = MDF_HEADER_SIZE;

	if (converter->next_event == converter->n_events)
		return 0;
	for (unsigned i = 0; i < converter->n_cursors; i++) {
		const struct cursor *cursor = &converter->cursors[i];
		const struct mfp *mfp = &cursor->mfp;
		uint16_t fragment = load_le16(mfp->sizes + 2 * (size_t)converter->next_event);

		if (makes_bank(cursor, mfp->types[converter->next_event], fragment))
			size += mdf_bank_size(fragment);
	}
	return size;
}

static void take_odin(struct mdf_header *header, const struct mdf_bank *bank)
{
	struct odin odin;

	if (bank->size != ODIN_SIZE || odin_decode(bank->payload, bank->size, &odin))
		return;
	header->run = odin.run;
	if (bank->version != MDF_VERSION_ODIN)
		return;
	header->orbit = odin.orbit;
	header->bunch = odin.bunch;
}

void mep_to_mdf_next(struct mep_to_mdf *converter, uint8_t *record)
{
	struct mdf_header header = {
		.size = (uint32_t)mep_to_mdf_next_size(converter),
		.data_type = MDF_TYPE_BANKS,
		.spare = (uint8_t)converter->flags,
		.mask = { UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX },
		.run = converter->run_number,
	};
	size_t offset = MDF_HEADER_SIZE;

	for (unsigned i = 0; i < converter->n_cursors; i++) {
		struct cursor *cursor = &converter->cursors[i];
		struct mfp_fragment fragment;
		struct mdf_bank bank;

		mfp_next_fragment(&cursor->mfp, &cursor->index, &cursor->offset, &fragment);
		if (!makes_bank(cursor, fragment.type, fragment.size))
			continue;
		bank = (struct mdf_bank){
			.payload = fragment.payload,
			.size = fragment.size,
			.source_id = cursor->bank_source_id,
			.type = fragment.type,
			.version = cursor->mfp.header.version,
		};
		if (bank.type == MFP_TYPE_ODIN)
			take_odin(&header, &bank);
		// Cannot fail: the record has the size that mep_to_mdf_next_size() returned.
		mdf_append_bank(record, header.size, &offset, &bank);
	}
	mdf_encode_header(record, header.size, &header); // cannot fail either
	converter->next_event++;
}
