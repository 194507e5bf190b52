// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Files of MEPs and files of MFPs.

#include <inttypes.h>

#include "inspect/inspect_internal.h"
#include "source/pattern.h"

#define MEP_STEP 4u // bytes; every MEP starts at a multiple of its length unit

static void visit_fragments(struct inspect *inspect, const struct mfp *mfp)
{
	struct mfp_fragment fragment;
	unsigned index = 0;
	size_t offset = 0;

	if (!inspect->options.fragments || !inspect->visitor.fragment)
		return;
	while (mfp_next_fragment(mfp, &index, &offset, &fragment)) {
		struct inspect_fragment visited = {
			.has_event_id = true,
			.event_id = fragment.event_id,
			.source_id = mfp->header.source_id,
			.type = fragment.type,
			.version = mfp->header.version,
			.size = fragment.size,
			.payload = fragment.payload,
		};

		inspect->visitor.fragment(inspect->visitor.context, &visited);
	}
}

static void vote_mfp(struct inspect_vote *vote, const struct mfp *mfp)
{
	struct mfp_fragment fragment;
	unsigned index = 0;
	size_t offset = 0;

	while (mfp_next_fragment(mfp, &index, &offset, &fragment))
		inspect_vote(vote, fragment.type, fragment.payload, fragment.size,
			     mfp->header.source_id);
}

static void count_mfp(struct inspect *inspect, const struct mfp *mfp)
{
	inspect->summary.mfps++;
	inspect->summary.fragments += mfp->header.n_fragments;
	inspect->summary.missing_mfps += mfp_nothing_usable(mfp);
}

static void check_payload(struct inspect *inspect, const struct mfp *mfp, uint64_t offset)
{
	char source[MFP_SOURCE_NAME_SIZE];
	unsigned wrong;

	if (!inspect->options.verify || inspect->payload != INSPECT_PAYLOAD_GENERATED)
		return;
	inspect->summary.generated += mfp->header.n_fragments;
	wrong = pattern_check_mfp(mfp);
	mfp_source_name(mfp->header.source_id, source);
	if (wrong)
		inspect_report(inspect, offset, 0, WIRE_OK,
			       "source %s, events from %" PRIu64
			       ": payload of %u fragments is not what was generated",
			       source, mfp->header.event_id, wrong);
}

// Decodes MFP `i` of a checked MEP. An opaque MFP has no fragments.
static void decode_checked(const struct mep *mep, unsigned i, struct mfp *mfp,
			   const uint8_t **bytes)
{
	size_t room;

	*bytes = mep_mfp_bytes(mep, i, &room);
	*mfp = (struct mfp){ 0 };
	mfp_decode_header(*bytes, room, &mfp->header);
	if (mfp->header.n_fragments)
		mfp_decode(*bytes, room, mfp);
}

static void visit_source(struct inspect *inspect, const struct mfp *mfp, const uint8_t *bytes)
{
	struct inspect_source source = {
		.header = mfp->header,
		.offset = (uint64_t)(bytes - inspect->bytes),
		.missing = mfp_nothing_usable(mfp),
		.opaque = mfp->header.n_fragments ? NULL : bytes + MFP_HEADER_SIZE,
	};

	if (inspect->options.sources && inspect->visitor.source)
		inspect->visitor.source(inspect->visitor.context, &source);
	visit_fragments(inspect, mfp);
}

static void summarise_mep(struct inspect *inspect, const struct mep *mep,
			  struct inspect_event *event)
{
	struct inspect_vote vote = { 0 };

	for (unsigned i = 0; i < mep->n_mfps; i++) {
		const uint8_t *bytes;
		struct mfp mfp;

		decode_checked(mep, i, &mfp, &bytes);
		event->has_event_id = true;
		event->event_id = mfp.header.event_id;
		if (mfp.header.n_fragments)
			event->n_events = mfp.header.n_fragments;
		event->n_missing += mfp_nothing_usable(&mfp);
		if (inspect->options.verify && inspect->payload == INSPECT_PAYLOAD_AUTO)
			vote_mfp(&vote, &mfp);
	}
	inspect_decide(inspect, &vote);
}

static void visit_mep(struct inspect *inspect, const struct mep *mep, uint64_t offset,
		      uint64_t index)
{
	struct inspect_event event = {
		.kind = INSPECT_MEP,
		.index = index,
		.offset = offset,
		.size = mep->size,
		.n_sources = mep->n_mfps,
	};
	// An opaque event has one id, although it has no fragments.
	uint64_t n_ids;

	summarise_mep(inspect, mep, &event);
	n_ids = event.n_events ? event.n_events : 1;
	if (!inspect_wanted(inspect, event.has_event_id, event.event_id, n_ids))
		return;
	inspect->summary.meps++;
	if (event.has_event_id)
		inspect_add_ids(inspect, INSPECT_MEP_IDS, offset, event.event_id, n_ids);
	inspect_begin_event(inspect, &event);
	for (unsigned i = 0; i < mep->n_mfps; i++) {
		const uint8_t *bytes;
		struct mfp mfp;

		decode_checked(mep, i, &mfp, &bytes);
		count_mfp(inspect, &mfp);
		visit_source(inspect, &mfp, bytes);
		check_payload(inspect, &mfp, (uint64_t)(bytes - inspect->bytes));
	}
	inspect_end_event(inspect);
}

// The next offset of a valid MEP header, or the file's end.
static uint64_t next_mep(const struct inspect *inspect, uint64_t offset)
{
	struct mep mep;

	for (; offset < inspect->file.size; offset += MEP_STEP) {
		uint64_t left = inspect->file.size - offset;

		if (left >= 2 && load_le16(inspect->bytes + offset) == MEP_MAGIC &&
		    !mep_decode(inspect->bytes + offset, left, &mep))
			return offset;
	}
	return inspect->file.size;
}

// Where reading continues after a damaged MEP: after its own length if the file ends or another MEP
// begins there, else at the next valid header.
static uint64_t behind_damage(const struct inspect *inspect, uint64_t offset, size_t size)
{
	uint64_t end = offset + size;

	if (size && (end == inspect->file.size || next_mep(inspect, end) == end))
		return end;
	return next_mep(inspect, offset + MEP_STEP);
}

void inspect_mep_file(struct inspect *inspect)
{
	uint64_t offset = 0, index = 0;

	while (offset < inspect->file.size && !inspect_limit_reached(inspect)) {
		struct mep mep = { 0 };
		enum wire_error reason =
		    mep_decode(inspect->bytes + offset, inspect->file.size - offset, &mep);
		bool in_header = reason;

		if (!reason)
			reason = mep_check(&mep, inspect->scratch);
		if (reason) {
			uint64_t next = behind_damage(inspect, offset, in_header ? 0 : mep.size);

			inspect_report(inspect, offset, 0, reason,
				       "MEP %" PRIu64 ": %s is wrong, %" PRIu64 " bytes skipped",
				       index, in_header ? "its header" : "one of its MFPs",
				       next - offset);
			offset = next;
		} else {
			visit_mep(inspect, &mep, offset, index);
			offset += mep.size;
		}
		index++;
	}
}

static void visit_mfp(struct inspect *inspect, const struct mfp *mfp, uint64_t offset,
		      uint64_t index)
{
	const struct mfp_header *header = &mfp->header;
	uint64_t n_ids = header->n_fragments ? header->n_fragments : 1;
	struct inspect_event event = {
		.kind = INSPECT_MFP,
		.index = index,
		.offset = offset,
		.size = header->packet_size,
		.has_event_id = true,
		.event_id = header->event_id,
		.n_events = header->n_fragments,
		.n_sources = 1,
		.n_missing = mfp_nothing_usable(mfp),
		.mfp = *header,
	};
	struct inspect_vote vote = { 0 };

	if (!inspect_wanted(inspect, true, header->event_id, n_ids))
		return;
	if (inspect->options.verify && inspect->payload == INSPECT_PAYLOAD_AUTO) {
		vote_mfp(&vote, mfp);
		inspect_decide(inspect, &vote);
	}
	count_mfp(inspect, mfp);
	inspect_add_ids(inspect, header->source_id, offset, header->event_id, n_ids);
	inspect_begin_event(inspect, &event);
	visit_fragments(inspect, mfp);
	check_payload(inspect, mfp, offset);
	inspect_end_event(inspect);
}

// Like mfp_decode(), but accepts opaque MFPs, as MFPs without fragments.
static enum wire_error decode_mfp(const uint8_t *bytes, uint64_t length, struct mfp *mfp)
{
	enum wire_error reason;

	*mfp = (struct mfp){ 0 };
	reason = mfp_decode_header(bytes, length, &mfp->header);
	if (!reason && mfp->header.packet_size > length)
		return WIRE_TRUNCATED;
	return reason || !mfp->header.n_fragments ? reason : mfp_decode(bytes, length, mfp);
}

static uint64_t next_mfp(const struct inspect *inspect, uint64_t offset)
{
	struct mfp mfp;

	for (; offset < inspect->file.size; offset++) {
		uint64_t left = inspect->file.size - offset;

		if (left >= 2 && load_le16(inspect->bytes + offset) == MFP_MAGIC &&
		    !decode_mfp(inspect->bytes + offset, left, &mfp))
			return offset;
	}
	return inspect->file.size;
}

void inspect_mfp_file(struct inspect *inspect)
{
	uint64_t offset = 0, index = 0;

	for (; offset < inspect->file.size && !inspect_limit_reached(inspect); index++) {
		struct mfp mfp;
		enum wire_error reason =
		    decode_mfp(inspect->bytes + offset, inspect->file.size - offset, &mfp);

		if (reason) {
			uint64_t next = next_mfp(inspect, offset + 1);

			inspect_report(inspect, offset, 0, reason,
				       "MFP %" PRIu64 " is wrong, %" PRIu64 " bytes skipped", index,
				       next - offset);
			offset = next;
		} else {
			visit_mfp(inspect, &mfp, offset, index);
			offset += mfp.header.packet_size;
		}
	}
}
