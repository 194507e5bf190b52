// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Segments over UDP or over an EtherType of their own: EJFAT headers and payload.
#pragma once

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "packet/segment.h"
#include "packet/source_table.h"
#include "wire/ejfat.h"
#include "wire/net.h"

// Frames up to this size may end in padding: the shortest that Ethernet allows, with VLAN tags.
#define RX_PADDED_BYTES (NET_MIN_FRAME + 2 * NET_VLAN_SIZE)

// Bytes of EJFAT headers and payload. Ethernet pads short frames, and where no IP header states a
// length, only that of the block distinguishes padding from payload.
static inline uint32_t rx_size_without_padding(const uint8_t *headers, uint32_t at_hand,
					       const struct net_frame *frame)
{
	uint32_t start = ejfat_has_lb(headers, at_hand) ? EJFAT_LB_SIZE : 0;
	struct ejfat_re re;

	if (likely(frame->kind != NET_ETHER_PAYLOAD ||
		   frame->payload_offset + frame->payload_size > RX_PADDED_BYTES))
		return frame->payload_size;
	if (at_hand < start || ejfat_re_decode(headers + start, at_hand - start, &re) != WIRE_OK ||
	    re.offset >= re.length || (re.flags & EJFAT_RE_MORE) != 0)
		return frame->payload_size;
	return (uint32_t)RTE_MIN((uint64_t)frame->payload_size,
				 (uint64_t)start + EJFAT_RE_SIZE + re.length - re.offset);
}

// Decodes the segment of a parsed packet, of which header_bytes are contiguous at `bytes`. Fills
// all of *segment but event_index, arrival, builder and refused; its source may be SOURCE_UNKNOWN
// or SOURCE_UNEXPECTED. Errors: those of ejfat_segment_decode(), TRUNCATED also if header_bytes
// were too few; *segment is unchanged then.
static inline enum wire_error rx_segment_decode(const uint8_t *bytes, uint32_t header_bytes,
						const struct net_frame *frame,
						const struct source_table *sources,
						struct segment *segment)
{
	struct ejfat_segment decoded;
	uint32_t start = frame->payload_offset;
	uint32_t at_hand = RTE_MIN(header_bytes - start, frame->payload_size);
	uint32_t size = rx_size_without_padding(bytes + start, at_hand, frame);
	enum wire_error error =
	    ejfat_segment_decode(bytes + start, RTE_MIN(at_hand, size), size, &decoded);

	if (unlikely(error != WIRE_OK))
		return error;
	segment->event_id = decoded.re.event_number;
	segment->offset = decoded.re.offset;
	segment->size = decoded.payload_size;
	segment->length = decoded.re.length;
	segment->payload = (uint16_t)(start + decoded.payload_offset);
	segment->source = sources->index[decoded.re.data_id];
	segment->flags = decoded.re.flags;
	return WIRE_OK;
}
