// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "bytes.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
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

#ifdef __x86_64__
#define XINUSE_CPUID 4u // bit of CPUID 0xD, 1, EAX: XGETBV can read which state is in use
#define XINUSE       1u // the register of it
#define UPPER_HALVES 4u // its bit for the upper halves of ymm0 to ymm15

// Intel's manual, volume 1, 13.6. False: the processor cannot tell.
static bool can_tell_upper_halves(void)
{
	unsigned a = 0, b, c, d;

	return __builtin_cpu_supports("avx") && __get_cpuid_count(0xD, 1, &a, &b, &c, &d) != 0 &&
	       (a & XINUSE_CPUID) != 0;
}

static bool uses_upper_halves(void)
{
	uint32_t low, high;

	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(XINUSE));
	return (low & UPPER_HALVES) != 0;
}

// SSE code is slow while they are in use.
static void crc__leaves_the_upper_halves_of_vector_registers_clear(void **state)
{
	struct bytes bytes;

	(void)state;
	if (!can_tell_upper_halves())
		skip();
	bytes = noise(4096);
	crc_add(CRC_INITIAL, bytes.data, bytes.size);
	assert_false(uses_upper_halves());
	crc32c(0, bytes.data, bytes.size);
	assert_false(uses_upper_halves());
	bytes_free(&bytes);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc__known_values),
		cmocka_unit_test(crc__every_size),
		cmocka_unit_test(crc__every_alignment),
		cmocka_unit_test(crc__in_pieces),
		cmocka_unit_test(crc__nothing_at_all),
#ifdef __x86_64__
		cmocka_unit_test(crc__leaves_the_upper_halves_of_vector_registers_clear),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
