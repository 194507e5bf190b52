// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The store of a ring that a producer fills.
#include "../producer/ring_bench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/ring_store.h"
#include "wire/mfp.h"

#define PACKING  10u
#define FIRST    1000u // event id of event index 0
#define LENGTH   1500u
#define DEADLINE 100u

static struct ring_bench bench;
static struct block_store *store;
static struct evb_producer *producer;
// As the store has them: ascending.
static const uint16_t ids[RING_SOURCES] = { 7, 0x1001, 0xfffe };

static void open_store(void)
{
	const struct ring_store_parameters parameters = {
		.ring = {
			.appliance = BENCH_NAME,
			.name = RING_NAME,
			.directory = bench.files.directory,
			.size = RING_SIZE,
			.blocks = 64,
			.max_block = RING_LARGEST,
			.sources = ids,
			.n_sources = RING_SOURCES,
		},
		.packing = PACKING,
		.first_event = FIRST,
		.mfps = false,
		.deadline_cycles = DEADLINE,
	};
	char error[EVRING_ERROR_SIZE];

	store = ring_store_create(&parameters, error);
	if (store == NULL)
		fail_msg("%s", error);
}

static int set_up(void **state)
{
	(void)state;
	bench_make_directory(&bench.files);
	open_store();
	block_store_begin(store, 0);
	producer = ring_producer(&bench, false);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	(void)evb_producer_finish(producer);
	evb_producer_close(producer);
	block_store_poll(store, 0);
	block_store_destroy(store);
	bench_remove_directory(&bench.files);
	return 0;
}

static uint64_t id_of(uint64_t event)
{
	return FIRST + event * PACKING;
}

static void put(uint64_t event, unsigned source)
{
	assert_int_equal(ring_put(producer, ids[source], id_of(event), LENGTH), 0);
}

static void put_all(uint64_t event)
{
	for (unsigned i = 0; i < RING_SOURCES; i++)
		put(event, i);
}

static void poll_some(uint64_t now)
{
	for (unsigned i = 0; i < 8; i++)
		block_store_poll(store, now);
}

static void assert_block(uint64_t event, unsigned source)
{
	struct store_block found = block_store_find(store, event, source);
	const struct producer_block block = {
		.data = found.bytes,
		.length = found.size,
		.source_id = ids[source],
		.event_id = id_of(event),
	};

	assert_false(found.is_missing || found.is_temporary);
	assert_non_null(found.hold);
	assert_int_equal(found.size, LENGTH);
	assert_true(ring_is_right(&block));
}

static void ring__gives_events_and_gets_its_memory_back(void **state)
{
	(void)state;
	for (uint64_t event = 0; event < 200; event++) { // many times the size of the ring
		put_all(event);
		poll_some(0);
		assert_int_equal(store->ready, event + 1);
		for (unsigned i = 0; i < RING_SOURCES; i++)
			assert_block(event, i);
		block_store_release(store, event + 1);
		poll_some(0);
	}
	assert_int_equal(store->counters.missing + store->counters.late, 0);
}

static void ring__holds_the_producer_back(void **state)
{
	uint64_t event = 0;

	(void)state;
	while (ring_put(producer, ids[0], id_of(event), LENGTH) == 0) {
		event++;
		poll_some(0);
	}
	assert_in_range(event, 20, 64);
	assert_int_equal(ring_put(producer, ids[0], id_of(event), LENGTH), -EAGAIN);
	poll_some(1); // the store holds incomplete events: it waits for their sources
	poll_some(1 + DEADLINE);
	assert_int_equal(store->ready, 0);
	poll_some(2 + DEADLINE);
	assert_int_equal(store->ready, event);
	assert_int_equal(store->counters.missing, (RING_SOURCES - 1) * event);
	assert_true(block_store_find(store, 0, 1).is_missing);
	assert_int_equal(block_store_find(store, 0, 1).size, 0);
	assert_block(0, 0);
	block_store_release(store, event);
	poll_some(3 + DEADLINE);
	assert_int_equal(ring_put(producer, ids[0], id_of(event), LENGTH), 0);
	assert_int_equal(ring_put(producer, ids[1], id_of(0), LENGTH), 0);
	poll_some(4 + DEADLINE);
	assert_int_equal(store->counters.late, 1);
}

static void ring__keeps_what_packets_point_to(void **state)
{
	struct store_block found;
	uint64_t event = 1;

	(void)state;
	put_all(0);
	poll_some(0);
	found = block_store_find(store, 0, 0);
	block_hold_take(found.hold);
	block_store_release(store, 1);
	poll_some(0);
	for (; ring_put(producer, ids[0], id_of(event), LENGTH) == 0; event++) {
		for (unsigned i = 1; i < RING_SOURCES; i++)
			(void)ring_put(producer, ids[i], id_of(event), LENGTH);
		poll_some(0);
		block_store_release(store, store->ready);
		poll_some(0);
	}
	assert_in_range(event, 2, 64); // the ring is full, because its oldest block is in use
	block_hold_return(found.hold);
	poll_some(0);
	assert_int_equal(ring_put(producer, ids[0], id_of(event), LENGTH), 0);
}

static void ring__counts_event_ids_of_no_event(void **state)
{
	(void)state;
	assert_int_equal(ring_put(producer, ids[0], 3, LENGTH), 0); // before the first
	assert_int_equal(ring_put(producer, ids[0], FIRST + 5, LENGTH), 0);
	put_all(1);
	poll_some(0);
	assert_int_equal(store->counters.unknown, 2);
	assert_int_equal(store->ready, 2); // event 0 has no source
	assert_int_equal(store->counters.missing, RING_SOURCES);
	assert_block(1, 2);
}

static void ring__ends_when_the_producer_has_finished(void **state)
{
	(void)state;
	put_all(0);
	put(1, 0);
	assert_int_equal(evb_producer_finish(producer), 0);
	poll_some(0);
	assert_int_equal(store->end, 2);
	assert_int_equal(store->ready, 2);
	assert_true(block_store_find(store, 1, 1).is_missing);
}

static void ring__waits_for_the_next_producer(void **state)
{
	(void)state;
	put_all(0);
	put(1, 0);
	evb_producer_close(producer);
	poll_some(0);
	assert_true(store->end == UINT64_MAX);
	producer = ring_producer(&bench, false);
	put(1, 1);
	put(1, 2);
	poll_some(0);
	assert_int_equal(store->ready, 2);
	assert_int_equal(store->counters.missing, 0);
}

static void ring__outlives_the_process_that_takes(void **state)
{
	(void)state;
	for (uint64_t event = 0; event < 3; event++)
		put_all(event);
	poll_some(0);
	block_store_release(store, 1);
	poll_some(0);
	block_store_destroy(store);
	open_store();
	assert_in_range(ring_store_inherited(store), 2 * RING_SOURCES, 3 * RING_SOURCES);
	poll_some(0);
	assert_int_equal(store->ready, 0); // the run has not begun
	block_store_begin(store, 1);
	poll_some(0);
	assert_int_equal(store->ready, 3);
	assert_block(1, 0);
	assert_block(2, RING_SOURCES - 1);
}

// The next process continues with what the last one has not released, even if nothing is left.
static void ring__resumes(void **state)
{
	(void)state;
	assert_false(store->resumes || store->is_inheriting);
	for (uint64_t event = 0; event < 12; event++) {
		put(event, 1);
		put(event, 0);
		put(event, 2);
	}
	poll_some(0);
	block_store_release(store, 1);
	poll_some(0);
	block_store_destroy(store);
	open_store();
	assert_true(store->resumes && store->is_inheriting);
	assert_int_equal(store->resumes_at, 1);
	block_store_begin(store, store->resumes_at);
	block_store_poll(store, 0);
	assert_true(store->is_inheriting);
	poll_some(0);
	assert_false(store->is_inheriting);
	assert_int_equal(store->ready, 12);
	block_store_release(store, 12);
	poll_some(0);
	block_store_destroy(store);
	open_store();
	assert_true(store->resumes);
	assert_false(store->is_inheriting);
	assert_int_equal(store->resumes_at, 12);
}

// What does not fit is not waited for: the last process had not taken it either.
static void ring__inherits_no_more_than_it_can_take(void **state)
{
	uint64_t event = 0;

	(void)state;
	while (ring_put(producer, ids[0], id_of(event), LENGTH) == 0)
		event++;
	poll_some(0);
	block_store_destroy(store);
	open_store();
	assert_true(store->is_inheriting);
	block_store_begin(store, 0);
	poll_some(0);
	assert_false(store->is_inheriting);
}

// A start that fails leaves no memory behind, unless a producer has seen the ring.
static void ring__without_a_producer_is_removed(void **state)
{
	char path[128];

	(void)state;
	bench_make_directory(&bench.files);
	snprintf(path, sizeof(path), "%s/evb-" BENCH_NAME "/producer." RING_NAME,
		 bench.files.directory);
	open_store();
	assert_int_equal(access(path, F_OK), 0);
	block_store_destroy(store);
	assert_int_equal(access(path, F_OK), -1);
	open_store();
	evb_producer_close(ring_producer(&bench, false));
	block_store_destroy(store);
	assert_int_equal(access(path, F_OK), 0);
	bench_remove_directory(&bench.files);
}

// A ring holds as many blocks as its formula says, also behind events that were released.
static void room__is_what_a_ring_holds(void **state)
{
	static const uint32_t lengths[] = { 40, 200, 700, LENGTH, 5000, RING_LARGEST };
	uint64_t event = 0;

	(void)state;
	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const struct ring_store_room room = ring_store_room(RING_SIZE, 64, lengths[i]);
		uint64_t n, out = room.lag / 2 + 3;

		for (n = 0; n < out; n++) // so that the ring begins somewhere
			assert_int_equal(ring_put(producer, ids[0], id_of(event + n), lengths[i]),
					 0);
		for (unsigned j = 1; j < RING_SOURCES; j++)
			assert_int_equal(ring_put(producer, ids[j], id_of(event + n - 1), 64), 0);
		poll_some(0);
		block_store_release(store, event + n);
		poll_some(0);
		event += n;
		for (n = 0; ring_put(producer, ids[0], id_of(event + n), lengths[i]) == 0; n++)
			poll_some(0);
		if (n < room.blocks || room.ready > room.blocks)
			fail_msg("%u bytes: %u blocks, not %u", lengths[i], (unsigned)n,
				 (unsigned)room.blocks);
		block_store_begin(store, event + n); // drops all
		poll_some(0);
		event += n;
	}
}

static void fill__counts_what_is_in_use(void **state)
{
	const struct ring_store_fill *fill = ring_store_fill(store);

	(void)state;
	assert_int_equal(fill->size, RING_SIZE);
	put_all(0);
	block_store_housekeep(store);
	assert_int_equal(fill->used, RING_SOURCES * producer_room_of(LENGTH));
	assert_int_equal(fill->highest, fill->used);
	poll_some(0);
	block_store_release(store, 1);
	poll_some(0);
	block_store_housekeep(store);
	assert_int_equal(fill->used, 0);
	assert_int_equal(fill->highest, RING_SOURCES * producer_room_of(LENGTH));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ring__gives_events_and_gets_its_memory_back),
		TEST(ring__holds_the_producer_back),
		TEST(ring__keeps_what_packets_point_to),
		TEST(ring__counts_event_ids_of_no_event),
		TEST(ring__ends_when_the_producer_has_finished),
		TEST(ring__waits_for_the_next_producer),
		TEST(ring__outlives_the_process_that_takes),
		TEST(ring__resumes),
		TEST(ring__inherits_no_more_than_it_can_take),
		cmocka_unit_test(ring__without_a_producer_is_removed),
		TEST(room__is_what_a_ring_holds),
		TEST(fill__counts_what_is_in_use),
	};

	return cmocka_run_group_tests_name("ring_store", tests, NULL, NULL);
}
