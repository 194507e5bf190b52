// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The store of a port: segments from the links of two rx roles, sources of others, a full store
// that drops or holds back, and the end of a run.
#include "../pipeline/testbed.h"

#include <stdlib.h>
#include <string.h>

#include "packet/segment_mbuf.h"
#include "store/port_store.h"

#define HEADERS  62u
#define LENGTH   700u // of a block, of two segments
#define FIRST    400u // bytes of the first one
#define MAX      1024u
#define MEMORY   (64u * MAX)
#define DEADLINE 100u
#define BUSY     200u // segments that fill the memory and more

static const uint16_t configured[] = { 5, 6, 7, 8 }; // 8 is not expected, 5 is another store's
static const bool expected[] = { true, true, true, false };
static const uint16_t ids[] = { 6, 7, 8 };
static struct source_table sources;
static struct rte_mempool *pool;
static struct link *links[2];
static struct block_store *store;
static uint64_t now;

static void open_store(bool holds_back)
{
	const struct port_store_parameters parameters = {
		.assembly = {
			.ids = ids,
			.n_sources = 3,
			.packing = 1,
			.max_block = MAX,
			.size = MEMORY,
			.mfps = false,
			.holds_back = holds_back,
			.deadline = DEADLINE,
		},
		.sources = &sources,
		.numa_node = 0,
	};

	now = 1000;
	source_table_make(&sources, configured, expected, 4);
	store = port_store_create(&parameters);
	assert_non_null(store);
	pool = testbed_pool("port_store", 1023, 1024);
	for (unsigned i = 0; i < 2; i++) {
		links[i] = link_create("rx", "readout", 256, true, 0);
		port_store_connect(store, links[i]);
	}
	block_store_begin(store, 0);
	block_store_poll(store, now);
}

static int set_up(void **state)
{
	(void)state;
	open_store(false);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	port_store_flush(store);
	for (unsigned i = 0; i < 2; i++)
		link_destroy(links[i]);
	block_store_destroy(store);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	rte_mempool_free(pool);
	return 0;
}

static uint8_t pattern(uint64_t event, unsigned source, uint32_t at)
{
	return (uint8_t)(event * 17 + source * 101 + at * 3 + at / 256);
}

// A segment of a source, by its index in the table, in an mbuf of parts of `piece` bytes.
static void feed(unsigned link, uint64_t event, unsigned source, uint32_t offset, uint32_t size,
		 uint32_t piece)
{
	struct frame frame = { .length = HEADERS + size };
	struct rte_mbuf *mbuf;

	memset(frame.bytes, 0xEE, HEADERS);
	for (uint32_t i = 0; i < size; i++)
		frame.bytes[HEADERS + i] = pattern(event, source, offset + i);
	mbuf = frame_to_mbuf(&frame, pool, piece);
	*mbuf_segment(mbuf) = (struct segment){
		.event_id = event,
		.event_index = event,
		.offset = offset,
		.size = size,
		.length = LENGTH,
		.payload = HEADERS,
		.source = (uint16_t)source,
	};
	assert_int_equal(link_enqueue(links[link], &mbuf, 1), 1);
}

static void feed_block(unsigned link, uint64_t event, unsigned source)
{
	feed(link, event, source, 0, FIRST, 1024);
	feed(link, event, source, FIRST, LENGTH - FIRST, 100);
}

static void poll_all(void)
{
	for (unsigned i = 0; i < 16; i++)
		block_store_poll(store, ++now);
}

static void assert_block(uint64_t event, unsigned at, unsigned source)
{
	const struct store_block block = block_store_find(store, event, at);

	assert_false(block.is_missing);
	assert_int_equal(block.size, LENGTH);
	for (uint32_t i = 0; i < LENGTH; i++)
		assert_int_equal(block.bytes[i], pattern(event, source, i));
}

static uint64_t drops(enum segment_cause cause)
{
	return port_store_counters(store)->drops[cause];
}

static void blocks__of_all_links_and_parts_of_mbufs(void **state)
{
	(void)state;
	assert_int_equal(store->n_sources, 2); // 8 is not expected
	feed_block(0, 0, 1);
	feed(1, 0, 2, FIRST, LENGTH - FIRST, 1024);
	feed(1, 0, 2, 0, FIRST, 50);
	poll_all();
	assert_int_equal(store->ready, 1);
	assert_block(0, 0, 1);
	assert_block(0, 1, 2);
	assert_int_equal(port_store_counters(store)->placed, 4);
	assert_int_equal(port_store_counters(store)->placed_bytes, 2 * LENGTH);
	assert_true(port_store_is(store));
}

static void source_of_others__is_not_admitted(void **state)
{
	struct block_assembly_source_counters sum = { 0 };

	(void)state;
	feed(0, 0, 0, 0, FIRST, 1024);
	poll_all();
	assert_int_equal(drops(SEGMENT_NOT_ADMITTED), 1);
	port_store_add_source(store, 0, &sum);
	assert_int_equal(sum.drops[SEGMENT_NOT_ADMITTED], 1);
	assert_int_equal(sum.placed, 0);
}

static void counters__of_each_source(void **state)
{
	struct block_assembly_source_counters sum = { 0 };

	(void)state;
	feed_block(0, 0, 1);
	feed(0, 0, 1, 0, FIRST, 1024);
	feed_block(0, 0, 2);
	poll_all();
	port_store_add_source(store, 1, &sum);
	assert_int_equal(sum.placed, 2);
	assert_int_equal(sum.placed_bytes, LENGTH);
	assert_int_equal(sum.drops[SEGMENT_DUPLICATE], 1);
}

static void full__drops_and_goes_on(void **state)
{
	uint64_t event = 0;

	(void)state;
	for (; event < BUSY / 4; event++) {
		feed_block(0, event, 1);
		feed_block(0, event, 2);
	}
	poll_all();
	assert_true(drops(SEGMENT_STORE_FULL) > 0);
	assert_int_equal(rte_ring_count(links[0]->ring), 0);
	assert_true(port_store_memory(store)->level > 500);
	block_store_release(store, store->ready);
	feed_block(1, event, 1);
	feed_block(1, event, 2);
	poll_all();
	now += 10 * DEADLINE;
	poll_all();
	poll_all();
	poll_all();
	assert_int_equal(store->ready, event + 1);
	assert_block(event, 0, 1);
}

static void full_and_held_back__nothing_is_lost(void **state)
{
	(void)state;
	(void)tear_down(state);
	open_store(true);
	for (uint64_t event = 0; event < BUSY / 4; event++) {
		feed_block(event % 2, event, 1);
		feed_block(event % 2, event, 2);
	}
	for (uint64_t event = 0; event < BUSY / 4; event++) {
		for (unsigned i = 0; i < 100 && store->ready <= event; i++)
			block_store_poll(store, ++now);
		assert_true(store->ready > event);
		if (event == 0)
			assert_true(rte_ring_count(links[0]->ring) > 0); // the store is full
		// While it waits, and has what it may send, no deadline passes.
		now += 100 * DEADLINE;
		block_store_poll(store, now);
		assert_block(event, 0, 1);
		assert_block(event, 1, 2);
		block_store_release(store, event + 1);
	}
	assert_int_equal(store->counters.missing, 0);
	assert_int_equal(port_store_counters(store)->placed, BUSY);
	assert_int_equal(port_store_counters(store)->segments, BUSY);
}

// No deadline passes.
static void poll_still(void)
{
	for (unsigned i = 0; i < 4; i++)
		block_store_poll(store, now);
}

// A source runs ahead of the other by all events that have room: the memory is never full.
static void room__for_whole_events(void **state)
{
	uint64_t begun;
	uint32_t room = port_store_room(store, &begun);

	(void)state;
	assert_int_equal(begun, 0);
	assert_true(room >= 8 && room <= MEMORY / MAX / 4);
	for (uint64_t event = 0; event < 200; event++) {
		if (port_store_room(store, &begun) > 0) {
			feed_block(0, begun, 1);
			poll_still();
		}
		if (event < room - 1)
			continue;
		feed_block(1, event - (room - 1), 2);
		poll_still();
		block_store_release(store, store->ready);
	}
	assert_int_equal(drops(SEGMENT_STORE_FULL), 0);
	assert_true(begun >= 200 - room);
	assert_int_equal(port_store_counters(store)->segments, port_store_counters(store)->placed);
}

static void flush__counts_what_waits(void **state)
{
	const struct block_assembly_counters *counters = port_store_counters(store);

	(void)state;
	feed_block(0, 0, 1);
	feed(1, 0, 0, 0, FIRST, 1024);
	port_store_flush(store);
	assert_int_equal(drops(SEGMENT_LATE), 2);
	assert_int_equal(drops(SEGMENT_NOT_ADMITTED), 1);
	assert_int_equal(counters->segments, 3);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(blocks__of_all_links_and_parts_of_mbufs),
		TEST(source_of_others__is_not_admitted),
		TEST(counters__of_each_source),
		TEST(full__drops_and_goes_on),
		TEST(full_and_held_back__nothing_is_lost),
		TEST(room__for_whole_events),
		TEST(flush__counts_what_waits),
	};

	return cmocka_run_group_tests(tests, testbed_start, testbed_stop);
}
