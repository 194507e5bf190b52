// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the plan counts as ordinary memory, compared with what the C library has allocated when the
// parts are made.
#include "../producer/ring_bench.h"

#include <malloc.h>
#include <stdio.h>

#include "packet/decision_queue.h"
#include "readout/readout_logic.h"
#include "record/decision_order.h"
#include "record/decision_stream.h"
#include "record/event_file.h"
#include "store/block_assembly.h"
#include "store/event_store.h"
#include "store/ring_store.h"

#define SKIPPED   77 // as meson knows it
#define SOURCES   40u
#define TOLERANCE 16384u // bytes beside 1 %: pages, and small parts that are not counted

static struct bench files;
static uint16_t ids[SOURCES];
static uint64_t before;

static uint64_t allocated(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

// A sanitizer has an allocator of its own, which does not count here.
static bool is_counted(void)
{
	const uint64_t at_first = allocated();
	struct decision_outbox *some = decision_outbox_create(4096, 1);
	const bool counted = allocated() > at_first;

	decision_outbox_destroy(some);
	return counted;
}

static int set_up(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SOURCES; i++)
		ids[i] = (uint16_t)(100 + i);
	bench_make_directory(&files);
	before = allocated();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	bench_remove_directory(&files);
	return 0;
}

static void assert_planned(uint64_t planned)
{
	const uint64_t made = allocated() - before;

	assert_in_range(made, planned - planned / 100, planned + planned / 100 + TOLERANCE);
}

static void producer_store__is_planned(void **state)
{
	const struct ring_store_parameters parameters = {
		.ring = {
			.appliance = BENCH_NAME,
			.name = RING_NAME,
			.directory = files.directory,
			.size = RING_SIZE,
			.blocks = 64,
			.max_block = RING_LARGEST,
			.sources = ids,
			.n_sources = SOURCES,
		},
		.packing = 1,
	};
	char error[EVRING_ERROR_SIZE];
	struct block_store *store = ring_store_create(&parameters, error);

	(void)state;
	assert_non_null(store);
	assert_planned(ring_store_memory(SOURCES));
	block_store_destroy(store);
}

static void board_store__is_planned(void **state)
{
	static _Alignas(64) uint8_t memory[1 << 20];
	const struct block_assembly_parameters parameters = { .ids = ids,
							      .n_sources = SOURCES,
							      .packing = 1,
							      .max_block = 1000,
							      .memory = memory,
							      .size = sizeof(memory) };
	struct block_assembly assembly;

	(void)state;
	assert_true(block_assembly_make(&assembly, &parameters));
	assert_planned(block_assembly_memory(SOURCES));
	block_assembly_free(&assembly);
}

static void event_store__is_planned(void **state)
{
	(void)state;
	for (unsigned by_id = 0; by_id < 2; by_id++) {
		const struct event_store_parameters parameters = {
			.id = ids, .packing = 1, .events = 3000, .by_id = by_id
		};
		struct block_store *store;

		before = allocated();
		store = event_store_create(&parameters);
		assert_non_null(store);
		assert_planned(event_store_memory(3000, by_id));
		block_store_destroy(store);
	}
}

static void readout__is_planned(void **state)
{
	static const struct readout_output output;
	static struct readout_counters counters;
	static struct readout_logic logic;
	struct block_store store = { .ids = ids, .n_sources = SOURCES, .packing = 1 };
	const struct readout_logic_parameters parameters = {
		.store = &store,
		.n_builders = 500,
		.n_nodes = 2,
		.pace = { .n_sources = SOURCES,
			  .node_sources = SOURCES,
			  .system_sources = SOURCES },
		.ticks_per_second = 1000000,
		.output = &output,
	};

	(void)state;
	assert_true(readout_logic_make(&logic, &parameters, &counters, 1));
	assert_planned(readout_logic_memory(500, false));
	readout_logic_free(&logic);
}

static void writer__is_planned(void **state)
{
	static const enum file_format formats[] = { FILE_FORMAT_MEP, FILE_FORMAT_MDF };
	char error[EVENT_FILE_ERROR_SIZE];
	struct event_file *file;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const struct event_file_parameters parameters = { .directory = files.directory,
								  .prefix = "x",
								  .format = formats[i] };

		before = allocated();
		assert_int_equal(event_file_open(&file, &parameters, error), 0);
		assert_planned(event_file_memory(formats[i]));
		event_file_close(file);
	}
}

static void results__are_planned(void **state)
{
	const struct decision_order_parameters order = { .window = 4096, .packing = 1 };
	const struct decision_stream_parameters to = {
		.directory = files.directory, .prefix = "r", .run_number = 1, .packing = 1
	};
	char error[DECISION_STREAM_ERROR_SIZE];
	struct decision_order *waiting = decision_order_create(&order);
	struct decision_inbox *inbox = decision_inbox_create(4096, 1, 9);
	struct decision_outbox *outbox = decision_outbox_create(4096, 1);
	struct decision_stream *stream;

	(void)state;
	assert_int_equal(decision_stream_open(&stream, &to, error), 0);
	assert_true(waiting != NULL && inbox != NULL && outbox != NULL);
	assert_planned(decision_order_memory(4096) + decision_stream_memory() +
		       decision_inbox_memory(4096, 9) + decision_outbox_memory(4096));
	decision_stream_close(stream);
	decision_outbox_destroy(outbox);
	decision_inbox_destroy(inbox);
	decision_order_destroy(waiting);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(producer_store__is_planned), TEST(board_store__is_planned),
		TEST(event_store__is_planned),    TEST(readout__is_planned),
		TEST(writer__is_planned),         TEST(results__are_planned),
#undef TEST
	};

	if (!is_counted()) {
		printf("skip: a sanitizer has an allocator of its own\n");
		return SKIPPED;
	}
	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
