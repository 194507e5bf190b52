// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"

#include "wire/mdf.h"

// A record with three banks: ODIN's number 1 with 5 bytes, an empty one, one of 4 bytes.
static const char banks[] = "cbcb0d00100701000102030405000000"
			    "cbcb08004d023758"
			    "cbcb0c0040030240deadbeef";
static const char record[] = "540000005400000054000000"
			     "cb07331f" // checksum
			     "00370100"
			     "01000000020000000300000004000000"
			     "a6030500"
			     "8d460000"
			     "0c000000"
			     "cbcb0d00100701000102030405000000"
			     "cbcb08004d023758"
			     "cbcb0c0040030240deadbeef";

static const char odin_vector[] = "a60305000c000000b424778a6b3d0600"
				  "201100100080000041350001f2060000"
				  "26053d0000000000";

static void use(const uint8_t *bytes, size_t size)
{
	struct mdf_header header;
	struct mdf_bank bank;
	size_t offset = MDF_HEADER_SIZE;
	bool done = false;

	if (mdf_decode(bytes, size, &header) != WIRE_OK)
		return;
	assert_true(header.size <= size);
	mdf_verify(bytes, &header);
	while (mdf_next_bank(bytes, &header, &offset, &bank, &done) == WIRE_OK && !done) {
		expect_inside(bytes, header.size, bank.payload, bank.size);
		assert_true(offset <= header.size);
	}
}

static void expect_truncated(const uint8_t *bytes, size_t size)
{
	struct mdf_header header;

	assert_int_equal(mdf_decode(bytes, size, &header), WIRE_TRUNCATED);
}

static void expect_header(const struct mdf_header *header)
{
	assert_int_equal(header->size, 84);
	assert_int_equal(header->compression, 0);
	assert_int_equal(header->header_version, 0x37);
	assert_int_equal(header->data_type, MDF_TYPE_BANKS);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(header->mask[i], i + 1);
	assert_int_equal(header->run, 0x503A6);
	assert_int_equal(header->orbit, 0x468D);
	assert_int_equal(header->bunch, 12);
}

static void expect_bank(const struct bytes *bytes, const struct mdf_header *header, size_t *offset,
			const struct mdf_bank *expected)
{
	struct mdf_bank bank;
	bool done;

	assert_int_equal(mdf_next_bank(bytes->data, header, offset, &bank, &done), WIRE_OK);
	assert_false(done);
	assert_int_equal(bank.type, expected->type);
	assert_int_equal(bank.version, expected->version);
	assert_int_equal(bank.source_id, expected->source_id);
	assert_int_equal(bank.size, expected->size);
	assert_memory_equal(bank.payload, expected->payload, expected->size);
}

static const uint8_t payload_odin[] = { 1, 2, 3, 4, 5 };
static const uint8_t payload_scifi[] = { 0xDE, 0xAD, 0xBE, 0xEF };
static const struct mdf_bank expected_banks[] = {
	{ .payload = payload_odin, .size = 5, .source_id = 1, .type = 16, .version = 7 },
	{ .payload = payload_odin, .size = 0, .source_id = 0x5837, .type = 77, .version = 2 },
	{ .payload = payload_scifi, .size = 4, .source_id = 0x4002, .type = 64, .version = 3 },
};

static void decode__every_field(void **state)
{
	struct bytes bytes = bytes_from_hex(record);
	struct mdf_header header;
	struct mdf_bank bank;
	size_t offset = MDF_HEADER_SIZE;
	bool done;

	(void)state;
	assert_int_equal(mdf_decode(bytes.data, bytes.size, &header), WIRE_OK);
	expect_header(&header);
	assert_int_equal(header.checksum, load_le32(bytes.data + 12));
	assert_int_equal(mdf_verify(bytes.data, &header), WIRE_OK);
	for (unsigned i = 0; i < 3; i++)
		expect_bank(&bytes, &header, &offset, &expected_banks[i]);
	assert_int_equal(offset, 84);
	assert_int_equal(mdf_next_bank(bytes.data, &header, &offset, &bank, &done), WIRE_OK);
	assert_true(done);
	bytes_free(&bytes);
}

static void encode__reproduces_the_record(void **state)
{
	struct mdf_header header = {
		.data_type = MDF_TYPE_BANKS,
		.mask = { 1, 2, 3, 4 },
		.run = 0x503A6,
		.orbit = 0x468D,
		.bunch = 12,
	};
	struct bytes bytes = bytes_of_zeros(84);
	size_t offset = MDF_HEADER_SIZE;

	(void)state;
	memset(bytes.data, 0xEE, bytes.size);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(
		    mdf_append_bank(bytes.data, bytes.size, &offset, &expected_banks[i]), WIRE_OK);
	assert_int_equal(offset, 84);
	expect_hex(bytes.data + MDF_HEADER_SIZE, 84 - MDF_HEADER_SIZE, banks);
	header.size = 84;
	assert_int_equal(mdf_encode_header(bytes.data, bytes.size, &header), WIRE_OK);
	expect_header(&header);
	expect_hex(bytes.data, bytes.size, record);
	bytes_free(&bytes);
}

static void decode__every_truncation_is_refused(void **state)
{
	struct bytes bytes = bytes_from_hex(record);

	(void)state;
	each_truncation(&bytes, expect_truncated);
	bytes_free(&bytes);
}

static void decode__no_mutation_leads_outside(void **state)
{
	struct bytes bytes = bytes_from_hex(record);

	(void)state;
	each_mutation(&bytes, use);
	bytes_free(&bytes);
}

static enum wire_error decode_with(size_t at, uint8_t value)
{
	struct bytes bytes = bytes_from_hex(record);
	struct mdf_header header;
	enum wire_error error;

	bytes.data[at] = value;
	error = mdf_decode(bytes.data, bytes.size, &header);
	bytes_free(&bytes);
	return error;
}

static void decode__contradictions_are_named(void **state)
{
	(void)state;
	assert_int_equal(decode_with(0, 0x50), WIRE_BAD_LENGTH);
	assert_int_equal(decode_with(4, 0x50), WIRE_BAD_LENGTH);
	assert_int_equal(decode_with(8, 0x50), WIRE_BAD_LENGTH);
	assert_int_equal(decode_with(16, 1), WIRE_UNSUPPORTED);
	assert_int_equal(decode_with(17, 0x36), WIRE_BAD_VERSION);
}

static void decode__size_below_the_header(void **state)
{
	struct bytes bytes = bytes_from_hex(record);
	struct mdf_header header;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		bytes.data[4 * i] = 47;
	assert_int_equal(mdf_decode(bytes.data, bytes.size, &header), WIRE_BAD_LENGTH);
	for (unsigned i = 0; i < 3; i++)
		bytes.data[4 * i] = 48;
	assert_int_equal(mdf_decode(bytes.data, 48, &header), WIRE_OK);
	bytes_free(&bytes);
}

static void verify__any_changed_byte_is_seen(void **state)
{
	struct bytes bytes = bytes_from_hex(record);
	struct mdf_header header;

	(void)state;
	assert_int_equal(mdf_decode(bytes.data, bytes.size, &header), WIRE_OK);
	for (size_t i = 16; i < bytes.size; i++) {
		bytes.data[i] ^= 0x80;
		assert_int_equal(mdf_verify(bytes.data, &header), WIRE_BAD_CHECKSUM);
		bytes.data[i] ^= 0x80;
	}
	header.checksum = 0;
	bytes.data[50] ^= 1;
	assert_int_equal(mdf_verify(bytes.data, &header), WIRE_OK); // none stated
	bytes_free(&bytes);
}

// The result of reading the first bank after one byte was changed.
static enum wire_error walk_with(size_t at, uint8_t value)
{
	struct bytes bytes = bytes_from_hex(record);
	struct mdf_header header;
	struct mdf_bank bank;
	size_t offset = MDF_HEADER_SIZE;
	enum wire_error error;
	bool done;

	assert_int_equal(mdf_decode(bytes.data, bytes.size, &header), WIRE_OK);
	bytes.data[at] = value;
	error = mdf_next_bank(bytes.data, &header, &offset, &bank, &done);
	if (error)
		assert_int_equal(offset, MDF_HEADER_SIZE);
	bytes_free(&bytes);
	return error;
}

static void next_bank__contradictions_are_named(void **state)
{
	(void)state;
	assert_int_equal(walk_with(48, 0xCA), WIRE_BAD_MAGIC);
	assert_int_equal(walk_with(50, 7), WIRE_BAD_LENGTH);
	assert_int_equal(walk_with(50, 8), WIRE_OK);
	assert_int_equal(walk_with(50, 36), WIRE_OK);
	assert_int_equal(walk_with(50, 37), WIRE_TRUNCATED);
	assert_int_equal(walk_with(51, 0xFF), WIRE_TRUNCATED);
}

static void next_bank__rest_too_short_for_a_header(void **state)
{
	struct bytes bytes = bytes_from_hex(record);
	struct mdf_header header;
	struct mdf_bank bank;
	size_t offset = 80;
	bool done;

	(void)state;
	assert_int_equal(mdf_decode(bytes.data, bytes.size, &header), WIRE_OK);
	assert_int_equal(mdf_next_bank(bytes.data, &header, &offset, &bank, &done), WIRE_TRUNCATED);
	assert_false(done);
	bytes_free(&bytes);
}

static void next_bank__empty_one_at_the_end(void **state)
{
	struct bytes bytes = bytes_from_hex(record);
	struct mdf_header header;
	size_t offset = 64;

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		bytes.data[4 * i] = 72;
	assert_int_equal(mdf_decode(bytes.data, 72, &header), WIRE_OK);
	expect_bank(&bytes, &header, &offset, &expected_banks[1]);
	assert_int_equal(offset, 72);
	bytes_free(&bytes);
}

static void append_bank__every_size_around_the_padding(void **state)
{
	static const char *const expected[] = {
		"cbcb080010070100",         "cbcb09001007010001000000",
		"cbcb0a001007010001020000", "cbcb0b001007010001020300",
		"cbcb0c001007010001020304", "cbcb0d00100701000102030405000000",
	};

	(void)state;
	for (uint16_t size = 0; size <= 5; size++) {
		struct mdf_bank bank = expected_banks[0];
		uint8_t bytes[16];
		size_t offset = 0;

		bank.size = size;
		memset(bytes, 0xEE, sizeof(bytes));
		assert_int_equal(mdf_append_bank(bytes, sizeof(bytes), &offset, &bank), WIRE_OK);
		assert_int_equal(offset, mdf_bank_size(size));
		expect_hex(bytes, offset, expected[size]);
	}
}

static void append_bank__refuses(void **state)
{
	static const uint8_t large[65535];
	struct bytes bytes = bytes_of_zeros(65536);
	struct mdf_bank bank = { .payload = large, .size = MDF_MAX_BANK_PAYLOAD + 1 };
	size_t offset = 0;

	(void)state;
	assert_int_equal(mdf_append_bank(bytes.data, bytes.size, &offset, &bank), WIRE_BAD_LENGTH);
	bank.size = MDF_MAX_BANK_PAYLOAD;
	assert_int_equal(mdf_append_bank(bytes.data, 65535, &offset, &bank), WIRE_NO_ROOM);
	assert_int_equal(offset, 0);
	assert_int_equal(mdf_append_bank(bytes.data, 65536, &offset, &bank), WIRE_OK);
	assert_int_equal(offset, 65536);
	bank.size = 0;
	assert_int_equal(mdf_append_bank(bytes.data, 65536, &offset, &bank), WIRE_NO_ROOM);
	offset = 65537;
	assert_int_equal(mdf_append_bank(bytes.data, 65536, &offset, &bank), WIRE_NO_ROOM);
	bytes_free(&bytes);
}

static void encode_header__refuses(void **state)
{
	struct bytes bytes = bytes_of_zeros(48);
	struct mdf_header header = { .size = 47 };

	(void)state;
	assert_int_equal(mdf_encode_header(bytes.data, bytes.size, &header), WIRE_BAD_LENGTH);
	header.size = 48;
	assert_int_equal(mdf_encode_header(bytes.data, 47, &header), WIRE_NO_ROOM);
	header.compression = 1;
	assert_int_equal(mdf_encode_header(bytes.data, 48, &header), WIRE_UNSUPPORTED);
	header.compression = 0;
	assert_int_equal(mdf_encode_header(bytes.data, 48, &header), WIRE_OK);
	bytes_free(&bytes);
}

static void odin__vector(void **state)
{
	struct bytes bytes = bytes_from_hex(odin_vector);
	uint8_t again[ODIN_SIZE];
	struct odin odin;

	(void)state;
	assert_int_equal(odin_decode(bytes.data, 39, &odin), WIRE_TRUNCATED);
	assert_int_equal(odin_decode(bytes.data, bytes.size, &odin), WIRE_OK);
	assert_int_equal(odin.run, 328614);
	assert_int_equal(odin.event_type, 12);
	assert_int_equal(odin.step, 0);
	assert_int_equal(odin.gps_us, 0x63D6B8A7724B4);
	assert_int_equal(odin.tck, 0x10001120);
	assert_int_equal(odin.partition, 0x8000);
	assert_int_equal(odin.bunch, 0x541);
	assert_int_equal(odin.orbit, 0x6F2);
	assert_int_equal(odin.event_id, 0x3D0526);
	odin_encode(again, &odin);
	// All but the bits of misc above the bunch.
	store_le32(bytes.data + 24, 0x541);
	assert_memory_equal(again, bytes.data, ODIN_SIZE);
	bytes_free(&bytes);
}

static void odin__encodes_every_field(void **state)
{
	const struct odin odin = {
		.run = 0x01020304,
		.event_type = 0x0506,
		.step = 0x0708,
		.gps_us = 0x1112131415161718,
		.tck = 0x21222324,
		.partition = 0x25262728,
		.bunch = 0xF31,
		.orbit = 0x32333435,
		.event_id = 0x4142434445464748,
	};
	uint8_t bytes[ODIN_SIZE];

	(void)state;
	odin_encode(bytes, &odin);
	expect_hex(bytes, sizeof(bytes),
		   "040302010605080718171615141312112423222128272625"
		   "310f0000353433324847464544434241");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode__every_field),
		cmocka_unit_test(encode__reproduces_the_record),
		cmocka_unit_test(decode__every_truncation_is_refused),
		cmocka_unit_test(decode__no_mutation_leads_outside),
		cmocka_unit_test(decode__contradictions_are_named),
		cmocka_unit_test(decode__size_below_the_header),
		cmocka_unit_test(verify__any_changed_byte_is_seen),
		cmocka_unit_test(next_bank__contradictions_are_named),
		cmocka_unit_test(next_bank__rest_too_short_for_a_header),
		cmocka_unit_test(next_bank__empty_one_at_the_end),
		cmocka_unit_test(append_bank__every_size_around_the_padding),
		cmocka_unit_test(append_bank__refuses),
		cmocka_unit_test(encode_header__refuses),
		cmocka_unit_test(odin__vector),
		cmocka_unit_test(odin__encodes_every_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
