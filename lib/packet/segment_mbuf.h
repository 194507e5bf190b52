// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The rx role parses each packet and stores the result in the private area of the mbuf, so that no
// other role parses the packet again.
#pragma once

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include "packet/copy_ahead.h"
#include "packet/segment.h"

// Private area of every mbuf of evb's pools, bytes.
#define SEGMENT_PRIVATE_SIZE 64

_Static_assert(sizeof(struct segment) <= SEGMENT_PRIVATE_SIZE, "segment fits the private area");
_Static_assert(SEGMENT_PRIVATE_SIZE % RTE_MBUF_PRIV_ALIGN == 0, "private area is aligned");

static inline struct segment *mbuf_segment(struct rte_mbuf *mbuf)
{
	return rte_mbuf_to_priv(mbuf);
}

// The part of an mbuf, which may have several, in which the payload of the segment begins. *offset:
// where it begins there.
static inline const struct rte_mbuf *mbuf_payload(const struct rte_mbuf *mbuf,
						  const struct segment *segment, uint32_t *offset)
{
	*offset = segment->payload;
	while (*offset >= mbuf->data_len) {
		*offset -= mbuf->data_len;
		mbuf = mbuf->next;
	}
	return mbuf;
}

// Copies the payload of the segment in an mbuf. next: as for copy_ahead().
static inline void mbuf_copy_payload(uint8_t *to, const struct rte_mbuf *mbuf,
				     const struct segment *segment, struct copy_next next)
{
	uint32_t offset, left = segment->size;

	mbuf = mbuf_payload(mbuf, segment, &offset);
	for (;;) {
		uint32_t n = RTE_MIN(left, (uint32_t)mbuf->data_len - offset);

		left -= n;
		copy_ahead(to, rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, offset), n,
			   left == 0 ? next : COPY_NEXT_UNKNOWN);
		if (likely(left == 0))
			return;
		to += n;
		offset = 0;
		mbuf = mbuf->next;
	}
}
