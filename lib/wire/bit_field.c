// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/bit_field.h"

static void decode(const struct bit_field *field, const uint8_t *bytes, uint8_t *member)
{
	uint64_t number = 0;

	if (field->width > 64) {
		memcpy(member, bytes + field->bit / 8, field->size);
		return;
	}
	if ((field->bit | field->width) % 8 == 0)
		for (unsigned i = 0; i < field->width / 8u; i++)
			number = number << 8 | bytes[field->bit / 8 + i];
	else
		for (unsigned bit = field->bit; bit < (unsigned)field->bit + field->width; bit++)
			number = number << 1 | (bytes[bit / 8] >> (7 - bit % 8) & 1);
	memcpy(member, &number, field->size);
}

static void encode(const struct bit_field *field, uint8_t *bytes, const uint8_t *member)
{
	uint64_t number = 0;

	if (field->width > 64) {
		memcpy(bytes + field->bit / 8, member, field->size);
		return;
	}
	memcpy(&number, member, field->size);
	if ((field->bit | field->width) % 8 == 0) {
		for (unsigned i = field->width / 8u; i-- > 0; number >>= 8)
			bytes[field->bit / 8 + i] = (uint8_t)number;
		return;
	}
	for (unsigned bit = field->bit + field->width; bit-- > field->bit; number >>= 1) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8);

		bytes[bit / 8] = (uint8_t)((bytes[bit / 8] & ~mask) | (number & 1 ? mask : 0));
	}
}

void bit_fields_decode(const struct bit_field *fields, size_t n, unsigned kind,
		       const uint8_t *bytes, void *out)
{
	for (size_t i = 0; i < n; i++)
		if (fields[i].kind == kind)
			decode(&fields[i], bytes, (uint8_t *)out + fields[i].member);
}

void bit_fields_encode(const struct bit_field *fields, size_t n, unsigned kind, uint8_t *bytes,
		       const void *in)
{
	for (size_t i = 0; i < n; i++)
		if (fields[i].kind == kind)
			encode(&fields[i], bytes, (const uint8_t *)in + fields[i].member);
}
