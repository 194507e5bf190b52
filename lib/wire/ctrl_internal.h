// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the coders of control records share. Not for users of lib/wire.
#pragma once

#include "wire/ctrl.h"

#define CTRL_RECORD_HEADER 4u // type and size

// Begins a record: zeroes it and writes its type and size. False if it does not fit.
static inline bool ctrl_open(uint8_t *bytes, size_t capacity, enum ctrl_type type, size_t size)
{
	if (size > capacity || size > UINT16_MAX)
		return false;
	memset(bytes, 0, size);
	store_le16(bytes, (uint16_t)type);
	store_le16(bytes + 2, (uint16_t)size);
	return true;
}

static inline enum wire_error ctrl_expect(const struct ctrl_record *record, enum ctrl_type type,
					  size_t size)
{
	if (record->type != type)
		return WIRE_BAD_MAGIC;
	return record->size < size ? WIRE_TRUNCATED : WIRE_OK;
}

// `size` bytes of text, the rest zeros, at least one.
static inline void ctrl_put_text(uint8_t *bytes, const char *text, size_t size)
{
	for (size_t i = 0; i < size - 1 && text[i] != '\0'; i++)
		bytes[i] = (uint8_t)text[i];
}

static inline void ctrl_get_text(const uint8_t *bytes, char *text, size_t size)
{
	size_t i = 0;

	for (; i < size - 1 && bytes[i] != 0; i++)
		text[i] = (char)(bytes[i] >= 0x20 && bytes[i] < 0x7F ? bytes[i] : '?');
	memset(text + i, 0, size - i);
}

static inline enum wire_error ctrl_in_range(bool in_range)
{
	return in_range ? WIRE_OK : WIRE_UNSUPPORTED;
}
