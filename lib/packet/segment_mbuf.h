// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The rx role parses each packet and stores the result in the private area of the mbuf, so that no
// other role parses the packet again.
#pragma once

#include <rte_mbuf.h>

#include "packet/segment.h"

// Private area of every mbuf of evb's pools, bytes.
#define SEGMENT_PRIVATE_SIZE 64

_Static_assert(sizeof(struct segment) <= SEGMENT_PRIVATE_SIZE, "segment fits the private area");
_Static_assert(SEGMENT_PRIVATE_SIZE % RTE_MBUF_PRIV_ALIGN == 0, "private area is aligned");

static inline struct segment *mbuf_segment(struct rte_mbuf *mbuf)
{
	return rte_mbuf_to_priv(mbuf);
}
