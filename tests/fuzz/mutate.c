// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "mutate.h"

#include <stdbool.h>
#include <string.h>

#define MAX_GROWTH 64u // bytes that one change may add

static bool one_in(struct random *random, size_t n)
{
	return random_below(random, n) == 0;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

// Numbers at which lengths and counts break.
static uint64_t awkward_number(const struct input *input, size_t at, struct random *random)
{
	static const uint64_t numbers[] = {
		0,     1,          2,          3,          4,          7,          8,
		15,    16,         63,         64,         127,        128,        255,
		256,   4095,       4096,       32767,      32768,      65535,      65536,
		65537, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF, UINT64_MAX,
	};
	const size_t n = sizeof(numbers) / sizeof(numbers[0]);
	uint32_t which = random_below(random, n + 6);

	if (which < n)
		return numbers[which];
	// Around the bytes that follow, and all bytes.
	return (which & 1 ? input->size : input->size - at) + 2 - random_below(random, 5);
}

static uint64_t swap(uint64_t number, size_t width)
{
	return __builtin_bswap64(number) >> (64 - 8 * width);
}

// Sets a number of 1, 2, 4 or 8 bytes, or adds to it.
static void change_number(struct input *input, struct random *random)
{
	const size_t width = (size_t)1 << random_below(random, 4);
	const bool big_endian = random_below(random, 2);
	uint64_t number = 0;
	size_t at;

	if (input->size < width)
		return;
	at = random_below(random, input->size - width + 1);
	if (random_below(random, 2)) {
		number = awkward_number(input, at, random);
	} else {
		memcpy(&number, input->bytes + at, width);
		number = big_endian ? swap(number, width) : number;
		number += 16 - (uint64_t)random_below(random, 33);
	}
	number = big_endian ? swap(number, width) : number;
	memcpy(input->bytes + at, &number, width);
}

// Shifts what is behind a place by some bytes, which keep their value or are cut out.
static void grow_or_cut(struct input *input, struct random *random)
{
	size_t at = random_below(random, input->size + 1), n = 1 + random_below(random, MAX_GROWTH);

	if (random_below(random, 2)) {
		memset(input->bytes + input->size, 0, n);
		memmove(input->bytes + at + n, input->bytes + at, input->size - at);
		input->size += n;
	} else if (n <= input->size - at) {
		memmove(input->bytes + at, input->bytes + at + n, input->size - at - n);
		input->size -= n;
	}
}

// Overwrites bytes with those of another place of the same input.
static void copy_within(struct input *input, struct random *random)
{
	size_t to = random_below(random, input->size), from = random_below(random, input->size);
	size_t most = smaller(input->size - to, input->size - from);

	memmove(input->bytes + to, input->bytes + from,
		1 + random_below(random, smaller(most, 64)));
}

// Overwrites bytes with those of the other input, from the same place or another.
static void copy_other(struct input *input, const struct input *other, struct random *random)
{
	size_t to = random_below(random, input->size), from = to, n;

	if (other->size == 0)
		return;
	if (from >= other->size || random_below(random, 2))
		from = random_below(random, other->size);
	n = smaller(input->size - to, other->size - from);
	memcpy(input->bytes + to, other->bytes + from, 1 + random_below(random, n));
}

static void change_byte(struct input *input, struct random *random)
{
	input->bytes[random_below(random, input->size)] = (uint8_t)random_next(random);
}

static void change_bit(struct input *input, struct random *random)
{
	uint32_t at = random_below(random, 8 * input->size);

	input->bytes[at / 8] ^= (uint8_t)(1u << at % 8);
}

static void change(struct input *input, const struct input *other, struct random *random)
{
	if (input->size == 0) {
		grow_or_cut(input, random);
		return;
	}
	switch (random_below(random, 16)) {
	case 0:
		grow_or_cut(input, random);
		break;
	case 1:
		copy_within(input, random);
		break;
	case 2:
		copy_other(input, other, random);
		break;
	case 3:
	case 4:
	case 5:
		change_bit(input, random);
		break;
	case 6:
	case 7:
	case 8:
		change_byte(input, random);
		break;
	default:
		change_number(input, random);
		break;
	}
}

void mutate(struct input *input, const struct input *other, struct random *random)
{
	unsigned n = 1 + random_below(random, 4);

	if (one_in(random, 16))
		n *= 2;
	while (n-- > 0)
		change(input, other, random);
	if (one_in(random, 8))
		input->size = random_below(random, input->size + 1);
}
