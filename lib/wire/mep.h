// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// MEP, multi-event packet: the built event, a header and the MFPs of all sources. Format of LHCb
// Run 3, little endian, packed:
//
//   0 u16 magic 0xCEFA | 2 u16 n MFPs
//   4 u32 packet size in 32-bit words, header and all padding included
//   8 u16 source ids[n], padded to an even count
//     u32 offsets[n] in 32-bit words from the MEP's start
//     header padded to mfp_align (default 8 bytes); every MFP starts at a multiple of mfp_align
//
// All MFPs have the same first event id and the same number of fragments. The source ids may be in
// any order, and so may the MFPs, which may have gaps between them.
#pragma once

#include "wire/mfp.h"
#include "wire/wire.h"

#define MEP_MAGIC         0xCEFA
#define MEP_DEFAULT_ALIGN 8u // bytes
#define MEP_MAX_MFPS      65535u

// A checked MEP; the pointers point into the decoded bytes and live as long as those.
struct mep {
	const uint8_t *bytes;
	size_t size; // bytes
	const uint8_t *source_ids;
	const uint8_t *offsets;
	uint16_t n_mfps;
};

// Bytes of the header of n MFPs, padded to mfp_align (a power of two >= 4).
size_t mep_header_size(unsigned n_mfps, unsigned mfp_align);

// Decodes and checks the header: the magic; that `length` is at least the packet size; that every
// offset lies after the header and leaves room for an MFP header. Does not read the MFPs. Errors:
// TRUNCATED, BAD_MAGIC, BAD_LENGTH, BAD_ALIGNMENT (an offset).
enum wire_error mep_decode(const uint8_t *bytes, size_t length, struct mep *mep);

// The source id of MFP `index` < n_mfps of a checked MEP.
uint16_t mep_source_id(const struct mep *mep, unsigned index);

// The first byte of MFP `index` < n_mfps; *room is the number of bytes from there to the MEP's end.
const uint8_t *mep_mfp_bytes(const struct mep *mep, unsigned index, size_t *room);

// Checks the whole MEP. Each MFP must decode (of an opaque MFP only the header is decoded), lie
// inside the MEP, overlap no other MFP, and have the source id that the table gives for it. The
// table must contain each source id once. All MFPs must have the same event id, and all MFPs with
// fragments the same number of fragments. `scratch` has n_mfps entries, which are overwritten.
// Errors: mfp_decode()'s, BAD_SOURCE, BAD_EVENT, BAD_ALIGNMENT (overlap).
enum wire_error mep_check(const struct mep *mep, uint64_t *scratch);

// Writes the header; the offsets and total_words are in 32-bit words. Zeroes the bytes between the
// header and the first MFP that lie within the capacity, which may end before the MFPs.
// Errors: NO_ROOM, BAD_LENGTH (too many MFPs).
enum wire_error mep_encode_header(uint8_t *bytes, size_t capacity, unsigned n_mfps,
				  const uint16_t *source_ids, const uint32_t *offsets,
				  uint32_t total_words);
