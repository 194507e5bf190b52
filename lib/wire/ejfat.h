// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// EJFAT segmentation (big endian): an MFP, or any block of bytes, is carried in UDP datagrams or in
// Ethernet frames of an EtherType of its own.
//
//   LB header, 16 B, optional on receive (a load balancer strips it):
//     'L' 'B' | u8 version 2 or 3 | u8 next protocol 1
//     | v2: u16 reserved, u16 entropy; v3: u16 slot select, u16 port select | u64 tick
//   RE header, 20 B:
//     u8 version << 4 = 0x10 | u8 flags (ours; reserved, 0) | u16 data id (= source id) | u32
//     buffer offset | u32 buffer length (whole MFP) | u64 event number
//   then the bytes of the MFP from that offset on.
//
// With the flag EJFAT_RE_MORE the MFP is whole, and another RE header with a whole MFP follows it,
// without padding.
#pragma once

#include "wire/wire.h"

#define EJFAT_LB_SIZE    16u
#define EJFAT_RE_SIZE    20u
#define EJFAT_RE_VERSION 1
// The block may have been sent before, as that of another event.
#define EJFAT_RE_REPEATED 0x1u
// Another RE header, and the whole block of it, is behind this block.
#define EJFAT_RE_MORE 0x2u

struct ejfat_lb {
	uint64_t tick;
	uint16_t entropy;     // v2: entropy; v3: port select
	uint16_t slot_select; // v3 only, else 0
	uint8_t version;      // 2 or 3
};

struct ejfat_re {
	uint64_t event_number;
	uint32_t offset; // bytes, of this segment in the buffer
	uint32_t length; // bytes, of the whole buffer
	uint16_t data_id;
	uint8_t flags; // EJFAT_RE_REPEATED, EJFAT_RE_MORE
};

// A decoded segment: its header and the position of its payload.
struct ejfat_segment {
	struct ejfat_re re;
	uint32_t payload_offset; // from the decoded bytes' start
	uint32_t payload_size;   // bytes, >= 1
};

// True if the bytes begin with an LB header's magic.
bool ejfat_has_lb(const uint8_t *bytes, size_t length);

// Errors: TRUNCATED, BAD_MAGIC, BAD_VERSION (also for a next protocol other than 1).
enum wire_error ejfat_lb_decode(const uint8_t *bytes, size_t length, struct ejfat_lb *lb);
void ejfat_lb_encode(uint8_t bytes[EJFAT_LB_SIZE], const struct ejfat_lb *lb);

// Ignores the other reserved bits. Errors: TRUNCATED, BAD_VERSION.
enum wire_error ejfat_re_decode(const uint8_t *bytes, size_t length, struct ejfat_re *re);
void ejfat_re_encode(uint8_t bytes[EJFAT_RE_SIZE], const struct ejfat_re *re);

// Decodes a datagram's headers, with or without LB header. The first `header_bytes` of its `length`
// bytes are contiguous (at least 36, or all of them). Checks that the payload is not empty and lies
// inside the buffer: offset + payload <= length of the buffer. With EJFAT_RE_MORE the payload is
// that of the first block if bytes are behind it; it must be whole then, and the next one have
// bytes. Errors: TRUNCATED, BAD_VERSION, BAD_LENGTH.
enum wire_error ejfat_segment_decode(const uint8_t *bytes, size_t header_bytes, size_t length,
				     struct ejfat_segment *segment);
