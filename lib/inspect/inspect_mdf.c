// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Files of MDF records.

#include <inttypes.h>

#include "inspect/inspect_internal.h"
#include "record/mep_to_mdf.h"
#include "source/pattern.h"

#define RECORD_STEP 4u // bytes; records are multiples of it

// First pass over the banks of a record: checks them and collects the properties of the event.
static enum wire_error summarise(struct inspect *inspect, const uint8_t *record,
				 struct inspect_event *event, struct inspect_vote *vote)
{
	size_t offset = MDF_HEADER_SIZE;
	struct mdf_bank bank;
	struct odin odin;
	bool done;

	for (;;) {
		enum wire_error reason = mdf_next_bank(record, &event->mdf, &offset, &bank, &done);

		if (reason || done)
			return reason;
		event->n_sources++;
		if (bank.type == MFP_TYPE_ODIN && bank.version == MDF_VERSION_ODIN &&
		    !odin_decode(bank.payload, bank.size, &odin)) {
			event->has_event_id = true;
			event->event_id = odin.event_id;
		}
		if (inspect->options.verify)
			inspect_vote(vote, bank.type, bank.payload, bank.size, bank.source_id);
	}
}

static bool payload_wrong(struct inspect *inspect, const struct mdf_bank *bank)
{
	if (!inspect->options.verify || inspect->payload != INSPECT_PAYLOAD_GENERATED ||
	    bank->type == MFP_TYPE_ODIN)
		return false;
	inspect->summary.generated++;
	return !pattern_check(bank->payload, bank->size, bank->source_id);
}

static void visit_banks(struct inspect *inspect, const uint8_t *record,
			const struct inspect_event *event)
{
	const struct inspect_visitor *visitor = &inspect->visitor;
	size_t offset = MDF_HEADER_SIZE;
	struct mdf_bank bank;
	bool done = false;

	while (!mdf_next_bank(record, &event->mdf, &offset, &bank, &done) && !done) {
		struct inspect_fragment visited = {
			.has_event_id = event->has_event_id,
			.event_id = event->event_id,
			.source_id = bank.source_id,
			.type = bank.type,
			.version = bank.version,
			.size = bank.size,
			.payload = bank.payload,
		};

		inspect->summary.banks++;
		if (inspect->options.fragments && visitor->fragment)
			visitor->fragment(visitor->context, &visited);
		if (payload_wrong(inspect, &bank))
			inspect_report(inspect, (uint64_t)(bank.payload - inspect->bytes), 0,
				       WIRE_OK,
				       "record %" PRIu64
				       ": payload of bank type %u source 0x%04x is not what was "
				       "generated",
				       event->index, bank.type, bank.source_id);
	}
}

static void visit_record(struct inspect *inspect, const struct mdf_header *header, uint64_t offset,
			 uint64_t index)
{
	const uint8_t *record = inspect->bytes + offset;
	struct inspect_event event = {
		.kind = INSPECT_MDF,
		.index = index,
		.offset = offset,
		.size = header->size,
		.n_events = 1,
		.status = header->spare,
		.mdf = *header,
	};
	struct inspect_vote vote = { 0 };
	enum wire_error reason = summarise(inspect, record, &event, &vote);

	inspect_decide(inspect, &vote);
	if (!inspect_wanted(inspect, event.has_event_id, event.event_id, 1))
		return;
	inspect->summary.records++;
	if (event.has_event_id)
		inspect_add_ids(inspect, INSPECT_MDF_IDS(header->run), offset, event.event_id, 1);
	inspect_begin_event(inspect, &event);
	if (reason)
		inspect_report(inspect, offset, 0, reason,
			       "record %" PRIu64 ": bank %u is wrong, the others are not looked at",
			       index, event.n_sources);
	visit_banks(inspect, record, &event);
	if (inspect->options.verify && mdf_verify(record, header))
		inspect_report(inspect, offset, 0, WIRE_BAD_CHECKSUM,
			       "record %" PRIu64 ": checksum is 0x%08x, its bytes give 0x%08x",
			       index, header->checksum, mdf_checksum(record, header->size));
	inspect_end_event(inspect);
}

static uint64_t next_record(const struct inspect *inspect, uint64_t offset)
{
	struct mdf_header header;

	for (; offset < inspect->file.size; offset += RECORD_STEP)
		if (!mdf_decode(inspect->bytes + offset, inspect->file.size - offset, &header))
			return offset;
	return inspect->file.size;
}

void inspect_mdf_file(struct inspect *inspect)
{
	uint64_t offset = 0, index = 0;

	for (; offset < inspect->file.size && !inspect_limit_reached(inspect); index++) {
		struct mdf_header header;
		enum wire_error reason =
		    mdf_decode(inspect->bytes + offset, inspect->file.size - offset, &header);

		if (!reason && header.data_type != MDF_TYPE_BANKS)
			reason = WIRE_UNSUPPORTED;
		if (reason) {
			uint64_t next = next_record(inspect, offset + RECORD_STEP);

			inspect_report(inspect, offset, 0, reason,
				       "record %" PRIu64 " is not a record of banks, %" PRIu64
				       " bytes skipped",
				       index, next - offset);
			offset = next;
		} else {
			visit_record(inspect, &header, offset, index);
			offset += header.size;
		}
	}
}
