// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Conflicts about the room of a block and about its bytes, in a guarded assembly.
#include "workbench.h"

#include <stdlib.h>

static void open_with(struct workbench *bench, enum payload_kind payload, bool guarded)
{
	struct workbench_options options = workbench_standard;

	options.payload = payload;
	options.guarded = guarded;
	options.slots = 32;
	workbench_open(bench, &options);
}

// An event of three blocks.
static void send_event(struct workbench *bench, uint64_t id, const uint32_t *lengths)
{
	for (unsigned i = 0; i < 3; i++) {
		struct block block = block_random(i, id, lengths[i]);

		workbench_place(bench, i, id, &block, 0, block.length);
		block_free(&block);
	}
}

static void take_event(struct workbench *bench, uint64_t id, const uint32_t *lengths)
{
	struct evb_event event = workbench_take(bench);

	assert_int_equal(event.event_id, id);
	assert_int_equal(event.flags, 0);
	for (unsigned i = 0; i < 3; i++) {
		struct block block = block_random(i, id, lengths[i]);

		workbench_assert_content(bench, &event, i, CONTENT_DATA, &block, 0);
		block_free(&block);
	}
	workbench_release(bench, &event);
}

// The first byte of a block of this length.
static enum segment_cause state_length(struct workbench *bench, unsigned source, uint64_t id,
				       uint32_t length)
{
	struct block block = block_random(source, id + 1, length);
	enum segment_cause cause = workbench_send(bench, source, id, &block, 0, 1);

	block_free(&block);
	return cause;
}

static void room__is_taken_from_an_unusually_large_block(void **state)
{
	static const uint32_t lengths[] = { 4000, 5000, 5000 };

	(void)state;
	for (unsigned n_before = 0; n_before < 2; n_before++) {
		struct workbench bench;

		open_with(&bench, PAYLOAD_OPAQUE, true);
		for (unsigned i = 0; i < n_before; i++) {
			send_event(&bench, 0, lengths);
			take_event(&bench, 0, lengths);
		}
		for (uint64_t id = 4; id < 400; id += 4) {
			assert_int_equal(state_length(&bench, 0, id, 15000), PLACED);
			// The second and third block come before the first one, or behind it.
			if (id % 8 == 0) {
				send_event(&bench, id, lengths);
			} else {
				struct block block = block_random(1, id, lengths[1]);

				workbench_place(&bench, 1, id, &block, 0, 3000);
				workbench_place(&bench, 1, id, &block, 3000, 2000);
				block_free(&block);
				block = block_random(2, id, lengths[2]);
				workbench_place(&bench, 2, id, &block, 0, 5000);
				block_free(&block);
				block = block_random(0, id, lengths[0]);
				workbench_place(&bench, 0, id, &block, 0, 4000);
				block_free(&block);
			}
			take_event(&bench, id, lengths);
		}
		workbench_close(&bench);
	}
}

static void room__stays_with_a_block_of_usual_size(void **state)
{
	static const uint32_t lengths[] = { 12000, 100, 100 };
	struct block block = block_random(0, 4, 12000);
	struct workbench bench;

	(void)state;
	open_with(&bench, PAYLOAD_OPAQUE, true);
	send_event(&bench, 0, lengths);
	take_event(&bench, 0, lengths);
	workbench_place(&bench, 0, 4, &block, 0, 1000);
	assert_int_equal(state_length(&bench, 1, 4, 6000), SEGMENT_OVERSIZED);
	workbench_place(&bench, 0, 4, &block, 1000, 11000);
	block_free(&block);
	for (unsigned i = 1; i < 3; i++) {
		block = block_random(i, 4, 100);
		workbench_place(&bench, i, 4, &block, 0, 100);
		block_free(&block);
	}
	take_event(&bench, 4, lengths);
	workbench_close(&bench);
}

static void piece__is_displaced_by_a_larger_one(void **state)
{
	static const uint32_t lengths[] = { 3000, 100, 100 };
	struct block block = block_random(0, 0, 3000), piece = block_random(0, 7, 3000);
	struct block longer = block_random(0, 7, 4000);
	struct workbench bench;

	(void)state;
	open_with(&bench, PAYLOAD_OPAQUE, true);
	workbench_place(&bench, 0, 0, &longer, 0, 10);
	// Another length, and the right length with pieces that overlap the segments.
	workbench_place(&bench, 0, 0, &piece, 5, 30);
	workbench_place(&bench, 0, 0, &piece, 995, 20);
	assert_int_equal(workbench_send(&bench, 0, 0, &piece, 1000, 20), SEGMENT_OVERLAPPING);
	workbench_place(&bench, 0, 0, &block, 0, 1000);
	// What is larger stays.
	assert_int_equal(workbench_send(&bench, 0, 0, &longer, 0, 1000), SEGMENT_LENGTH_MISMATCH);
	assert_int_equal(workbench_send(&bench, 0, 0, &piece, 500, 1000), SEGMENT_OVERLAPPING);
	assert_int_equal(workbench_send(&bench, 0, 0, &piece, 500, 500), SEGMENT_DUPLICATE);
	workbench_place(&bench, 0, 0, &block, 1000, 2000);
	assert_int_equal(workbench_send(&bench, 0, 0, &longer, 0, 4000), SEGMENT_LENGTH_MISMATCH);
	block_free(&block);
	for (unsigned i = 1; i < 3; i++) {
		block = block_random(i, 0, 100);
		workbench_place(&bench, i, 0, &block, 0, 100);
		block_free(&block);
	}
	take_event(&bench, 0, lengths);
	block_free(&piece);
	block_free(&longer);
	workbench_close(&bench);
}

static void piece__displaces_nothing_where_sources_are_trusted(void **state)
{
	struct block block = block_random(0, 0, 3000);
	struct workbench bench;

	(void)state;
	open_with(&bench, PAYLOAD_OPAQUE, false);
	assert_int_equal(state_length(&bench, 0, 0, 4000), PLACED);
	assert_int_equal(workbench_send(&bench, 0, 0, &block, 0, 1000), SEGMENT_LENGTH_MISMATCH);
	block_free(&block);
	workbench_close(&bench);
}

// A source that sends malformed blocks makes the first events wait for another block, not all.
static void malformed__blocks_are_waited_for_a_few_times(void **state)
{
	struct workbench bench;
	unsigned n_waits = 0;

	(void)state;
	open_with(&bench, PAYLOAD_MFP, true);
	for (uint64_t id = 0; id < 80; id += 4) {
		struct block block = block_random(0, id, 50);
		struct evb_event event;

		workbench_place(&bench, 0, id, &block, 0, 50);
		block_free(&block);
		workbench_send_mfp(&bench, 1, id, 4);
		workbench_send_mfp(&bench, 2, id, 4);
		if (counters_of(&bench)->events_incomplete == id / 4) {
			n_waits++;
			workbench_wait(&bench, WORKBENCH_DEADLINE);
		}
		event = workbench_take(&bench);
		assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE | EVB_EVENT_MALFORMED);
		workbench_assert_content(&bench, &event, 0, CONTENT_MALFORMED, NULL, 4);
		workbench_release(&bench, &event);
	}
	assert_in_range(n_waits, 8, 14); // it is tried again now and then
	assert_int_equal(counters_of(&bench)->blocks_malformed, 20);
	workbench_close(&bench);
}

static void malformed__blocks_are_displaced(void **state)
{
	struct workbench bench;

	(void)state;
	open_with(&bench, PAYLOAD_MFP, true);
	for (uint64_t id = 0; id < 400; id += 4) {
		struct block block = block_random(0, id, 50);

		workbench_place(&bench, 0, id, &block, 0, 50);
		block_free(&block);
		workbench_send_mfp(&bench, 1, id, 4);
		workbench_send_mfp(&bench, 2, id, 4);
		workbench_take_none(&bench);
		workbench_send_mfp(&bench, 0, id, 4);
		workbench_take_complete(&bench, id, 4);
	}
	assert_int_equal(counters_of(&bench)->blocks_malformed, 0);
	workbench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(room__is_taken_from_an_unusually_large_block),
		cmocka_unit_test(room__stays_with_a_block_of_usual_size),
		cmocka_unit_test(piece__is_displaced_by_a_larger_one),
		cmocka_unit_test(piece__displaces_nothing_where_sources_are_trusted),
		cmocka_unit_test(malformed__blocks_are_waited_for_a_few_times),
		cmocka_unit_test(malformed__blocks_are_displaced),
	};

	return cmocka_run_group_tests_name("block_room", tests, NULL, NULL);
}
