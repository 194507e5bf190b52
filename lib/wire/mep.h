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
//     header padded to mfp_align (default 8 bytes); every MFP starts at a multiple of it
//
// All MFPs have the same first event id and the same number of fragments. Source ids may stand in
// any order, and the MFPs too, with gaps between them.
#pragma once

#include "wire/mfp.h"
#include "wire/wire.h"

#define MEP_MAGIC         0xCEFA
#define MEP_DEFAULT_ALIGN 8u // bytes
#define MEP_MAX_MFPS      65535u

// A checked MEP; the pointers lead into the decoded bytes.
struct mep {
	const uint8_t *bytes;
	size_t size; // bytes
	const uint8_t *source_ids;
	const uint8_t *offsets;
	uint16_t n_mfps;
};

// Bytes of the header of n MFPs, padded to mfp_align (a power of two >= 4).
size_t mep_header_size(unsigned n_mfps, unsigned mfp_align);

// Decodes and checks the header: magic, that `length` holds the packet size, that every offset
// lies behind the header and leaves room for an MFP header. Does not look at the MFPs. Errors:
// TRUNCATED, BAD_MAGIC, BAD_LENGTH, BAD_ALIGNMENT (an offset).
enum wire_error mep_decode(const uint8_t *bytes, size_t length, struct mep *mep);

// Of a checked MEP, index < n_mfps.
uint16_t mep_source_id(const struct mep *mep, unsigned index);

// The bytes of MFP `index` < n_mfps and how many there can be at most (up to the MEP's end).
const uint8_t *mep_mfp_bytes(const struct mep *mep, unsigned index, size_t *room);

// Checks the whole MEP: each MFP decodes (opaque ones by their header only), lies inside, does not
// overlap another, carries the source id of the table, which names each source once; all have one
// event id, and all that have fragments have the same number of them. `scratch` holds n_mfps
// entries and is overwritten. Errors: mfp_decode()'s, BAD_SOURCE, BAD_EVENT, BAD_ALIGNMENT
// (overlap).
enum wire_error mep_check(const struct mep *mep, uint64_t *scratch);

// Writes the header. offsets in 32-bit words, total_words likewise. What lies between the header
// and the first MFP, as far as the capacity goes, is zeroed. The capacity may end before the MFPs.
// Errors: NO_ROOM, BAD_LENGTH (too many MFPs).
enum wire_error mep_encode_header(uint8_t *bytes, size_t capacity, unsigned n_mfps,
				  const uint16_t *source_ids, const uint32_t *offsets,
				  uint32_t total_words);
