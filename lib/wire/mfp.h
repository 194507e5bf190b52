// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// MFP, multi-fragment packet: the fragments that one source has for consecutive events.
// Format of LHCb Run 3 (EDMS 2100937), little endian, packed:
//
//   0 u16 magic 0x40CE       | 2 u16 n fragments | 4 u32 packet size in bytes, header included
//   8 u64 event id of the first fragment; fragment i has event id + i; 2^64-1: end of run
//  16 u16 source id = subdetector (5 bits) << 11 | number (11 bits)
//  18 u8 align, log2: each fragment, also the last, is padded to 2^align bytes
//  19 u8 version of the fragments
//  20 u8 types[n], padded to 4 bytes | u16 sizes[n] in bytes without padding, the array padded to
//     4 bytes | the fragments
//
// A block of payload kind `opaque` (ours) travels in built events as an MFP with n = 0 whose bytes
// follow the 20-byte header. mfp_decode_header() accepts such an MFP; mfp_decode() refuses it with
// BAD_LENGTH, and accepts n = 0 only if nothing follows the header (an end of run may look so).
#pragma once

#include "wire/wire.h"

#define MFP_MAGIC         0x40CE
#define MFP_HEADER_SIZE   20u
#define MFP_END_OF_RUN    UINT64_MAX
#define MFP_MAX_FRAGMENTS 65535u
#define MFP_MAX_ALIGN     16u // log2; no fragment is larger than 65535 bytes

// Fragment types that evb itself writes or interprets (docs/formats.md lists the others).
enum mfp_type {
	MFP_TYPE_DAQ = 15,
	MFP_TYPE_ODIN = 16,
	MFP_TYPE_TAE_HEADER = 48,
	MFP_TYPE_FRAGMENT_MISSING = 92,
	MFP_TYPE_FRAGMENT_MALFORMED = 95,
};

// The members stand where their bytes do.
struct mfp_header {
	uint16_t magic; // encoders set it
	uint16_t n_fragments;
	uint32_t packet_size; // bytes, header and all padding included
	uint64_t event_id;
	uint16_t source_id;
	uint8_t align_log2;
	uint8_t version;
};
_Static_assert(offsetof(struct mfp_header, version) == MFP_HEADER_SIZE - 1, "has the bytes' order");

// A checked MFP; the pointers point into the decoded bytes and live as long as those.
struct mfp {
	struct mfp_header header;
	const uint8_t *types; // n_fragments
	const uint8_t *sizes; // n_fragments little-endian u16, possibly unaligned
	const uint8_t *data;  // first fragment
};

struct mfp_fragment {
	uint64_t event_id;
	const uint8_t *payload;
	uint16_t size; // bytes, without padding
	uint8_t type;
};

// Offset of the first fragment: 20 + pad4(n) + pad4(2 n) bytes.
static inline size_t mfp_data_offset(unsigned n_fragments)
{
	return MFP_HEADER_SIZE + round_up(n_fragments, 4) + round_up(2 * (size_t)n_fragments, 4);
}

// Decodes the 20 fixed bytes and checks the magic, the alignment and that packet_size >= 20. Reads
// nothing after them. Errors: TRUNCATED, BAD_MAGIC, BAD_ALIGNMENT, BAD_LENGTH.
enum wire_error mfp_decode_header(const uint8_t *bytes, size_t length, struct mfp_header *header);

// Decodes a whole MFP: the header, that `length` >= packet size, and that the padded fragment
// sizes sum to exactly the packet size. `length` may exceed the packet size (padding of a MEP).
// Errors: those of mfp_decode_header().
enum wire_error mfp_decode(const uint8_t *bytes, size_t length, struct mfp *mfp);

// Reads one fragment of a checked MFP after the other. Start with *index = 0 and *offset = 0;
// returns false after the last fragment.
bool mfp_next_fragment(const struct mfp *mfp, unsigned *index, size_t *offset,
		       struct mfp_fragment *fragment);

// Bytes of an MFP with these fragment sizes; 0 if that number does not fit in 32 bits, or if n or
// the alignment exceeds its maximum.
size_t mfp_encoded_size(unsigned n_fragments, const uint16_t *sizes, unsigned align_log2);

// Writes header, types and sizes, and sets header->packet_size, which the capacity must hold. The
// caller then writes the first fragment at mfp_data_offset() and each other one after the padding
// of its predecessor.
// Errors: NO_ROOM, BAD_ALIGNMENT, BAD_LENGTH.
enum wire_error mfp_encode_header(uint8_t *bytes, size_t capacity, struct mfp_header *header,
				  const uint8_t *types, const uint16_t *sizes);

// Writes a whole MFP, its padding zeroed; payloads[i] holds sizes[i] bytes. Errors: those of
// mfp_encode_header().
enum wire_error mfp_encode(uint8_t *bytes, size_t capacity, struct mfp_header *header,
			   const uint8_t *types, const uint16_t *sizes,
			   const uint8_t *const *payloads);

// Bytes of the MFP that mfp_encode_error() writes.
static inline size_t mfp_error_size(unsigned n_fragments)
{
	return mfp_data_offset(n_fragments);
}

// Writes an MFP of n fragments of size 0, all of the same (error) type. A builder puts it in the
// place of a source's missing or malformed data. Errors: NO_ROOM, BAD_LENGTH (too many fragments).
enum wire_error mfp_encode_error(uint8_t *bytes, size_t capacity, uint64_t event_id,
				 uint16_t source_id, unsigned n_fragments, uint8_t type);

// True if all fragments are empty and of type 92 (missing) or 95 (malformed). A builder puts such
// an MFP in the place of missing data; a source without data for these events may also send one.
static inline bool mfp_nothing_usable(const struct mfp *mfp)
{
	for (unsigned i = 0; i < mfp->header.n_fragments; i++) {
		uint8_t type = mfp->types[i];

		if (load_le16(mfp->sizes + 2 * (size_t)i) ||
		    (type != MFP_TYPE_FRAGMENT_MISSING && type != MFP_TYPE_FRAGMENT_MALFORMED))
			return false;
	}
	return mfp->header.n_fragments > 0;
}

// Overwrites the event id of an encoded MFP of at least MFP_HEADER_SIZE bytes.
static inline void mfp_patch_event_id(uint8_t *bytes, uint64_t event_id)
{
	store_le64(bytes + 8, event_id);
}

// The subdetector's name of a source id ("ODIN", "VELO_A", "ECAL", ...), "UNKNOWN" if reserved.
const char *mfp_subdetector_name(uint16_t source_id);

#define MFP_SOURCE_NAME_SIZE 8

// A source id as people write it: "7", and "0x0801" where it has a subdetector other than 0. Other
// experiments than LHCb number their sources from 0 or 1 on, and have no subdetectors.
void mfp_source_name(uint16_t source_id, char text[MFP_SOURCE_NAME_SIZE]);
static inline bool mfp_has_subdetector(uint16_t source_id)
{
	return source_id >> 11 != 0;
}

// The name of a fragment type ("ODIN", "VP", "FragmentMissing", ...), "Unknown" if not listed.
const char *mfp_type_name(uint8_t type);
