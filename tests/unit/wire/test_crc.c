// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"

#include <zlib.h>

#include "wire/crc.h"

#define CRC_INITIAL 0xFFFFFFFFu // the state before the first byte of a message
#define SIZES       1200u       // of messages tried one by one: all paths, several rounds of each

// Bytes without a pattern that a CRC could fall for, the same in every run.
static struct bytes noise(size_t size)
{
	struct bytes bytes = bytes_of_zeros(size);
	uint64_t state = 88172645463325252u;

	for (size_t i = 0; i < size; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		bytes.data[i] = (uint8_t)(state >> 32);
	}
	return bytes;
}

static uint32_t by_zlib(uint32_t state, const uint8_t *bytes, size_t size)
{
	return size > 0 ? ~(uint32_t)crc32_z(~state, bytes, size) : state;
}

static void crc__known_values(void **state)
{
	static const uint8_t ones[] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };
	const uint8_t *digits = (const uint8_t *)"123456789";

	(void)state;
	assert_int_equal(~crc_add(CRC_INITIAL, digits, 9), 0xCBF43926);
	assert_int_equal(crc_add(CRC_INITIAL, ones, sizeof(ones)), 0xDEBB20E3);
}

// The allocations have exactly the size of the bytes, so that a sanitizer detects reads beyond
// them.
static void crc__every_size(void **state)
{
	struct bytes all = noise(SIZES);

	(void)state;
	for (size_t size = 0; size < SIZES; size++) {
		struct bytes bytes = bytes_copy(all.data, size);
		uint32_t expected = by_zlib(0x12345678, bytes.data, size);

		assert_int_equal(crc_add(0x12345678, bytes.data, size), expected);
		bytes_free(&bytes);
	}
	bytes_free(&all);
}

static void crc__every_alignment(void **state)
{
	struct bytes all = noise(9000);

	(void)state;
	for (size_t from = 0; from < 64; from++) {
		size_t size = 9000 - 2 * from;

		assert_int_equal(crc_add(CRC_INITIAL, all.data + from, size),
				 by_zlib(CRC_INITIAL, all.data + from, size));
	}
	bytes_free(&all);
}

// Each bit of the state counts, and a message may be cut anywhere.
static void crc__in_pieces(void **state)
{
	struct bytes all = noise(SIZES);
	uint32_t expected = by_zlib(CRC_INITIAL, all.data, SIZES);

	(void)state;
	for (size_t cut = 0; cut <= SIZES; cut++) {
		uint32_t crc = crc_add(CRC_INITIAL, all.data, cut);

		assert_int_equal(crc_add(crc, all.data + cut, SIZES - cut), expected);
	}
	for (unsigned bit = 0; bit < 32; bit++)
		assert_int_equal(crc_add(1u << bit, all.data, SIZES),
				 by_zlib(1u << bit, all.data, SIZES));
	bytes_free(&all);
}

static void crc__nothing_at_all(void **state)
{
	(void)state;
	assert_int_equal(crc_add(0x12345678, NULL, 0), 0x12345678);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc__known_values),    cmocka_unit_test(crc__every_size),
		cmocka_unit_test(crc__every_alignment), cmocka_unit_test(crc__in_pieces),
		cmocka_unit_test(crc__nothing_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
