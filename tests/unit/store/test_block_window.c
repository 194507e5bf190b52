// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The events of a store whose blocks come during the run.
#include "testbed.h"

#include <string.h>

#include "store/block_window.h"
#include "wire/mfp.h"

#define CAPACITY 8u
#define SOURCES  3u
#define PACKING  5u

static const uint16_t ids[SOURCES] = { 0x1001, 0x1002, 0x1003 };
static const uint8_t bytes[64];
static struct block_hold hold;

static void window_open(struct block_window *window, bool mfps)
{
	const struct block_window_parameters parameters = {
		.ids = ids,
		.n_sources = SOURCES,
		.packing = PACKING,
		.largest = 64,
		.capacity = CAPACITY,
		.mfps = mfps,
	};

	memset(window, 0, sizeof(*window));
	memset(&hold, 0, sizeof(hold));
	assert_true(block_window_make(window, &parameters));
	block_window_begin(&window->store, 0);
}

static enum window_put put(struct block_window *window, uint64_t event, unsigned source)
{
	const struct window_block block = { .bytes = bytes, .size = 64, .hold = &hold };

	return block_window_put(window, event, source, &block);
}

static void put_all(struct block_window *window, uint64_t event)
{
	for (unsigned i = 0; i < SOURCES; i++)
		assert_int_equal(put(window, event, i), WINDOW_TAKEN);
}

static void window__is_ready_with_the_last_source(void **state)
{
	struct block_window window;
	struct store_block block;

	(void)state;
	window_open(&window, true);
	for (unsigned i = 0; i < SOURCES; i++) {
		assert_int_equal(window.store.ready, 0);
		assert_int_equal(block_window_find(&window.store, 0, i).size, 0);
		assert_int_equal(put(&window, 0, i), WINDOW_TAKEN);
	}
	assert_int_equal(window.store.ready, 1);
	assert_int_equal(window.store.counters.events, 1);
	block = block_window_find(&window.store, 0, 1);
	assert_ptr_equal(block.bytes, bytes);
	assert_int_equal(block.size, 64);
	assert_ptr_equal(block.hold, &hold);
	assert_false(block.is_missing || block.is_temporary);
	assert_int_equal(block_window_find(&window.store, 1, 1).size, 0);
	block_window_free(&window);
}

static void window__lets_sources_run_out_of_step(void **state)
{
	struct block_window window;

	(void)state;
	window_open(&window, true);
	for (uint64_t event = 0; event < CAPACITY; event++)
		assert_int_equal(put(&window, event, 2), WINDOW_TAKEN);
	assert_int_equal(put(&window, CAPACITY, 2), WINDOW_FULL);
	assert_int_equal(window.store.ready, 0);
	for (uint64_t event = 0; event < CAPACITY; event++) {
		assert_int_equal(put(&window, event, 0), WINDOW_TAKEN);
		assert_int_equal(put(&window, event, 1), WINDOW_TAKEN);
		assert_int_equal(window.store.ready, event + 1);
	}
	block_window_release(&window.store, 1);
	assert_int_equal(put(&window, CAPACITY, 2), WINDOW_TAKEN);
	assert_int_equal(window.store.counters.missing, 0);
	block_window_free(&window);
}

static void window__holds_memory_until_events_are_released(void **state)
{
	struct block_window window;

	(void)state;
	window_open(&window, true);
	for (uint64_t event = 0; event < 4; event++)
		put_all(&window, event);
	assert_int_equal(hold.blocks, 4 * SOURCES);
	block_window_release(&window.store, 3);
	assert_int_equal(hold.blocks, SOURCES);
	assert_int_equal(block_window_find(&window.store, 2, 0).size, 0);
	assert_int_equal(block_window_find(&window.store, 3, 0).size, 64);
	block_window_release(&window.store, 2); // nothing goes back
	assert_int_equal(window.store.released, 3);
	block_window_release(&window.store, 100); // no further than what is ready
	assert_int_equal(window.store.released, 4);
	assert_true(block_hold_is_free(&hold));
	block_window_free(&window);
}

static void assert_error_mfp(struct block_window *window, uint64_t event, unsigned source)
{
	struct store_block block = block_window_find(&window->store, event, source);
	struct mfp mfp;

	assert_true(block.is_missing && block.is_temporary);
	assert_null(block.hold);
	assert_int_equal(mfp_decode(block.bytes, block.size, &mfp), WIRE_OK);
	assert_int_equal(mfp.header.source_id, ids[source]);
	assert_int_equal(mfp.header.n_fragments, PACKING);
	assert_true(mfp_nothing_usable(&mfp));
	assert_in_range(block.size, 1, window->store.largest);
}

static void window__does_not_wait_for_a_source_that_skips(void **state)
{
	struct block_window window;

	(void)state;
	window_open(&window, true);
	assert_int_equal(put(&window, 0, 0), WINDOW_TAKEN);
	assert_int_equal(put(&window, 0, 1), WINDOW_TAKEN);
	assert_int_equal(put(&window, 2, 2), WINDOW_TAKEN);
	assert_int_equal(window.store.ready, 1);
	assert_int_equal(window.store.counters.missing, 1);
	assert_error_mfp(&window, 0, 2);
	assert_int_equal(put(&window, 1, 2), WINDOW_LATE);
	assert_int_equal(put(&window, 0, 2), WINDOW_LATE);
	assert_int_equal(window.store.counters.late, 2);
	block_window_free(&window);
}

static void window__without_mfps_has_nothing_in_the_place(void **state)
{
	struct block_window window;
	struct store_block block;

	(void)state;
	window_open(&window, false);
	for (unsigned i = 0; i + 1 < SOURCES; i++)
		assert_int_equal(put(&window, 0, i), WINDOW_TAKEN);
	block_window_give_up(&window);
	block = block_window_find(&window.store, 0, SOURCES - 1);
	assert_true(block.is_missing);
	assert_int_equal(block.size, 0);
	block_window_free(&window);
}

static void window__gives_up_one_event(void **state)
{
	struct block_window window;

	(void)state;
	window_open(&window, true);
	for (uint64_t event = 0; event < CAPACITY; event++)
		assert_int_equal(put(&window, event, 1), WINDOW_TAKEN);
	block_window_give_up(&window);
	assert_int_equal(window.store.ready, 1);
	assert_int_equal(window.store.counters.missing, SOURCES - 1);
	assert_error_mfp(&window, 0, 0);
	assert_int_equal(block_window_find(&window.store, 0, 1).size, 64);
	for (unsigned i = 0; i < 2 * CAPACITY; i++)
		block_window_give_up(&window);
	assert_int_equal(window.store.ready, CAPACITY);
	block_window_free(&window);
}

static void window__moves_over_a_gap_that_is_larger_than_itself(void **state)
{
	struct block_window window;
	uint64_t far = 5 * CAPACITY + 3;

	(void)state;
	window_open(&window, true);
	for (uint64_t released = 0; window.store.released <= far; released++) {
		assert_true(released <= far);
		for (unsigned i = 0; i < SOURCES; i++)
			(void)put(&window, far, i);
		block_window_release(&window.store, window.store.released + 1);
	}
	assert_int_equal(window.store.counters.missing, far * SOURCES);
	assert_true(block_hold_is_free(&hold));
	block_window_free(&window);
}

static void window__ends_with_what_it_has(void **state)
{
	struct block_window window;

	(void)state;
	window_open(&window, true);
	put_all(&window, 0);
	assert_int_equal(put(&window, 1, 0), WINDOW_TAKEN);
	block_window_end(&window, 2);
	assert_int_equal(window.store.end, 2);
	assert_int_equal(window.store.ready, 2);
	assert_error_mfp(&window, 1, 2);
	block_window_end(&window, 3 * CAPACITY); // in several steps
	assert_int_equal(window.store.ready, CAPACITY);
	block_window_release(&window.store, CAPACITY);
	block_window_end(&window, 3 * CAPACITY);
	assert_int_equal(window.store.ready, 2 * CAPACITY);
	block_window_free(&window);
}

static void window__begins_anew(void **state)
{
	struct block_window window;

	(void)state;
	window_open(&window, true);
	put_all(&window, 0);
	assert_int_equal(put(&window, 1, 0), WINDOW_TAKEN);
	block_window_end(&window, 1);
	block_window_begin(&window.store, 100);
	assert_true(block_hold_is_free(&hold));
	assert_true(window.store.end == UINT64_MAX);
	assert_int_equal(window.store.ready, 100);
	assert_int_equal(put(&window, 99, 0), WINDOW_LATE);
	put_all(&window, 100);
	assert_int_equal(window.store.ready, 101);
	assert_int_equal(block_window_find(&window.store, 100, 0).size, 64);
	block_window_begin(&window.store, 3); // it may also go back
	put_all(&window, 3);
	assert_int_equal(window.store.ready, 4);
	assert_int_equal(hold.blocks, SOURCES);
	block_window_free(&window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window__is_ready_with_the_last_source),
		cmocka_unit_test(window__lets_sources_run_out_of_step),
		cmocka_unit_test(window__holds_memory_until_events_are_released),
		cmocka_unit_test(window__does_not_wait_for_a_source_that_skips),
		cmocka_unit_test(window__without_mfps_has_nothing_in_the_place),
		cmocka_unit_test(window__gives_up_one_event),
		cmocka_unit_test(window__moves_over_a_gap_that_is_larger_than_itself),
		cmocka_unit_test(window__ends_with_what_it_has),
		cmocka_unit_test(window__begins_anew),
	};

	return cmocka_run_group_tests_name("block_window", tests, NULL, NULL);
}
