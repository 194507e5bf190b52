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
	header->size = load_le32(bytes);
	header->checksum = load_le32(bytes + 12);
	header->compression = bytes[16];
	header->header_version = bytes[17];
	header->data_type = bytes[18];
	for (unsigned i = 0; i < 4; i++)
		header->mask[i] = load_le32(bytes + 20 + 4 * i);
	header->run = load_le32(bytes + 36);
	header->orbit = load_le32(bytes + 40);
	header->bunch = load_le32(bytes + 44);
	if (header->size < MDF_HEADER_SIZE || header->size != load_le32(bytes + 4) ||
	    header->size != load_le32(bytes + 8))
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
	for (unsigned i = 0; i < 3; i++)
		store_le32(record + 4 * i, header->size);
	record[16] = header->compression;
	record[17] = header->header_version;
	record[18] = header->data_type;
	record[19] = 0;
	for (unsigned i = 0; i < 4; i++)
		store_le32(record + 20 + 4 * i, header->mask[i]);
	store_le32(record + 36, header->run);
	store_le32(record + 40, header->orbit);
	store_le32(record + 44, header->bunch);
	header->checksum = mdf_checksum(record, header->size);
	store_le32(record + 12, header->checksum);
	return WIRE_OK;
}

enum wire_error odin_decode(const uint8_t *payload, size_t size, struct odin *odin)
{
	if (size < ODIN_SIZE)
		return WIRE_TRUNCATED;
	odin->run = load_le32(payload);
	odin->event_type = load_le16(payload + 4);
	odin->step = load_le16(payload + 6);
	odin->gps_us = load_le64(payload + 8);
	odin->tck = load_le32(payload + 16);
	odin->partition = load_le32(payload + 20);
	odin->bunch = load_le32(payload + 24) & ODIN_BUNCH_MASK;
	odin->orbit = load_le32(payload + 28);
	odin->event_id = load_le64(payload + 32);
	return WIRE_OK;
}

void odin_encode(uint8_t payload[ODIN_SIZE], const struct odin *odin)
{
	store_le32(payload, odin->run);
	store_le16(payload + 4, odin->event_type);
	store_le16(payload + 6, odin->step);
	store_le64(payload + 8, odin->gps_us);
	store_le32(payload + 16, odin->tck);
	store_le32(payload + 20, odin->partition);
	store_le32(payload + 24, odin->bunch & ODIN_BUNCH_MASK);
	store_le32(payload + 28, odin->orbit);
	store_le64(payload + 32, odin->event_id);
}
