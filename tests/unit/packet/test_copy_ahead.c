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
	if (n >= COPY_AHEAD_LEAST && !copy_fetches_ahead(n))
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
	for (size_t n = 0; n < COPY_AHEAD_LEAST + COPY_AHEAD + 300; n++)
		assert_copies(n, n % 67, n % 71, COPY_NEXT_UNKNOWN);
	for (size_t n = MOST - 130; n <= MOST; n++)
		assert_copies(n, n % 67, n % 71, COPY_NEXT_UNKNOWN);
}

static void copy_ahead__every_alignment(void **state)
{
	static const size_t lengths[] = { COPY_AHEAD_LEAST, COPY_AHEAD, COPY_AHEAD + 65, 1452 };

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy_ahead__every_length),
		cmocka_unit_test(copy_ahead__every_alignment),
		cmocka_unit_test(copy_ahead__wrong_guess),
	};

	return cmocka_run_group_tests(tests, make_bytes, NULL);
}
