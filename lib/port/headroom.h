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
	uint64_t poll_ns;     // soft: interval in which the occupancy is read; else 0
};

// The sum of what is in flight on the cable in both directions, of two frames whose sending had
// begun, one on each side, of what the peer sends until it obeys a pause frame (IEEE 802.3,
// 31B.3.7), and of what arrives before the receiver reads the occupancy again.
uint64_t headroom_bytes(const struct headroom_parameters *parameters);
