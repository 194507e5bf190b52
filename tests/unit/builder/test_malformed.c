// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Blocks that are whole and yet no MFP of their event, and MFPs of one event that disagree.
#include "workbench.h"

#include <string.h>

#include "wire/mfp.h"

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

// Sends all three sources' MFPs of event 8, that of source 1 changed; one event is then there.
static struct evb_event take_with_changed(struct workbench *bench, struct block *changed)
{
	workbench_send_mfp(bench, 0, 8, 4);
	workbench_place(bench, 1, 8, changed, 0, changed->length);
	workbench_take_none(bench);
	workbench_send_mfp(bench, 2, 8, 4);
	block_free(changed);
	return workbench_take(bench);
}

static void assert_malformed(struct workbench *bench, struct block *changed)
{
	struct evb_event event = take_with_changed(bench, changed);

	assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE | EVB_EVENT_MALFORMED);
	assert_int_equal(event.n_missing, 1);
	workbench_assert_content(bench, &event, 1, CONTENT_MALFORMED, NULL, 4);
	assert_int_equal(counters_of(bench)->blocks_malformed, 1);
	assert_int_equal(counters_of(bench)->blocks_missing, 0);
	assert_int_equal(assembly_source_counters(bench->assembly)[1].malformed, 1);
	workbench_release(bench, &event);
	workbench_close(bench);
}

static void malformed__magic(void **state)
{
	struct workbench bench;
	struct block block;

	(void)state;
	open_flagging(&bench);
	block = block_mfp(&bench, 1, 8, 4);
	block.bytes[1] ^= 1;
	assert_malformed(&bench, &block);
}

static void malformed__event_id(void **state)
{
	struct workbench bench;
	struct block block;

	(void)state;
	open_flagging(&bench);
	block = block_mfp(&bench, 1, 9, 4);
	assert_malformed(&bench, &block);
}

static void malformed__source_id(void **state)
{
	struct workbench bench;
	struct block block;

	(void)state;
	open_flagging(&bench);
	block = block_mfp(&bench, 2, 8, 4);
	assert_malformed(&bench, &block);
}

static void malformed__sizes(void **state)
{
	struct workbench bench;
	struct block block;

	(void)state;
	open_flagging(&bench);
	block = block_mfp(&bench, 1, 8, 4);
	block.bytes[MFP_HEADER_SIZE + 4] ^= 0x40;
	assert_malformed(&bench, &block);
}

static void malformed__bytes_behind_the_mfp(void **state)
{
	struct workbench bench;
	struct block block, longer;

	(void)state;
	open_flagging(&bench);
	block = block_mfp(&bench, 1, 8, 4);
	longer = block_random(1, 8, block.length + 4);
	memcpy(longer.bytes, block.bytes, block.length);
	block_free(&block);
	assert_malformed(&bench, &longer);
}

static void malformed__no_fragments(void **state)
{
	struct workbench bench;
	struct block block;

	(void)state;
	open_flagging(&bench);
	block = block_mfp(&bench, 1, 8, 0);
	assert_int_equal(block.length, MFP_HEADER_SIZE);
	assert_malformed(&bench, &block);
}

static void malformed__more_fragments_than_packing(void **state)
{
	struct workbench bench;
	struct block block;

	(void)state;
	open_flagging(&bench);
	block = block_mfp(&bench, 1, 8, 5);
	assert_malformed(&bench, &block);
}

// They agree with each other, but not with the configuration.
static void malformed__all_with_more_fragments_than_packing(void **state)
{
	struct evb_event event;
	struct workbench bench;

	(void)state;
	open_flagging(&bench);
	for (unsigned i = 0; i < 3; i++)
		workbench_send_mfp(&bench, i, 8, 5);
	event = workbench_take(&bench);
	assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE | EVB_EVENT_MALFORMED);
	assert_int_equal(event.n_missing, 3);
	for (unsigned i = 0; i < 3; i++)
		workbench_assert_content(&bench, &event, i, CONTENT_MALFORMED, NULL, 4);
	workbench_release(&bench, &event);
	workbench_close(&bench);
}

static void malformed__fewer_fragments_than_the_others(void **state)
{
	struct workbench bench;
	struct block block;

	(void)state;
	open_flagging(&bench);
	block = block_mfp(&bench, 1, 8, 3);
	assert_malformed(&bench, &block);
}

static void malformed__one_byte(void **state)
{
	struct workbench bench;
	struct block block = block_random(1, 8, 1);

	(void)state;
	open_flagging(&bench);
	assert_malformed(&bench, &block);
}

static void malformed__is_discarded_where_configured(void **state)
{
	struct workbench bench;
	struct block block;

	(void)state;
	open_with(&bench, PAYLOAD_MFP, INCOMPLETE_DISCARD);
	block = block_mfp(&bench, 1, 9, 4);
	workbench_send_mfp(&bench, 0, 8, 4);
	workbench_send_mfp(&bench, 2, 8, 4);
	workbench_place(&bench, 1, 8, &block, 0, block.length);
	block_free(&block);
	workbench_take_none(&bench);
	assert_int_equal(counters_of(&bench)->events_discarded, 1);
	workbench_close(&bench);
}

static void malformed__beside_a_missing_one(void **state)
{
	struct evb_event event;
	struct workbench bench;
	struct block block;

	(void)state;
	open_flagging(&bench);
	block = block_mfp(&bench, 1, 9, 4);
	workbench_place(&bench, 1, 8, &block, 0, block.length);
	block_free(&block);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	event = workbench_take(&bench);
	assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE | EVB_EVENT_MALFORMED);
	assert_int_equal(event.n_missing, 3);
	workbench_assert_content(&bench, &event, 0, CONTENT_MISSING, NULL, 4);
	workbench_assert_content(&bench, &event, 1, CONTENT_MALFORMED, NULL, 4);
	workbench_assert_content(&bench, &event, 2, CONTENT_MISSING, NULL, 4);
	workbench_release(&bench, &event);
	workbench_close(&bench);
}

static void short_mfps__at_the_end_of_a_run(void **state)
{
	struct evb_event event;
	struct workbench bench;

	(void)state;
	open_flagging(&bench);
	for (unsigned i = 0; i < 3; i++)
		workbench_send_mfp(&bench, i, 8, 2);
	workbench_take_complete(&bench, 8, 2);
	workbench_send_mfp(&bench, 1, 12, 1);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	event = workbench_take(&bench);
	assert_int_equal(event.n_missing, 2);
	workbench_assert_content(&bench, &event, 0, CONTENT_MISSING, NULL, 1);
	workbench_assert_content(&bench, &event, 2, CONTENT_MISSING, NULL, 1);
	workbench_release(&bench, &event);
	workbench_close(&bench);
}

// None has `packing` fragments: the first that came is right, whatever its place.
static void short_mfps__that_disagree(void **state)
{
	struct evb_event event;
	struct workbench bench;
	struct block block;

	(void)state;
	open_flagging(&bench);
	workbench_send_mfp(&bench, 2, 8, 2);
	workbench_send_mfp(&bench, 0, 8, 3);
	workbench_send_mfp(&bench, 1, 8, 1);
	event = workbench_take(&bench);
	assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE | EVB_EVENT_MALFORMED);
	assert_int_equal(event.n_missing, 2);
	block = block_mfp(&bench, 2, 8, 2);
	workbench_assert_content(&bench, &event, 2, CONTENT_DATA, &block, 2);
	workbench_assert_content(&bench, &event, 0, CONTENT_MALFORMED, NULL, 2);
	workbench_assert_content(&bench, &event, 1, CONTENT_MALFORMED, NULL, 2);
	block_free(&block);
	workbench_release(&bench, &event);
	workbench_close(&bench);
}

// One has `packing` fragments and came last: it is right.
static void short_mfps__beside_a_full_one(void **state)
{
	struct evb_event event;
	struct workbench bench;
	struct block block;

	(void)state;
	open_flagging(&bench);
	workbench_send_mfp(&bench, 0, 8, 2);
	workbench_send_mfp(&bench, 1, 8, 2);
	workbench_send_mfp(&bench, 2, 8, 4);
	event = workbench_take(&bench);
	assert_int_equal(event.n_missing, 2);
	block = block_mfp(&bench, 2, 8, 4);
	workbench_assert_content(&bench, &event, 2, CONTENT_DATA, &block, 4);
	workbench_assert_content(&bench, &event, 0, CONTENT_MALFORMED, NULL, 4);
	workbench_assert_content(&bench, &event, 1, CONTENT_MALFORMED, NULL, 4);
	block_free(&block);
	workbench_release(&bench, &event);
	workbench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(malformed__magic),
		cmocka_unit_test(malformed__event_id),
		cmocka_unit_test(malformed__source_id),
		cmocka_unit_test(malformed__sizes),
		cmocka_unit_test(malformed__bytes_behind_the_mfp),
		cmocka_unit_test(malformed__no_fragments),
		cmocka_unit_test(malformed__more_fragments_than_packing),
		cmocka_unit_test(malformed__all_with_more_fragments_than_packing),
		cmocka_unit_test(malformed__fewer_fragments_than_the_others),
		cmocka_unit_test(malformed__one_byte),
		cmocka_unit_test(malformed__is_discarded_where_configured),
		cmocka_unit_test(malformed__beside_a_missing_one),
		cmocka_unit_test(short_mfps__at_the_end_of_a_run),
		cmocka_unit_test(short_mfps__that_disagree),
		cmocka_unit_test(short_mfps__beside_a_full_one),
	};

	return cmocka_run_group_tests_name("malformed", tests, NULL, NULL);
}
