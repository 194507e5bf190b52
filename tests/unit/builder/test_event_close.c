// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What is published of an event, and when: complete, at its deadline, at the end of the run.
#include "workbench.h"

static void open_with(struct workbench *bench, enum payload_kind payload,
		      enum on_incomplete on_incomplete)
{
	struct workbench_options options = workbench_standard;

	options.payload = payload;
	options.on_incomplete = on_incomplete;
	options.slots = 32;
	workbench_open(bench, &options);
}

static void open_flagging(struct workbench *bench)
{
	open_with(bench, PAYLOAD_MFP, INCOMPLETE_FLAG);
}

static void deadline__flags_what_is_missing(void **state)
{
	struct evb_event event;
	struct workbench bench;
	struct block block;

	(void)state;
	open_flagging(&bench);
	workbench_send_mfp(&bench, 0, 8, 4);
	workbench_wait(&bench, WORKBENCH_DEADLINE - 1);
	workbench_take_none(&bench);
	workbench_wait(&bench, 1);
	event = workbench_take(&bench);
	assert_int_equal(event.event_id, 8);
	assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE);
	assert_int_equal(event.n_missing, 2);
	block = block_mfp(&bench, 0, 8, 4);
	workbench_assert_content(&bench, &event, 0, CONTENT_DATA, &block, 4);
	workbench_assert_content(&bench, &event, 1, CONTENT_MISSING, NULL, 4);
	workbench_assert_content(&bench, &event, 2, CONTENT_MISSING, NULL, 4);
	// In 64-bit steps: header 28 -> 32, the MFP, twice 32 bytes.
	assert_int_equal(event.length, 32 + round_up(block.length, 8) + 2 * 32);
	assert_int_equal(counters_of(&bench)->bytes_built, event.length);
	assert_int_equal(counters_of(&bench)->blocks_missing, 2);
	workbench_release(&bench, &event);
	block_free(&block);
	workbench_close(&bench);
}

static void deadline__flags_what_is_not_whole(void **state)
{
	struct evb_event event;
	struct workbench bench;
	struct block block;

	(void)state;
	open_flagging(&bench);
	block = block_mfp(&bench, 1, 8, 4);
	workbench_place(&bench, 1, 8, &block, 0, block.length - 1);
	workbench_send_mfp(&bench, 0, 8, 4);
	block_free(&block);
	block = block_mfp(&bench, 2, 8, 4);
	workbench_place(&bench, 2, 8, &block, 20, 10); // an range, to be given back
	block_free(&block);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	event = workbench_take(&bench);
	assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE);
	assert_int_equal(event.n_missing, 2);
	workbench_assert_content(&bench, &event, 1, CONTENT_MISSING, NULL, 4);
	workbench_assert_content(&bench, &event, 2, CONTENT_MISSING, NULL, 4);
	workbench_release(&bench, &event);
	workbench_close(&bench);
}

// The first segment of a block that is shorter than an error MFP: its room holds one all the same.
// What notes the pieces of a block comes from a pool of a few thousand.
static void deadline__gives_the_pieces_back(void **state)
{
	struct workbench bench;
	struct block block = block_random(0, 0, 100);

	(void)state;
	open_with(&bench, PAYLOAD_OPAQUE, INCOMPLETE_DISCARD);
	for (uint64_t id = 0; id < 40000; id += 4) {
		workbench_place(&bench, 1, id, &block, 10, 5);
		workbench_place(&bench, 1, id, &block, 20, 5);
		workbench_wait(&bench, WORKBENCH_DEADLINE);
	}
	assert_int_equal(counters_of(&bench)->events_discarded, 10000);
	block_free(&block);
	workbench_close(&bench);
}

static void deadline__stands_in_for_a_short_block(void **state)
{
	struct evb_event event;
	struct workbench bench;
	struct block block = block_random(0, 8, 2);

	(void)state;
	open_flagging(&bench);
	workbench_place(&bench, 0, 8, &block, 0, 1);
	workbench_place(&bench, 1, 8, &block, 1, 1);
	workbench_send_mfp(&bench, 2, 8, 4);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	event = workbench_take(&bench);
	assert_int_equal(event.n_missing, 2);
	workbench_assert_content(&bench, &event, 0, CONTENT_MISSING, NULL, 4);
	workbench_assert_content(&bench, &event, 1, CONTENT_MISSING, NULL, 4);
	workbench_release(&bench, &event);
	block_free(&block);
	workbench_close(&bench);
}

static void deadline__of_an_event_without_any_mfp(void **state)
{
	struct evb_event event;
	struct workbench bench;
	struct block block;

	(void)state;
	open_flagging(&bench);
	block = block_mfp(&bench, 1, 8, 4);
	workbench_place(&bench, 1, 8, &block, 3, 5);
	block_free(&block);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	event = workbench_take(&bench);
	assert_int_equal(event.n_missing, 3);
	for (unsigned i = 0; i < 3; i++)
		workbench_assert_content(&bench, &event, i, CONTENT_MISSING, NULL, 4);
	workbench_release(&bench, &event);
	workbench_close(&bench);
}

static void deadline__discards_where_configured(void **state)
{
	struct workbench bench;

	(void)state;
	open_with(&bench, PAYLOAD_MFP, INCOMPLETE_DISCARD);
	workbench_send_mfp(&bench, 0, 8, 4);
	workbench_send_mfp(&bench, 0, 12, 4);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	workbench_take_none(&bench);
	assert_int_equal(counters_of(&bench)->events_discarded, 2);
	assert_int_equal(counters_of(&bench)->events_incomplete, 0);
	assert_int_equal(counters_of(&bench)->bytes_built, 0);
	assert_int_equal(assembly_free_slots(bench.assembly), 32);
	workbench_close(&bench);
}

static void deadline__comes_in_the_order_of_opening(void **state)
{
	struct workbench bench;

	(void)state;
	open_flagging(&bench);
	for (uint64_t id = 400; id > 0; id -= 20) {
		workbench_send_mfp(&bench, 0, id, 4);
		bench.now++;
	}
	// 20 events, opened 1 tick apart: the last is due at deadline + 20; 16 at most at once.
	workbench_wait(&bench, WORKBENCH_DEADLINE - 20);
	assert_int_equal(counters_of(&bench)->events_incomplete, 1);
	workbench_wait(&bench, 19);
	assert_int_equal(counters_of(&bench)->events_incomplete, 17);
	workbench_wait(&bench, 0);
	assert_int_equal(counters_of(&bench)->events_incomplete, 20);
	for (uint64_t id = 400; id > 0; id -= 20) {
		struct evb_event event = workbench_take(&bench);

		assert_int_equal(event.event_id, id);
		workbench_release(&bench, &event);
	}
	workbench_close(&bench);
}

static void deadline__stands_still_while_there_is_no_slot(void **state)
{
	struct workbench bench;

	(void)state;
	open_flagging(&bench);
	workbench_send_mfp(&bench, 0, 8, 4);
	bench.now += 10 * WORKBENCH_DEADLINE;
	assembly_housekeep(bench.assembly, bench.now, 10 * WORKBENCH_DEADLINE - 5);
	workbench_wait(&bench, WORKBENCH_DEADLINE - 6);
	assert_int_equal(counters_of(&bench)->events_incomplete, 0);
	workbench_wait(&bench, 1);
	assert_int_equal(counters_of(&bench)->events_incomplete, 1);
	workbench_close(&bench);
}

// The wait is told by the housekeeping after it, when there may be events that were opened since.
static void deadline__of_an_event_that_ended_the_wait(void **state)
{
	struct workbench bench;

	(void)state;
	open_flagging(&bench);
	bench.now += 500;
	workbench_send_mfp(&bench, 0, 8, 4);
	bench.now += 10;
	assembly_housekeep(bench.assembly, bench.now, 500);
	assert_int_equal(counters_of(&bench)->events_incomplete, 0);
	workbench_send_mfp(&bench, 1, 8, 4);
	workbench_send_mfp(&bench, 2, 8, 4);
	workbench_take_complete(&bench, 8, 4);
	workbench_close(&bench);
}

static void opaque__blocks_of_all_sizes(void **state)
{
	static const uint32_t sizes[] = { 1, 4, 7, 8, 9, 65535, 65536, 100001 };
	struct workbench_options options = workbench_standard;
	struct workbench bench;

	(void)state;
	options.payload = PAYLOAD_OPAQUE;
	options.slot_size = 1 << 20;
	workbench_open(&bench, &options);
	for (unsigned k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		struct block blocks[3];
		struct evb_event event;

		for (unsigned i = 0; i < 3; i++) {
			blocks[i] = block_random(i, k * 4, sizes[k] + i);
			for (uint32_t at = 0; at < blocks[i].length; at += 9000)
				workbench_place(&bench, i, k * 4, &blocks[i], at, 9000);
		}
		event = workbench_take(&bench);
		assert_int_equal(event.flags, 0);
		for (unsigned i = 0; i < 3; i++) {
			workbench_assert_content(&bench, &event, i, CONTENT_DATA, &blocks[i], 0);
			block_free(&blocks[i]);
		}
		workbench_release(&bench, &event);
	}
	assert_int_equal(counters_of(&bench)->events_complete, 8);
	workbench_close(&bench);
}

static void opaque__missing_is_told_from_data(void **state)
{
	struct block block = block_random(0, 8, 10);
	struct evb_event event;
	struct workbench bench;

	(void)state;
	open_with(&bench, PAYLOAD_OPAQUE, INCOMPLETE_FLAG);
	workbench_place(&bench, 0, 8, &block, 0, 10);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	event = workbench_take(&bench);
	assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE);
	assert_int_equal(event.n_missing, 2);
	workbench_assert_content(&bench, &event, 0, CONTENT_DATA, &block, 0);
	workbench_assert_content(&bench, &event, 1, CONTENT_MISSING, NULL, 4);
	workbench_assert_content(&bench, &event, 2, CONTENT_MISSING, NULL, 4);
	workbench_release(&bench, &event);
	block_free(&block);
	workbench_close(&bench);
}

static void times__of_an_event(void **state)
{
	const struct assembly_latency *latency;
	struct evb_event event;
	struct workbench bench;

	(void)state;
	open_flagging(&bench);
	workbench_send_mfp(&bench, 0, 8, 4);
	bench.now += 300;
	workbench_send_mfp(&bench, 1, 8, 4);
	bench.now += 500;
	workbench_send_mfp(&bench, 2, 8, 4);
	event = workbench_take(&bench);
	// One tick is a nanosecond, but for the rounding of fixed point.
	assert_true(event.complete_ns - event.first_ns >= 799);
	assert_true(event.complete_ns - event.first_ns <= 801);
	workbench_release(&bench, &event);
	latency = assembly_latency(bench.assembly);
	assert_true(latency->complete.maximum >= 799 && latency->complete.maximum <= 801);
	bench.now += 200;
	assert_int_equal(assembly_reclaim(bench.assembly, bench.now), 32);
	assert_true(latency->released.maximum >= 999 && latency->released.maximum <= 1001);
	workbench_close(&bench);
}

// Consumers are told CLOCK_MONOTONIC, also when it has gone on at another rate than the ticks.
static void times__follow_the_renewed_clock(void **state)
{
	struct evb_event event;
	struct workbench bench;

	(void)state;
	open_flagging(&bench);
	bench.now += 1000000;
	assembly_renew_clock(bench.assembly,
			     (struct tick_moment){ .ticks = bench.now, .ns = bench.now + 2000 });
	for (unsigned i = 0; i < 3; i++)
		workbench_send_mfp(&bench, i, 8, 4);
	event = workbench_take(&bench);
	assert_int_equal(event.complete_ns, bench.now + 2000);
	workbench_release(&bench, &event);
	workbench_close(&bench);
}

// The caller's clock may have been read before the event came and went.
static void times__of_a_release_before_now(void **state)
{
	struct evb_event event;
	struct workbench bench;

	(void)state;
	open_flagging(&bench);
	for (unsigned i = 0; i < 3; i++)
		workbench_send_mfp(&bench, i, 8, 4);
	event = workbench_take(&bench);
	workbench_release(&bench, &event);
	assert_int_equal(assembly_reclaim(bench.assembly, bench.now - 10), 32);
	assert_int_equal(assembly_latency(bench.assembly)->released.maximum, 0);
	workbench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadline__flags_what_is_missing),
		cmocka_unit_test(deadline__flags_what_is_not_whole),
		cmocka_unit_test(deadline__gives_the_pieces_back),
		cmocka_unit_test(deadline__stands_in_for_a_short_block),
		cmocka_unit_test(deadline__of_an_event_without_any_mfp),
		cmocka_unit_test(deadline__discards_where_configured),
		cmocka_unit_test(deadline__comes_in_the_order_of_opening),
		cmocka_unit_test(deadline__stands_still_while_there_is_no_slot),
		cmocka_unit_test(deadline__of_an_event_that_ended_the_wait),
		cmocka_unit_test(opaque__blocks_of_all_sizes),
		cmocka_unit_test(opaque__missing_is_told_from_data),
		cmocka_unit_test(times__of_an_event),
		cmocka_unit_test(times__follow_the_renewed_clock),
		cmocka_unit_test(times__of_a_release_before_now),
	};

	return cmocka_run_group_tests_name("event_close", tests, NULL, NULL);
}
