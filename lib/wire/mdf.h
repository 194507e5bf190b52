// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// MDF, the file format of LHCb events, little endian:
//
//   0 u32 size[3], all equal, total record in bytes | 12 u32 checksum, 0 = none
//  16 u8 compression | 17 u8 version << 4 | subheader words (0x37) | 18 u8 data type | 19 u8 spare
//  20 u32 mask[4] | 36 u32 run | 40 u32 orbit | 44 u32 bunch | 48 banks
//
//  bank: u16 0xCBCB | u16 payload + 8 in bytes, no padding | u8 type | u8 version | u16 source id
//        | payload, zero padded to 4
//
// checksum = Jenkins one-at-a-time hash over bytes [16, record size), read as signed chars.
#pragma once

#include "wire/wire.h"

#define MDF_HEADER_SIZE      48u
#define MDF_BANK_MAGIC       0xCBCB
#define MDF_BANK_HEADER_SIZE 8u
#define MDF_MAX_BANK_PAYLOAD (65535u - MDF_BANK_HEADER_SIZE)
#define MDF_HEADER_VERSION   0x37 // version 3, 7 words of subheader
#define MDF_TYPE_BANKS       1
#define ODIN_SIZE            40u
#define ODIN_BUNCH_MASK      0xFFF // of misc

// The members stand where their bytes do.
struct mdf_header {
	uint32_t size;          // bytes, header included
	uint32_t same_sizes[2]; // encoders set them
	uint32_t checksum;
	uint8_t compression;
	uint8_t header_version; // MDF_HEADER_VERSION
	uint8_t data_type;
	uint8_t spare; // LHCb's software writes 0 and ignores it
	uint32_t mask[4];
	uint32_t run;
	uint32_t orbit;
	uint32_t bunch;
};
_Static_assert(sizeof(struct mdf_header) == MDF_HEADER_SIZE, "has the bytes' order");

struct mdf_bank {
	const uint8_t *payload;
	uint16_t size; // bytes of payload, without padding
	uint16_t source_id;
	uint8_t type;
	uint8_t version;
};

// The ODIN bank, version 7 (payload of 40 bytes). The members stand where their bytes do.
struct odin {
	uint32_t run;
	uint16_t event_type;
	uint16_t step;
	uint64_t gps_us;
	uint32_t tck;
	uint32_t partition;
	uint32_t bunch; // bits 0-11 of misc, whose other bits the coders clear
	uint32_t orbit;
	uint64_t event_id;
};
_Static_assert(sizeof(struct odin) == ODIN_SIZE, "has the bytes' order");

// The checksum of a whole record of `size` >= 16 bytes.
uint32_t mdf_checksum(const uint8_t *record, size_t size);

// Decodes the header; checks the three sizes, the version and that `length` holds the record.
// Errors: TRUNCATED, BAD_LENGTH, BAD_VERSION, UNSUPPORTED (compressed).
enum wire_error mdf_decode(const uint8_t *bytes, size_t length, struct mdf_header *header);

// BAD_CHECKSUM if the record has a checksum (not 0) that differs from the one of its bytes.
enum wire_error mdf_verify(const uint8_t *record, const struct mdf_header *header);

// Reads one bank after the other. Start with *offset = MDF_HEADER_SIZE. Returns WIRE_OK with *done
// = true after the last bank. Errors: TRUNCATED, BAD_MAGIC, BAD_LENGTH; *offset is then that of the
// bad bank.
enum wire_error mdf_next_bank(const uint8_t *record, const struct mdf_header *header,
			      size_t *offset, struct mdf_bank *bank, bool *done);

// Bytes of a bank in a record, header and padding included.
static inline size_t mdf_bank_size(size_t payload)
{
	return MDF_BANK_HEADER_SIZE + round_up(payload, 4);
}

// Writes a bank, its padding zeroed, at *offset, and advances *offset. Errors: NO_ROOM, BAD_LENGTH.
enum wire_error mdf_append_bank(uint8_t *record, size_t capacity, size_t *offset,
				const struct mdf_bank *bank);

// Writes the header of a record whose banks end at `header->size`. Sets header->header_version and
// header->checksum. Errors: NO_ROOM, BAD_LENGTH, UNSUPPORTED (compression).
enum wire_error mdf_encode_header(uint8_t *record, size_t capacity, struct mdf_header *header);

// Errors: TRUNCATED.
enum wire_error odin_decode(const uint8_t *payload, size_t size, struct odin *odin);
// Writes ODIN_SIZE bytes; the remaining bits of misc are 0.
void odin_encode(uint8_t payload[ODIN_SIZE], const struct odin *odin);
