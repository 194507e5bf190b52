// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A process that may write the ring writes what a producer never writes. The appliance counts it
// under a cause, takes nothing more from this producer, and goes on with the next one.
#include "ring_bench.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "evring/evring_lock.h"

#define A ring_source_ids[0]
#define B ring_source_ids[1]

struct intruder {
	struct producer_view view;
};

static void intrude(struct intruder *intruder, const struct ring_bench *bench)
{
	struct producer_header header;
	const int file = open(producer_ring_path(bench->ring), O_RDWR | O_CLOEXEC);

	assert_true(file >= 0);
	assert_int_equal(pread(file, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(producer_view_map(&intruder->view, file, &header), 0);
}

// What breaks the descriptor of the second block, or the header.
typedef void fault(struct producer_view *view);

static struct producer_descriptor *second(struct producer_view *view)
{
	return &view->descriptors[1];
}

static void no_length(struct producer_view *view)
{
	second(view)->length = 0;
}

static void too_long(struct producer_view *view)
{
	second(view)->length = RING_LARGEST + 1;
}

static void not_aligned(struct producer_view *view)
{
	second(view)->offset += 1;
}

static void outside(struct producer_view *view)
{
	second(view)->offset = view->data_size;
}

static void over_the_end(struct producer_view *view)
{
	second(view)->offset = view->data_size - PRODUCER_ALIGNMENT;
}

static void huge_offset(struct producer_view *view)
{
	second(view)->offset = UINT64_MAX - PRODUCER_ALIGNMENT + 1;
}

static void unknown_source(struct producer_view *view)
{
	second(view)->source = RING_SOURCES;
}

static void old_event(struct producer_view *view)
{
	second(view)->event_id = 0;
}

static void no_event(struct producer_view *view)
{
	second(view)->event_id = UINT64_MAX;
}

static void unknown_flag(struct producer_view *view)
{
	second(view)->flags = 0x80;
}

static void head_backwards(struct producer_view *view)
{
	view->header->head = 0;
}

static void head_far_away(struct producer_view *view)
{
	view->header->head = RING_BLOCKS + 1;
}

static const struct {
	fault *fault;
	enum producer_cause cause;
} faults[] = {
	{ no_length, PRODUCER_BAD_LENGTH },      { too_long, PRODUCER_BAD_LENGTH },
	{ not_aligned, PRODUCER_BAD_PLACE },     { outside, PRODUCER_BAD_PLACE },
	{ over_the_end, PRODUCER_BAD_PLACE },    { huge_offset, PRODUCER_BAD_PLACE },
	{ unknown_source, PRODUCER_BAD_SOURCE }, { old_event, PRODUCER_BAD_EVENT },
	{ no_event, PRODUCER_BAD_EVENT },        { unknown_flag, PRODUCER_BAD_FLAGS },
	{ head_backwards, PRODUCER_BAD_COUNT },  { head_far_away, PRODUCER_BAD_COUNT },
};

static void expect_refused(const struct ring_bench *bench, enum producer_cause cause)
{
	const struct producer_ring_counters counters = producer_ring_counters(bench->ring);

	for (unsigned i = 0; i < PRODUCER_N_CAUSES; i++)
		assert_int_equal(counters.refused[i], i == (unsigned)cause);
}

static void break_one(fault *break_it, enum producer_cause cause)
{
	struct intruder intruder;
	struct ring_bench bench;
	struct evb_producer *producer;
	struct producer_block first;
	uint64_t last;
	void *place;

	producer = ring_bench_begin(&bench);
	intrude(&intruder, &bench);
	assert_int_equal(ring_put(producer, A, 1, 100), 0);
	assert_int_equal(ring_put(producer, A, 2, 100), 0);
	first = ring_take(&bench, A, 1);
	break_it(&intruder.view);
	ring_take_none(&bench);
	expect_refused(&bench, cause);
	ring_take_none(&bench); // counted once
	expect_refused(&bench, cause);
	assert_true(ring_is_right(&first));
	assert_int_equal(evb_producer_reserve(producer, A, 1, &place), -EPROTO);
	assert_int_equal(evb_producer_wait(producer, 1, -1), -EPROTO);
	evb_producer_close(producer);

	// The next producer begins after what was taken, when that is released.
	producer = ring_producer(&bench, false);
	assert_int_equal(evb_producer_last(producer, A, &last), 1);
	assert_int_equal(last, 1);
	assert_int_equal(evb_producer_reserve(producer, A, 1, &place), -EAGAIN);
	producer_ring_release(bench.ring, first.sequence);
	assert_int_equal(ring_put(producer, A, 2, 100), 0);
	first = ring_take(&bench, A, 2);
	producer_ring_release(bench.ring, first.sequence);
	expect_refused(&bench, cause);
	assert_int_equal(producer_ring_counters(bench.ring).producers, 2);
	evb_producer_close(producer);
	producer_view_unmap(&intruder.view);
	ring_bench_close(&bench);
}

static void hostile__descriptors_are_refused_by_cause(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		break_one(faults[i].fault, faults[i].cause);
}

static void hostile__memory_without_a_producer_is_not_looked_at(void **state)
{
	struct intruder intruder;
	struct ring_bench bench;

	(void)state;
	ring_bench_open(&bench);
	intrude(&intruder, &bench);
	intruder.view.header->head = 3;
	ring_take_none(&bench);
	expect_refused(&bench, PRODUCER_N_CAUSES);
	producer_view_unmap(&intruder.view);
	ring_bench_close(&bench);
}

// Blocks that were released out of turn before the death of the appliance, and blocks whose last
// one is released: the next producer uses the places of the one, and goes on after the other.
static void hostile__producer_is_refused_after_an_adoption(void **state)
{
	struct producer_ring_parameters parameters;
	struct intruder intruder;
	struct ring_bench bench;
	struct evb_producer *producer;
	uint64_t sequences[4], last;

	(void)state;
	ring_bench_open(&bench);
	parameters = ring_parameters(&bench);
	producer = ring_producer(&bench, false);
	assert_int_equal(ring_put(producer, B, 70, 100), 0);
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(ring_put(producer, A, i, 100), 0);
	sequences[0] = ring_take(&bench, B, 70).sequence;
	for (unsigned i = 1; i < 4; i++)
		sequences[i] = ring_take(&bench, A, i).sequence;
	producer_ring_release(bench.ring, sequences[0]);
	producer_ring_release(bench.ring, sequences[2]);
	producer_ring_close(bench.ring);

	ring_open(&bench, &parameters);
	assert_int_equal(producer_ring_inherited(bench.ring), 2);
	intrude(&intruder, &bench);
	no_length(&intruder.view);
	ring_take_none(&bench);
	expect_refused(&bench, PRODUCER_BAD_LENGTH);
	evb_producer_close(producer);
	producer = ring_producer(&bench, false);
	assert_int_equal(evb_producer_last(producer, B, &last), 1);
	assert_int_equal(last, 70);
	for (unsigned i = 1; i < 4; i++)
		assert_int_equal(ring_put(producer, A, i, 200), 0);
	for (unsigned i = 1; i < 4; i++)
		(void)ring_take(&bench, A, i);
	ring_take_none(&bench);
	producer_ring_close(bench.ring);

	ring_open(&bench, &parameters);
	assert_int_equal(producer_ring_inherited(bench.ring), 3);
	for (unsigned i = 1; i < 4; i++)
		(void)ring_take(&bench, A, i);
	evb_producer_close(producer);
	producer_view_unmap(&intruder.view);
	ring_bench_close(&bench);
}

// A producer whose own descriptors were overwritten gets no place outside the ring.
static void hostile__producer_gets_no_room_outside_the_ring(void **state)
{
	struct intruder intruder;
	struct ring_bench bench;
	struct evb_producer *producer;
	void *place;

	(void)state;
	producer = ring_bench_begin(&bench);
	intrude(&intruder, &bench);
	assert_int_equal(evb_producer_reserve(producer, A, 100, &place), 0);
	intruder.view.descriptors[0].offset = UINT64_MAX - PRODUCER_ALIGNMENT + 1;
	evb_producer_cancel(producer);
	for (unsigned i = 0; i < RING_SIZE / RING_LARGEST; i++)
		assert_int_equal(ring_put(producer, A, i, RING_LARGEST), 0);
	for (unsigned i = 0; i < 2; i++)
		producer_ring_release(bench.ring, ring_take(&bench, A, i).sequence);
	intruder.view.descriptors[2].offset = UINT64_MAX - PRODUCER_ALIGNMENT + 1;
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(evb_producer_reserve(producer, A, 100, &place), -EPROTO);
	evb_producer_close(producer);
	producer_view_unmap(&intruder.view);
	ring_bench_close(&bench);
}

// As that of an evb of another release.
static void hostile__other_layout_is_not_opened(void **state)
{
	const uint32_t version = PRODUCER_LAYOUT_VERSION + 1;
	struct evb_producer_options options = { 0 };
	struct ring_bench bench;
	struct evb_producer *producer;
	int file;

	(void)state;
	ring_bench_open(&bench);
	options.directory = bench.files.directory;
	file = open(producer_ring_path(bench.ring), O_RDWR | O_CLOEXEC);
	assert_true(file >= 0);
	assert_int_equal(pwrite(file, &version, sizeof(version),
				offsetof(struct producer_header, layout_version)),
			 sizeof(version));
	close(file);
	assert_int_equal(evb_producer_open(&producer, BENCH_NAME, RING_NAME, &options), -EPROTO);
	assert_non_null(
	    strstr(evb_producer_error(producer), "has layout version 2, this library has 1"));
	evb_producer_close(producer);
	ring_bench_close(&bench);
}

static void hostile__truncated_file_is_noticed(void **state)
{
	struct ring_bench bench;
	struct evb_producer *producer;
	struct producer_block block;

	(void)state;
	producer = ring_bench_begin(&bench);
	assert_int_equal(ring_put(producer, A, 1, 100), 0);
	block = ring_take(&bench, A, 1);
	evb_producer_close(producer);
	assert_int_equal(truncate(producer_ring_path(bench.ring), 0), 0);
	assert_int_equal(block.data[0], 0); // private memory now
	ring_take_none(&bench);
	producer_ring_release(bench.ring, block.sequence);
	producer_ring_housekeep(bench.ring);
	(void)producer_ring_fill(bench.ring);
	assert_false(producer_ring_watch(bench.ring));
	ring_bench_close(&bench);
}

// Who may write the file can hold its locks; that keeps no appliance from starting.
static void hostile__held_lock_stops_no_appliance(void **state)
{
	struct producer_ring_parameters parameters;
	struct ring_bench bench;
	int file;

	(void)state;
	ring_bench_open(&bench);
	parameters = ring_parameters(&bench);
	file = open(producer_ring_path(bench.ring), O_RDWR | O_CLOEXEC);
	assert_true(file >= 0);
	producer_ring_close(bench.ring);
	assert_int_equal(evring_lock_take(file, EVRING_LOCK_OWNER), 0);
	ring_open(&bench, &parameters);
	close(file);
	ring_bench_close(&bench);
}

static void hostile__adopted_ring_may_hold_anything(void **state)
{
	static const uint64_t values[] = {
		0, 1, RING_BLOCKS - 1, RING_BLOCKS, UINT64_MAX - 2, UINT64_MAX
	};
	const unsigned n = sizeof(values) / sizeof(values[0]);
	struct producer_ring_parameters parameters;
	struct producer_block block;
	struct intruder intruder;
	struct ring_bench bench;

	(void)state;
	ring_bench_open(&bench);
	parameters = ring_parameters(&bench);
	intrude(&intruder, &bench);
	for (unsigned i = 0; i < n * n; i++) {
		producer_ring_close(bench.ring);
		intruder.view.header->head = values[i / n];
		intruder.view.header->released = values[i % n];
		intruder.view.header->session = i + 1;
		memset(intruder.view.descriptors, (int)i,
		       RING_BLOCKS * sizeof(struct producer_descriptor));
		ring_open(&bench, &parameters);
		(void)producer_ring_fill(bench.ring);
		while (producer_ring_take(bench.ring, &block, 1) == 1)
			producer_ring_release(bench.ring, block.sequence);
	}
	producer_view_unmap(&intruder.view);
	ring_bench_close(&bench);
}

// A producer that died between its commit and the note of the event's id.
static void hostile__missing_last_event_is_found(void **state)
{
	struct intruder intruder;
	struct ring_bench bench;
	struct evb_producer *producer;
	uint64_t last;

	(void)state;
	producer = ring_bench_begin(&bench);
	intrude(&intruder, &bench);
	assert_int_equal(ring_put(producer, A, 4, 1), 0);
	assert_int_equal(ring_put(producer, A, 7, 1), 0);
	evb_producer_close(producer);
	intruder.view.last[0] = 4 + 1;
	producer_ring_release(bench.ring, ring_take(&bench, A, 4).sequence);
	producer_ring_release(bench.ring, ring_take(&bench, A, 7).sequence);
	producer = ring_producer(&bench, false);
	assert_int_equal(evb_producer_last(producer, A, &last), 1);
	assert_int_equal(last, 7);
	evb_producer_close(producer);
	producer_view_unmap(&intruder.view);
	ring_bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile__descriptors_are_refused_by_cause),
		cmocka_unit_test(hostile__memory_without_a_producer_is_not_looked_at),
		cmocka_unit_test(hostile__producer_is_refused_after_an_adoption),
		cmocka_unit_test(hostile__producer_gets_no_room_outside_the_ring),
		cmocka_unit_test(hostile__other_layout_is_not_opened),
		cmocka_unit_test(hostile__truncated_file_is_noticed),
		cmocka_unit_test(hostile__held_lock_stops_no_appliance),
		cmocka_unit_test(hostile__missing_last_event_is_found),
		cmocka_unit_test(hostile__adopted_ring_may_hold_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
