// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A segment: one network packet's worth of a block (an MFP, or any bytes for payload kind opaque).
#pragma once

#include <stdint.h>

// Flags of a segment.
#define SEGMENT_REPEATED 0x1u // its block may have been sent before, as that of another event
#define SEGMENT_MORE     0x2u // another block is behind it in its packet (packet/bundle.h)

struct segment {
	uint64_t event_id;    // first event id of the block
	uint64_t event_index; // event_id / packing
	uint64_t arrival;     // ticks at which rx took it from the port
	uint32_t offset;      // bytes, in the block
	uint32_t size;        // bytes of payload, >= 1; offset + size <= length
	uint32_t length;      // bytes of the whole block
	uint16_t payload;     // bytes from the packet's start to the payload
	uint16_t source;      // index into the run's expected sources
	uint16_t builder;     // of this process; of RoCE segments only
	uint16_t flags;       // SEGMENT_REPEATED, SEGMENT_MORE
	uint16_t refused;     // of a bundle: bit n: rx has refused block n behind this one
};
