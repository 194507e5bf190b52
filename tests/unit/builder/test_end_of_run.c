// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "workbench.h"

#include "wire/mfp.h"

static void open_standard(struct workbench *bench)
{
	workbench_open(bench, &workbench_standard);
}

static void end_of_run__when_all_sources_say_so(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	workbench_send_end(&bench, 0);
	workbench_send_end(&bench, 1);
	assert_false(assembly_end_of_run(bench.assembly));
	workbench_send_end(&bench, 2);
	assert_true(assembly_end_of_run(bench.assembly));
	workbench_take_none(&bench);
	assert_int_equal(counters_of(&bench)->ends_of_run, 1);
	assert_int_equal(counters_of(&bench)->blocks_missing, 0);
	assert_int_equal(assembly_free_slots(bench.assembly), 4);
	workbench_close(&bench);
}

static void end_of_run__blocks_that_come_again_are_late(void **state)
{
	struct workbench bench;
	struct block block;

	(void)state;
	open_standard(&bench);
	block = block_mfp(&bench, 0, MFP_END_OF_RUN, 0);
	workbench_send_end(&bench, 0);
	assert_int_equal(workbench_send(&bench, 0, MFP_END_OF_RUN, &block, 0, block.length),
			 SEGMENT_DUPLICATE);
	workbench_send_end(&bench, 1);
	workbench_send_end(&bench, 2);
	assert_int_equal(workbench_send(&bench, 0, MFP_END_OF_RUN, &block, 0, block.length),
			 SEGMENT_LATE);
	block_free(&block);
	workbench_close(&bench);
}

// The end gets through when every slot is taken by an event that waits for its data.
static void end_of_run__needs_no_slot(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	for (uint64_t event = 0; event < 4; event++)
		workbench_send_mfp(&bench, 0, 4 * event, 4);
	assert_int_equal(assembly_free_slots(bench.assembly), 0);
	for (unsigned i = 0; i < 3; i++)
		workbench_send_end(&bench, i);
	assert_true(assembly_end_of_run(bench.assembly));
	assert_int_equal(counters_of(&bench)->drops[SEGMENT_NO_SLOT], 0);
	workbench_close(&bench);
}

// Events that are still under way go on, behind the end too.
static void end_of_run__leaves_open_events_their_time(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	workbench_send_mfp(&bench, 0, 8, 4);
	for (unsigned i = 0; i < 3; i++)
		workbench_send_end(&bench, i);
	assert_true(assembly_end_of_run(bench.assembly));
	workbench_send_mfp(&bench, 1, 8, 4);
	workbench_send_mfp(&bench, 2, 8, 4);
	workbench_take_complete(&bench, 8, 4);
	workbench_close(&bench);
}

static void end_of_run__when_one_source_is_silent(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	workbench_send_mfp(&bench, 0, 8, 4);
	workbench_send_mfp(&bench, 1, 8, 4);
	workbench_send_end(&bench, 0);
	workbench_send_end(&bench, 1);
	workbench_wait(&bench, WORKBENCH_DEADLINE - 1);
	assert_false(assembly_end_of_run(bench.assembly));
	workbench_wait(&bench, 1);
	assert_true(assembly_end_of_run(bench.assembly));
	// End-of-run blocks are not among the blocks.
	assert_int_equal(counters_of(&bench)->blocks_whole, 2);
	assert_int_equal(assembly_source_counters(bench.assembly)[2].missing, 1);
	assert_int_equal(counters_of(&bench)->events_incomplete, 1);
	workbench_close(&bench);
}

static void end_of_run__of_one_source_alone_is_none(void **state)
{
	struct workbench_options options = workbench_standard;
	struct workbench bench;

	(void)state;
	options.on_incomplete = INCOMPLETE_DISCARD;
	workbench_open(&bench, &options);
	workbench_send_end(&bench, 0);
	for (uint64_t id = 0; id < 400; id += 4) {
		workbench_send_mfp(&bench, 1, id, 4);
		workbench_send_mfp(&bench, 2, id, 4);
		workbench_wait(&bench, WORKBENCH_DEADLINE / 2);
		assert_false(assembly_end_of_run(bench.assembly));
	}
	// One source ends no run, also if the others fall silent; two of three do.
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	assert_false(assembly_end_of_run(bench.assembly));
	workbench_send_end(&bench, 1);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	assert_true(assembly_end_of_run(bench.assembly));
	assert_int_equal(assembly_ended_sources(bench.assembly), 2);
	assert_int_equal(counters_of(&bench)->events_discarded, 100);
	workbench_close(&bench);
}

// A stranger names a source, and the beam pauses.
static void end_of_run__of_one_forged_segment(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	workbench_send_end(&bench, 0);
	for (unsigned i = 0; i < 10; i++) {
		workbench_wait(&bench, WORKBENCH_DEADLINE);
		assert_false(assembly_end_of_run(bench.assembly));
	}
	for (unsigned i = 0; i < 3; i++)
		workbench_send_mfp(&bench, i, 8, 4);
	workbench_take_complete(&bench, 8, 4);
	workbench_close(&bench);
}

static void end_of_run__is_taken_back_by_data(void **state)
{
	struct workbench_options options = workbench_standard;
	struct workbench bench;

	(void)state;
	options.on_incomplete = INCOMPLETE_DISCARD;
	workbench_open(&bench, &options);
	workbench_send_end(&bench, 0);
	workbench_send_end(&bench, 1);
	for (unsigned i = 0; i < 3; i++) // overtaken on the way: no reason
		workbench_send_mfp(&bench, i, 8, 4);
	workbench_take_complete(&bench, 8, 4);
	workbench_wait(&bench, WORKBENCH_DEADLINE - 1);
	workbench_send_mfp(&bench, 2, 12, 4);
	workbench_wait(&bench, 1);
	workbench_send_mfp(&bench, 1, 12, 4);
	for (unsigned i = 0; i < 3; i++)
		workbench_wait(&bench, WORKBENCH_DEADLINE);
	assert_false(assembly_end_of_run(bench.assembly));
	workbench_send_end(&bench, 1);
	workbench_send_end(&bench, 2);
	assert_true(assembly_end_of_run(bench.assembly));
	assert_int_equal(assembly_ended_sources(bench.assembly), 3);
	workbench_close(&bench);
}

// While there is no slot, the sources are not silent: nobody listens to them.
static void end_of_run__does_not_come_of_a_wait_for_slots(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	workbench_send_end(&bench, 0);
	workbench_send_end(&bench, 1);
	workbench_wait(&bench, WORKBENCH_DEADLINE / 2);
	for (unsigned i = 0; i < 3; i++)
		workbench_send_mfp(&bench, i, 8, 4);
	workbench_wait(&bench, WORKBENCH_DEADLINE / 2 - 10);
	assert_false(assembly_end_of_run(bench.assembly));
	// The deadline of the end-of-run event comes with the end of the wait.
	bench.now += 100 * WORKBENCH_DEADLINE;
	assembly_housekeep(bench.assembly, bench.now, 100 * WORKBENCH_DEADLINE - 10);
	assert_false(assembly_end_of_run(bench.assembly));
	workbench_take_complete(&bench, 8, 4);
	workbench_close(&bench);
}

// Nobody reads what it says, but it comes in segments like any block.
static void end_of_run__block_of_any_bytes_in_pieces(void **state)
{
	struct workbench_options options = workbench_standard;
	struct workbench bench;
	struct block block = block_random(0, 0, 100000);

	(void)state;
	options.payload = PAYLOAD_OPAQUE;
	options.n_sources = 1;
	workbench_open(&bench, &options);
	workbench_place(&bench, 0, MFP_END_OF_RUN, &block, 60000, 40000);
	assert_int_equal(workbench_send(&bench, 0, MFP_END_OF_RUN, &block, 60000, 100),
			 SEGMENT_DUPLICATE);
	assert_int_equal(workbench_send(&bench, 0, MFP_END_OF_RUN, &block, 59999, 2),
			 SEGMENT_OVERLAPPING);
	block.length--;
	assert_int_equal(workbench_send(&bench, 0, MFP_END_OF_RUN, &block, 0, 60000),
			 SEGMENT_LENGTH_MISMATCH);
	block.length++;
	assert_false(assembly_end_of_run(bench.assembly));
	workbench_place(&bench, 0, MFP_END_OF_RUN, &block, 0, 60000);
	assert_true(assembly_end_of_run(bench.assembly));
	block_free(&block);
	workbench_close(&bench);
}

// No packet is as large.
static void end_of_run__segment_beyond_its_memory_is_refused(void **state)
{
	struct workbench bench;
	struct block block = block_random(0, 0, 65537);

	(void)state;
	open_standard(&bench);
	workbench_send_end(&bench, 1);
	assert_int_equal(workbench_send(&bench, 0, MFP_END_OF_RUN, &block, 0, 65537),
			 SEGMENT_OVERSIZED);
	workbench_place(&bench, 0, MFP_END_OF_RUN, &block, 0, 65536);
	workbench_place(&bench, 0, MFP_END_OF_RUN, &block, 65536, 1);
	workbench_send_end(&bench, 2);
	assert_true(assembly_end_of_run(bench.assembly));
	block_free(&block);
	workbench_close(&bench);
}

// Nor does a wait that is over put the end off.
static void end_of_run__is_as_near_after_a_wait_for_slots(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	bench.now += 100 * WORKBENCH_DEADLINE;
	assembly_housekeep(bench.assembly, bench.now, 100 * WORKBENCH_DEADLINE);
	for (unsigned i = 0; i < 3; i++)
		workbench_send_mfp(&bench, i, 8, 4);
	workbench_send_end(&bench, 0);
	workbench_send_end(&bench, 1);
	workbench_wait(&bench, WORKBENCH_DEADLINE - 1);
	assert_false(assembly_end_of_run(bench.assembly));
	workbench_wait(&bench, 1);
	assert_true(assembly_end_of_run(bench.assembly));
	workbench_take_complete(&bench, 8, 4);
	workbench_close(&bench);
}

static void flush__closes_all_flagged(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	for (uint64_t id = 0; id < 8; id += 4)
		workbench_send_mfp(&bench, 1, id, 4);
	for (unsigned i = 0; i < 3; i++)
		workbench_send_mfp(&bench, i, 8, 4);
	workbench_send_end(&bench, 2);
	assembly_flush(bench.assembly, bench.now);
	assert_int_equal(assembly_open_events(bench.assembly), 0);
	workbench_take_complete(&bench, 8, 4);
	for (uint64_t id = 0; id < 8; id += 4) {
		struct evb_event event = workbench_take(&bench);
		struct block block = block_mfp(&bench, 1, id, 4);

		assert_int_equal(event.event_id, id);
		assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE | EVB_EVENT_FLUSHED);
		assert_int_equal(event.n_missing, 2);
		workbench_assert_content(&bench, &event, 1, CONTENT_DATA, &block, 4);
		workbench_assert_content(&bench, &event, 0, CONTENT_MISSING, NULL, 4);
		workbench_release(&bench, &event);
		block_free(&block);
	}
	assert_int_equal(counters_of(&bench)->events_flushed, 2);
	assert_int_equal(counters_of(&bench)->events_incomplete, 2);
	assert_int_equal(counters_of(&bench)->ends_of_run, 1);
	{
		struct block block = block_mfp(&bench, 0, 4, 4);

		assert_int_equal(workbench_send(&bench, 0, 4, &block, 0, 10), SEGMENT_LATE);
		block_free(&block);
	}
	workbench_close(&bench);
}

static void flush__discards_where_configured(void **state)
{
	struct workbench_options options = workbench_standard;
	struct workbench bench;

	(void)state;
	options.on_incomplete = INCOMPLETE_DISCARD;
	workbench_open(&bench, &options);
	workbench_send_mfp(&bench, 1, 8, 4);
	assembly_flush(bench.assembly, bench.now);
	assembly_flush(bench.assembly, bench.now);
	workbench_take_none(&bench);
	assert_int_equal(counters_of(&bench)->events_flushed, 1);
	assert_int_equal(counters_of(&bench)->events_discarded, 1);
	workbench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(end_of_run__when_all_sources_say_so),
		cmocka_unit_test(end_of_run__blocks_that_come_again_are_late),
		cmocka_unit_test(end_of_run__needs_no_slot),
		cmocka_unit_test(end_of_run__leaves_open_events_their_time),
		cmocka_unit_test(end_of_run__when_one_source_is_silent),
		cmocka_unit_test(end_of_run__of_one_source_alone_is_none),
		cmocka_unit_test(end_of_run__of_one_forged_segment),
		cmocka_unit_test(end_of_run__is_taken_back_by_data),
		cmocka_unit_test(end_of_run__does_not_come_of_a_wait_for_slots),
		cmocka_unit_test(end_of_run__block_of_any_bytes_in_pieces),
		cmocka_unit_test(end_of_run__segment_beyond_its_memory_is_refused),
		cmocka_unit_test(end_of_run__is_as_near_after_a_wait_for_slots),
		cmocka_unit_test(flush__closes_all_flagged),
		cmocka_unit_test(flush__discards_where_configured),
	};

	return cmocka_run_group_tests_name("end_of_run", tests, NULL, NULL);
}
