// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Formats whose fields are a table: big-endian numbers of any width at any bit. Meant for messages
// of connections, not for packets of data: it takes a step per byte or, of fields that do not begin
// and end with a byte, per bit.
#pragma once

#include "wire/wire.h"

struct bit_field {
	uint16_t kind;   // of the messages that have the field, or 0
	uint16_t member; // offset of a number, a bool or an array of bytes in the decoded struct
	uint16_t size;   // of the member, bytes
	uint16_t bit;    // from the message's start; bit 0 is the highest of byte 0
	uint16_t width;  // bits; more than 64: an array of bytes
};

#define BIT_FIELD(of_kind, type, name, byte, first_bit, n_bits)                     \
	{                                                                           \
		.kind = (of_kind), .member = offsetof(type, name),                  \
		.size = sizeof(((type *)0)->name), .bit = 8 * (byte) + (first_bit), \
		.width = (n_bits)                                                   \
	}

// Decodes or encodes the fields of one kind. An encoder changes only the bits of these fields, and
// drops bits of a number that its field has no room for.
void bit_fields_decode(const struct bit_field *fields, size_t n, unsigned kind,
		       const uint8_t *bytes, void *out);
void bit_fields_encode(const struct bit_field *fields, size_t n, unsigned kind, uint8_t *bytes,
		       const void *in);
