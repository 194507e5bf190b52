// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What sources send otherwise than configured: the first difference of each source, for the log.
// All of it happens after a block has been found malformed or an event short, so that a segment of
// a source as configured costs nothing.
#include "builder/assembly_internal.h"

#include <inttypes.h>
#include <stdio.h>

static void note(struct assembly *assembly, uint32_t source, enum source_difference_kind kind,
		 uint64_t sent, uint64_t expected)
{
	if (assembly->shares[source].differs)
		return;
	assembly->shares[source].differs = true;
	assembly->differences[assembly->n_differences] = (struct source_difference){
		.source = source,
		.kind = kind,
		.sent = sent,
		.expected = expected,
	};
	__atomic_store_n(&assembly->n_differences, assembly->n_differences + 1, __ATOMIC_RELEASE);
}

void difference_of_block(struct assembly *assembly, const struct event *event, uint32_t source,
			 const uint8_t *bytes, uint32_t length)
{
	uint16_t id = assembly->parameters.sources->ids[source];
	struct mfp_header header;

	if (assembly->shares[source].differs)
		return;
	switch (mfp_decode_header(bytes, length, &header)) {
	case WIRE_TRUNCATED:
	case WIRE_BAD_MAGIC:
		note(assembly, source, SOURCE_SENDS_NO_MFP, 0, 0);
		return;
	case WIRE_BAD_ALIGNMENT:
		note(assembly, source, SOURCE_ALIGNMENT, header.align_log2, MFP_MAX_ALIGN);
		return;
	default:
		break;
	}
	if (header.source_id != id)
		note(assembly, source, SOURCE_OTHER_ID, header.source_id, id);
	else if (header.event_id != event->id)
		note(assembly, source, SOURCE_OTHER_EVENT, header.event_id, event->id);
	else if (header.n_fragments == 0 || header.n_fragments > assembly->parameters.packing)
		difference_of_fragments(assembly, source, header.n_fragments);
	else
		note(assembly, source, SOURCE_SIZES, header.packet_size, length);
}

void difference_of_fragments(struct assembly *assembly, uint32_t source, uint32_t n_fragments)
{
	note(assembly, source, SOURCE_FRAGMENTS, n_fragments, assembly->parameters.packing);
}

void difference_of_event(struct assembly *assembly, const struct event *event)
{
	const struct assembly_counters *counters = &assembly->counters;
	const struct part *parts = event_parts(assembly, event);
	struct short_events *before = &assembly->short_events;
	uint64_t closed =
	    counters->events_complete + counters->events_incomplete + counters->events_discarded;
	bool next = before->closed + 1 == closed && before->n_fragments == event->n_fragments;

	*before = (struct short_events){
		.closed = closed,
		.n_fragments = event->n_fragments,
		.row = next ? before->row + 1 : 1,
	};
	if (before->row != 2)
		return;
	for (uint32_t i = 0; i < assembly->n_sources; i++)
		if (part_is_valid(&parts[i]))
			difference_of_fragments(assembly, i, event->n_fragments);
}

uint32_t assembly_differences(const struct assembly *assembly,
			      const struct source_difference **differences)
{
	*differences = assembly->differences;
	return __atomic_load_n(&assembly->n_differences, __ATOMIC_ACQUIRE);
}

static const char *remedy_of(enum source_difference_kind kind)
{
	switch (kind) {
	case SOURCE_SENDS_NO_MFP:
	case SOURCE_FRAGMENTS:
		return "correct one of the two";
	case SOURCE_OTHER_ID:
		return "correct it, or the data id of its segments and sources.ids";
	default:
		return "correct the source";
	}
}

void source_difference_text(const struct source_difference *difference, uint16_t id,
			    char sentence[SOURCE_DIFFERENCE_SIZE],
			    char remedy[SOURCE_DIFFERENCE_SIZE])
{
	const uint64_t sent = difference->sent, expected = difference->expected;
	const int n = snprintf(sentence, SOURCE_DIFFERENCE_SIZE, "source %u sends ", id);
	const size_t size = SOURCE_DIFFERENCE_SIZE - (size_t)n;
	char *text = sentence + n;

	snprintf(remedy, SOURCE_DIFFERENCE_SIZE, "%s", remedy_of(difference->kind));
	switch (difference->kind) {
	case SOURCE_SENDS_NO_MFP:
		snprintf(text, size, "blocks that are no MFPs, sources.payload is mfp");
		break;
	case SOURCE_ALIGNMENT:
		snprintf(text, size,
			 "MFPs with alignment 2^%" PRIu64 ", at most 2^%" PRIu64 " is possible",
			 sent, expected);
		break;
	case SOURCE_OTHER_ID:
		snprintf(text, size, "MFPs with source id %" PRIu64, sent);
		break;
	case SOURCE_OTHER_EVENT:
		snprintf(text, size, "the MFP of event %" PRIu64 " in segments of event %" PRIu64,
			 sent, expected);
		break;
	case SOURCE_FRAGMENTS:
		snprintf(text, size, "MFPs of %" PRIu64 " fragments, sources.packing is %" PRIu64,
			 sent, expected);
		break;
	case SOURCE_SIZES:
		snprintf(text, size,
			 "MFPs whose sizes do not add up (packet size %" PRIu64
			 " in a block of %" PRIu64 " bytes)",
			 sent, expected);
		break;
	}
}
