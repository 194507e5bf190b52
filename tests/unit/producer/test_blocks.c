// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Opening, reserving, committing, taking and releasing, and each cause for which they are refused.
#include "ring_bench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire/mfp.h"

#define A ring_source_ids[0]
#define B ring_source_ids[1]

static void expect_error(struct evb_producer *producer, int rc, int expected, const char *text)
{
	assert_int_equal(rc, expected);
	if (strstr(evb_producer_error(producer), text) == NULL)
		fail_msg("\"%s\" does not contain \"%s\"", evb_producer_error(producer), text);
}

static void blocks__are_taken_in_order(void **state)
{
	struct producer_ring_counters counters;
	struct ring_bench bench;
	struct evb_producer *producer;
	struct producer_block first, second;
	uint32_t pid;

	(void)state;
	ring_bench_open(&bench);
	ring_take_none(&bench);
	producer = ring_producer(&bench, false);
	assert_int_equal(ring_put(producer, A, 10, 100), 0);
	assert_int_equal(ring_put(producer, B, 5, RING_LARGEST), 0);
	assert_int_equal(ring_put(producer, A, 12, 1), 0);
	first = ring_take(&bench, A, 10);
	second = ring_take(&bench, B, 5);
	producer_ring_release(bench.ring, second.sequence);
	assert_true(producer_ring_fill(bench.ring) > 100);
	producer_ring_release(bench.ring, first.sequence);
	first = ring_take(&bench, A, 12);
	producer_ring_release(bench.ring, first.sequence);
	ring_take_none(&bench);
	assert_int_equal(producer_ring_fill(bench.ring), 0);
	counters = producer_ring_counters(bench.ring);
	assert_int_equal(counters.blocks, 3);
	assert_int_equal(counters.bytes, 101 + RING_LARGEST);
	assert_int_equal(counters.released, 3);
	assert_int_equal(counters.producers, 1);
	assert_true(producer_ring_watch(bench.ring));
	assert_true(producer_ring_attached(bench.ring, &pid));
	assert_int_equal(pid, getpid());
	evb_producer_close(producer);
	assert_true(producer_ring_watch(bench.ring));
	assert_false(producer_ring_attached(bench.ring, &pid));
	ring_bench_close(&bench);
}

static void blocks__reservations_are_refused_with_a_cause(void **state)
{
	struct ring_bench bench;
	struct evb_producer *producer;
	struct producer_block block;
	void *place;

	(void)state;
	producer = ring_bench_begin(&bench);
	expect_error(producer, evb_producer_reserve(producer, A, RING_LARGEST + 1, &place),
		     -EMSGSIZE, "max_block");
	expect_error(producer, evb_producer_reserve(producer, A, 0, &place), -EMSGSIZE, "no bytes");
	expect_error(producer, evb_producer_reserve(producer, 8, 1, &place), -EINVAL,
		     "no such source");
	for (unsigned i = 0; i < RING_BLOCKS - 1; i++)
		assert_int_equal(ring_put(producer, A, i, 1), 0);
	expect_error(producer, evb_producer_reserve(producer, A, 1, &place), -EAGAIN, "full");
	block = ring_take(&bench, A, 0);
	producer_ring_release(bench.ring, block.sequence);
	assert_int_equal(ring_put(producer, A, 99, 1), 0);
	assert_int_equal(evb_producer_counters(producer).full, 1);
	assert_int_equal(evb_producer_counters(producer).blocks, RING_BLOCKS);

	producer_ring_end(bench.ring);
	expect_error(producer, evb_producer_reserve(producer, A, 1, &place), -EPIPE, "ended");
	expect_error(producer, evb_producer_commit(producer, 100, 1, 0), -EPIPE, "ended");
	(void)ring_take(&bench, A, 1); // what was committed is still taken
	ring_bench_end(&bench, producer);
}

static void blocks__commits_are_refused_with_a_cause(void **state)
{
	struct ring_bench bench;
	struct evb_producer *producer;
	uint64_t last;
	void *place;

	(void)state;
	producer = ring_bench_begin(&bench);
	expect_error(producer, evb_producer_commit(producer, 1, 1, 0), -EINVAL, "no block");
	assert_int_equal(evb_producer_reserve(producer, A, 64, &place), 0);
	expect_error(producer, evb_producer_commit(producer, 1, 65, 0), -EINVAL, "more than");
	expect_error(producer, evb_producer_commit(producer, 1, 0, 0), -EINVAL, "no bytes");
	expect_error(producer, evb_producer_commit(producer, 1, 1, 2), -EINVAL, "flags");
	expect_error(producer, evb_producer_commit(producer, UINT64_MAX, 1, 0), -EINVAL, "2^64-1");
	ring_fill(place, 64, A, 1);
	assert_int_equal(evb_producer_commit(producer, 1, 64, EVB_PRODUCER_INCOMPLETE), 0);
	assert_int_equal(evb_producer_reserve(producer, A, 64, &place), 0);
	expect_error(producer, evb_producer_commit(producer, 1, 64, 0), -EINVAL, "not larger");
	assert_int_equal(evb_producer_last(producer, A, &last), 1);
	assert_int_equal(last, 1);
	assert_int_equal(evb_producer_last(producer, B, &last), 0);
	assert_int_equal(evb_producer_last(producer, 8, &last), -EINVAL);
	assert_int_equal(ring_take(&bench, A, 1).flags, EVB_PRODUCER_INCOMPLETE);
	ring_bench_end(&bench, producer);
}

// The newest block must not end where the oldest begins: such a ring looks as if it were empty.
static void blocks__fill_all_but_the_last_bytes(void **state)
{
	struct ring_bench bench;
	struct evb_producer *producer;
	struct producer_block block;
	void *place;

	(void)state;
	producer = ring_bench_begin(&bench);
	for (unsigned i = 0; i < RING_SIZE / RING_LARGEST; i++)
		assert_int_equal(ring_put(producer, A, i, RING_LARGEST), 0);
	for (unsigned i = 0; i < 2; i++)
		producer_ring_release(bench.ring, ring_take(&bench, A, i).sequence);
	assert_int_equal(ring_put(producer, A, 100, RING_LARGEST), 0);
	assert_int_equal(evb_producer_reserve(producer, A, RING_LARGEST, &place), -EAGAIN);
	assert_int_equal(ring_put(producer, A, 101, RING_LARGEST - PRODUCER_ALIGNMENT), 0);
	assert_int_equal(evb_producer_reserve(producer, A, 1, &place), -EAGAIN);
	for (unsigned i = 2; i < RING_SIZE / RING_LARGEST; i++) {
		block = ring_take(&bench, A, i);
		producer_ring_release(bench.ring, block.sequence);
	}
	(void)ring_take(&bench, A, 100);
	(void)ring_take(&bench, A, 101);
	ring_bench_end(&bench, producer);
}

static void blocks__several_are_reserved_at_a_time(void **state)
{
	struct ring_bench bench;
	struct evb_producer *producer;
	void *first, *second, *third;

	(void)state;
	producer = ring_bench_begin(&bench);
	assert_int_equal(evb_producer_reserve(producer, A, 1000, &first), 0);
	assert_int_equal(evb_producer_reserve(producer, B, 1000, &second), 0);
	ring_fill(second, 900, B, 3);
	ring_fill(first, 1000, A, 3);
	assert_int_equal(evb_producer_commit(producer, 3, 1000, 0), 0);
	ring_take(&bench, A, 3);
	ring_take_none(&bench);
	assert_int_equal(evb_producer_commit(producer, 3, 900, 0), 0);
	ring_take(&bench, B, 3);
	// What the last one did not need returned to the ring; a cancelled one leaves no trace.
	assert_int_equal(evb_producer_reserve(producer, A, 1, &third), 0);
	assert_ptr_equal(third, (uint8_t *)second + 960);
	evb_producer_cancel(producer);
	assert_int_equal(evb_producer_reserve(producer, B, 1, &first), 0);
	assert_ptr_equal(first, third);
	ring_take_none(&bench);
	ring_bench_end(&bench, producer);
}

static size_t make_mfp(void *place, uint16_t source, uint64_t event_id, unsigned fragments)
{
	static const uint8_t types[4], *const payloads[4] = { types, types, types, types };
	static const uint16_t sizes[4] = { 1, 2, 3, 4 };
	struct mfp_header header = {
		.n_fragments = (uint16_t)fragments,
		.event_id = event_id,
		.source_id = source,
		.align_log2 = 2,
	};

	assert_int_equal(mfp_encode(place, 256, &header, types, sizes, payloads), WIRE_OK);
	return header.packet_size;
}

static void blocks__checked_mode_refuses_what_is_no_such_mfp(void **state)
{
	struct producer_ring_parameters parameters;
	struct ring_bench bench;
	struct evb_producer *producer;
	uint8_t *place;
	void *block;
	size_t length;

	(void)state;
	bench_make_directory(&bench.files);
	parameters = ring_parameters(&bench);
	parameters.packing = 4;
	ring_open(&bench, &parameters);
	producer = ring_producer(&bench, true);
	assert_int_equal(evb_producer_info(producer).packing, 4);
	assert_int_equal(evb_producer_reserve(producer, A, 256, &block), 0);
	place = block;
	length = make_mfp(place, A, 20, 4);
	expect_error(producer, evb_producer_commit(producer, 20, length - 1, 0), -EBADMSG,
		     "truncated");
	expect_error(producer, evb_producer_commit(producer, 20, length + 1, 0), -EBADMSG, "size");
	expect_error(producer, evb_producer_commit(producer, 21, length, 0), -EBADMSG,
		     "event id is 20, not 21");
	place[0] ^= 1;
	expect_error(producer, evb_producer_commit(producer, 20, length, 0), -EBADMSG, "bad_magic");
	length = make_mfp(place, B, 20, 4);
	expect_error(producer, evb_producer_commit(producer, 20, length, 0), -EBADMSG, "source id");
	length = make_mfp(place, A, 20, 3);
	expect_error(producer, evb_producer_commit(producer, 20, length, 0), -EBADMSG,
		     "number of fragments is 3, not 4");
	length = make_mfp(place, A, 20, 4);
	assert_int_equal(evb_producer_commit(producer, 20, length, 0), 0);
	ring_bench_end(&bench, producer);
}

static void blocks__levels_are_sticky(void **state)
{
	static const unsigned expected[RING_BLOCKS] = { 0,   0,   0,   0,   250, 250, 250, 250,
							500, 500, 500, 500, 750, 750, 875, 875 };
	struct ring_bench bench;
	struct evb_producer *producer;
	struct producer_block block;

	(void)state;
	producer = ring_bench_begin(&bench);
	for (unsigned i = 0; i < RING_BLOCKS - 1; i++) {
		assert_int_equal(evb_producer_level(producer), expected[i]);
		assert_int_equal(ring_put(producer, A, i, 1), 0);
	}
	for (unsigned i = 0; i < RING_BLOCKS - 1; i++) {
		block = ring_take(&bench, A, i);
		producer_ring_release(bench.ring, block.sequence);
	}
	assert_int_equal(evb_producer_level(producer), 875); // it was reached
	assert_int_equal(evb_producer_level(producer), 0);
	for (unsigned i = 0; i < 4; i++) // by memory
		assert_int_equal(ring_put(producer, A, 100 + i, RING_LARGEST), 0);
	assert_int_equal(evb_producer_level(producer), 500);
	ring_bench_end(&bench, producer);
}

static void blocks__end_of_data_is_told(void **state)
{
	struct ring_bench bench;
	struct evb_producer *producer;
	void *place;

	(void)state;
	producer = ring_bench_begin(&bench);
	assert_int_equal(ring_put(producer, A, 1, 1), 0);
	assert_int_equal(evb_producer_reserve(producer, A, 1, &place), 0);
	assert_int_equal(evb_producer_finish(producer), 0);
	expect_error(producer, evb_producer_reserve(producer, A, 1, &place), -EINVAL, "finished");
	assert_false(producer_ring_is_finished(bench.ring));
	(void)ring_take(&bench, A, 1);
	ring_take_none(&bench);
	assert_true(producer_ring_is_finished(bench.ring));
	evb_producer_close(producer);
	assert_true(producer_ring_is_finished(bench.ring));
	producer = ring_producer(&bench, false);
	assert_false(producer_ring_is_finished(bench.ring));
	ring_bench_end(&bench, producer);
}

static void blocks__producers_that_may_not_open(void **state)
{
	const struct evb_producer_options nowhere = { .directory = "/nonexistent" };
	struct evb_producer_options options = { 0 };
	struct ring_bench bench;
	struct evb_producer *producer, *other;
	int rc;

	(void)state;
	ring_bench_open(&bench);
	options.directory = bench.files.directory;
	rc = evb_producer_open(&other, BENCH_NAME, "a/b", &options);
	expect_error(other, rc, -EINVAL, "names");
	evb_producer_close(other);
	rc = evb_producer_open(&other, BENCH_NAME, "other", &options);
	expect_error(other, rc, -ENOENT, "no producer ring other of an appliance bench");
	evb_producer_close(other);
	rc = evb_producer_open(&other, BENCH_NAME, RING_NAME, &nowhere);
	expect_error(other, rc, -ENOENT, "/nonexistent");
	assert_int_equal(evb_producer_wait(other, 1, 0), -EMSGSIZE);
	evb_producer_close(other);
	producer = ring_producer(&bench, false);
	rc = evb_producer_open(&other, BENCH_NAME, RING_NAME, &options);
	expect_error(other, rc, -EBUSY, "fills it");
	evb_producer_close(other);
	evb_producer_close(producer);
	producer_ring_end(bench.ring);
	rc = evb_producer_open(&other, BENCH_NAME, RING_NAME, &options);
	expect_error(other, rc, -EPIPE, "ended");
	evb_producer_close(other);
	ring_bench_close(&bench);
}

static void refuse_parameters(struct ring_bench *bench, struct producer_ring_parameters parameters)
{
	struct producer_ring *ring;

	assert_int_equal(producer_ring_open(&ring, &parameters, bench->files.error), -EINVAL);
	assert_null(ring);
}

static void blocks__rings_that_are_not_possible(void **state)
{
	struct producer_ring_parameters good, bad;
	struct ring_bench bench;
	struct producer_ring *ring;

	(void)state;
	ring_bench_open(&bench);
	good = ring_parameters(&bench);
	assert_int_equal(producer_ring_open(&ring, &good, bench.files.error), -EEXIST);
	bad = good, bad.name = "a b", refuse_parameters(&bench, bad);
	bad = good, bad.appliance = NULL, refuse_parameters(&bench, bad);
	bad = good, bad.mode = 0640, refuse_parameters(&bench, bad);
	bad = good, bad.unix_group = "no such group", refuse_parameters(&bench, bad);
	bad = good, bad.max_block = RING_SIZE / 2 + 1, refuse_parameters(&bench, bad);
	bad = good, bad.blocks = PRODUCER_MAX_BLOCKS + 1, refuse_parameters(&bench, bad);
	bad = good, bad.blocks = 1, refuse_parameters(&bench, bad);
	bad = good, bad.n_sources = 0, refuse_parameters(&bench, bad);
	bad = good, bad.size = UINT64_MAX, refuse_parameters(&bench, bad);
	bad = good, bad.name = "other", bad.size = UINT64_C(1) << 45;
	assert_int_equal(producer_ring_open(&ring, &bad, bench.files.error), -ENOSPC);
	ring_bench_close(&bench); // and nothing else lies there
}

static void blocks__rings_beside_others(void **state)
{
	const char *group = "main";
	struct producer_ring_parameters parameters;
	struct evring_parameters event_ring;
	struct ring_bench bench;
	struct producer_ring *other;
	struct evb_producer *producer;

	(void)state;
	ring_bench_open(&bench);
	event_ring = bench_parameters(&bench.files, 4, &group);
	assert_int_equal(evring_create(&bench.files.ring, &event_ring, bench.files.error), 0);
	parameters = ring_parameters(&bench);
	parameters.name = "other";
	assert_int_equal(producer_ring_open(&other, &parameters, bench.files.error), 0);
	producer = ring_producer(&bench, false);
	assert_int_equal(ring_put(producer, A, 1, 1), 0);
	producer_ring_destroy(other);
	evring_destroy(bench.files.ring);
	assert_int_equal(evring_clean(NULL, bench.files.directory, bench.files.error), 0);
	assert_int_equal(ring_put(producer, A, 2, 1), 0);
	(void)ring_take(&bench, A, 1);
	(void)ring_take(&bench, A, 2);
	ring_bench_end(&bench, producer);
}

static void blocks__files_have_the_modes_asked_for(void **state)
{
	struct producer_ring_parameters parameters;
	struct ring_bench bench;
	struct stat status;
	char place[128];

	(void)state;
	bench_make_directory(&bench.files);
	parameters = ring_parameters(&bench);
	parameters.mode = 0666;
	ring_open(&bench, &parameters);
	assert_int_equal(stat(producer_ring_path(bench.ring), &status), 0);
	assert_int_equal(status.st_mode & 07777, 0666);
	snprintf(place, sizeof(place), "%s/evb-" BENCH_NAME, bench.files.directory);
	assert_int_equal(stat(place, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0755);
	ring_bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks__are_taken_in_order),
		cmocka_unit_test(blocks__reservations_are_refused_with_a_cause),
		cmocka_unit_test(blocks__commits_are_refused_with_a_cause),
		cmocka_unit_test(blocks__fill_all_but_the_last_bytes),
		cmocka_unit_test(blocks__several_are_reserved_at_a_time),
		cmocka_unit_test(blocks__checked_mode_refuses_what_is_no_such_mfp),
		cmocka_unit_test(blocks__levels_are_sticky),
		cmocka_unit_test(blocks__end_of_data_is_told),
		cmocka_unit_test(blocks__producers_that_may_not_open),
		cmocka_unit_test(blocks__rings_that_are_not_possible),
		cmocka_unit_test(blocks__rings_beside_others),
		cmocka_unit_test(blocks__files_have_the_modes_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
