// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What becomes of each segment: placed, or refused for exactly one cause and without effect.
#include "workbench.h"

#include "block/ranges.h"
#include "builder/assembly_internal.h"
#include "wire/mfp.h"

static void open_standard(struct workbench *bench)
{
	workbench_open(bench, &workbench_standard);
}

static void segments__in_order_make_the_event(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	for (unsigned i = 0; i < 3; i++) {
		workbench_take_none(&bench);
		workbench_send_mfp(&bench, i, 8, 4);
	}
	workbench_take_complete(&bench, 8, 4);
	assert_int_equal(counters_of(&bench)->events_complete, 1);
	assert_int_equal(counters_of(&bench)->blocks_whole, 3);
	workbench_close(&bench);
}

static void segments__in_reverse_order_make_the_event(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	for (unsigned i = 3; i-- > 0;) {
		struct block block = block_mfp(&bench, i, 0, 4);

		for (uint32_t n = (block.length + 6) / 7; n-- > 0;)
			workbench_place(&bench, i, 0, &block, 7 * n, 7);
		block_free(&block);
	}
	workbench_take_complete(&bench, 0, 4);
	workbench_close(&bench);
}

struct piece {
	unsigned source;
	uint32_t offset;
};

// Pieces of 5 bytes of all sources' blocks in random order.
static void send_shuffled(struct workbench *bench, uint64_t event_id, struct random *random)
{
	unsigned n_sources = bench->options.n_sources, n = 0;
	struct block blocks[3];
	struct piece pieces[400];

	for (unsigned i = 0; i < n_sources; i++) {
		blocks[i] = block_mfp(bench, i, event_id, 4);
		for (uint32_t offset = 0; offset < blocks[i].length; offset += 5)
			pieces[n++] = (struct piece){ i, offset };
	}
	for (unsigned left = n; left > 0; left--) {
		unsigned chosen = random_next(random) % left;

		workbench_place(bench, pieces[chosen].source, event_id,
				&blocks[pieces[chosen].source], pieces[chosen].offset, 5);
		pieces[chosen] = pieces[left - 1];
	}
	for (unsigned i = 0; i < n_sources; i++)
		block_free(&blocks[i]);
}

static void segments__in_random_order_make_the_event(void **state)
{
	struct random random = random_fork(2, 2);
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	for (uint64_t id = 0; id < 400; id += 4) {
		send_shuffled(&bench, id, &random);
		workbench_take_complete(&bench, id, 4);
	}
	workbench_close(&bench);
}

static void segments__of_one_byte_make_the_event(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	for (unsigned i = 0; i < 3; i++) {
		struct block block = block_mfp(&bench, i, 4, 4);

		for (uint32_t offset = 0; offset < block.length; offset++)
			workbench_place(&bench, i, 4, &block, offset, 1);
		block_free(&block);
	}
	workbench_take_complete(&bench, 4, 4);
	workbench_close(&bench);
}

static void segments__of_many_events_interleave(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	for (unsigned i = 0; i < 3; i++)
		for (uint64_t id = 0; id < 16; id += 4)
			workbench_send_mfp(&bench, i, id, 4);
	for (uint64_t id = 0; id < 16; id += 4)
		workbench_take_complete(&bench, id, 4);
	workbench_close(&bench);
}

// A caller may ask for the place of a segment before it is admitted, at any time.
static void place__is_known_once_the_block_has_begun(void **state)
{
	const struct segment segment = {
		.event_id = 4, .event_index = 1, .offset = 100, .size = 50
	};
	struct segment next = segment, ends = segment;
	enum segment_cause cause;
	struct workbench bench;
	struct block block;

	(void)state;
	open_standard(&bench);
	block = block_mfp(&bench, 1, 4, 4);
	next.length = ends.length = block.length;
	next.source = 1;
	ends.event_id = MFP_END_OF_RUN;
	assert_null(assembly_place_of(bench.assembly, &next));
	workbench_place(&bench, 0, 4, &block, 0, 10);
	assert_null(assembly_place_of(bench.assembly, &next)); // another source's block
	workbench_place(&bench, 1, 4, &block, 0, 10);
	workbench_place(&bench, 1, 8, &block, 0, 10); // another event is the latest
	assert_ptr_equal(assembly_place_of(bench.assembly, &next),
			 assembly_admit(bench.assembly, &next, bench.now, &cause));
	next.length++;
	assert_null(assembly_place_of(bench.assembly, &next));
	workbench_send_end(&bench, 0);
	assert_null(assembly_place_of(bench.assembly, &ends));
	block_free(&block);
	workbench_close(&bench);
}

static void duplicate__changes_nothing(void **state)
{
	struct block block, other;
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	block = block_mfp(&bench, 0, 8, 4);
	other = block_random(0, 8, block.length);
	// In front, ahead, and of a whole block; other bytes in the place of those that came.
	workbench_place(&bench, 0, 8, &block, 0, 10);
	assert_int_equal(workbench_send(&bench, 0, 8, &other, 0, 10), SEGMENT_DUPLICATE);
	assert_int_equal(workbench_send(&bench, 0, 8, &other, 3, 4), SEGMENT_DUPLICATE);
	workbench_place(&bench, 0, 8, &block, 20, 10);
	assert_int_equal(workbench_send(&bench, 0, 8, &other, 20, 10), SEGMENT_DUPLICATE);
	workbench_place(&bench, 0, 8, &block, 10, 10);
	workbench_place(&bench, 0, 8, &block, 30, block.length);
	assert_int_equal(workbench_send(&bench, 0, 8, &other, 0, other.length), SEGMENT_DUPLICATE);
	assert_int_equal(workbench_send(&bench, 0, 8, &other, other.length - 1, 1),
			 SEGMENT_DUPLICATE);
	workbench_send_mfp(&bench, 1, 8, 4);
	workbench_send_mfp(&bench, 2, 8, 4);
	workbench_take_complete(&bench, 8, 4);
	assert_int_equal(counters_of(&bench)->drops[SEGMENT_DUPLICATE], 5);
	block_free(&block);
	block_free(&other);
	workbench_close(&bench);
}

static void overlap__changes_nothing(void **state)
{
	struct block block, other;
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	block = block_mfp(&bench, 0, 8, 4);
	other = block_random(0, 8, block.length);
	workbench_place(&bench, 0, 8, &block, 0, 10);
	workbench_place(&bench, 0, 8, &block, 20, 10);
	assert_int_equal(workbench_send(&bench, 0, 8, &other, 9, 2), SEGMENT_OVERLAPPING);
	assert_int_equal(workbench_send(&bench, 0, 8, &other, 15, 6), SEGMENT_OVERLAPPING);
	assert_int_equal(workbench_send(&bench, 0, 8, &other, 0, 30), SEGMENT_OVERLAPPING);
	workbench_place(&bench, 0, 8, &block, 10, 10);
	workbench_place(&bench, 0, 8, &block, 30, block.length);
	workbench_send_mfp(&bench, 1, 8, 4);
	workbench_send_mfp(&bench, 2, 8, 4);
	workbench_take_complete(&bench, 8, 4);
	assert_int_equal(counters_of(&bench)->drops[SEGMENT_OVERLAPPING], 3);
	block_free(&block);
	block_free(&other);
	workbench_close(&bench);
}

static void length__of_the_first_segment_holds(void **state)
{
	struct block block, other;
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	block = block_mfp(&bench, 1, 8, 4);
	other = block_random(1, 8, block.length + 1);
	workbench_place(&bench, 1, 8, &block, 0, 10);
	assert_int_equal(workbench_send(&bench, 1, 8, &other, 10, 10), SEGMENT_LENGTH_MISMATCH);
	other.length -= 2;
	assert_int_equal(workbench_send(&bench, 1, 8, &other, 10, 10), SEGMENT_LENGTH_MISMATCH);
	workbench_place(&bench, 1, 8, &block, 10, block.length);
	assert_int_equal(workbench_send(&bench, 1, 8, &other, 10, 10), SEGMENT_LENGTH_MISMATCH);
	workbench_send_mfp(&bench, 0, 8, 4);
	workbench_send_mfp(&bench, 2, 8, 4);
	workbench_take_complete(&bench, 8, 4);
	assert_int_equal(counters_of(&bench)->drops[SEGMENT_LENGTH_MISMATCH], 3);
	block_free(&block);
	block_free(&other);
	workbench_close(&bench);
}

// Largest block of one source in a slot of the standard bench: the reserve for the others is kept.
static uint32_t largest_block(void)
{
	return (uint32_t)(workbench_standard.slot_size - mep_header_size(3, MEP_DEFAULT_ALIGN) -
			  2 * round_up(mfp_error_size(4), 8));
}

static void size__up_to_what_is_left_of_the_slot(void **state)
{
	struct workbench_options options = workbench_standard;
	uint32_t most = largest_block() - MFP_HEADER_SIZE;
	struct workbench bench;
	struct block block;

	(void)state;
	options.payload = PAYLOAD_OPAQUE;
	workbench_open(&bench, &options);
	block = block_random(0, 8, most + 1);
	assert_int_equal(workbench_send(&bench, 0, 8, &block, 0, 10), SEGMENT_OVERSIZED);
	assert_int_equal(workbench_send(&bench, 0, 8, &block, most, 1), SEGMENT_OVERSIZED);
	block.length = most;
	workbench_place(&bench, 0, 8, &block, 0, most);
	assert_int_equal(assembly_open_events(bench.assembly), 1);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	{
		struct evb_event event = workbench_take(&bench);

		assert_int_equal(event.length, options.slot_size);
		assert_int_equal(event.n_missing, 2);
		workbench_assert_content(&bench, &event, 0, CONTENT_DATA, &block, 0);
		workbench_assert_content(&bench, &event, 1, CONTENT_MISSING, NULL, 4);
		workbench_assert_content(&bench, &event, 2, CONTENT_MISSING, NULL, 4);
		workbench_release(&bench, &event);
	}
	block_free(&block);
	workbench_close(&bench);
}

static void size__beyond_32_bits_of_room_is_refused(void **state)
{
	struct workbench bench;
	struct block block = { .length = UINT32_MAX, .bytes = (uint8_t[1]){ 1 } };

	(void)state;
	open_standard(&bench);
	assert_int_equal(workbench_send(&bench, 0, 8, &block, 0, 1), SEGMENT_OVERSIZED);
	workbench_close(&bench);
}

static void pieces__of_a_block_are_limited(void **state)
{
	struct workbench_options options = workbench_standard;
	struct workbench bench;
	struct block block = block_random(0, 8, 2000);

	(void)state;
	options.payload = PAYLOAD_OPAQUE;
	options.n_sources = 1;
	workbench_open(&bench, &options);
	for (uint32_t i = 0; i < RANGES_MOST; i++)
		workbench_place(&bench, 0, 8, &block, 2 * i + 1, 1);
	assert_int_equal(workbench_send(&bench, 0, 8, &block, 2 * RANGES_MOST + 1, 1),
			 SEGMENT_REORDER_LIMIT);
	for (uint32_t i = 0; i < RANGES_MOST; i++)
		workbench_place(&bench, 0, 8, &block, 2 * i, 1);
	workbench_place(&bench, 0, 8, &block, 2 * RANGES_MOST, 2000);
	{
		struct evb_event event = workbench_take(&bench);

		assert_int_equal(event.flags, 0);
		workbench_assert_content(&bench, &event, 0, CONTENT_DATA, &block, 0);
		workbench_release(&bench, &event);
	}
	block_free(&block);
	workbench_close(&bench);
}

static void late__after_the_event_was_built(void **state)
{
	struct workbench bench;
	struct block block;

	(void)state;
	open_standard(&bench);
	for (unsigned i = 0; i < 3; i++)
		workbench_send_mfp(&bench, i, 8, 4);
	block = block_mfp(&bench, 0, 8, 4);
	assert_int_equal(workbench_send(&bench, 0, 8, &block, 0, 10), SEGMENT_LATE);
	workbench_take_complete(&bench, 8, 4);
	assert_int_equal(workbench_send(&bench, 0, 8, &block, 0, 10), SEGMENT_LATE);
	assert_int_equal(assembly_open_events(bench.assembly), 0);
	block_free(&block);
	workbench_close(&bench);
}

static void late__after_the_deadline(void **state)
{
	for (int kind = INCOMPLETE_FLAG; kind <= INCOMPLETE_DISCARD; kind++) {
		struct workbench_options options = workbench_standard;
		struct workbench bench;
		struct block block;

		options.on_incomplete = (enum on_incomplete)kind;
		workbench_open(&bench, &options);
		workbench_send_mfp(&bench, 0, 8, 4);
		workbench_wait(&bench, WORKBENCH_DEADLINE);
		block = block_mfp(&bench, 1, 8, 4);
		assert_int_equal(workbench_send(&bench, 1, 8, &block, 0, 10), SEGMENT_LATE);
		assert_int_equal(counters_of(&bench)->drops[SEGMENT_LATE], 1);
		block_free(&block);
		workbench_close(&bench);
	}
	(void)state;
}

static const struct workbench_options one_byte_events = {
	.n_sources = 1,
	.packing = 1,
	.slots = 8,
	.slot_size = 4096,
	.payload = PAYLOAD_OPAQUE,
	.without_consumer = true,
};

static enum segment_cause send_byte(struct workbench *bench, uint64_t event_id)
{
	struct block block = { .length = 1, .bytes = (uint8_t[1]){ 7 } };

	return workbench_send(bench, 0, event_id, &block, 0, 1);
}

static void late__for_the_last_65536_events(void **state)
{
	const uint64_t n = 65536, first = 1000;
	struct workbench bench;

	(void)state;
	workbench_open(&bench, &one_byte_events);
	for (uint64_t id = first; id < first + n + 3; id++)
		assert_int_equal(send_byte(&bench, id), PLACED);
	for (uint64_t id = first + 3; id < first + n + 3; id++)
		assert_int_equal(send_byte(&bench, id), SEGMENT_LATE);
	assert_int_equal(send_byte(&bench, first + 2), PLACED);
	assert_int_equal(counters_of(&bench)->events_complete, n + 4);
	workbench_close(&bench);
}

static void event_id__takes_every_value(void **state)
{
	static const uint64_t ids[] = {
		0, 1, 65535, 65536, UINT32_MAX, UINT64_MAX / 2, UINT64_MAX - 2, UINT64_MAX - 1
	};
	struct workbench bench;

	(void)state;
	workbench_open(&bench, &one_byte_events);
	for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		assert_int_equal(send_byte(&bench, ids[i]), PLACED);
		assert_int_equal(send_byte(&bench, ids[i]), SEGMENT_LATE);
	}
	workbench_close(&bench);
}

static void events__of_one_bucket_are_kept_apart(void **state)
{
	struct workbench bench;

	(void)state;
	open_standard(&bench);
	// Same index (8 and 9: a source that names its events wrongly), same bucket (8 + 64 * 4 k).
	for (unsigned i = 0; i < 3; i++) {
		workbench_send_mfp(&bench, i, 8, 4);
		if (i < 2)
			workbench_send_mfp(&bench, i, 9, 4);
		workbench_send_mfp(&bench, i, 8 + 256, 4);
		workbench_send_mfp(&bench, i, 8 + 512, 4);
	}
	workbench_send_mfp(&bench, 2, 9, 4);
	workbench_take_complete(&bench, 8, 4);
	workbench_take_complete(&bench, 264, 4);
	workbench_take_complete(&bench, 520, 4);
	workbench_take_complete(&bench, 9, 4);
	workbench_close(&bench);
}

// Opens 1024 events whose ids are `step` apart. Returns the longest chain of the table.
static unsigned longest_chain(uint64_t step)
{
	struct workbench_options options = workbench_standard;
	struct workbench bench;
	unsigned longest = 0;

	options.packing = 1024;
	options.slots = 1024;
	options.slot_size = 16384;
	workbench_open(&bench, &options);
	for (uint64_t i = 0; i < options.slots; i++) {
		struct block block = block_random(0, i, 4);

		workbench_place(&bench, 0, i * step, &block, 0, 4);
		block_free(&block);
	}
	for (uint32_t bucket = 0; bucket <= bench.assembly->bucket_mask; bucket++) {
		uint32_t at = bench.assembly->buckets[bucket];
		unsigned length = 0;

		for (; at != NO_EVENT; at = bench.assembly->events[at].chain)
			length++;
		longest = length > longest ? length : longest;
	}
	workbench_close(&bench);
	return longest;
}

// Event indices that are multiples of the table's size, and ids of one event index.
static void events__of_chosen_ids_share_no_chain(void **state)
{
	(void)state;
	assert_in_range(longest_chain(2048 * 1024), 1, 20);
	assert_in_range(longest_chain(1), 1, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments__in_order_make_the_event),
		cmocka_unit_test(segments__in_reverse_order_make_the_event),
		cmocka_unit_test(segments__in_random_order_make_the_event),
		cmocka_unit_test(segments__of_one_byte_make_the_event),
		cmocka_unit_test(segments__of_many_events_interleave),
		cmocka_unit_test(place__is_known_once_the_block_has_begun),
		cmocka_unit_test(duplicate__changes_nothing),
		cmocka_unit_test(overlap__changes_nothing),
		cmocka_unit_test(length__of_the_first_segment_holds),
		cmocka_unit_test(size__up_to_what_is_left_of_the_slot),
		cmocka_unit_test(size__beyond_32_bits_of_room_is_refused),
		cmocka_unit_test(pieces__of_a_block_are_limited),
		cmocka_unit_test(late__after_the_event_was_built),
		cmocka_unit_test(late__after_the_deadline),
		cmocka_unit_test(late__for_the_last_65536_events),
		cmocka_unit_test(event_id__takes_every_value),
		cmocka_unit_test(events__of_one_bucket_are_kept_apart),
		cmocka_unit_test(events__of_chosen_ids_share_no_chain),
	};

	return cmocka_run_group_tests_name("assembly", tests, NULL, NULL);
}
