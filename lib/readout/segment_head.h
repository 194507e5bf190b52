// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What stands in front of the payload of an EJFAT segment (docs/formats.md, wire/ejfat.h), for all
// that send segments of blocks. Threads: any.
#pragma once

#include "store/block_store.h"
#include "wire/ejfat.h"
#include "wire/mfp.h"

// First UDP source port. Each source has its own, so that switches spread the flows.
#define SEGMENT_SOURCE_PORT  49152u
#define SEGMENT_SOURCE_PORTS 16384u

static inline uint32_t segment_head_size(bool load_balancer)
{
	return EJFAT_RE_SIZE + (load_balancer ? EJFAT_LB_SIZE : 0);
}

// Writes segment_head_size() bytes. tick and source are those of the LB header. Behind one there
// are no flags: other receivers than evb expect reserved bits to be 0.
static inline void segment_head_write(uint8_t *bytes, bool load_balancer, uint64_t tick,
				      unsigned source, struct ejfat_re re)
{
	if (load_balancer) {
		struct ejfat_lb lb = { .tick = tick, .entropy = (uint16_t)source, .version = 2 };

		ejfat_lb_encode(bytes, &lb);
		bytes += EJFAT_LB_SIZE;
		re.flags = 0;
	}
	ejfat_re_encode(bytes, &re);
}

// The RE header of the segments of a block from `offset` on.
static inline struct ejfat_re segment_re(const struct store_block *block, uint32_t offset,
					 uint64_t event_id, uint16_t source_id)
{
	return (struct ejfat_re){
		.event_number = event_id,
		.offset = offset,
		.length = block->size,
		.data_id = source_id,
		.flags = block->is_repeated ? EJFAT_RE_REPEATED : 0,
	};
}

// Bytes of the payload, from its beginning, that must be copied: all of a temporary block, and the
// header of an MFP, into which the sender writes the id of its event.
static inline uint32_t segment_copied(const struct store_block *block, uint32_t offset,
				      uint32_t size, bool mfps)
{
	if (block->is_temporary)
		return size;
	return mfps && offset == 0 && size >= MFP_HEADER_SIZE ? MFP_HEADER_SIZE : 0;
}

// The end-of-run block of a source: an MFP without fragments, whose event number is 2^64 - 1.
static inline struct ejfat_re segment_end_of_run(uint8_t block[MFP_HEADER_SIZE], uint16_t source_id)
{
	struct mfp_header header = { .event_id = MFP_END_OF_RUN, .source_id = source_id };

	(void)mfp_encode_header(block, MFP_HEADER_SIZE, &header, NULL, NULL);
	return (struct ejfat_re){
		.event_number = MFP_END_OF_RUN,
		.length = MFP_HEADER_SIZE,
		.data_id = source_id,
	};
}
