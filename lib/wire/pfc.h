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
// A time is a number of quanta of 512 bit times of the link; 0 lets the sender continue.
#pragma once

#include "wire/net.h"

#define PFC_FRAME_SIZE       NET_MIN_FRAME
#define PFC_PRIORITIES       8u
#define PFC_TYPE_MAC_CONTROL 0x8808
#define PFC_QUANTUM_BITS     512u

// The destination address of these frames.
extern const struct net_mac pfc_group_address;

struct pfc_frame {
	struct net_mac source;
	bool is_pause;                   // 802.3x: one time for all priorities
	uint8_t priorities;              // bit i: quanta[i] is given; PAUSE: 0xFF
	uint16_t quanta[PFC_PRIORITIES]; // 0 for priorities that are not given
};

// True if the first `length` bytes of a frame are those of an untagged MAC control frame, which the
// parser of data frames must not receive.
static inline bool pfc_is_mac_control(const uint8_t *frame, size_t length)
{
	return length >= NET_ETH_SIZE && load_be16(frame + 12) == PFC_TYPE_MAC_CONTROL;
}

// Decodes a contiguous frame of `length` bytes, with or without padding. The destination of PFC is
// the group address; that of PAUSE may also be the receiver's own address (`own`; NULL: any).
// Ignores reserved bits and padding. Errors: TRUNCATED; BAD_MAGIC (no MAC control frame, or another
// destination); UNSUPPORTED (another opcode). *out is then unspecified.
enum wire_error pfc_decode(const uint8_t *frame, size_t length, const struct net_mac *own,
			   struct pfc_frame *out);

// Writes a whole frame. The times of priorities that are not given are written as 0; the time of
// PAUSE is quanta[0].
void pfc_encode(uint8_t frame[PFC_FRAME_SIZE], const struct pfc_frame *content);
