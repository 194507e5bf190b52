// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The rooms of blocks in a slot, and conflicts about them.
//
// Rooms are allocated one after the other. In a guarded assembly a segment that conflicts with what
// has arrived of its block displaces it, if the segment is larger than each contiguous piece of it:
// a forged or broken piece of a few bytes does not cost the block. A block for which the slot has
// no room takes it from an unfinished block that is much larger than those that its source sent
// before. What a room or a part of it was taken from leaves a hole, the largest of which is used
// again.
//
// Nothing here runs per segment, except in blocks of one segment.
#include "builder/assembly_internal.h"

#define UNUSUAL 2u // a block is unusually large from this multiple of its source's largest on

// The stated length of what has the room. A block that lost it has no length and an empty prefix, a
// dubious one no length and a prefix.
static uint32_t part_length(const struct part *part)
{
	return part->length != 0 ? part->length : part->received.prefix;
}

// Returns the offset of `size` bytes in ROOM_UNITs, 0 if there is no room for them besides the
// error MFPs of n sources.
static uint32_t allocate(const struct assembly *assembly, struct event *event, uint64_t size,
			 uint32_t n)
{
	uint32_t room = 0;

	if (event->used + size + n * assembly->error_size <= assembly->slot_size) {
		room = (uint32_t)(event->used / ROOM_UNIT);
		event->used += size;
	} else if (event->hole_size >= size / ROOM_UNIT) {
		room = event->hole;
		event->hole += (uint32_t)(size / ROOM_UNIT);
		event->hole_size -= (uint32_t)(size / ROOM_UNIT);
	}
	return room;
}

// Frees the bytes from `kept` on of a room of `size` bytes.
static void cut(struct event *event, const struct part *part, uint64_t kept, uint64_t size)
{
	if ((uint64_t)part->room * ROOM_UNIT + size == event->used) {
		event->used -= size - kept;
	} else if ((size - kept) / ROOM_UNIT > event->hole_size) {
		event->hole = part->room + (uint32_t)(kept / ROOM_UNIT);
		event->hole_size = (uint32_t)((size - kept) / ROOM_UNIT);
	}
}

static void forget_received(struct assembly *assembly, struct event *event, struct part *part,
			    uint32_t source)
{
	if (part_is_dubious(part))
		event->n_dubious--;
	else
		ranges_release(&assembly->pool, &part->received, &assembly->shares[source].ranges);
	part->received = (struct received){ 0 };
}

static bool is_unusual(const struct share *share, uint32_t length)
{
	return length / UNUSUAL > share->usual;
}

// Takes the room of the largest unfinished block that is unusually large for its source, except
// the bytes of an error MFP. Returns false if there is none that has `size` bytes for a block of
// `length` bytes of the source.
static bool take_room(struct assembly *assembly, struct event *event, uint32_t source,
		      uint32_t length, uint64_t size)
{
	struct part *parts = event_parts(assembly, event);
	uint32_t largest = assembly->n_sources;

	if (assembly->shares[source].usual != 0 && is_unusual(&assembly->shares[source], length))
		return false;
	for (uint32_t i = 0; i < assembly->n_sources; i++) {
		const struct part *part = &parts[i];

		if (i == source || part->room == 0 || part_length(part) <= length ||
		    (part_is_whole(part) && !part_is_dubious(part)) ||
		    !is_unusual(&assembly->shares[i], part_length(part)) ||
		    room_size(assembly, part_length(part)) < size + assembly->error_size)
			continue;
		if (largest == assembly->n_sources ||
		    part_length(part) > part_length(&parts[largest]))
			largest = i;
	}
	if (largest == assembly->n_sources)
		return false;
	cut(event, &parts[largest], assembly->error_size,
	    room_size(assembly, part_length(&parts[largest])));
	forget_received(assembly, event, &parts[largest], largest);
	parts[largest].length = 0;
	return true;
}

// Gives a room to a block that has none, or another room to one whose room is smaller.
static bool give_room(struct assembly *assembly, struct event *event, struct part *part,
		      uint32_t source, uint32_t length)
{
	const uint64_t size = room_size(assembly, length);
	const uint32_t n = assembly->n_sources - event->n_started - (part->room == 0);
	uint32_t room = allocate(assembly, event, size, n);

	if (room == 0 && assembly_is_guarded(assembly) &&
	    take_room(assembly, event, source, length, size))
		room = allocate(assembly, event, size, n);
	if (room == 0)
		return false;
	part->room = room;
	return true;
}

// Whether a segment of `size` bytes is larger than each contiguous piece of the block that has
// arrived. What is malformed weighs nothing.
static bool outweighs(const struct assembly *assembly, const struct part *part, uint32_t size)
{
	uint32_t at = part->received.ranges, steps = 0;

	if (part_is_dubious(part))
		return true;
	if (size <= part->received.prefix)
		return false;
	for (; at != RANGES_NONE && steps < RANGES_MOST;
	     at = assembly->pool.ranges[at].next, steps++)
		if (size <= assembly->pool.ranges[at].end - assembly->pool.ranges[at].begin)
			return false;
	return true;
}

bool block_displace(struct assembly *assembly, struct event *event, struct part *part,
		    const struct segment *segment)
{
	uint64_t old_size = room_size(assembly, part_length(part));
	uint64_t size = room_size(assembly, segment->length);

	if (!assembly_is_guarded(assembly) || is_end_of_run(event) ||
	    (part_is_whole(part) && !part_is_dubious(part)) ||
	    !outweighs(assembly, part, segment->size))
		return false;
	if (part_is_dubious(part))
		assembly->shares[segment->source].patience = PATIENCE_MOST;
	if (size <= old_size)
		cut(event, part, size, old_size);
	else if (!give_room(assembly, event, part, segment->source, segment->length))
		return false;
	forget_received(assembly, event, part, segment->source);
	part->length = segment->length;
	return true;
}

enum segment_cause block_begin(struct assembly *assembly, struct event *event, struct part *part,
			       const struct segment *segment, uint64_t now)
{
	if (part->room != 0) {
		if (block_displace(assembly, event, part, segment))
			return PART_TAKEN;
		return part_length(part) == 0 ? SEGMENT_OVERSIZED : SEGMENT_LENGTH_MISMATCH;
	}
	if (is_end_of_run(event)) {
		// The room holds no bytes: that it is not 0 means that the block has begun.
		part->room = (uint32_t)(event->used / ROOM_UNIT);
		event->used += ROOM_UNIT;
	} else if (!give_room(assembly, event, part, segment->source, segment->length)) {
		return SEGMENT_OVERSIZED;
	}
	block_begun(assembly, event, part, segment, now);
	return PART_TAKEN;
}
