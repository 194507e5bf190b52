// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/block_memory.h"

#define SIZE    (8u << 20)
#define LARGEST (100u << 10)
#define MOST    (1u << 18) // rooms

// However many of the oldest blocks are released, as many are there as the formula says.
static void capacity__is_what_the_memory_holds(void **state)
{
	static const uint32_t lengths[] = { 1, 64, 1000, 9000, 70000, LARGEST };
	uint32_t *rooms = calloc(MOST, sizeof(*rooms));

	(void)state;
	assert_non_null(rooms);
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const struct block_memory_capacity capacity =
		    block_memory_capacity(SIZE, LARGEST, lengths[i]);
		uint64_t first = 0, end = 0;
		struct block_memory memory;

		assert_true(block_memory_make(&memory, NULL, SIZE, LARGEST));
		for (unsigned turn = 0; turn < 20; turn++) {
			uint64_t out = turn * 7 < end - first ? turn * 7 : end - first;
			uint32_t room;

			for (; out > 0; out--, first++)
				block_memory_hold(&memory, rooms[first % MOST])->blocks--;
			block_memory_look_again(&memory);
			while ((room = block_memory_take(&memory, lengths[i])) != 0)
				rooms[end++ % MOST] = room;
			if (end - first < capacity.blocks)
				fail_msg("%u bytes: %u blocks, not %u", lengths[i],
					 (unsigned)(end - first), (unsigned)capacity.blocks);
			assert_true((end - first) * capacity.bytes <= SIZE);
		}
		block_memory_free(&memory);
	}
	free(rooms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capacity__is_what_the_memory_holds),
	};

	return cmocka_run_group_tests_name("block_memory", tests, NULL, NULL);
}
