// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A bundle: one packet with the small blocks of several sources or events, for one builder. Each
// block is whole and stands behind an RE header of its own (wire/ejfat.h). The segment of the mbuf
// is that of the block which is placed next. So a bundle is one mbuf, and one entry of a link, from
// the port to the builder.
#pragma once

#include "packet/event_index.h"
#include "packet/segment_mbuf.h"
#include "packet/source_table.h"
#include "wire/ejfat.h"

#define BUNDLE_MOST 16u // blocks

// Whether another block is behind that of the segment.
static inline bool bundle_has_more(const struct segment *segment)
{
	return (segment->flags & SEGMENT_MORE) != 0;
}

// Decodes the RE header behind the block of the segment, in a packet whose blocks end at `end`.
// False if the packet has no such header, or the block behind it is not whole.
static inline bool bundle_decode_next(const struct rte_mbuf *mbuf, const struct segment *segment,
				      uint32_t end, struct ejfat_re *re)
{
	const uint32_t at = segment->payload + segment->size;
	uint8_t copy[EJFAT_RE_SIZE];
	const uint8_t *bytes;

	if (at + EJFAT_RE_SIZE >= end)
		return false;
	bytes = rte_pktmbuf_read(mbuf, at, EJFAT_RE_SIZE, copy);
	return bytes != NULL && ejfat_re_decode(bytes, EJFAT_RE_SIZE, re) == WIRE_OK &&
	       re->offset == 0 && re->length > 0 && re->length <= end - at - EJFAT_RE_SIZE;
}

// Makes the segment that of the block of a header that bundle_decode_next() has decoded.
static inline void bundle_go_on(struct segment *segment, const struct ejfat_re *re,
				const struct source_table *sources, const struct divisor *packing)
{
	segment->payload = (uint16_t)(segment->payload + segment->size + EJFAT_RE_SIZE);
	segment->event_id = re->event_number;
	segment->event_index = divide(re->event_number, packing);
	segment->offset = 0;
	segment->size = segment->length = re->length;
	segment->source = sources->index[re->data_id];
	segment->flags = re->flags;
}

// Goes on to the next block of a packet that rx has checked, and has not refused. False if there is
// none.
static inline bool bundle_next(const struct rte_mbuf *mbuf, struct segment *segment,
			       const struct source_table *sources, const struct divisor *packing)
{
	while (unlikely(bundle_has_more(segment))) {
		const bool refused = (segment->refused & 1u) != 0;
		struct ejfat_re re;

		if (!bundle_decode_next(mbuf, segment, rte_pktmbuf_pkt_len(mbuf), &re))
			return false;
		bundle_go_on(segment, &re, sources, packing);
		segment->refused >>= 1;
		if (!refused)
			return true;
	}
	return false;
}
