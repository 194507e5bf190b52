// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// MAC control frames that stop a sender: priority-based flow control (IEEE 802.1Qbb, now clause 36
// of 802.1Q) and PAUSE (IEEE 802.3 annex 31B), big endian, untagged, never forwarded by a switch:
//
//   01:80:c2:00:00:01 | sender's MAC | 0x8808
//     PFC:   0x0101 | u16 class-enable vector, bit i = priority i | u16 time[8]
//     PAUSE: 0x0001 | u16 time
//   zeros up to 60 bytes (the FCS not counted)
//
// A time is a number of quanta of 512 bit times of the link; 0 lets the sender go on.
#pragma once

#include "wire/net.h"

#define PFC_FRAME_SIZE       NET_MIN_FRAME
#define PFC_PRIORITIES       8u
#define PFC_TYPE_MAC_CONTROL 0x8808
#define PFC_QUANTUM_BITS     512u
#define PFC_MAX_QUANTA       0xFFFFu

// Where such frames go.
extern const struct net_mac pfc_group_address;

struct pfc_frame {
	struct net_mac source;
	bool is_pause;                   // 802.3x: one time for all priorities
	uint8_t priorities;              // bit i: time of priority i is given; of PAUSE all are
	uint16_t quanta[PFC_PRIORITIES]; // 0 for priorities that are not given
};

// True if the first `length` bytes of a frame are those of an untagged MAC control frame. What it
// says of a frame is enough to keep it from the parser of data frames.
static inline bool pfc_is_mac_control(const uint8_t *frame, size_t length)
{
	return length >= NET_ETH_SIZE && load_be16(frame + 12) == PFC_TYPE_MAC_CONTROL;
}

// Decodes a frame of `length` bytes, contiguous, with or without padding. PFC goes to the group
// address alone; PAUSE may go to the receiver's own address, too (own: NULL, not looked at).
// Reserved bits and padding are not looked at. Errors: TRUNCATED; BAD_MAGIC (no MAC control frame,
// or to another address); UNSUPPORTED (another opcode). *out is unspecified then.
enum wire_error pfc_decode(const uint8_t *frame, size_t length, const struct net_mac *own,
			   struct pfc_frame *out);

// Writes a whole frame. Times of priorities that are not given are written as 0; PAUSE takes its
// time from quanta[0].
void pfc_encode(uint8_t frame[PFC_FRAME_SIZE], const struct pfc_frame *content);

// How long a number of quanta lasts, rounded up. bits_per_second >= 1.
uint64_t pfc_quanta_to_ns(uint16_t quanta, uint64_t bits_per_second);

// The least number of quanta that lasts so long, or the most that a frame can state.
uint16_t pfc_ns_to_quanta(uint64_t ns, uint64_t bits_per_second);
