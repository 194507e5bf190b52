// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "wire/crc32c.h"

#include "wire/wire.h"

// What one byte does to the CRC is the sum (exclusive or) of what its bits do.
#define BIT(byte, bit, effect) ((byte) >> (bit)&1 ? (effect) : 0u)
#define ENTRY(i)                                                                    \
	(BIT(i, 0, 0xF26B8303u) ^ BIT(i, 1, 0xE13B70F7u) ^ BIT(i, 2, 0xC79A971Fu) ^ \
	 BIT(i, 3, 0x8AD958CFu) ^ BIT(i, 4, 0x105EC76Fu) ^ BIT(i, 5, 0x20BD8EDEu) ^ \
	 BIT(i, 6, 0x417B1DBCu) ^ BIT(i, 7, 0x82F63B78u))
#define ENTRIES_4(i)  ENTRY(i), ENTRY((i) + 1), ENTRY((i) + 2), ENTRY((i) + 3)
#define ENTRIES_16(i) ENTRIES_4(i), ENTRIES_4((i) + 4), ENTRIES_4((i) + 8), ENTRIES_4((i) + 12)
#define ENTRIES_64(i) \
	ENTRIES_16(i), ENTRIES_16((i) + 16), ENTRIES_16((i) + 32), ENTRIES_16((i) + 48)

static const uint32_t table[256] = { ENTRIES_64(0), ENTRIES_64(64), ENTRIES_64(128),
				     ENTRIES_64(192) };

uint32_t crc32c_table(uint32_t crc, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	crc = ~crc;
	for (size_t i = 0; i < length; i++)
		crc = crc >> 8 ^ table[(crc ^ at[i]) & 0xFF];
	return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc32c_sse42(uint32_t crc, const uint8_t *bytes,
							       size_t length)
{
	uint64_t sum = ~crc;

	for (; length >= 8; length -= 8, bytes += 8)
		sum = __builtin_ia32_crc32di(sum, load_le64(bytes));
	for (; length > 0; length--, bytes++)
		sum = __builtin_ia32_crc32qi((uint32_t)sum, *bytes);
	return ~(uint32_t)sum;
}
#endif

uint32_t crc32c(uint32_t crc, const void *bytes, size_t length)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_sse42(crc, bytes, length);
#endif
	return crc32c_table(crc, bytes, length);
}
