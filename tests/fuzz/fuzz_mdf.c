// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Any bytes as an MDF record: banks lie inside, one behind the other, and those of a record that
// walks to its end make a record that says the same, verifies, and encodes to itself.
#include "fuzz.h"

#include "wire/mdf.h"

static void check_odin(const struct mdf_bank *bank)
{
	uint8_t bytes[ODIN_SIZE];
	struct odin odin, again;

	if (odin_decode(bank->payload, bank->size, &odin) != WIRE_OK) {
		FUZZ_CHECK(bank->size < ODIN_SIZE);
		return;
	}
	odin_encode(bytes, &odin);
	FUZZ_CHECK(odin_decode(bytes, sizeof(bytes), &again) == WIRE_OK);
	FUZZ_CHECK(again.gps_us == odin.gps_us && again.event_id == odin.event_id);
	FUZZ_CHECK(again.run == odin.run && again.tck == odin.tck);
	FUZZ_CHECK(again.partition == odin.partition && again.orbit == odin.orbit);
	FUZZ_CHECK(again.event_type == odin.event_type && again.step == odin.step);
	FUZZ_CHECK(again.bunch == odin.bunch);
}

// True if the walk reaches the record's end.
static bool check_walk(const uint8_t *record, const struct mdf_header *header)
{
	size_t offset = MDF_HEADER_SIZE, before = offset;
	struct mdf_bank bank;
	bool done;

	while (mdf_next_bank(record, header, &offset, &bank, &done) == WIRE_OK) {
		if (done)
			return true;
		FUZZ_CHECK(bank.payload == record + before + MDF_BANK_HEADER_SIZE);
		FUZZ_CHECK(offset == before + mdf_bank_size(bank.size));
		FUZZ_CHECK(offset <= header->size);
		check_odin(&bank);
		before = offset;
	}
	FUZZ_CHECK(offset == before);
	return false;
}

// The caller frees it.
static uint8_t *encode(const uint8_t *record, const struct mdf_header *header)
{
	uint8_t *bytes = fuzz_allocate(header->size, 1);
	struct mdf_header new_header = *header;
	size_t from = MDF_HEADER_SIZE, to = MDF_HEADER_SIZE;
	struct mdf_bank bank;
	bool done;

	while (mdf_next_bank(record, header, &from, &bank, &done) == WIRE_OK && !done) {
		FUZZ_CHECK(mdf_append_bank(bytes, from - 1, &to, &bank) == WIRE_NO_ROOM);
		FUZZ_CHECK(mdf_append_bank(bytes, header->size, &to, &bank) == WIRE_OK);
		FUZZ_CHECK(to == from);
	}
	FUZZ_CHECK(mdf_encode_header(bytes, header->size - 1, &new_header) == WIRE_NO_ROOM);
	FUZZ_CHECK(mdf_encode_header(bytes, header->size, &new_header) == WIRE_OK);
	FUZZ_CHECK(mdf_verify(bytes, &new_header) == WIRE_OK);
	return bytes;
}

static void check_same(const uint8_t *record, const uint8_t *other, const struct mdf_header *header)
{
	size_t offset = MDF_HEADER_SIZE, other_offset = MDF_HEADER_SIZE;
	struct mdf_header other_header;
	struct mdf_bank bank, other_bank;
	bool done, other_done;

	FUZZ_CHECK(mdf_decode(other, header->size, &other_header) == WIRE_OK);
	FUZZ_CHECK(memcmp(record + 16, other + 16, 3) == 0); // compression, version, data type
	FUZZ_CHECK(memcmp(record + 20, other + 20, MDF_HEADER_SIZE - 20) == 0);
	while (mdf_next_bank(record, header, &offset, &bank, &done) == WIRE_OK && !done) {
		FUZZ_CHECK(mdf_next_bank(other, &other_header, &other_offset, &other_bank,
					 &other_done) == WIRE_OK);
		FUZZ_CHECK(!other_done && other_offset == offset);
		FUZZ_CHECK(bank.type == other_bank.type && bank.version == other_bank.version);
		FUZZ_CHECK(bank.source_id == other_bank.source_id && bank.size == other_bank.size);
		FUZZ_CHECK(memcmp(bank.payload, other_bank.payload, bank.size) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mdf_header header;
	uint8_t *bytes, *bytes_again;

	if (mdf_decode(data, size, &header) != WIRE_OK)
		return 0;
	FUZZ_CHECK(header.size <= size);
	mdf_verify(data, &header);
	if (!check_walk(data, &header))
		return 0;
	bytes = encode(data, &header);
	check_same(data, bytes, &header);
	bytes_again = encode(bytes, &header);
	FUZZ_CHECK(memcmp(bytes, bytes_again, header.size) == 0);
	fuzz_free(bytes_again);
	fuzz_free(bytes);
	return 0;
}
