// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "helpers.h"

#include <stdlib.h>
#include <string.h>

#include "source/pattern.h"

#define MAXIMUM 300

static void pattern__fields_of_seed(void **state)
{
	uint64_t seed = pattern_seed(0x1234, 0xabcd, 0x5e);

	(void)state;
	assert_int_equal(seed & 0xffff, 0x1234);
	assert_int_equal(pattern_number(seed), 0xabcd);
	assert_int_equal(pattern_stream(seed), 0x5e);
	assert_int_equal(seed >> 40, (0x5eabcd1234ull * 0x9e3779b97f4a7c15ull) >> 40);
}

static void pattern__known_words(void **state)
{
	uint64_t seed = pattern_seed(1, 0, 0), z = seed + 0x9e3779b97f4a7c15ull;
	uint8_t bytes[16];

	(void)state;
	z = (z ^ z >> 32) * 0xd6e8feb86659fd93ull;
	z ^= z >> 32;
	pattern_fill(bytes, sizeof(bytes), seed);
	assert_memory_equal(bytes, &seed, 8);
	assert_memory_equal(bytes + 8, &z, 8);
}

static void pattern__every_size_checks(void **state)
{
	uint8_t bytes[MAXIMUM + 1], longer[MAXIMUM];
	uint64_t seed = pattern_seed(513, 7, 1);

	(void)state;
	pattern_fill(longer, sizeof(longer), seed);
	for (size_t size = 0; size <= MAXIMUM; size++) {
		memset(bytes, 0xee, sizeof(bytes));
		pattern_fill(bytes, size, seed);
		assert_int_equal(bytes[size], 0xee);
		assert_memory_equal(bytes, longer, size);
		assert_true(pattern_check(bytes, size, 513));
		assert_int_equal(pattern_check(bytes, size, 769), size < 2);
	}
}

// All 255 changes of each byte, in fragments of sizes 8 to 40.
static void pattern__any_changed_byte_is_found(void **state)
{
	uint8_t bytes[40];

	(void)state;
	for (size_t size = 8; size <= sizeof(bytes); size++) {
		for (unsigned number = 0; number < 3; number++) {
			pattern_fill(bytes, size, pattern_seed(42, (uint16_t)(number * 7919), 3));
			for (size_t at = 0; at < size; at++) {
				for (unsigned flip = 1; flip < 256; flip++) {
					bytes[at] ^= (uint8_t)flip;
					assert_false(pattern_check(bytes, size, 42));
					bytes[at] ^= (uint8_t)flip;
				}
			}
		}
	}
}

// No change of one byte of the seed's fields can leave its check as it was: the product changes by
// difference * constant, which never stays within the bits below the check.
static void pattern__check_sees_every_byte_of_the_fields(void **state)
{
	(void)state;
	for (unsigned shift = 0; shift < 40; shift += 8) {
		for (uint64_t difference = 1; difference < 256; difference++) {
			uint64_t change = (difference << shift) * 0x9e3779b97f4a7c15ull;

			assert_true(change >= 1ull << 40 && -change >= 1ull << 40);
		}
	}
}

static void pattern__zeros_are_not_generated(void **state)
{
	const uint8_t zeros[64] = { 0 };

	(void)state;
	assert_false(pattern_check(zeros, 64, 1));
	assert_false(pattern_check(zeros + 16, 16, 0));
}

static size_t make_mfp(uint8_t *bytes, size_t capacity, uint8_t last_type)
{
	static const uint16_t sizes[] = { 24, 0, 9, 40 };
	const uint8_t types[] = { 63, 92, 63, last_type };
	struct mfp_header header = { .n_fragments = 4, .source_id = 77, .align_log2 = 2 };
	uint8_t *data = bytes + mfp_data_offset(4);

	memset(bytes, 0, capacity);
	assert_int_equal(mfp_encode_header(bytes, capacity, &header, types, sizes), WIRE_OK);
	for (unsigned i = 0; i < 4; i++) {
		pattern_fill(data, sizes[i], pattern_seed(77, (uint16_t)i, 5));
		data += round_up(sizes[i], 4);
	}
	return header.packet_size;
}

static void pattern__mfp_is_checked_by_place(void **state)
{
	uint8_t bytes[256];
	struct mfp mfp;
	size_t size = make_mfp(bytes, sizeof(bytes), 63);
	uint8_t *data = bytes + mfp_data_offset(4);

	(void)state;
	assert_int_equal(mfp_decode(bytes, size, &mfp), WIRE_OK);
	assert_int_equal(pattern_check_mfp(&mfp), 0);

	pattern_fill(data, 24, pattern_seed(77, 1, 5)); // another fragment's
	assert_int_equal(pattern_check_mfp(&mfp), 1);
	pattern_fill(data, 24, pattern_seed(77, 0, 6)); // another MFP's: the two others differ
	assert_int_equal(pattern_check_mfp(&mfp), 2);
	pattern_fill(data, 24, pattern_seed(78, 0, 5)); // another source's
	assert_int_equal(pattern_check_mfp(&mfp), 1);
}

static void pattern__mfp_skips_odin(void **state)
{
	uint8_t bytes[256];
	struct mfp mfp;
	size_t size = make_mfp(bytes, sizeof(bytes), MFP_TYPE_ODIN);

	(void)state;
	bytes[size - 1] ^= 1;
	assert_int_equal(mfp_decode(bytes, size, &mfp), WIRE_OK);
	assert_int_equal(pattern_check_mfp(&mfp), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pattern__fields_of_seed),
		cmocka_unit_test(pattern__known_words),
		cmocka_unit_test(pattern__every_size_checks),
		cmocka_unit_test(pattern__any_changed_byte_is_found),
		cmocka_unit_test(pattern__check_sees_every_byte_of_the_fields),
		cmocka_unit_test(pattern__zeros_are_not_generated),
		cmocka_unit_test(pattern__mfp_is_checked_by_place),
		cmocka_unit_test(pattern__mfp_skips_odin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
