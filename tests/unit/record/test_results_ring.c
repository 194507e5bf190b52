// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Blocks of decisions in an event ring: what a ring holds back and loses, and how the results of
// another evb are written from it.
#include "results_bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "evring/evb_results.h"
#include "wire/wire.h"

// Adds results until there is no room. Returns the number of the next one.
static uint64_t fill(struct decision_stream *stream, uint64_t next, unsigned most)
{
	struct decision_result result = { 0 };

	for (unsigned i = 0; i < most && decision_stream_room(stream) > 0; i++) {
		result.event_id = PACKING * next++;
		decision_stream_add(stream, &result);
	}
	return next;
}

// Reads a block of `n` results, the first of which has number `first`, and releases it.
static void take_block(struct evb_reader *reader, uint64_t first, uint64_t n)
{
	struct evb_results results;
	struct evb_result result = { 0 };
	struct evb_event event;

	assert_int_equal(evb_reader_next(reader, &event, 0), 1);
	assert_int_equal(event.event_id, PACKING * first);
	assert_int_equal(evb_results_open(&results, event.data, event.length), 0);
	assert_int_equal(results.first, first);
	assert_int_equal(results.n, n);
	while (evb_results_next(&results, &result))
		assert_int_equal(result.event_id, PACKING * first++);
	assert_int_equal(evb_reader_release(reader, &event), 0);
}

static void ring__waits_for_its_groups(void **state)
{
	const struct decision_stream_parameters parameters = make_ring_stream(*state, 2, 1);
	const struct decision_stream_counters *counters;
	char error[DECISION_STREAM_ERROR_SIZE];
	struct decision_stream *stream, *second;
	struct evb_reader *reader;
	struct evb_event event;

	assert_int_equal(decision_stream_open(&stream, &parameters, error), 0);
	assert_string_equal(decision_stream_name(stream), "ring://" DECISIONS);
	assert_int_equal(decision_stream_open(&second, &parameters, error), -1);
	assert_non_null(strstr(error, "event ring " DECISIONS ": "));
	counters = decision_stream_counters(stream);
	assert_int_equal(fill(stream, 0, 10 * PER_BLOCK), 3 * PER_BLOCK); // two slots, one buffer
	assert_int_equal(decision_stream_room(stream), 0);
	assert_int_equal(decision_stream_pending(stream), PER_BLOCK);
	assert_int_equal(counters->records, 2 * PER_BLOCK);
	assert_int_equal(counters->pauses, 1);
	reader = open_reader(*state, EVB_READER_GROUP);
	take_block(reader, 0, PER_BLOCK);
	assert_int_equal(decision_stream_room(stream), PER_BLOCK);
	assert_int_equal(fill(stream, 3 * PER_BLOCK, 5), 3 * PER_BLOCK + 5);
	assert_int_equal(decision_stream_finish(stream), 2); // has not ended: 5 results wait
	assert_int_equal(counters->pauses, 2);
	take_block(reader, PER_BLOCK, PER_BLOCK);
	take_block(reader, 2 * PER_BLOCK, PER_BLOCK);
	assert_int_equal(evb_reader_next(reader, &event, 0), 0);
	assert_int_equal(decision_stream_finish(stream), 1);
	take_block(reader, 3 * PER_BLOCK, 5);
	assert_int_equal(evb_reader_next(reader, &event, 0), -EPIPE);
	assert_int_equal(decision_stream_finish(stream), 0);
	assert_int_equal(counters->records, 3 * PER_BLOCK + 5);
	assert_int_equal(counters->lost, 0);
	evb_reader_close(reader);
	decision_stream_close(stream);
	assert_int_equal(count_files(*state), 0);
}

static void ring__does_not_wait_for_spies(void **state)
{
	const struct decision_stream_parameters parameters = make_ring_stream(*state, 3, 0);
	char error[DECISION_STREAM_ERROR_SIZE];
	struct decision_stream *stream;
	struct evb_reader *spy;
	struct evb_event event;

	assert_int_equal(decision_stream_open(&stream, &parameters, error), 0);
	spy = open_reader(*state, EVB_READER_SPY);
	assert_int_equal(fill(stream, 0, 100 * PER_BLOCK), 100 * PER_BLOCK);
	decision_stream_flush(stream);
	assert_int_equal(decision_stream_counters(stream)->records, 100 * PER_BLOCK);
	assert_int_equal(decision_stream_counters(stream)->pauses, 0);
	assert_int_equal(evb_reader_next(spy, &event, 0), 1);
	(void)fill(stream, 100 * PER_BLOCK, 2 * PER_BLOCK); // the slot is the next but two
	decision_stream_flush(stream);
	assert_true(evb_event_intact(spy, &event));
	evb_reader_close(spy);
	decision_stream_close(stream);
}

static void ring__that_is_cut_loses_results(void **state)
{
	const struct decision_stream_parameters parameters = make_ring_stream(*state, 2, 1);
	char error[DECISION_STREAM_ERROR_SIZE];
	struct decision_stream *stream;

	assert_int_equal(decision_stream_open(&stream, &parameters, error), 0);
	assert_int_equal(truncate(evring_path(decision_stream_ring(stream)), 0), 0);
	assert_int_equal(fill(stream, 0, 10 * PER_BLOCK), 10 * PER_BLOCK);
	assert_int_equal(decision_stream_finish(stream), 0);
	assert_int_equal(decision_stream_counters(stream)->lost, 10 * PER_BLOCK);
	assert_int_equal(decision_stream_counters(stream)->records, 0);
	decision_stream_close(stream);
}

// --- from the event ring of another evb ---

static struct role *make_role(const struct results_parameters *parameters)
{
	char error[RESULTS_ERROR_SIZE];
	struct role *role = results_role_create(parameters, error);

	if (role == NULL)
		fail_msg("%s", error);
	return role;
}

static struct results_parameters make_results_from(const char *directory)
{
	struct results_parameters parameters = make_results(directory);

	parameters.order.accept_timed_out = true;
	parameters.input = (struct decision_input_parameters){
		.ring = DECISIONS,
		.group = "list",
		.directory = directory,
		.run_number = RUN,
		.packing = PACKING,
	};
	return parameters;
}

static struct decision_stream *open_stream(const struct decision_stream_parameters *parameters)
{
	char error[DECISION_STREAM_ERROR_SIZE];
	struct decision_stream *stream;

	if (decision_stream_open(&stream, parameters, error) != 0)
		fail_msg("%s", error);
	return stream;
}

// Puts the decisions about events from `first` on, but NOBODY, into the ring.
#define NOBODY 3u

static void decide(struct decision_stream *stream, uint64_t first, uint64_t end)
{
	for (uint64_t n = first; n < end; n++) {
		const struct decision_result result = {
			.event_id = n * PACKING,
			.lines = UINT64_C(1) << n,
			.tag = (uint32_t)n + 5,
			.builder = 9,
			.flags = n % 2 != 0 ? DECISION_ACCEPTED : 0,
		};

		if (n != NOBODY)
			decision_stream_add(stream, &result);
	}
	decision_stream_flush(stream);
}

static void expect_decided(const uint8_t *unit, uint64_t n)
{
	const bool decided = n != NOBODY;

	assert_int_equal(load_le64(unit), n * PACKING);
	assert_int_equal(load_le64(unit + 8), decided ? UINT64_C(1) << n : 0);
	assert_int_equal(load_le32(unit + 16), decided ? n + 5 : 0);
	assert_int_equal(load_le16(unit + 24), decided ? 9 : n % BUILDERS);
	assert_int_equal(unit[27], !decided     ? DECISION_ACCEPTED | DECISION_TIMED_OUT
				   : n % 2 != 0 ? DECISION_ACCEPTED
						: 0);
}

// Polls until the ring is open, for which the role looks every 0.1 s.
static void poll_until_open(struct role *role)
{
	while (!results_role_reads(role)) {
		role->operations->poll(role, 0);
		usleep(1000);
	}
}

static void drain(struct role *role)
{
	while (!role->operations->drain(role, 0))
		;
}

// The events are known by the rings of this evb, the decisions come from the other one.
static void results__of_another_evb(void **state)
{
	static const char *const groups[] = { "results" };
	const struct decision_stream_parameters there = make_ring_stream(*state, 4, 1);
	const struct results_parameters parameters = make_results_from(*state);
	struct role *role;
	struct decision_stream *stream;
	struct evring *rings[BUILDERS];
	char path[PATH_SIZE];
	uint8_t *bytes;
	size_t size;

	make_rings_with(*state, rings, groups, 1, NULL);
	role = make_role(&parameters);
	for (uint64_t n = 0; n < EVENTS; n++)
		publish(rings[n % BUILDERS], (uint32_t)(n / BUILDERS), n * PACKING);
	role->operations->poll(role, 0);
	assert_false(results_role_reads(role));
	assert_int_equal(results_role_held(role), EVENTS);
	stream = open_stream(&there);
	poll_until_open(role);
	decide(stream, 0, 5);
	decide(stream, 5, EVENTS);
	role->operations->poll(role, 0);
	for (unsigned b = 0; b < BUILDERS; b++)
		evring_end(rings[b]);
	for (unsigned i = 0; i < 10; i++) // the other evb goes on, and may decide
		assert_false(role->operations->drain(role, 0));
	assert_int_equal(decision_stream_finish(stream), 2); // nothing is written yet
	drain(role);
	assert_int_equal(decision_stream_finish(stream), 0);
	assert_int_equal(results_role_order(role)->timed_out, 1);
	assert_int_equal(results_role_order(role)->late, 0);
	role->operations->fini(role);
	decision_stream_close(stream);
	for (unsigned b = 0; b < BUILDERS; b++)
		evring_destroy(rings[b]);
	path_in(path, *state, FILE_NAME);
	bytes = read_file(path, &size);
	assert_int_equal(size, (1 + EVENTS) * UNIT);
	for (uint64_t n = 0; n < EVENTS; n++)
		expect_decided(bytes + (1 + n) * UNIT, n);
	free(bytes);
}

// A process that ends before it has written what it got: the next one gets it again.
static void results__of_another_evb_survive(void **state)
{
	const struct decision_stream_parameters there = make_ring_stream(*state, 4, 1);
	struct results_parameters parameters = make_results_from(*state);
	struct decision_stream *stream = open_stream(&there);
	struct role *role;
	char path[PATH_SIZE];
	uint8_t *bytes, *record;
	size_t size;

	parameters.appliance = NULL;
	for (uint64_t n = 0; n < EVENTS; n += 4)
		decide(stream, n, n + 4);
	role = make_role(&parameters);
	role->operations->poll(role, 0);
	assert_int_equal(results_role_held(role), EVENTS - 1);
	role->operations->fini(role);
	role = make_role(&parameters);
	role->operations->poll(role, 0);
	assert_int_equal(results_role_held(role), EVENTS - 1);
	assert_int_equal(decision_stream_finish(stream), 4);
	drain(role);
	assert_int_equal(decision_stream_finish(stream), 0);
	role->operations->fini(role);
	decision_stream_close(stream);
	path_in(path, *state, "d-run000077-0001.decisions");
	bytes = read_file(path, &size);
	assert_int_equal(size, EVENTS * UNIT);
	record = bytes + UNIT;
	for (uint64_t n = 0; n < EVENTS; n++)
		if (n != NOBODY) {
			expect_decided(record, n);
			record += UNIT;
		}
	free(bytes);
}

static void results__of_another_run_are_refused(void **state)
{
	struct decision_stream_parameters there = make_ring_stream(*state, 4, 1);
	const struct results_parameters parameters = make_results_from(*state);
	struct results_parameters alone = parameters;
	struct decision_stream *stream;
	struct role *role;

	alone.appliance = NULL;
	for (unsigned i = 0; i < 2; i++) {
		there.run_number = RUN + 1 - i;
		there.packing = PACKING + i;
		stream = open_stream(&there);
		decide(stream, 0, EVENTS);
		role = make_role(&alone);
		role->operations->poll(role, 0);
		assert_int_equal(results_role_order(role)->late, EVENTS - 1);
		assert_int_equal(results_role_held(role), 0);
		assert_int_equal(decision_stream_finish(stream), 0); // it has released the block
		drain(role);
		role->operations->fini(role);
		decision_stream_close(stream);
	}
}

static void block__is_checked(void **state)
{
	uint8_t bytes[4 * UNIT] = "EVBDECID";
	struct evb_results results;
	struct evb_result result = { 0 };

	(void)state;
	store_le32(bytes + 8, 1);
	store_le32(bytes + 12, UNIT);
	for (size_t length = 0; length < UNIT; length++)
		assert_int_equal(evb_results_open(&results, bytes, length), -EBADMSG);
	for (size_t length = UNIT; length <= sizeof(bytes); length++) {
		assert_int_equal(evb_results_open(&results, bytes, length), 0);
		for (size_t n = 1; n < length / UNIT; n++)
			assert_true(evb_results_next(&results, &result));
		assert_false(evb_results_next(&results, &result));
	}
	for (unsigned i = 0; i < 16; i++) {
		bytes[i] ^= 0x80;
		assert_int_equal(evb_results_open(&results, bytes, sizeof(bytes)), -EBADMSG);
		bytes[i] ^= 0x80;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ring__waits_for_its_groups),      TEST(ring__does_not_wait_for_spies),
		TEST(ring__that_is_cut_loses_results), TEST(results__of_another_evb),
		TEST(results__of_another_evb_survive), TEST(results__of_another_run_are_refused),
		cmocka_unit_test(block__is_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
