// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The headroom: the bytes that a peer may still send after a receiver decided to pause it. So much
// room must be free above the high-water mark, per priority, or packets are lost. Pure.
#pragma once

#include <stdint.h>

struct headroom_parameters {
	uint64_t bits_per_second; // of the link, >= 1
	uint32_t cable_metres;
	uint32_t frame_bytes; // the largest frame, with Ethernet header and FCS
	uint64_t response_ns; // time until the peer obeys a pause frame; 0: headroom_response_ns()
	uint64_t poll_ns;     // soft: interval in which the occupancy is read; else 0
};

// Bytes.
struct headroom {
	uint64_t cable;    // in flight on the cable, in both directions
	uint64_t frames;   // two frames whose sending had begun, one on each side
	uint64_t response; // sent while the peer processes the pause frame
	uint64_t poll;     // received before the receiver reads the occupancy again
	uint64_t total;
};

// The longest time for which a station may continue to send after it received a pause frame (IEEE
// 802.3, 31B.3.7). bits_per_second >= 1.
uint64_t headroom_response_ns(uint64_t bits_per_second);

void headroom_compute(const struct headroom_parameters *parameters, struct headroom *headroom);
