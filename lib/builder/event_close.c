// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Closes an event when it is complete or its deadline has passed: publishes, holds or discards it.
#include "builder/assembly_internal.h"

#include "evring/evb_reader.h"
#include "wire/mfp.h"

// Returns the number of fragments per MFP of this event. All MFPs of an event must have the same
// number. If they differ, the MFPs with the configured packing are right; if no MFP has the
// configured packing (the last MFPs of a run are shorter), those with as many fragments as the
// first valid MFP are right. The other MFPs become malformed.
static uint32_t settle_fragments(struct assembly *assembly, struct event *event)
{
	struct part *parts = event_parts(assembly, event);
	uint32_t n_valid = event->n_whole - event->n_malformed;
	uint32_t packing = assembly->parameters.packing, right = event->n_fragments;

	// An opaque block has no fragments. An error MFP in its place has `packing` fragments, so
	// that a consumer can distinguish the two.
	if (n_valid == 0 || assembly->parameters.payload == PAYLOAD_OPAQUE)
		return packing;
	if (event->n_agreeing == n_valid) {
		if (right != packing)
			difference_of_event(assembly, event);
		return right;
	}
	for (uint32_t i = 0; i < assembly->n_sources; i++)
		if (parts[i].received.ranges == PART_WHOLE + packing)
			right = packing;
	for (uint32_t i = 0; i < assembly->n_sources; i++) {
		if (!part_is_valid(&parts[i]) || parts[i].received.ranges == PART_WHOLE + right)
			continue;
		difference_of_fragments(assembly, i, parts[i].received.ranges - PART_WHOLE);
		parts[i].received.ranges = PART_MALFORMED;
		part_count_malformed(assembly, event, i);
	}
	return right;
}

// Writes an error MFP for source i: into the room of its block, or into the reserved space if the
// block has no room.
static void write_error_mfp(struct assembly *assembly, struct event *event, uint8_t *slot,
			    uint32_t i, uint32_t n_fragments)
{
	struct part *part = &event_parts(assembly, event)[i];
	bool malformed = part->received.ranges == PART_MALFORMED;

	if (part->room == 0) {
		part->room = (uint32_t)(event->used / ROOM_UNIT);
		event->used += assembly->error_size;
	}
	// The error MFP fits: every room and the reserved space per source have at least error_size
	// bytes, and n_fragments <= packing.
	mfp_encode_error(slot + (uint64_t)part->room * ROOM_UNIT, assembly->error_size, event->id,
			 assembly->parameters.sources->ids[i], n_fragments,
			 malformed ? MFP_TYPE_FRAGMENT_MALFORMED : MFP_TYPE_FRAGMENT_MISSING);
}

uint32_t event_settle_missing(struct assembly *assembly, struct event *event)
{
	struct part *parts = event_parts(assembly, event);
	uint32_t n_missing = 0;

	for (uint32_t i = 0; i < assembly->n_sources; i++) {
		if (part_is_whole(&parts[i]))
			continue;
		ranges_release(&assembly->pool, &parts[i].received,
			       ranges_used(assembly, event, i));
		n_missing++;
		if (!is_end_of_run(event))
			count(&assembly->source_counters[i].missing, 1);
	}
	if (!is_end_of_run(event))
		count(&assembly->counters.blocks_missing, n_missing);
	return n_missing;
}

void event_publish(struct assembly *assembly, struct event *event,
		   const struct evring_event *description, uint64_t now)
{
	count(&assembly->counters.events_repeated, (description->flags & EVB_EVENT_REPEATED) != 0);
	consumer_slot_published(assembly, event, now);
	evring_publish(assembly->parameters.ring, event_slot(assembly, event), description);
}

static void publish(struct assembly *assembly, struct event *event, uint64_t now,
		    uint32_t n_missing, uint32_t n_fragments)
{
	const struct part *parts = event_parts(assembly, event);
	uint32_t slot = event_slot(assembly, event);
	uint8_t *memory = evring_slot(assembly->parameters.ring, slot);
	uint32_t n_bad = n_missing + event->n_malformed;
	struct evring_event description = {
		.event_id = event->id,
		.first_ns = tick_clock_ns(&assembly->clock, event->first),
		.complete_ns = tick_clock_ns(&assembly->clock, now),
		.n_sources = (uint16_t)assembly->n_sources,
		.n_missing = (uint16_t)n_bad,
		.flags = event->is_repeated ? EVB_EVENT_REPEATED : 0,
	};

	if (n_bad > 0) {
		description.flags |= EVB_EVENT_INCOMPLETE;
		if (event->n_malformed > 0)
			description.flags |= EVB_EVENT_MALFORMED;
		if (assembly->flushing)
			description.flags |= EVB_EVENT_FLUSHED;
	}
	for (uint32_t i = 0; i < assembly->n_sources; i++) {
		if (n_bad > 0 && !part_is_valid(&parts[i]))
			write_error_mfp(assembly, event, memory, i, n_fragments);
		assembly->offsets[i] = parts[i].room * (ROOM_UNIT / 4);
	}
	mep_encode_header(memory, assembly->slot_size, assembly->n_sources,
			  assembly->parameters.sources->ids, assembly->offsets,
			  (uint32_t)(event->used / 4));
	description.length = event->used;
	count(&assembly->counters.bytes_built, event->used);
	if (assembly->parameters.granted) {
		event->since = now;
		held_add(assembly, event, slot, n_bad, &description);
		return;
	}
	event_publish(assembly, event, &description, now);
}

// Blocks that could have been displaced count as malformed from now on.
static void settle_dubious(struct assembly *assembly, struct event *event)
{
	struct part *parts = event_parts(assembly, event);

	for (uint32_t i = 0; i < assembly->n_sources && event->n_dubious > 0; i++) {
		if (!part_is_dubious(&parts[i]))
			continue;
		parts[i].length = parts[i].received.prefix;
		event->n_dubious--;
		assembly->shares[i].patience -=
		    event->confirmed && assembly->shares[i].patience > 0;
		part_count_whole(assembly, event, i);
		part_count_malformed(assembly, event, i);
		if (event->confirmed)
			difference_of_block(assembly, event, i, room_of(assembly, event, &parts[i]),
					    parts[i].length);
	}
}

// Discards an event that is not one of the run, as if it had never been opened.
static void discard(struct assembly *assembly, struct event *event)
{
	uint64_t *closed = &assembly->closed[event->index % CLOSED_SIZE], before = *closed;

	event_remove(assembly, event);
	*closed = before;
	settle_dubious(assembly, event);
	(void)event_settle_missing(assembly, event);
	count(&assembly->counters.events_discarded, 1);
	if (assembly->flushing)
		count(&assembly->counters.events_flushed, 1);
	slot_free(assembly, event_slot(assembly, event), 0);
}

void event_end(struct assembly *assembly, struct event *event, uint64_t now)
{
	enum verdict verdict = window_judge(assembly, event, now);

	if (verdict == VERDICT_CLOSE || (verdict == VERDICT_WAIT && assembly->flushing))
		event_close(assembly, event, now);
	else
		discard(assembly, event);
}

// Sources send in the order of the grants: of events that were granted earlier, all data has been
// sent.
static void note_granted(struct assembly *assembly, const struct event *event)
{
	const bool has_all = event->n_whole == assembly->n_sources ||
			     (event->n_absent > 0 && event_lacks_none(assembly, event));

	if (has_all && event->granted && event->serial > assembly->newest_granted)
		assembly->newest_granted = event->serial;
}

void event_close(struct assembly *assembly, struct event *event, uint64_t now)
{
	uint32_t n_fragments = 0, n_missing = 0;
	bool complete;

	event_remove(assembly, event);
	if (is_end_of_run(event)) {
		event_settle_missing(assembly, event);
		assembly->ended = true;
		assembly->n_ended = event->n_whole;
		count(&assembly->counters.ends_of_run, 1);
		return;
	}
	if (event->n_dubious > 0)
		settle_dubious(assembly, event);
	note_granted(assembly, event);
	if (event->n_whole < assembly->n_sources)
		n_missing = event_settle_missing(assembly, event);
	n_fragments = settle_fragments(assembly, event);
	complete = n_missing == 0 && event->n_malformed == 0;
	if (!complete && assembly->flushing)
		count(&assembly->counters.events_flushed, 1);
	if (!complete && assembly->parameters.on_incomplete == INCOMPLETE_DISCARD) {
		count(&assembly->counters.events_discarded, 1);
		if (assembly->parameters.granted)
			held_add(assembly, event, ASSEMBLY_NO_SLOT, n_missing + event->n_malformed,
				 NULL);
		slot_free(assembly, event_slot(assembly, event), 0);
		return;
	}
	count(complete ? &assembly->counters.events_complete
		       : &assembly->counters.events_incomplete,
	      1);
	if (complete) {
		histogram_add(&assembly->latency->complete,
			      tick_clock_duration_ns(&assembly->clock, now - event->first));
		if (event->serial > assembly->newest_complete)
			assembly->newest_complete = event->serial;
	}
	publish(assembly, event, now, n_missing, n_fragments);
}
