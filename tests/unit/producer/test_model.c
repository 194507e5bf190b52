// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Random operations on a producer ring and on a model of it: a list of blocks.
#include "ring_bench.h"

#include <errno.h>
#include <string.h>

#define OPERATIONS 200000u
#define MOST       (2 * RING_BLOCKS)

struct entry {
	void *reserved_at;
	size_t reserved, length;
	uint16_t source;
	uint64_t event_id;
	struct producer_block taken;
};

// Blocks in the order of their reservations. [0, n_taken) were taken and not released,
// [n_taken, n_committed) committed, [n_committed, n) reserved.
struct model {
	struct entry list[MOST];
	unsigned n_taken, n_committed, n;
	uint64_t next_event[RING_SOURCES];
	uint64_t n_full, most_committed;
};

static uint64_t room_in_use(const struct model *model)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < model->n; i++)
		bytes += producer_room_of(model->list[i].reserved);
	return bytes;
}

static void reserve(struct model *model, struct evb_producer *producer, uint64_t *seed)
{
	const unsigned source = bench_random(seed) % RING_SOURCES;
	const size_t size =
	    1 + bench_random(seed) % (bench_random(seed) % 4 == 0 ? RING_LARGEST : 900);
	struct entry *entry = &model->list[model->n];
	const int rc =
	    evb_producer_reserve(producer, ring_source_ids[source], size, &entry->reserved_at);

	if (rc != 0) {
		assert_int_equal(rc, -EAGAIN);
		// The memory behind the last block and before the first one may each be too small.
		assert_true(model->n >= RING_BLOCKS - 1 ||
			    room_in_use(model) + 2 * producer_room_of(size) >= RING_SIZE);
		model->n_full++;
		return;
	}
	assert_int_equal((uintptr_t)entry->reserved_at % PRODUCER_ALIGNMENT, 0);
	entry->reserved = entry->length = size;
	entry->source = (uint16_t)source;
	model->n++;
	assert_true(model->n < RING_BLOCKS);
}

static void commit(struct model *model, struct evb_producer *producer, uint64_t *seed)
{
	struct entry *entry = &model->list[model->n_committed];

	if (model->n_committed == model->n)
		return;
	if (bench_random(seed) % 4 == 0)
		entry->length = 1 + bench_random(seed) % entry->reserved;
	// A later block of memory begins behind the part that is used.
	if (model->n - model->n_committed == 1)
		entry->reserved = entry->length;
	entry->event_id = model->next_event[entry->source] + bench_random(seed) % 3;
	model->next_event[entry->source] = entry->event_id + 1;
	ring_fill(entry->reserved_at, entry->length, ring_source_ids[entry->source],
		  entry->event_id);
	assert_int_equal(evb_producer_commit(producer, entry->event_id, entry->length,
					     (uint32_t)entry->event_id & EVB_PRODUCER_FLAGS),
			 0);
	model->n_committed++;
	if (model->n_committed > model->most_committed)
		model->most_committed = model->n_committed;
}

static void expect_block(const struct entry *entry, const struct producer_block *block)
{
	assert_int_equal(block->event_id, entry->event_id);
	assert_int_equal(block->length, entry->length);
	assert_int_equal(block->source_index, entry->source);
	assert_int_equal(block->flags, entry->event_id & EVB_PRODUCER_FLAGS);
	assert_true(ring_is_right(block));
}

static void take(struct model *model, struct producer_ring *ring, uint64_t *seed)
{
	struct producer_block blocks[5];
	const unsigned max = 1 + bench_random(seed) % 5;
	const unsigned ready = model->n_committed - model->n_taken;
	const unsigned n = producer_ring_take(ring, blocks, max);

	assert_int_equal(n, ready < max ? ready : max);
	for (unsigned i = 0; i < n; i++) {
		expect_block(&model->list[model->n_taken], &blocks[i]);
		model->list[model->n_taken++].taken = blocks[i];
	}
}

// Blocks are released in any order; the list keeps them until all before them are released, as the
// ring does with their memory.
static void release(struct model *model, struct producer_ring *ring, uint64_t *seed)
{
	unsigned first = 0;
	struct entry *entry;

	if (model->n_taken == 0)
		return;
	entry = &model->list[bench_random(seed) % model->n_taken];
	if (entry->taken.data == NULL)
		return;
	assert_true(ring_is_right(&entry->taken)); // nothing was written over it
	producer_ring_release(ring, entry->taken.sequence);
	entry->taken.data = NULL;
	while (first < model->n_taken && model->list[first].taken.data == NULL)
		first++;
	memmove(model->list, model->list + first, (model->n - first) * sizeof(*model->list));
	model->n_taken -= first;
	model->n_committed -= first;
	model->n -= first;
}

static void cancel(struct model *model, struct evb_producer *producer, uint64_t *seed)
{
	if (bench_random(seed) % 16 != 0)
		return;
	evb_producer_cancel(producer);
	model->n = model->n_committed;
}

static void expect_last(struct model *model, struct evb_producer *producer)
{
	for (unsigned i = 0; i < RING_SOURCES; i++) {
		uint64_t event_id = 0;
		const int found = evb_producer_last(producer, ring_source_ids[i], &event_id);

		assert_int_equal(found, model->next_event[i] > 0);
		if (found == 1)
			assert_int_equal(event_id + 1, model->next_event[i]);
	}
}

static void model__random_operations(void **state)
{
	struct model model = { 0 };
	struct ring_bench bench;
	struct evb_producer *producer;
	uint64_t seed = 11;

	(void)state;
	ring_bench_open(&bench);
	producer = ring_producer(&bench, false);
	for (unsigned i = 0; i < OPERATIONS; i++) {
		// Phases in which the ring tends to be full, and to be empty.
		const unsigned bias = i / 512 % 2;
		const unsigned chosen = bench_random(&seed) % 8;

		if (chosen < 2 + bias)
			reserve(&model, producer, &seed);
		else if (chosen < 5)
			commit(&model, producer, &seed);
		else if (chosen == 5)
			take(&model, bench.ring, &seed);
		else if (chosen == 6)
			release(&model, bench.ring, &seed);
		else
			cancel(&model, producer, &seed);
		if (i % 1000 == 0)
			expect_last(&model, producer);
		if (i % 50000 == 49999) { // the next producer finds the same ring
			evb_producer_close(producer);
			model.n = model.n_committed;
			producer = ring_producer(&bench, false);
		}
	}
	assert_true(model.n_full > 100);
	assert_int_equal(model.most_committed, RING_BLOCKS - 1);
	evb_producer_close(producer);
	ring_bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(model__random_operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
