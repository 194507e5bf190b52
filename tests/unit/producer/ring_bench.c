// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "ring_bench.h"

#include <errno.h>

const uint16_t ring_source_ids[RING_SOURCES] = { 0x1001, 7, 0xfffe };

struct producer_ring_parameters ring_parameters(const struct ring_bench *bench)
{
	return (struct producer_ring_parameters){
		.appliance = BENCH_NAME,
		.name = RING_NAME,
		.directory = bench->files.directory,
		.size = RING_SIZE,
		.blocks = RING_BLOCKS,
		.max_block = RING_LARGEST,
		.sources = ring_source_ids,
		.n_sources = RING_SOURCES,
	};
}

void ring_open(struct ring_bench *bench, const struct producer_ring_parameters *parameters)
{
	if (producer_ring_open(&bench->ring, parameters, bench->files.error) != 0)
		fail_msg("%s", bench->files.error);
}

void ring_bench_open(struct ring_bench *bench)
{
	struct producer_ring_parameters parameters;

	bench_make_directory(&bench->files);
	parameters = ring_parameters(bench);
	ring_open(bench, &parameters);
}

void ring_bench_close(struct ring_bench *bench)
{
	producer_ring_destroy(bench->ring);
	bench_remove_directory(&bench->files);
}

struct evb_producer *ring_producer(const struct ring_bench *bench, bool checked)
{
	const struct evb_producer_options options = {
		.directory = bench->files.directory,
		.checked = checked,
	};
	struct evb_producer *producer;

	if (evb_producer_open(&producer, BENCH_NAME, RING_NAME, &options) != 0)
		fail_msg("%s", evb_producer_error(producer));
	return producer;
}

struct evb_producer *ring_bench_begin(struct ring_bench *bench)
{
	ring_bench_open(bench);
	return ring_producer(bench, false);
}

void ring_bench_end(struct ring_bench *bench, struct evb_producer *producer)
{
	evb_producer_close(producer);
	ring_bench_close(bench);
}

static uint8_t pattern(size_t at, uint16_t source, uint64_t event_id)
{
	return (uint8_t)(at * 31 + event_id * 7 + source + (at >> 8));
}

void ring_fill(void *block, size_t length, uint16_t source, uint64_t event_id)
{
	uint8_t *bytes = block;

	for (size_t i = 0; i < length; i++)
		bytes[i] = pattern(i, source, event_id);
}

bool ring_is_right(const struct producer_block *block)
{
	for (size_t i = 0; i < block->length; i++)
		if (block->data[i] != pattern(i, block->source_id, block->event_id))
			return false;
	return true;
}

int ring_put(struct evb_producer *producer, uint16_t source, uint64_t event_id, size_t length)
{
	void *block;
	const int rc = evb_producer_reserve(producer, source, length, &block);

	if (rc != 0)
		return rc;
	assert_int_equal((uintptr_t)block % PRODUCER_ALIGNMENT, 0);
	ring_fill(block, length, source, event_id);
	if (evb_producer_commit(producer, event_id, length, 0) != 0)
		fail_msg("%s", evb_producer_error(producer));
	return 0;
}

struct producer_block ring_take(struct ring_bench *bench, uint16_t source, uint64_t event_id)
{
	struct producer_block block;

	assert_int_equal(producer_ring_take(bench->ring, &block, 1), 1);
	assert_int_equal(block.source_id, source);
	assert_int_equal(ring_source_ids[block.source_index], source);
	assert_int_equal(block.event_id, event_id);
	assert_true(ring_is_right(&block));
	return block;
}

void ring_take_none(struct ring_bench *bench)
{
	struct producer_block block;

	assert_int_equal(producer_ring_take(bench->ring, &block, 1), 0);
}
