// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A block that is put together from segments, which arrive in any order, twice, or not at all. The
// builders put the blocks of an event into one slot (builder/assembly.h); the store of a port puts
// the blocks of each source into its memory (store/block_assembly.h). Both decide with the
// functions below what becomes of a segment and whether a whole block is valid.
//
// Threads: one per pool of ranges.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "block/ranges.h"
#include "packet/causes.h"
#include "packet/segment.h"
#include "wire/mfp.h"

// The block of one source in one event.
struct part {
	uint32_t room;   // place of its memory, as the owner counts; 0: no segment has arrived yet
	uint32_t length; // bytes of the block; 0: no segment counts
	struct received received;
};

// For a whole block, received.ranges is PART_WHOLE + its number of fragments, or PART_MALFORMED.
#define PART_WHOLE     0x80000000u
#define PART_MALFORMED 0xFFFFFFFFu

#define PART_TAKEN SEGMENT_N_CAUSES // instead of a cause of refusal

static inline bool part_is_whole(const struct part *part)
{
	return part->received.ranges >= PART_WHOLE;
}

static inline bool part_is_valid(const struct part *part)
{
	return part_is_whole(part) && part->received.ranges != PART_MALFORMED;
}

// Records that the bytes of a segment have arrived; the lengths of segment and part are equal.
// *used is the number of ranges that the source has. Returns PART_TAKEN, or why the segment is
// refused; nothing has changed then. Nearly always the segments of a block arrive in order.
static inline enum segment_cause part_record(struct range_pool *pool, struct part *part,
					     uint32_t *used, const struct segment *segment)
{
	static const enum segment_cause causes[] = {
		[RANGES_NEW] = PART_TAKEN,
		[RANGES_DUPLICATE] = SEGMENT_DUPLICATE,
		[RANGES_OVERLAPPING] = SEGMENT_OVERLAPPING,
		[RANGES_FULL] = SEGMENT_REORDER_LIMIT,
	};

	// A whole block has ranges.
	if (__builtin_expect(segment->offset == part->received.prefix &&
				 part->received.ranges == RANGES_NONE,
			     1)) {
		part->received.prefix += segment->size;
		return PART_TAKEN;
	}
	if (part_is_whole(part))
		return SEGMENT_DUPLICATE;
	return causes[ranges_insert(pool, &part->received, used, segment->offset,
				    segment->offset + segment->size)];
}

// Whether all bytes of a begun block have arrived.
static inline bool part_has_all(const struct part *part)
{
	return part->received.prefix == part->length;
}

// Judges the bytes of a whole block that should be an MFP of a source for an event, with at most
// `packing` fragments. Returns PART_WHOLE + the number of its fragments, or PART_MALFORMED.
static inline uint32_t part_judge(const uint8_t *bytes, uint32_t length, uint64_t event_id,
				  uint16_t source_id, uint32_t packing)
{
	struct mfp mfp;

	if (mfp_decode(bytes, length, &mfp) != WIRE_OK || mfp.header.packet_size != length ||
	    mfp.header.event_id != event_id || mfp.header.source_id != source_id ||
	    mfp.header.n_fragments == 0 || mfp.header.n_fragments > packing)
		return PART_MALFORMED;
	return PART_WHOLE + mfp.header.n_fragments;
}
