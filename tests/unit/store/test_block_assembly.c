// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Blocks of sources that are put together from segments: in any order, twice, missing, out of step,
// malformed, and with a full memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "store/block_assembly.h"
#include "wire/mfp.h"

#define SOURCES  4u
#define PACKING  3u
#define FIRST    1000u // event id of event index 0
#define DEADLINE 100u
#define LARGEST  4096u
#define MEMORY   (16u * LARGEST)
#define SEGMENT  500u
#define TAKEN    SEGMENT_N_CAUSES

static const uint16_t ids[SOURCES] = { 7, 9, 0x1001, 0xfffe };
static uint8_t *memory;
static struct block_assembly assembly;
static struct block_store *store = &assembly.window.store;
static uint64_t now;

static void open_assembly(const struct block_assembly_parameters *changes)
{
	struct block_assembly_parameters parameters = {
		.ids = ids,
		.n_sources = SOURCES,
		.packing = PACKING,
		.first_event = FIRST,
		.max_block = LARGEST,
		.memory = memory,
		.size = MEMORY,
		.mfps = true,
		.ends = true,
		.deadline = DEADLINE,
	};

	if (changes != NULL) {
		parameters.holds_back = changes->holds_back;
		if (changes->n_sources > 0)
			parameters.n_sources = changes->n_sources;
	}
	assert_true(block_assembly_make(&assembly, &parameters));
	now = 1000000;
	block_assembly_tick(&assembly, now, false);
}

static int set_up(void **state)
{
	(void)state;
	memory = aligned_alloc(64, MEMORY);
	open_assembly(NULL);
	block_assembly_begin(store, 0);
	block_assembly_tick(&assembly, now, false);
	return memory != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	block_assembly_free(&assembly);
	free(memory);
	return 0;
}

static void open_again(const struct block_assembly_parameters *changes)
{
	block_assembly_free(&assembly);
	open_assembly(changes);
	block_assembly_begin(store, 0);
	block_assembly_tick(&assembly, now, false);
}

// --- blocks and segments ---

static uint64_t id_of(uint64_t event)
{
	return FIRST + event * PACKING;
}

// The MFP of a source for an event: its bytes follow from these two. Returns its size.
static uint32_t make_block(uint64_t event, unsigned source, uint8_t *bytes)
{
	struct random random = { .state = event * SOURCES + source };
	struct mfp_header header = {
		.n_fragments = PACKING,
		.event_id = id_of(event),
		.source_id = ids[source],
	};
	const uint8_t types[PACKING] = { MFP_TYPE_DAQ, MFP_TYPE_DAQ, MFP_TYPE_DAQ };
	uint8_t data[PACKING][600];
	const uint8_t *payloads[PACKING];
	uint16_t sizes[PACKING];

	for (unsigned i = 0; i < PACKING; i++) {
		sizes[i] = (uint16_t)(300 + (random_next(&random) % 300));
		for (unsigned j = 0; j < sizes[i]; j++)
			data[i][j] = (uint8_t)random_next(&random);
		payloads[i] = data[i];
	}
	assert_int_equal(mfp_encode(bytes, LARGEST, &header, types, sizes, payloads), WIRE_OK);
	return header.packet_size;
}

// Sends a segment with these bytes of its block. Returns TAKEN, or the cause of refusal.
static enum segment_cause send_bytes(uint64_t id, unsigned source, const uint8_t *block,
				     uint32_t length, uint32_t offset, uint32_t size)
{
	const struct segment segment = {
		.event_id = id,
		.offset = offset,
		.size = size,
		.length = length,
	};
	enum segment_cause cause = TAKEN;
	uint8_t *to = block_assembly_admit(&assembly, &segment, source, &cause);

	if (to == NULL)
		return cause;
	memcpy(to, block + offset, size);
	block_assembly_commit(&assembly, &segment, source);
	return TAKEN;
}

static unsigned count_segments(uint64_t event, unsigned source)
{
	uint8_t block[LARGEST];

	return (make_block(event, source, block) + SEGMENT - 1) / SEGMENT;
}

static enum segment_cause send_segment(uint64_t event, unsigned source, unsigned number)
{
	uint8_t block[LARGEST];
	uint32_t length = make_block(event, source, block), offset = number * SEGMENT;

	return send_bytes(id_of(event), source, block, length, offset,
			  length - offset < SEGMENT ? length - offset : SEGMENT);
}

static void send_block(uint64_t event, unsigned source)
{
	for (unsigned i = 0; i < count_segments(event, source); i++)
		assert_int_equal(send_segment(event, source, i), TAKEN);
}

static void send_event(uint64_t event)
{
	for (unsigned i = 0; i < SOURCES; i++)
		send_block(event, i);
}

static void pass(uint64_t ticks)
{
	now += ticks;
	block_assembly_tick(&assembly, now, false);
	block_assembly_expire(&assembly);
}

static void assert_block(uint64_t event, unsigned source)
{
	struct store_block found = block_window_find(store, event, source);
	uint8_t block[LARGEST];
	uint32_t length = make_block(event, source, block);

	assert_false(found.is_missing);
	assert_int_equal(found.size, length);
	assert_memory_equal(found.bytes, block, length);
	assert_in_range((uintptr_t)found.bytes, (uintptr_t)memory, (uintptr_t)memory + MEMORY - 1);
}

static void assert_error_mfp(uint64_t event, unsigned source, uint8_t type)
{
	struct store_block found = block_window_find(store, event, source);
	struct mfp mfp;

	assert_int_equal(found.is_missing, type == MFP_TYPE_FRAGMENT_MISSING);
	assert_int_equal(mfp_decode(found.bytes, found.size, &mfp), WIRE_OK);
	assert_int_equal(mfp.header.source_id, ids[source]);
	assert_int_equal(mfp.header.n_fragments, PACKING);
	assert_int_equal(mfp.types[0], type);
}

static void assert_event(uint64_t event)
{
	for (unsigned i = 0; i < SOURCES; i++)
		assert_block(event, i);
}

static void assert_sums(void)
{
	const struct block_assembly_counters *all = &assembly.counters;
	uint64_t dropped = 0, placed = 0, of_sources = 0;

	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		dropped += all->drops[i];
	for (unsigned i = 0; i < assembly.parameters.n_sources; i++) {
		placed += assembly.sources[i].placed;
		for (unsigned j = 0; j < SEGMENT_N_CAUSES; j++)
			of_sources += assembly.sources[i].drops[j];
	}
	assert_int_equal(all->segments, all->placed + dropped);
	assert_int_equal(all->placed, placed);
	assert_int_equal(dropped, of_sources);
}

// --- tests ---

static void shuffled_and_doubled__each_block_is_whole(void **state)
{
	enum { EVENTS = 4, MOST = 1000 };
	struct {
		uint64_t event;
		unsigned source, number;
	} order[MOST];
	struct random random = { .state = 5 };
	uint64_t duplicates = 0;
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < EVENTS * SOURCES; i++)
		for (unsigned j = 0; j < count_segments(i / SOURCES, i % SOURCES); j++)
			for (unsigned copy = 0; copy < 2; copy++, n++) {
				order[n].event = i / SOURCES;
				order[n].source = i % SOURCES;
				order[n].number = j;
			}
	assert_true(n < MOST);
	for (unsigned i = n; i > 0; i--) {
		unsigned at = (unsigned)(random_next(&random) % i);
		enum segment_cause cause =
		    send_segment(order[at].event, order[at].source, order[at].number);

		assert_true(cause == TAKEN || cause == SEGMENT_DUPLICATE);
		duplicates += cause == SEGMENT_DUPLICATE;
		order[at] = order[i - 1];
	}
	assert_int_equal(duplicates, n / 2);
	assert_int_equal(store->ready, EVENTS);
	for (uint64_t event = 0; event < EVENTS; event++)
		assert_event(event);
	assert_int_equal(assembly.counters.blocks, EVENTS * SOURCES);
	assert_int_equal(assembly.pool.n_free, assembly.pool.share * SOURCES);
	assert_sums();
}

static void missing_segment__error_mfp_at_the_deadline(void **state)
{
	(void)state;
	for (unsigned i = 1; i < count_segments(0, 2); i++)
		assert_int_equal(send_segment(0, 2, i), TAKEN);
	for (unsigned i = 0; i < SOURCES; i++)
		if (i != 2)
			send_block(0, i);
	send_event(1); // its blocks wait for event 0
	pass(DEADLINE);
	assert_int_equal(store->ready, 0);
	pass(1);
	assert_int_equal(store->ready, 2);
	assert_error_mfp(0, 2, MFP_TYPE_FRAGMENT_MISSING);
	assert_block(0, 3);
	assert_event(1);
	assert_int_equal(store->counters.missing, 1);
	assert_int_equal(send_segment(0, 2, 0), SEGMENT_LATE);
	assert_sums();
}

static void missing_block__the_others_are_sent(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SOURCES - 1; i++)
		send_block(0, i);
	send_event(1);
	pass(DEADLINE + 1);
	assert_int_equal(store->ready, 2);
	assert_error_mfp(0, SOURCES - 1, MFP_TYPE_FRAGMENT_MISSING);
	assert_event(1);
}

static void out_of_step__a_source_is_ahead_by_what_the_store_holds(void **state)
{
	enum { AHEAD = 8 };

	(void)state;
	for (uint64_t event = 0; event < AHEAD; event++)
		send_block(event, 0);
	pass(10 * DEADLINE);
	assert_int_equal(store->ready, 0);
	for (uint64_t event = 0; event < AHEAD; event++) {
		for (unsigned i = 1; i < SOURCES; i++)
			send_block(event, i);
		assert_int_equal(store->ready, event + 1);
		assert_event(event);
		block_assembly_release(store, event + 1);
	}
}

static void wrong_event_id__of_one_source_costs_the_others_nothing(void **state)
{
	(void)state;
	send_event(0);
	assert_int_equal(send_segment(assembly.mask, 1, 0), TAKEN);
	for (uint64_t event = 1; event < 20; event++) {
		pass(DEADLINE / 2);
		send_event(event);
		assert_int_equal(store->ready, event + 1);
		assert_event(event);
		block_assembly_release(store, event);
	}
	assert_int_equal(store->counters.missing, 0);
}

static void silent_sources__the_others_go_on(void **state)
{
	(void)state;
	for (uint64_t event = 0; event < 3; event++)
		send_block(event, 1);
	pass(10 * DEADLINE);
	assert_int_equal(store->ready, 0);
	pass(1);
	assert_int_equal(store->ready, 3);
	assert_block(2, 1);
	assert_error_mfp(2, 0, MFP_TYPE_FRAGMENT_MISSING);
}

static void malformed_block__is_replaced(void **state)
{
	uint8_t block[LARGEST];
	uint32_t length = make_block(0, 1, block);

	(void)state;
	block[0] ^= 1;
	assert_int_equal(send_bytes(id_of(0), 1, block, length, 0, length), TAKEN);
	for (unsigned i = 0; i < SOURCES; i++)
		if (i != 1)
			send_block(0, i);
	assert_int_equal(store->ready, 1);
	assert_error_mfp(0, 1, MFP_TYPE_FRAGMENT_MALFORMED);
	assert_int_equal(assembly.counters.malformed, 1);
}

static void refused__each_under_its_cause(void **state)
{
	uint8_t block[2 * LARGEST] = { 0 };
	uint64_t far = id_of(assembly.mask + 1);

	(void)state;
	assert_int_equal(send_segment(0, 0, 0), TAKEN);
	assert_int_equal(send_segment(0, 0, 0), SEGMENT_DUPLICATE);
	assert_int_equal(send_bytes(id_of(0), 0, block, 1000, 500, 100), SEGMENT_LENGTH_MISMATCH);
	assert_int_equal(send_bytes(id_of(0), 0, block, make_block(0, 0, block), 400, 200),
			 SEGMENT_OVERLAPPING);
	assert_int_equal(send_bytes(id_of(1), 0, block, LARGEST + 1, 0, 100), SEGMENT_OVERSIZED);
	assert_int_equal(send_bytes(FIRST - 1, 0, block, 100, 0, 100), SEGMENT_NO_EVENT);
	assert_int_equal(send_bytes(FIRST + 1, 0, block, 100, 0, 100), SEGMENT_NO_EVENT);
	assert_int_equal(send_bytes(far, 0, block, 100, 0, 100), SEGMENT_STORE_FULL);
	assert_int_equal(send_bytes(UINT64_MAX - 5, 0, block, 100, 0, 100),
			 (UINT64_MAX - 5 - FIRST) % PACKING == 0 ? SEGMENT_EARLY
								 : SEGMENT_NO_EVENT);
	assert_int_equal(send_bytes(id_of(1u << 20), 0, block, 100, 0, 100), SEGMENT_EARLY);
	for (unsigned i = 0; i < SEGMENT_N_CAUSES; i++)
		assert_true(assembly.counters.drops[i] <= 2);
	assert_sums();
}

// Sends whole events until one has no room. Returns their number.
static uint64_t fill(void)
{
	uint64_t event = 0;

	for (;; event++)
		for (unsigned i = 0; i < SOURCES; i++)
			for (unsigned j = 0; j < count_segments(event, i); j++)
				if (send_segment(event, i, j) != TAKEN)
					return event;
}

static void full__drops_until_events_are_released(void **state)
{
	uint64_t n = fill();

	(void)state;
	assert_true(n >= MEMORY / LARGEST / SOURCES && n == store->ready);
	assert_int_equal(assembly.counters.drops[SEGMENT_STORE_FULL], 1);
	for (unsigned i = 0; i < BLOCK_MEMORY_MARKS; i++)
		assert_int_equal(assembly.memory.reached[i], 1);
	assert_true(assembly.memory.level > 875);
	for (uint64_t event = 0; event < n; event++)
		assert_event(event);
	block_assembly_release(store, n);
	pass(1);
	block_assembly_housekeep(store);
	assert_true(assembly.memory.level < 500);
	for (uint64_t event = n + 1; event < n + 4; event++)
		send_event(event);
	assert_sums();
}

static void full__memory_of_packets_is_not_used_again(void **state)
{
	struct store_block block;
	uint64_t n = fill();
	uint8_t before[LARGEST];

	(void)state;
	block = block_window_find(store, 0, 0);
	memcpy(before, block.bytes, block.size);
	block_hold_take(block.hold);
	for (unsigned round = 0; round < 4; round++) {
		block_assembly_release(store, store->ready);
		pass(1);
		for (uint64_t event = n + 2; event < n + 5; event++)
			send_event(event);
		pass(2 * DEADLINE + 1);
		pass(1);
		n += 5;
		assert_memory_equal(before, block.bytes, block.size);
	}
	block_hold_return(block.hold);
}

static void full_and_held_back__deadlines_stand_still(void **state)
{
	const struct block_assembly_parameters changes = { .holds_back = true };
	uint64_t n;

	(void)state;
	open_again(&changes);
	n = fill();
	assert_int_equal(assembly.counters.drops[SEGMENT_STORE_FULL], 0);
	for (unsigned i = 0; i < 10; i++) {
		now += DEADLINE;
		block_assembly_tick(&assembly, now, true);
		block_assembly_expire(&assembly);
	}
	assert_int_equal(store->ready, n);
	block_assembly_release(store, n);
	pass(1);
	for (unsigned i = 0; i < SOURCES; i++)
		for (unsigned j = 0; j < count_segments(n, i); j++) {
			enum segment_cause cause = send_segment(n, i, j);

			assert_true(cause == TAKEN || cause == SEGMENT_DUPLICATE);
		}
	assert_event(n);
	assert_int_equal(store->counters.missing, 0);
}

static void before_the_run__what_comes_is_kept(void **state)
{
	(void)state;
	block_assembly_free(&assembly);
	open_assembly(NULL);
	send_event(0);
	send_event(1);
	assert_int_equal(send_segment(2, 0, 0), TAKEN);
	pass(100 * DEADLINE);
	block_assembly_begin(store, 1);
	block_assembly_tick(&assembly, now, false);
	assert_int_equal(store->ready, 2);
	assert_event(1);
	assert_int_equal(send_segment(0, 0, 0), SEGMENT_LATE);
	assert_int_equal(block_window_find(store, 2, 0).size, 0);
	for (unsigned i = 1; i < count_segments(2, 0); i++)
		assert_int_equal(send_segment(2, 0, i), TAKEN);
	for (unsigned i = 1; i < SOURCES; i++)
		send_block(2, i);
	assert_int_equal(store->ready, 3);
	assert_event(2);
}

static void run_that_begins_anew__drops_what_was_there(void **state)
{
	(void)state;
	for (uint64_t event = 0; event < 5; event++)
		send_event(event);
	block_assembly_release(store, 3);
	assert_int_equal(send_segment(5, 0, 0), TAKEN);
	block_assembly_begin(store, 0);
	pass(20 * DEADLINE);
	assert_int_equal(store->ready, 0);
	for (unsigned i = 0; i < assembly.memory.n_regions; i++)
		assert_true(block_hold_is_free(&assembly.memory.regions[i]));
	send_event(0);
	assert_int_equal(store->ready, 1);
	assert_event(0);
}

static void run_that_goes_on__keeps_later_events(void **state)
{
	(void)state;
	for (uint64_t event = 0; event < 5; event++)
		send_event(event);
	block_assembly_begin(store, 3);
	assert_int_equal(store->ready, 5);
	assert_event(3);
	assert_event(4);
	block_assembly_release(store, 5);
	for (unsigned i = 0; i < assembly.memory.n_regions; i++)
		assert_true(block_hold_is_free(&assembly.memory.regions[i]));
}

static void ends_of_run__of_all_sources_end_the_store(void **state)
{
	uint8_t end[MFP_HEADER_SIZE] = { 0 };

	(void)state;
	send_event(0);
	for (unsigned i = 0; i < SOURCES; i++) {
		pass(1);
		assert_int_equal(store->end, UINT64_MAX);
		assert_int_equal(send_bytes(MFP_END_OF_RUN, i, end, sizeof(end), 0, sizeof(end)),
				 TAKEN);
	}
	assert_int_equal(send_segment(1, 0, 0), TAKEN);
	pass(1);
	assert_int_equal(store->end, UINT64_MAX);
	pass(DEADLINE + 1);
	pass(1);
	assert_int_equal(store->end, 2);
	block_assembly_begin(store, 0);
	assert_int_equal(store->end, UINT64_MAX);
}

static void one_source__needs_no_quorum(void **state)
{
	const struct block_assembly_parameters changes = { .n_sources = 1 };

	(void)state;
	open_again(&changes);
	send_block(0, 0);
	send_block(2, 0);
	assert_int_equal(store->ready, 1);
	pass(DEADLINE + 1);
	assert_int_equal(store->ready, 3);
	assert_block(2, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(shuffled_and_doubled__each_block_is_whole, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(missing_segment__error_mfp_at_the_deadline, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(missing_block__the_others_are_sent, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
		    out_of_step__a_source_is_ahead_by_what_the_store_holds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    wrong_event_id__of_one_source_costs_the_others_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(silent_sources__the_others_go_on, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(malformed_block__is_replaced, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refused__each_under_its_cause, set_up, tear_down),
		cmocka_unit_test_setup_teardown(full__drops_until_events_are_released, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(full__memory_of_packets_is_not_used_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(full_and_held_back__deadlines_stand_still, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(before_the_run__what_comes_is_kept, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(run_that_begins_anew__drops_what_was_there, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(run_that_goes_on__keeps_later_events, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(ends_of_run__of_all_sources_end_the_store, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(one_source__needs_no_quorum, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
