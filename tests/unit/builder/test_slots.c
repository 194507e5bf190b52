// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Slots: what happens when none is free, and how they are used.
#include "workbench.h"

#include <stdlib.h>

#include "wire/mfp.h"

static void open_standard(struct workbench *bench)
{
	workbench_open(bench, &workbench_standard);
}

static void no_slot__is_counted_by_the_caller_alone(void **state)
{
	struct segment segment = { .event_id = 100, .event_index = 25, .size = 1, .length = 100 };
	struct workbench bench;
	enum segment_cause cause;

	(void)state;
	open_standard(&bench);
	for (uint64_t id = 0; id < 16; id += 4)
		workbench_send_mfp(&bench, 0, id, 4);
	assert_int_equal(assembly_free_slots(bench.assembly), 0);
	for (unsigned i = 0; i < 3; i++) {
		assert_null(assembly_admit(bench.assembly, &segment, bench.now, &cause));
		assert_int_equal(cause, SEGMENT_NO_SLOT);
	}
	assert_int_equal(counters_of(&bench)->drops[SEGMENT_NO_SLOT], 0);
	assembly_refuse(bench.assembly, &segment, SEGMENT_NO_SLOT);
	assert_int_equal(counters_of(&bench)->drops[SEGMENT_NO_SLOT], 1);
	// None of the open events has been overtaken: they go on.
	assert_int_equal(assembly_open_events(bench.assembly), 4);
	for (uint64_t id = 0; id < 16; id += 4) {
		workbench_send_mfp(&bench, 1, id, 4);
		workbench_send_mfp(&bench, 2, id, 4);
		workbench_take_complete(&bench, id, 4);
	}
	assert_int_equal(counters_of(&bench)->events_overtaken, 0);
	workbench_close(&bench);
}

static void no_slot__until_a_consumer_releases_one(void **state)
{
	struct evb_event event;
	struct workbench bench;
	struct block block;

	(void)state;
	open_standard(&bench);
	block = block_mfp(&bench, 0, 100, 4);
	for (uint64_t id = 0; id < 16; id += 4)
		for (unsigned i = 0; i < 3; i++)
			workbench_send_mfp(&bench, i, id, 4);
	assert_int_equal(workbench_send(&bench, 0, 100, &block, 0, 10), SEGMENT_NO_SLOT);
	event = workbench_take(&bench);
	assert_int_equal(workbench_send(&bench, 0, 100, &block, 0, 10), SEGMENT_NO_SLOT);
	workbench_release(&bench, &event);
	// No housekeeping is needed in between.
	workbench_place(&bench, 0, 100, &block, 0, block.length);
	block_free(&block);
	workbench_close(&bench);
}

// Sources 0 and 1 have sent events 0, 4, 8 and 12; source 2 all but the first, of which nothing
// will come, so 4 to 12 are complete.
static void overtake_first_event(struct workbench *bench)
{
	for (uint64_t id = 0; id < 16; id += 4) {
		workbench_send_mfp(bench, 0, id, 4);
		workbench_send_mfp(bench, 1, id, 4);
		if (id > 0)
			workbench_send_mfp(bench, 2, id, 4);
	}
}

static void overtaken__is_closed_when_no_slot_is_left(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	overtake_first_event(&bench);
	for (uint64_t id = 4; id < 16; id += 4)
		workbench_take_complete(&bench, id, 4);
	// Slots of consumers come first.
	for (uint64_t id = 16; id < 28; id += 4)
		workbench_send_mfp(&bench, 0, id, 4);
	assert_int_equal(counters_of(&bench)->events_overtaken, 0);
	assert_int_equal(assembly_open_events(bench.assembly), 4);
	{
		struct block block = block_mfp(&bench, 0, 28, 4);
		struct evb_event event;

		// Closed, but now it is with the consumer.
		assert_int_equal(workbench_send(&bench, 0, 28, &block, 0, 10), SEGMENT_NO_SLOT);
		assert_int_equal(counters_of(&bench)->events_overtaken, 1);
		event = workbench_take(&bench);
		assert_int_equal(event.event_id, 0);
		assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE);
		workbench_assert_content(&bench, &event, 2, CONTENT_MISSING, NULL, 4);
		assert_int_equal(workbench_send(&bench, 0, 28, &block, 0, 10), SEGMENT_NO_SLOT);
		workbench_release(&bench, &event);
		workbench_place(&bench, 0, 28, &block, 0, 10);
		block_free(&block);
	}
	// The others have not been overtaken: the complete ones were opened before them.
	assert_int_equal(counters_of(&bench)->events_overtaken, 1);
	assert_int_equal(assembly_open_events(bench.assembly), 4);
	workbench_close(&bench);
}

static void overtaken__stays_open_while_consumers_hold_slots(void **state)
{
	struct workbench bench;
	struct block block;

	(void)state;
	open_standard(&bench);
	overtake_first_event(&bench);
	block = block_mfp(&bench, 0, 16, 4);
	assert_int_equal(workbench_send(&bench, 0, 16, &block, 0, 10), SEGMENT_NO_SLOT);
	assert_int_equal(counters_of(&bench)->events_overtaken, 0);
	// What was only late in coming is still welcome.
	workbench_send_mfp(&bench, 2, 0, 4);
	for (uint64_t id = 4; id < 16; id += 4)
		workbench_take_complete(&bench, id, 4);
	workbench_take_complete(&bench, 0, 4);
	block_free(&block);
	workbench_close(&bench);
}

// Events that a fast source has opened ahead of the others are not overtaken by those before them.
static void overtaken__are_not_events_ahead(void **state)
{
	struct workbench_options options = workbench_standard;
	struct workbench bench;

	(void)state;
	options.n_sources = 2;
	workbench_open(&bench, &options);
	for (uint64_t id = 0; id < 12; id += 4)
		workbench_send_mfp(&bench, 0, id, 4);
	workbench_send_mfp(&bench, 1, 0, 4);
	workbench_take_complete(&bench, 0, 4);
	for (uint64_t id = 12; id < 20; id += 4)
		workbench_send_mfp(&bench, 0, id, 4);
	assert_int_equal(assembly_free_slots(bench.assembly), 0);
	{
		struct block block = block_mfp(&bench, 0, 20, 4);

		assert_int_equal(workbench_send(&bench, 0, 20, &block, 0, 10), SEGMENT_NO_SLOT);
		block_free(&block);
	}
	for (uint64_t id = 4; id < 20; id += 4) {
		workbench_send_mfp(&bench, 1, id, 4);
		workbench_take_complete(&bench, id, 4);
	}
	assert_int_equal(counters_of(&bench)->events_overtaken, 0);
	workbench_close(&bench);
}

static void overtaken__of_several_that_with_fewest_sources(void **state)
{
	struct workbench_options options = workbench_standard;
	struct workbench bench;

	(void)state;
	options.on_incomplete = INCOMPLETE_DISCARD;
	workbench_open(&bench, &options);
	workbench_send_mfp(&bench, 0, 0, 4);
	workbench_send_mfp(&bench, 1, 0, 4);
	workbench_send_mfp(&bench, 0, 4004, 4); // a wrong event number
	workbench_send_mfp(&bench, 1, 4, 4);
	workbench_send_mfp(&bench, 2, 4, 4);
	for (unsigned i = 0; i < 3; i++)
		workbench_send_mfp(&bench, i, 8, 4);
	workbench_take_complete(&bench, 8, 4);
	workbench_send_mfp(&bench, 0, 12, 4);
	assert_int_equal(counters_of(&bench)->events_overtaken, 0);
	// Discarded: its slot is free at once.
	workbench_send_mfp(&bench, 0, 16, 4);
	assert_int_equal(counters_of(&bench)->events_overtaken, 1);
	assert_int_equal(counters_of(&bench)->events_discarded, 1);
	workbench_send_mfp(&bench, 2, 0, 4);
	workbench_send_mfp(&bench, 0, 4, 4);
	assert_int_equal(counters_of(&bench)->events_complete, 3);
	workbench_close(&bench);
}

static void slots__are_used_again_in_the_order_of_release(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	for (uint64_t id = 0; id < 4000; id += 4) {
		struct evb_event event;

		for (unsigned i = 0; i < 3; i++)
			workbench_send_mfp(&bench, i, id, 4);
		event = workbench_take(&bench);
		assert_int_equal(event.slot, id / 4 % 4);
		assert_int_equal(event.flags, 0);
		workbench_release(&bench, &event);
		workbench_wait(&bench, 1);
	}
	workbench_close(&bench);
}

static void memory__is_stated_and_slots_have_a_least_size(void **state)
{
	struct source_table *sources = calloc(1, sizeof(*sources));
	struct assembly_parameters parameters = {
		.sources = sources, .packing = 4, .deadline = 1, .ticks_per_second = 1
	};
	struct workbench bench;

	(void)state;
	assert_non_null(sources);
	// Header 28 -> 32; an error MFP of 4 fragments takes 20 + 4 + 8 = 32 bytes.
	assert_int_equal(assembly_smallest_slot(3, 4), 32 + 3 * 32);
	assert_int_equal(assembly_smallest_slot(1, 1), 16 + 32);
	assert_true(assembly_memory(64, 100) > 64 * 100 * 16);
	assert_true(assembly_memory(64, 200) > assembly_memory(64, 100));
	open_standard(&bench);
	parameters.ring = bench.ring;
	assert_null(assembly_create(&parameters)); // no sources
	sources->n_expected = 400;                 // 400 * 32 + header fit in 16384
	assert_true(assembly_smallest_slot(400, 4) <= 16384);
	{
		struct assembly *assembly = assembly_create(&parameters);

		assert_non_null(assembly);
		assembly_destroy(assembly);
	}
	sources->n_expected = 450;
	assert_true(assembly_smallest_slot(450, 4) > 16384);
	assert_null(assembly_create(&parameters));
	assembly_destroy(NULL);
	free(sources);
	workbench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_slot__is_counted_by_the_caller_alone),
		cmocka_unit_test(no_slot__until_a_consumer_releases_one),
		cmocka_unit_test(overtaken__is_closed_when_no_slot_is_left),
		cmocka_unit_test(overtaken__stays_open_while_consumers_hold_slots),
		cmocka_unit_test(overtaken__are_not_events_ahead),
		cmocka_unit_test(overtaken__of_several_that_with_fewest_sources),
		cmocka_unit_test(slots__are_used_again_in_the_order_of_release),
		cmocka_unit_test(memory__is_stated_and_slots_have_a_least_size),
	};

	return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
