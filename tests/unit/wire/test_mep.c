// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"

#include <stdlib.h>

#include "wire/mep.h"

// 3 MFPs of one fragment each, at 32, 80 and 120; the second stands for a missing one.
static const char vector[] = "face030026000000000037103720000008000000140000001e00000000000000"
			     "ce4002002c000000070000000000000000000307101000000400040011111111"
			     "00000000222222220000000000000000ce400200240000000700000000000000"
			     "371003014949000005000000aaaaaaaaaa00000000000000ce40020020000000"
			     "070000000000000037200201095c000003000000bbbbbb00";

static const uint16_t vector_ids[] = { 0x0000, 0x1037, 0x2037 };
static const size_t vector_places[] = { 32, 80, 120 };
static const uint32_t vector_offsets[] = { 8, 20, 30 };

static void use(const uint8_t *bytes, size_t size)
{
	uint64_t scratch[16];
	struct mep mep;

	if (mep_decode(bytes, size, &mep) != WIRE_OK)
		return;
	assert_true(mep.size <= size);
	assert_in_range(mep.n_mfps, 0, 16);
	for (unsigned i = 0; i < mep.n_mfps; i++) {
		struct mfp mfp;
		size_t room;
		const uint8_t *at = mep_mfp_bytes(&mep, i, &room);

		mep_source_id(&mep, i);
		assert_true(room >= MFP_HEADER_SIZE);
		expect_inside(bytes, mep.size, at, room);
		mfp_decode(at, room, &mfp);
	}
	mep_check(&mep, scratch);
}

static void expect_truncated(const uint8_t *bytes, size_t size)
{
	struct mep mep;

	assert_int_equal(mep_decode(bytes, size, &mep), WIRE_TRUNCATED);
}

static enum wire_error decode(const struct bytes *bytes)
{
	struct mep mep;

	return mep_decode(bytes->data, bytes->size, &mep);
}

static enum wire_error check(const struct bytes *bytes)
{
	uint64_t scratch[3];
	struct mep mep;

	assert_int_equal(mep_decode(bytes->data, bytes->size, &mep), WIRE_OK);
	assert_in_range(mep.n_mfps, 0, 3);
	return mep_check(&mep, scratch);
}

// The result of checking the vector after one byte was changed.
static enum wire_error check_with(size_t at, uint8_t value)
{
	struct bytes bytes = bytes_from_hex(vector);
	enum wire_error error;

	bytes.data[at] = value;
	error = check(&bytes);
	bytes_free(&bytes);
	return error;
}

static enum wire_error decode_with(size_t at, uint8_t value)
{
	struct bytes bytes = bytes_from_hex(vector);
	enum wire_error error;

	bytes.data[at] = value;
	error = decode(&bytes);
	bytes_free(&bytes);
	return error;
}

static void decode__vector_header(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);
	struct mep mep;

	(void)state;
	assert_int_equal(mep_decode(bytes.data, bytes.size, &mep), WIRE_OK);
	assert_ptr_equal(mep.bytes, bytes.data);
	assert_int_equal(mep.size, 152);
	assert_int_equal(mep.n_mfps, 3);
	assert_ptr_equal(mep.source_ids, bytes.data + 8);
	assert_ptr_equal(mep.offsets, bytes.data + 16);
	for (unsigned i = 0; i < 3; i++) {
		size_t room;

		assert_int_equal(mep_source_id(&mep, i), vector_ids[i]);
		assert_ptr_equal(mep_mfp_bytes(&mep, i, &room), bytes.data + vector_places[i]);
		assert_int_equal(room, 152 - vector_places[i]);
	}
	bytes_free(&bytes);
}

struct expected_fragment {
	uint16_t size;
	uint8_t type;
	const char *payload;
};

struct expected_mfp {
	uint32_t packet_size;
	uint8_t align_log2;
	uint8_t version;
	struct expected_fragment fragments[2];
};

static void expect_mfp(const struct mep *mep, unsigned number, const struct expected_mfp *expected)
{
	struct mfp mfp;
	struct mfp_fragment fragment;
	unsigned index = 0;
	size_t offset = 0, room;
	const uint8_t *bytes = mep_mfp_bytes(mep, number, &room);

	assert_int_equal(mfp_decode(bytes, room, &mfp), WIRE_OK);
	assert_int_equal(mfp.header.event_id, 7);
	assert_int_equal(mfp.header.source_id, vector_ids[number]);
	assert_int_equal(mfp.header.n_fragments, 2);
	assert_int_equal(mfp.header.packet_size, expected->packet_size);
	assert_int_equal(mfp.header.align_log2, expected->align_log2);
	assert_int_equal(mfp.header.version, expected->version);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(mfp_next_fragment(&mfp, &index, &offset, &fragment));
		assert_int_equal(fragment.event_id, 7 + i);
		assert_int_equal(fragment.type, expected->fragments[i].type);
		assert_int_equal(fragment.size, expected->fragments[i].size);
		expect_hex(fragment.payload, fragment.size, expected->fragments[i].payload);
	}
	assert_false(mfp_next_fragment(&mfp, &index, &offset, &fragment));
}

static void decode__vector_mfps(void **state)
{
	static const struct expected_mfp mfps[] = {
		{ 44, 3, 7, { { 4, 16, "11111111" }, { 4, 16, "22222222" } } },
		{ 36, 3, 1, { { 5, 73, "aaaaaaaaaa" }, { 0, 73, "" } } },
		{ 32, 2, 1, { { 3, 9, "bbbbbb" }, { 0, MFP_TYPE_FRAGMENT_MISSING, "" } } },
	};
	struct bytes bytes = bytes_from_hex(vector);
	struct mep mep;

	(void)state;
	assert_int_equal(mep_decode(bytes.data, bytes.size, &mep), WIRE_OK);
	for (unsigned i = 0; i < 3; i++)
		expect_mfp(&mep, i, &mfps[i]);
	assert_int_equal(check(&bytes), WIRE_OK);
	bytes_free(&bytes);
}

static void header_size__is_padded(void **state)
{
	(void)state;
	assert_int_equal(mep_header_size(0, 8), 8);
	assert_int_equal(mep_header_size(1, 4), 16);
	assert_int_equal(mep_header_size(2, 4), 20);
	assert_int_equal(mep_header_size(3, 4), 28);
	assert_int_equal(mep_header_size(3, MEP_DEFAULT_ALIGN), 32);
	assert_int_equal(mep_header_size(3, 64), 64);
	assert_int_equal(mep_header_size(MEP_MAX_MFPS, 8), 8 + 131072 + 4 * 65535 + 4);
}

static void encode_header__reproduces_the_vector(void **state)
{
	struct bytes bytes = bytes_from_hex(vector), expected = bytes_from_hex(vector);

	(void)state;
	memset(bytes.data, 0xEE, 32);
	assert_int_equal(
	    mep_encode_header(bytes.data, bytes.size, 3, vector_ids, vector_offsets, 38), WIRE_OK);
	assert_memory_equal(bytes.data, expected.data, expected.size);
	bytes_free(&bytes);
	bytes_free(&expected);
}

// MFPs of 108, 124 and 124 bytes.
static void encode_header__example_of_the_format(void **state)
{
	static const uint16_t ids[] = { 1, 2, 3 };
	static const size_t sizes[] = { 108, 124, 124 };
	uint32_t offsets[3];
	size_t offset = mep_header_size(3, MEP_DEFAULT_ALIGN);
	uint8_t header[32];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		offsets[i] = (uint32_t)(offset / 4);
		offset += round_up(sizes[i], MEP_DEFAULT_ALIGN);
	}
	assert_int_equal(
	    mep_encode_header(header, sizeof(header), 3, ids, offsets, (uint32_t)(offset / 4)),
	    WIRE_OK);
	expect_hex(header, sizeof(header),
		   "face0300640000000100020003000000"
		   "08000000240000004400000000000000");
}

static void encode_header__clears_up_to_the_first_mfp(void **state)
{
	static const uint16_t ids[] = { 5, 6 };
	static const uint32_t offsets[] = { 12, 8 };
	struct bytes bytes = bytes_of_zeros(40);

	(void)state;
	memset(bytes.data, 0xEE, bytes.size);
	assert_int_equal(mep_encode_header(bytes.data, bytes.size, 2, ids, offsets, 20), WIRE_OK);
	expect_hex(bytes.data, bytes.size,
		   "face02001400000005000600"
		   "0c00000008000000"
		   "000000000000000000000000"
		   "eeeeeeeeeeeeeeee");
	bytes_free(&bytes);
}

static void encode_header__refuses(void **state)
{
	struct bytes bytes = bytes_of_zeros(27);

	(void)state;
	assert_int_equal(
	    mep_encode_header(bytes.data, bytes.size, 3, vector_ids, vector_offsets, 38),
	    WIRE_NO_ROOM);
	assert_int_equal(mep_encode_header(bytes.data, SIZE_MAX, 65536, NULL, NULL, 38),
			 WIRE_BAD_LENGTH);
	assert_int_equal(mep_encode_header(bytes.data, 7, 0, NULL, NULL, 2), WIRE_NO_ROOM);
	bytes_free(&bytes);
}

static void encode_header__no_mfps(void **state)
{
	struct bytes bytes = bytes_of_zeros(8);

	(void)state;
	assert_int_equal(mep_encode_header(bytes.data, bytes.size, 0, NULL, NULL, 2), WIRE_OK);
	expect_hex(bytes.data, bytes.size, "face000002000000");
	assert_int_equal(check(&bytes), WIRE_OK);
	bytes_free(&bytes);
}

static void decode__every_truncation_is_refused(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);

	(void)state;
	each_truncation(&bytes, expect_truncated);
	bytes_free(&bytes);
}

static void decode__no_mutation_leads_outside(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);

	(void)state;
	each_mutation(&bytes, use);
	bytes_free(&bytes);
}

static void decode__contradictions_are_named(void **state)
{
	(void)state;
	assert_int_equal(decode_with(0, 0xFB), WIRE_BAD_MAGIC);
	assert_int_equal(decode_with(4, 39), WIRE_TRUNCATED);
	assert_int_equal(decode_with(4, 6), WIRE_BAD_LENGTH); // less than the header
	assert_int_equal(decode_with(2, 255), WIRE_BAD_LENGTH);
	assert_int_equal(decode_with(16, 6), WIRE_BAD_ALIGNMENT);  // an offset in the header
	assert_int_equal(decode_with(24, 34), WIRE_BAD_ALIGNMENT); // no room for an MFP header
	assert_int_equal(decode_with(24, 33), WIRE_OK);
	assert_int_equal(decode_with(27, 0xFF), WIRE_BAD_ALIGNMENT);
	assert_int_equal(decode_with(4, 37), WIRE_OK);
}

static void check__contradictions_are_named(void **state)
{
	(void)state;
	assert_int_equal(check_with(4, 37), WIRE_TRUNCATED); // the last MFP ends behind the MEP
	assert_int_equal(check_with(32, 0), WIRE_BAD_MAGIC);
	assert_int_equal(check_with(10, 0x38), WIRE_BAD_SOURCE);
	assert_int_equal(check_with(80 + 16, 0x38), WIRE_BAD_SOURCE);
	assert_int_equal(check_with(80 + 8, 8), WIRE_BAD_EVENT);
	assert_int_equal(check_with(120 + 4, 31), WIRE_BAD_LENGTH);
}

static void check__overlap_is_refused(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);

	(void)state;
	bytes.data[20] = 8; // the second MFP is the first one
	bytes.data[10] = 0x00;
	bytes.data[11] = 0x00;
	assert_int_equal(check(&bytes), WIRE_BAD_ALIGNMENT);
	bytes_free(&bytes);
}

static void check__overlap_of_a_byte_is_refused(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);

	(void)state;
	store_le16(bytes.data + 32 + 2, 0); // opaque
	store_le32(bytes.data + 32 + 4, 48);
	assert_int_equal(check(&bytes), WIRE_OK);
	store_le32(bytes.data + 32 + 4, 49);
	assert_int_equal(check(&bytes), WIRE_BAD_ALIGNMENT);
	bytes_free(&bytes);
}

static void check__source_named_twice_is_refused(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);

	(void)state;
	store_le16(bytes.data + 8 + 2 * 2, 0x1037);
	store_le16(bytes.data + 120 + 16, 0x1037);
	assert_int_equal(check(&bytes), WIRE_BAD_SOURCE);
	store_le16(bytes.data + 8 + 2 * 2, 0x0000);
	store_le16(bytes.data + 120 + 16, 0x0000);
	assert_int_equal(check(&bytes), WIRE_BAD_SOURCE);
	bytes_free(&bytes);
}

static void check__other_number_of_fragments_is_refused(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);

	(void)state;
	assert_int_equal(mfp_encode_error(bytes.data + 120, 32, 7, 0x2037, 1, 92), WIRE_OK);
	assert_int_equal(check(&bytes), WIRE_BAD_EVENT);
	assert_int_equal(mfp_encode_error(bytes.data + 120, 32, 7, 0x2037, 2, 92), WIRE_OK);
	assert_int_equal(check(&bytes), WIRE_OK);
	bytes_free(&bytes);
}

static void check__opaque_blocks_pass_beside_mfps(void **state)
{
	struct bytes bytes = bytes_from_hex(vector);

	(void)state;
	store_le16(bytes.data + 32 + 2, 0);
	store_le16(bytes.data + 120 + 2, 0);
	assert_int_equal(check(&bytes), WIRE_OK);
	store_le32(bytes.data + 120 + 4, 33);
	assert_int_equal(check(&bytes), WIRE_TRUNCATED);
	store_le32(bytes.data + 120 + 4, 32);
	store_le64(bytes.data + 120 + 8, 8);
	assert_int_equal(check(&bytes), WIRE_BAD_EVENT);
	bytes_free(&bytes);
}

static void check__any_order_of_mfps_and_sources(void **state)
{
	static const uint16_t ids[] = { 0x2037, 0x0000, 0x1037 };
	static const uint32_t offsets[] = { 30, 8, 20 };
	struct bytes bytes = bytes_from_hex(vector);

	(void)state;
	assert_int_equal(mep_encode_header(bytes.data, bytes.size, 3, ids, offsets, 38), WIRE_OK);
	assert_int_equal(check(&bytes), WIRE_OK);
	bytes_free(&bytes);
}

static void check__mfps_of_one_fragment_are_decoded(void **state)
{
	static const uint16_t ids[] = { 1, 2 };
	static const uint32_t offsets[] = { 5, 12 };
	struct bytes bytes = bytes_of_zeros(76);

	(void)state;
	// directly behind the header, aligned to 4 bytes
	assert_int_equal(mfp_encode_error(bytes.data + 20, 28, 9, 1, 1, 92), WIRE_OK);
	assert_int_equal(mfp_encode_error(bytes.data + 48, 28, 9, 2, 1, 92), WIRE_OK);
	assert_int_equal(mep_encode_header(bytes.data, bytes.size, 2, ids, offsets, 19), WIRE_OK);
	assert_int_equal(check(&bytes), WIRE_OK);
	bytes.data[48 + 24] = 1; // the fragment's size
	assert_int_equal(check(&bytes), WIRE_BAD_LENGTH);
	bytes_free(&bytes);
}

// A MEP of n MFPs with one fragment each, in memory in the order of (number * stride) mod n.
static struct bytes make_large(unsigned n, unsigned stride)
{
	const size_t header = mep_header_size(n, 8), each = round_up(mfp_error_size(1), 8);
	struct bytes bytes = bytes_of_zeros(header + n * each);
	uint16_t *ids = calloc(n, sizeof(*ids));
	uint32_t *offsets = calloc(n, sizeof(*offsets));

	assert_non_null(ids);
	assert_non_null(offsets);
	for (unsigned i = 0; i < n; i++) {
		size_t offset = header + i * stride % n * each;

		ids[i] = (uint16_t)(i * stride % n);
		offsets[i] = (uint32_t)(offset / 4);
		assert_int_equal(mfp_encode_error(bytes.data + offset, each, 9, ids[i], 1, 92),
				 WIRE_OK);
	}
	assert_int_equal(
	    mep_encode_header(bytes.data, bytes.size, n, ids, offsets, (uint32_t)(bytes.size / 4)),
	    WIRE_OK);
	free(ids);
	free(offsets);
	return bytes;
}

static void check__most_mfps_in_disorder(void **state)
{
	struct bytes bytes = make_large(MEP_MAX_MFPS, 32771);
	uint64_t *scratch = calloc(MEP_MAX_MFPS, sizeof(*scratch));
	struct mep mep;
	size_t last;

	(void)state;
	assert_non_null(scratch);
	assert_int_equal(mep_decode(bytes.data, bytes.size, &mep), WIRE_OK);
	assert_int_equal(mep.n_mfps, MEP_MAX_MFPS);
	assert_int_equal(mep_check(&mep, scratch), WIRE_OK);
	// Both the table and the last MFP name the source of the MFP before.
	last = load_le32(mep.offsets + 4 * (MEP_MAX_MFPS - 1ul)) * 4ul;
	store_le16(bytes.data + 8 + 2 * (MEP_MAX_MFPS - 1ul), mep_source_id(&mep, 65533));
	store_le16(bytes.data + last + 16, mep_source_id(&mep, 65533));
	assert_int_equal(mep_check(&mep, scratch), WIRE_BAD_SOURCE);
	free(scratch);
	bytes_free(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decode__vector_header),
		cmocka_unit_test(decode__vector_mfps),
		cmocka_unit_test(header_size__is_padded),
		cmocka_unit_test(encode_header__reproduces_the_vector),
		cmocka_unit_test(encode_header__example_of_the_format),
		cmocka_unit_test(encode_header__clears_up_to_the_first_mfp),
		cmocka_unit_test(encode_header__refuses),
		cmocka_unit_test(encode_header__no_mfps),
		cmocka_unit_test(decode__every_truncation_is_refused),
		cmocka_unit_test(decode__no_mutation_leads_outside),
		cmocka_unit_test(decode__contradictions_are_named),
		cmocka_unit_test(check__contradictions_are_named),
		cmocka_unit_test(check__overlap_is_refused),
		cmocka_unit_test(check__overlap_of_a_byte_is_refused),
		cmocka_unit_test(check__source_named_twice_is_refused),
		cmocka_unit_test(check__other_number_of_fragments_is_refused),
		cmocka_unit_test(check__opaque_blocks_pass_beside_mfps),
		cmocka_unit_test(check__any_order_of_mfps_and_sources),
		cmocka_unit_test(check__mfps_of_one_fragment_are_decoded),
		cmocka_unit_test(check__most_mfps_in_disorder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
