// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The stores that other processes or boards fill: what they hold, and what a spill needs.
#include "plan_bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/block_memory.h"

#define SPILL                                                                                     \
	"\"spill\": {\"size\": \"250MB\", \"events\": 5000, \"duration\": \"2.4s\", \"period\": " \
	"\"15s\"}"
#define RING(size, blocks)                                                               \
	"\"kind\": \"producer\", \"producer\": {\"size\": \"" size "\", \"max_block\": " \
	"\"64KiB\", \"blocks\": " blocks "}"
#define PORT(size)                                                                    \
	"\"kind\": \"port\", \"listen\": {\"port\": \"in\", \"size\": \"" size "\", " \
	"\"max_block\": \"64KiB\"}"

// A node with a second builder if `more` is not empty, behind a link of the given rate; and a node
// whose generator has the given keys.
static const char *system_with(const char *rate, const char *generator, const char *more)
{
	static char text[2048];

	snprintf(text, sizeof(text),
		 "{\"sources\": {\"ids\": [\"1-2\"], \"packing\": 100}, \"nodes\": ["
		 "{\"name\": \"b\", \"manager\": true, \"builders\": [{\"name\": \"b\"}%s], "
		 "\"ports\": [{\"name\": \"p\", \"profile\": \"ring\", "
		 "\"mtu\": 9000, \"address\": \"10.0.0.1\", \"link_rate\": \"%s\"}]},"
		 "{\"name\": \"r\", \"generators\": [{\"name\": \"g\", \"port\": \"p\", "
		 "\"ids\": [\"1-2\"], %s}], \"ports\": [{\"name\": \"p\", \"profile\": "
		 "\"ring\", \"mtu\": 9000, \"address\": \"10.0.0.2\"}, {\"name\": \"in\", "
		 "\"profile\": \"ring\", \"address\": \"10.0.1.2\"}]}]%s}",
		 more[0] != '\0' ? ", {\"name\": \"c\"}" : "", rate, generator, more);
	return text;
}

static struct plan *plan_of_readout(const char *text)
{
	machine_make(2);
	return plan_of_node(text, "r");
}

static void refused(const char *text, const char *expected)
{
	machine_make(2);
	plan_of_node_refused(text, "r", expected);
}

static void store__holds_events(void **state)
{
	struct plan *plan = plan_of_readout(system_with("1Gb/s", RING("256MiB", "16384"), ""));
	const struct plan_store *store = &plan->generators[0].store;

	(void)state;
	assert_int_equal(store->size, 256 * MIB);
	// 64 of the largest blocks are released together, and one room stays free.
	assert_int_equal(store->events, (4096 - 64) / 2);
	assert_int_equal(store->max_events, (16384 - 256) / 2);
	assert_int_equal(store->spill_highest, 0);
	plan_free(plan);
	plan = plan_of_readout(system_with("1Gb/s", PORT("256MiB"), ""));
	store = &plan->generators[0].store;
	// Regions of 1 MiB, of which the oldest holds one block.
	assert_int_equal(store->events, (255 * 16 + 1) / 2);
	assert_int_equal(store->max_events, 16384);
	plan_free(plan);
	plan = plan_of_readout(system_with("1Gb/s", "\"kind\": \"synthetic\"", ""));
	assert_int_equal(plan->generators[0].store.size, 0);
	plan_free(plan);
}

static void store__of_roce_boards_holds_half(void **state)
{
	struct block_memory memory;
	struct plan *plan = plan_of_readout(
	    system_with("1Gb/s",
			"\"kind\": \"port\", \"listen\": {\"port\": \"in\", \"size\": \"256MiB\", "
			"\"max_block\": \"64KiB\", \"roce\": true}",
			""));

	(void)state;
	assert_true(block_memory_make(&memory, NULL, 256 * MIB, 64 << 10));
	assert_int_equal(plan->generators[0].store.events, block_memory_blocks(&memory) / 4);
	assert_int_equal(plan->generators[0].store.max_events, plan->generators[0].store.events);
	block_memory_free(&memory);
	plan_free(plan);
}

static void assert_between(double value, double least, double most)
{
	if (!(value >= least && value <= most))
		fail_msg("%g is not between %g and %g", value, least, most);
}

// Blocks of 25 kB are 3 segments of 9000 bytes with 86 bytes of headers each.
static void spill__is_foretold(void **state)
{
	struct plan *plan =
	    plan_of_readout(system_with("182Mb/s", RING("256MiB", "16384") "," SPILL, ""));
	const struct plan_store *store = &plan->generators[0].store;
	double rate = 182e6 / 8 * 0.9 * 25000 / (25000 + 3 * 86);

	(void)state;
	assert_between(store->mean_rate, 250e6 / 15 * 0.9999, 250e6 / 15 * 1.0001);
	// Control messages take a little.
	assert_between(store->link_rate, rate * 0.98, rate);
	assert_between(store->spill_empty, 250e6 / rate, 250e6 / rate * 1.03);
	// With the rest of a region, an event, and the alignment of blocks.
	assert_between((double)store->spill_highest, 250e6 - rate * 2.4,
		       (250e6 - rate * 0.98 * 2.4) * 1.003 + 4 * MIB + 100000);
	plan_free(plan);
	plan = plan_of_readout(system_with("182Mb/s", PORT("256MiB") "," SPILL, ""));
	assert_between((double)plan->generators[0].store.spill_highest, 250e6 - rate * 2.4,
		       (250e6 - rate * 0.98 * 2.4) * 1.003 + 2 * MIB + 100000);
	plan_free(plan);
}

static void spill__of_a_paced_generator(void **state)
{
	struct plan *plan = plan_of_readout(
	    system_with("1Gb/s", RING("256MiB", "16384") ", \"rate\": 400," SPILL, ""));
	const struct plan_store *store = &plan->generators[0].store;

	(void)state;
	assert_between(store->link_rate, 400 * 50e3 * 0.9999, 400 * 50e3 * 1.0001);
	assert_between(store->spill_empty, 12.499, 12.501);
	plan_free(plan);
}

static void spill__is_refused_where_it_does_not_fit(void **state)
{
	(void)state;
	refused(system_with("100Mb/s", RING("256MiB", "16384") "," SPILL, ""),
		"x.json: generators[0].spill: spills bring 16.667 MB/s on average, the links carry "
		"10.994 MB/s");
	refused(system_with("182Mb/s", RING("128MiB", "16384") "," SPILL, ""),
		"x.json: generators[0].producer.size: a spill fills the store with up to 204270912 "
		"bytes, it has 134217728");
	refused(system_with("182Mb/s", RING("256MiB", "4096") "," SPILL, ""),
		"x.json: generators[0].producer.blocks: a spill fills the ring with up to 8246 "
		"blocks, it has room for 4095");
	refused(system_with("182Mb/s", PORT("128MiB") "," SPILL, ""),
		"x.json: generators[0].listen.size: a spill fills the store with up to 202694400 "
		"bytes, it has 134217728");
	refused(system_with("1Mb/s",
			    PORT("1GiB") ", \"spill\": {\"size\": \"40MB\", \"events\": "
					 "20000, \"duration\": \"1s\", \"period\": \"10min\"}",
			    ""),
		"x.json: generators[0].spill.events: a spill fills the store with up to 19961 "
		"events, it has room for 16384");
	refused(system_with("0", RING("256MiB", "16384") "," SPILL, ""),
		"x.json: generators[0].spill: no port with a link_rate carries the blocks, so "
		"nothing tells how fast they leave");
	refused(system_with("182Mb/s", RING("256MiB", "16384") "," SPILL,
			    ", \"event_manager\": {\"mode\": \"static\"}"),
		"x.json: generators[0].spill: in mode static nobody limits the rate of the "
		"readouts");
}

// Two builders, two sources: rounds of four blocks.
static void ring__of_mode_static_holds_a_round(void **state)
{
	const char *is_static = ", \"event_manager\": {\"mode\": \"static\"}";

	(void)state;
	plan_free(plan_of_readout(system_with("1Gb/s", RING("320KiB", "64"), is_static)));
	plan_free(plan_of_readout(system_with("1Gb/s", RING("256KiB", "64"), "")));
	refused(system_with("1Gb/s", RING("256KiB", "64"), is_static),
		"x.json: generators[0].producer: room for 1 events with blocks of max_block, mode "
		"static needs room for 2, one per builder");
	refused(system_with("1Gb/s", RING("320KiB", "4"), is_static),
		"x.json: generators[0].producer: room for 1 events with blocks of max_block, mode "
		"static needs room for 2, one per builder");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store__holds_events),
		cmocka_unit_test(store__of_roce_boards_holds_half),
		cmocka_unit_test(spill__is_foretold),
		cmocka_unit_test(spill__of_a_paced_generator),
		cmocka_unit_test(spill__is_refused_where_it_does_not_fit),
		cmocka_unit_test(ring__of_mode_static_holds_a_round),
	};

	return cmocka_run_group_tests_name("plan_stores", tests, NULL, NULL);
}
