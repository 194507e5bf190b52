// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Folding after V. Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction" (Intel, 2009): a block of 128 bits that stands n bits before another one adds to it
// the product of its halves with x^(n+32) and x^(n-32) modulo the polynomial, and is gone. Four
// blocks are folded side by side, to have four multiplications under way.
#include "wire/crc_fold.h"

#if defined(__x86_64__)

#include <immintrin.h>

#define CLMUL_TARGET __attribute__((target("pclmul,sse4.1")))
#define WIDE_TARGET  __attribute__((target("pclmul,sse4.1,avx512f,vpclmulqdq")))
#define BLOCK        16u
#define WIDE         64u // four blocks in one register

// x^n modulo the polynomial, bits reflected, as the multiplication of reflected numbers wants it.
#define X_64      0x163CD6124
#define X_96      0x0CCAA009E // 128 - 32
#define X_160     0x1751997D0 // 128 + 32
#define X_480     0x1C6E41596 // 512 - 32
#define X_544     0x154442BD4 // 512 + 32
#define X_2016    0x1322D1430 // 2048 - 32
#define X_2080    0x11542778A // 2048 + 32
#define QUOTIENT  0x1F7011641 // x^64 divided by the polynomial, reflected
#define REFLECTED 0x1DB710641 // the polynomial

// Loading 16 of these bytes at 16 + n gives the shuffle that moves all bytes of a block n places
// towards its beginning; at n, the one that moves the first n bytes to its end. What comes in
// is zero.
static const uint8_t shuffles[3 * BLOCK] = {
	0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
	0x80, 0x80, 0x80, 0x80, 0,    1,    2,    3,    4,    5,    6,    7,
	8,    9,    10,   11,   12,   13,   14,   15,   0x80, 0x80, 0x80, 0x80,
	0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
};

CLMUL_TARGET static inline __m128i load(const uint8_t *bytes)
{
	return _mm_loadu_si128((const __m128i *)(const void *)bytes);
}

CLMUL_TARGET static inline __m128i fold(__m128i block, __m128i factors, __m128i onto)
{
	__m128i low = _mm_clmulepi64_si128(block, factors, 0x00);
	__m128i high = _mm_clmulepi64_si128(block, factors, 0x11);

	return _mm_xor_si128(_mm_xor_si128(low, high), onto);
}

// The remainder of 128 bits and 32 zero bits behind them, by Barrett's method.
CLMUL_TARGET static inline uint32_t reduce(__m128i block)
{
	const __m128i low_halves = _mm_set_epi32(0, -1, 0, -1);
	const __m128i barrett = _mm_set_epi64x(QUOTIENT, REFLECTED);
	__m128i quotient;

	// 128 bits to 96, then 64
	block = _mm_xor_si128(_mm_clmulepi64_si128(block, _mm_set_epi64x(0, X_96), 0x00),
			      _mm_srli_si128(block, 8));
	block = _mm_xor_si128(
	    _mm_clmulepi64_si128(_mm_and_si128(block, low_halves), _mm_set_epi64x(0, X_64), 0x00),
	    _mm_srli_si128(block, 4));
	quotient = _mm_clmulepi64_si128(_mm_and_si128(block, low_halves), barrett, 0x10);
	quotient = _mm_clmulepi64_si128(_mm_and_si128(quotient, low_halves), barrett, 0x00);
	return (uint32_t)_mm_extract_epi32(_mm_xor_si128(block, quotient), 1);
}

// The last n bytes, 1 to 15, at the end of a block; what is before them is undefined.
CLMUL_TARGET static inline __m128i load_last(const uint8_t *bytes, size_t n, bool has_block_before)
{
	uint8_t last[BLOCK] = { 0 };

	if (has_block_before)
		return load(bytes + n - BLOCK);
	memcpy(last + BLOCK - n, bytes, n);
	return load(last);
}

// Folds a block over what follows, and reduces. has_block_before: the 16 bytes before `bytes` may
// be read.
CLMUL_TARGET static uint32_t finish(__m128i block, const uint8_t *bytes, size_t size,
				    bool has_block_before)
{
	const __m128i by_128 = _mm_set_epi64x(X_96, X_160);
	const size_t n_last = size % BLOCK;

	for (; size >= BLOCK; size -= BLOCK, bytes += BLOCK) {
		block = fold(block, by_128, load(bytes));
		has_block_before = true;
	}
	if (n_last > 0) {
		__m128i to_beginning = load(shuffles + BLOCK + n_last);
		__m128i first = _mm_shuffle_epi8(block, load(shuffles + n_last));
		__m128i others = _mm_shuffle_epi8(block, to_beginning);
		__m128i last = load_last(bytes, n_last, has_block_before);

		// a shuffle's bytes 0x80 choose from `last`
		block = fold(first, by_128, _mm_blendv_epi8(others, last, to_beginning));
	}
	return reduce(block);
}

bool crc_has_clmul(void)
{
	return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

CLMUL_TARGET uint32_t crc_fold_short(uint32_t state, const uint8_t *bytes, size_t size)
{
	return finish(_mm_xor_si128(load(bytes), _mm_cvtsi32_si128((int)state)), bytes + BLOCK,
		      size - BLOCK, true);
}

CLMUL_TARGET uint32_t crc_fold(uint32_t state, const uint8_t head[CRC_HEAD_SIZE],
			       const uint8_t *bytes, size_t size)
{
	const __m128i by_512 = _mm_set_epi64x(X_480, X_544);
	const __m128i by_128 = _mm_set_epi64x(X_96, X_160);
	__m128i a = _mm_xor_si128(load(head), _mm_cvtsi32_si128((int)state));
	__m128i b = load(head + BLOCK);
	__m128i c = load(head + 2 * BLOCK);
	__m128i d = load(head + 3 * BLOCK);
	const bool has_block = bytes == head + CRC_HEAD_SIZE || size >= BLOCK;

	for (; size >= 4 * BLOCK; size -= 4 * BLOCK, bytes += 4 * BLOCK) {
		a = fold(a, by_512, load(bytes));
		b = fold(b, by_512, load(bytes + BLOCK));
		c = fold(c, by_512, load(bytes + 2 * BLOCK));
		d = fold(d, by_512, load(bytes + 3 * BLOCK));
	}
	return finish(fold(fold(fold(a, by_128, b), by_128, c), by_128, d), bytes, size, has_block);
}

bool crc_has_wide_clmul(void)
{
	return crc_has_clmul() && __builtin_cpu_supports("avx512f") &&
	       __builtin_cpu_supports("vpclmulqdq");
}

WIDE_TARGET static inline __m512i load_wide(const uint8_t *bytes)
{
	return _mm512_loadu_si512(bytes);
}

WIDE_TARGET static inline __m512i factors_wide(long long high, long long low)
{
	return _mm512_set_epi64(high, low, high, low, high, low, high, low);
}

WIDE_TARGET static inline __m512i fold_wide(__m512i blocks, __m512i factors, __m512i onto)
{
	__m512i low = _mm512_clmulepi64_epi128(blocks, factors, 0x00);
	__m512i high = _mm512_clmulepi64_epi128(blocks, factors, 0x11);

	return _mm512_xor_si512(_mm512_xor_si512(low, high), onto);
}

WIDE_TARGET uint32_t crc_fold_wide(uint32_t state, const uint8_t head[CRC_HEAD_SIZE],
				   const uint8_t *bytes, size_t size)
{
	const __m512i by_2048 = factors_wide(X_2016, X_2080);
	const __m512i by_512 = factors_wide(X_480, X_544);
	const __m128i by_128 = _mm_set_epi64x(X_96, X_160);
	__m512i a = _mm512_xor_si512(load_wide(head),
				     _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
	__m512i b = load_wide(bytes);
	__m512i c = load_wide(bytes + WIDE);
	__m512i d = load_wide(bytes + 2 * WIDE);
	__m128i block;

	bytes += 3 * WIDE;
	size -= 3 * WIDE;
	for (; size >= 4 * WIDE; size -= 4 * WIDE, bytes += 4 * WIDE) {
		a = fold_wide(a, by_2048, load_wide(bytes));
		b = fold_wide(b, by_2048, load_wide(bytes + WIDE));
		c = fold_wide(c, by_2048, load_wide(bytes + 2 * WIDE));
		d = fold_wide(d, by_2048, load_wide(bytes + 3 * WIDE));
	}
	a = fold_wide(fold_wide(fold_wide(a, by_512, b), by_512, c), by_512, d);
	for (; size >= WIDE; size -= WIDE, bytes += WIDE)
		a = fold_wide(a, by_512, load_wide(bytes));
	block = fold(_mm512_extracti32x4_epi32(a, 0), by_128, _mm512_extracti32x4_epi32(a, 1));
	block = fold(block, by_128, _mm512_extracti32x4_epi32(a, 2));
	block = fold(block, by_128, _mm512_extracti32x4_epi32(a, 3));
	return finish(block, bytes, size, true);
}

#else

// Without the instructions none of these is called for their result.

bool crc_has_clmul(void)
{
	return false;
}

bool crc_has_wide_clmul(void)
{
	return false;
}

uint32_t crc_fold_short(uint32_t state, const uint8_t *bytes, size_t size)
{
	return crc_add_portable(state, bytes, size);
}

uint32_t crc_fold(uint32_t state, const uint8_t head[CRC_HEAD_SIZE], const uint8_t *bytes,
		  size_t size)
{
	return crc_add_portable(crc_add_portable(state, head, CRC_HEAD_SIZE), bytes, size);
}

uint32_t crc_fold_wide(uint32_t state, const uint8_t head[CRC_HEAD_SIZE], const uint8_t *bytes,
		       size_t size)
{
	return crc_fold(state, head, bytes, size);
}

#endif
