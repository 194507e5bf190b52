// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How much a peer may still send after a receiver decided to stop it: the room that must be free
// above the high-water mark, for each priority, or packets are lost. Pure.
#pragma once

#include <stdint.h>

struct headroom_parameters {
	uint64_t bits_per_second; // of the link, >= 1
	uint32_t cable_metres;
	uint32_t frame_bytes; // the largest frame, with Ethernet header and FCS
	uint64_t response_ns; // of the peer to a pause frame; 0: headroom_response_ns()
	uint64_t poll_ns;     // soft: between two looks at the occupancy; else 0
};

// Bytes.
struct headroom {
	uint64_t cable;    // in flight on the cable, in both directions
	uint64_t frames;   // begun before the frame got through: one at either end
	uint64_t response; // sent while the peer processes the frame
	uint64_t poll;     // received before the receiver looks again
	uint64_t total;
};

// The longest that IEEE 802.3 (31B.3.7) allows a station to go on sending after a pause frame came.
// bits_per_second >= 1.
uint64_t headroom_response_ns(uint64_t bits_per_second);

void headroom_compute(const struct headroom_parameters *parameters, struct headroom *headroom);
