// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors

#include "source/pattern.h"

#define GOLDEN      UINT64_C(0x9e3779b97f4a7c15)
#define SEED_FIELDS UINT64_C(0x000000ffffffffff)
#define WORD        sizeof(uint64_t)

static uint64_t sealed(uint64_t fields)
{
	return fields | ((fields * GOLDEN) & ~SEED_FIELDS);
}

static inline uint64_t word(uint64_t seed, uint64_t index)
{
	uint64_t z = seed + index * GOLDEN;

	z = (z ^ (z >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	return z ^ (z >> 32);
}

uint64_t pattern_seed(uint16_t source_id, uint16_t number, uint8_t stream)
{
	return sealed((uint64_t)stream << 32 | (uint64_t)number << 16 | source_id);
}

void pattern_fill(uint8_t *bytes, size_t size, uint64_t seed)
{
	size_t words = size / WORD;
	uint64_t tail = seed;

	if (words) {
		store_le64(bytes, seed);
		for (size_t i = 1; i < words; i++)
			store_le64(bytes + i * WORD, word(seed, i));
		tail = word(seed, words);
	}
	if (size % WORD)
		memcpy(bytes + words * WORD, &tail, size % WORD);
}

bool pattern_check(const uint8_t *bytes, size_t size, uint16_t source_id)
{
	size_t words = size / WORD;
	uint64_t seed, tail, wrong = 0;

	if (!words)
		return !memcmp(bytes, &source_id, size < 2 ? size : 2);
	seed = load_le64(bytes);
	if ((uint16_t)seed != source_id || sealed(seed & SEED_FIELDS) != seed)
		return false;
	for (size_t i = 1; i < words; i++)
		wrong |= load_le64(bytes + i * WORD) ^ word(seed, i);
	tail = word(seed, words);
	return !wrong && !memcmp(bytes + words * WORD, &tail, size % WORD);
}

unsigned pattern_check_mfp(const struct mfp *mfp)
{
	struct mfp_fragment fragment;
	unsigned index = 0, number = 0, wrong = 0;
	size_t offset = 0;
	int stream = -1;

	for (; mfp_next_fragment(mfp, &index, &offset, &fragment); number++) {
		bool right;

		if (fragment.type == MFP_TYPE_ODIN || fragment.type == MFP_TYPE_FRAGMENT_MISSING)
			continue;
		right = pattern_check(fragment.payload, fragment.size, mfp->header.source_id);
		if (right && fragment.size >= WORD) {
			uint64_t seed = load_le64(fragment.payload);

			if (stream < 0)
				stream = pattern_stream(seed);
			right = pattern_number(seed) == number && pattern_stream(seed) == stream;
		}
		wrong += !right;
	}
	return wrong;
}
