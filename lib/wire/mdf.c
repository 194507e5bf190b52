// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/mdf.h"

#define CHECKSUM_START 16u // the checksum covers neither the sizes nor itself

uint32_t mdf_checksum(const uint8_t *record, size_t size)
{
	uint32_t hash = 0;

	for (size_t i = CHECKSUM_START; i < size; i++) {
		hash += (uint32_t)(int8_t)record[i];
		hash += hash << 10;
		hash ^= hash >> 6;
	}
	hash += hash << 3;
	hash ^= hash >> 11;
	hash += hash << 15;
	return hash;
}

enum wire_error mdf_decode(const uint8_t *bytes, size_t length, struct mdf_header *header)
{
	if (length < MDF_HEADER_SIZE)
		return WIRE_TRUNCATED;
	memcpy(header, bytes, MDF_HEADER_SIZE);
	if (header->size < MDF_HEADER_SIZE || header->size != header->same_sizes[0] ||
	    header->size != header->same_sizes[1])
		return WIRE_BAD_LENGTH;
	if (header->header_version != MDF_HEADER_VERSION)
		return WIRE_BAD_VERSION;
	if (header->compression != 0)
		return WIRE_UNSUPPORTED;
	return length < header->size ? WIRE_TRUNCATED : WIRE_OK;
}

enum wire_error mdf_verify(const uint8_t *record, const struct mdf_header *header)
{
	if (header->checksum == 0 || header->checksum == mdf_checksum(record, header->size))
		return WIRE_OK;
	return WIRE_BAD_CHECKSUM;
}

enum wire_error mdf_next_bank(const uint8_t *record, const struct mdf_header *header,
			      size_t *offset, struct mdf_bank *bank, bool *done)
{
	const uint8_t *bytes = record + *offset;
	size_t room = header->size - *offset;
	uint16_t size;

	*done = room == 0;
	if (*done)
		return WIRE_OK;
	if (room < MDF_BANK_HEADER_SIZE)
		return WIRE_TRUNCATED;
	if (load_le16(bytes) != MDF_BANK_MAGIC)
		return WIRE_BAD_MAGIC;
	size = load_le16(bytes + 2);
	if (size < MDF_BANK_HEADER_SIZE)
		return WIRE_BAD_LENGTH;
	if (round_up(size, 4) > room)
		return WIRE_TRUNCATED;
	bank->payload = bytes + MDF_BANK_HEADER_SIZE;
	bank->size = (uint16_t)(size - MDF_BANK_HEADER_SIZE);
	bank->type = bytes[4];
	bank->version = bytes[5];
	bank->source_id = load_le16(bytes + 6);
	*offset += round_up(size, 4);
	return WIRE_OK;
}

enum wire_error mdf_append_bank(uint8_t *record, size_t capacity, size_t *offset,
				const struct mdf_bank *bank)
{
	uint8_t *at;
	size_t size;

	if (bank->size > MDF_MAX_BANK_PAYLOAD)
		return WIRE_BAD_LENGTH;
	size = mdf_bank_size(bank->size);
	if (*offset > capacity || size > capacity - *offset)
		return WIRE_NO_ROOM;
	at = record + *offset;
	store_le16(at, MDF_BANK_MAGIC);
	store_le16(at + 2, (uint16_t)(bank->size + MDF_BANK_HEADER_SIZE));
	at[4] = bank->type;
	at[5] = bank->version;
	store_le16(at + 6, bank->source_id);
	at += MDF_BANK_HEADER_SIZE;
	if (bank->size > 0)
		memcpy(at, bank->payload, bank->size);
	memset(at + bank->size, 0, size - MDF_BANK_HEADER_SIZE - bank->size);
	*offset += size;
	return WIRE_OK;
}

enum wire_error mdf_encode_header(uint8_t *record, size_t capacity, struct mdf_header *header)
{
	if (header->size < MDF_HEADER_SIZE)
		return WIRE_BAD_LENGTH;
	if (header->compression != 0)
		return WIRE_UNSUPPORTED;
	if (header->size > capacity)
		return WIRE_NO_ROOM;
	header->header_version = MDF_HEADER_VERSION;
	header->same_sizes[0] = header->same_sizes[1] = header->size;
	memcpy(record, header, MDF_HEADER_SIZE);
	header->checksum = mdf_checksum(record, header->size);
	store_le32(record + 12, header->checksum);
	return WIRE_OK;
}

enum wire_error odin_decode(const uint8_t *payload, size_t size, struct odin *odin)
{
	if (size < ODIN_SIZE)
		return WIRE_TRUNCATED;
	memcpy(odin, payload, ODIN_SIZE);
	odin->bunch &= ODIN_BUNCH_MASK;
	return WIRE_OK;
}

void odin_encode(uint8_t payload[ODIN_SIZE], const struct odin *odin)
{
	memcpy(payload, odin, ODIN_SIZE);
	store_le32(payload + offsetof(struct odin, bunch), odin->bunch & ODIN_BUNCH_MASK);
}
