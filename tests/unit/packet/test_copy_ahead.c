// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "packet/copy_ahead.h"

#define MOST  9000u
#define FENCE 256u // bytes around the destination, which stay as they are

static uint8_t from[MOST + FENCE], to[MOST + 3 * FENCE];

typedef void (*copy)(uint8_t *to, const uint8_t *from, size_t n, struct copy_next next);

static void assert_copies_by(copy function, size_t n, size_t from_offset, size_t to_offset,
			     struct copy_next next)
{
	uint8_t *place = to + FENCE + to_offset;

	memset(to, 0xEE, sizeof(to));
	function(place, from + from_offset, n, next);
	assert_memory_equal(place, from + from_offset, n);
	for (size_t i = 0; i < FENCE; i++)
		assert_true(place[-1 - (ptrdiff_t)i] == 0xEE && place[n + i] == 0xEE);
}

// As this processor copies, and as others do.
static void assert_copies(size_t n, size_t from_offset, size_t to_offset, struct copy_next next)
{
	assert_copies_by(copy_ahead, n, from_offset, to_offset, next);
	if (n >= COPY_AHEAD_LEAST && !copy_always_ahead())
		assert_copies_by(copy_long, n, from_offset, to_offset, next);
}

static int make_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 31 + i / 251);
	return 0;
}

// Lengths around each limit of the copy: of short copies, of the distance, and of whole lines.
static void copy_ahead__every_length(void **state)
{
	(void)state;
	for (size_t n = 0; n < COPY_AHEAD_LEAST + COPY_AHEAD_MOST + 300; n++)
		assert_copies(n, n % 67, n % 71, COPY_NEXT_UNKNOWN);
	for (size_t n = MOST - 130; n <= MOST; n++)
		assert_copies(n, n % 67, n % 71, COPY_NEXT_UNKNOWN);
}

static void copy_ahead__every_alignment(void **state)
{
	static const size_t lengths[] = { COPY_AHEAD_LEAST, COPY_AHEAD,
					  COPY_AHEAD + 65,  1452,
					  COPY_AHEAD_MOST,  COPY_AHEAD_MOST + 65 };

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		for (size_t offset = 0; offset < RTE_CACHE_LINE_SIZE * RTE_CACHE_LINE_SIZE;
		     offset++)
			assert_copies(lengths[i], offset % RTE_CACHE_LINE_SIZE,
				      offset / RTE_CACHE_LINE_SIZE, COPY_NEXT_UNKNOWN);
}

// What is expected next may be anywhere, also where no memory is, and is not touched.
static void copy_ahead__wrong_guess(void **state)
{
	static uint8_t other[4096];
	uint8_t kept[sizeof(other)];
	const struct copy_next nowhere = { (const uint8_t *)8, (const uint8_t *)8 };
	const struct copy_next here = { other, other + 1 }, half = { NULL, other };

	(void)state;
	memset(other, 0x5A, sizeof(other));
	memcpy(kept, other, sizeof(other));
	for (size_t n = COPY_AHEAD_LEAST; n < MOST; n += 500) {
		assert_copies(n, 3, 5, nowhere);
		assert_copies(n, 3, 5, here);
		assert_copies(n, 3, 5, half);
	}
	assert_memory_equal(other, kept, sizeof(other));
}

static void note(struct copy_order *order, uint8_t *first, unsigned copies, size_t size,
		 size_t step)
{
	for (unsigned i = 0; i < copies; i++)
		copy_order_note(order, first + i * step, size);
}

// One behind the other, and with gaps as between the rooms of an event: in order. Each elsewhere:
// scattered, until most are in order again.
static void copy_order__tells_scattered_copies(void **state)
{
	const size_t size = 1000, page = COPY_NEAR;
	uint8_t *memory = to; // no byte of it is read or written
	struct copy_order order = { 0 };

	(void)state;
	assert_false(copy_is_scattered(&order));
	note(&order, memory, 64, size, size);
	assert_false(copy_is_scattered(&order));
	note(&order, memory, 64, size, size + page - 1);
	assert_false(copy_is_scattered(&order));
	note(&order, memory, 64, size, size + page);
	assert_true(copy_is_scattered(&order));
	note(&order, memory, 32, size, size);
	assert_false(copy_is_scattered(&order));
	note(&order, memory, COPY_JUMPS, size, 0); // downwards is no order either
	assert_true(copy_is_scattered(&order));
}

static void copy_wants_next__of_long_and_scattered_copies(void **state)
{
	const struct copy_order in_order = { 0 }, scattered = { .jumps = UINT32_MAX };

	(void)state;
	assert_false(copy_wants_next(&scattered, COPY_AHEAD_LEAST - 1));
	assert_int_equal(copy_wants_next(&in_order, COPY_AHEAD_LEAST), copy_always_ahead());
#ifdef RTE_ARCH_X86
	assert_true(copy_wants_next(&scattered, COPY_AHEAD_LEAST));
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy_ahead__every_length),
		cmocka_unit_test(copy_ahead__every_alignment),
		cmocka_unit_test(copy_ahead__wrong_guess),
		cmocka_unit_test(copy_order__tells_scattered_copies),
		cmocka_unit_test(copy_wants_next__of_long_and_scattered_copies),
	};

	return cmocka_run_group_tests(tests, make_bytes, NULL);
}
