// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Decisions of members of two builders, in the order of events: in a file, as datagrams, and as
// blocks of an event ring.
#include "results_bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "evring/evb_results.h"
#include "wire/wire.h"

static void make_rings(const char *directory, struct evring *rings[BUILDERS])
{
	static const char *const groups[] = { "filter", "results" };
	static const struct evring_group_rules rules[] = {
		{ .decides = true }, { .after = "filter", .rejected_too = true }
	};

	make_rings_with(directory, rings, groups, 2, rules);
}

// Decides about all events, the last one first; event 3 is released undecided.
static void filter(const char *directory)
{
	const struct evb_reader_options options = { .group = "filter", .directory = directory };
	struct evb_event events[EVENTS];
	struct evb_reader *reader;

	assert_int_equal(evb_reader_open(&reader, RING_NAME, &options), 0);
	for (unsigned i = 0; i < EVENTS; i++)
		assert_int_equal(evb_reader_next(reader, &events[i], 0), 1);
	for (unsigned i = EVENTS; i-- > 0;) {
		const uint64_t n = events[i].event_id / PACKING;
		const struct evb_decision decision = {
			.accept = n % 2 != 0,
			.lines = UINT64_C(1) << n,
			.tag = (uint32_t)n + 5,
		};

		if (n != 3)
			assert_int_equal(evb_reader_decide(reader, &events[i], &decision), 0);
		assert_int_equal(evb_reader_release(reader, &events[i]), 0);
	}
	evb_reader_close(reader);
}

static void expect_header(const uint8_t *unit, uint64_t number)
{
	assert_memory_equal(unit, "EVBDECID", 8);
	assert_int_equal(load_le32(unit + 8), 1);
	assert_int_equal(load_le32(unit + 12), UNIT);
	assert_int_equal(load_le32(unit + 16), RUN);
	assert_int_equal(load_le32(unit + 20), PACKING);
	assert_int_equal(load_le64(unit + 24), number);
}

static void expect_record(const uint8_t *unit, uint64_t n)
{
	const bool undecided = n == 3;

	assert_int_equal(load_le64(unit), n * PACKING);
	assert_int_equal(load_le64(unit + 8), undecided ? 0 : UINT64_C(1) << n);
	assert_int_equal(load_le32(unit + 16), undecided ? 0 : n + 5);
	assert_int_equal(load_le16(unit + 24), n % BUILDERS);
	assert_int_equal(unit[27], undecided    ? DECISION_ACCEPTED | DECISION_UNDECIDED
				   : n % 2 != 0 ? DECISION_ACCEPTED
						: 0);
	assert_int_equal(load_le32(unit + 28), 0);
}

// The life of a results role from the first event to the end of the run, when `end` is called.
static void run(const char *directory, const struct results_parameters *parameters,
		void (*end)(const char *directory, struct role *role))
{
	struct evring *rings[BUILDERS];
	char error[RESULTS_ERROR_SIZE];
	struct role *role;

	make_rings(directory, rings);
	role = results_role_create(parameters, error);
	if (role == NULL)
		fail_msg("%s", error);
	for (uint64_t n = 0; n < EVENTS; n++)
		publish(rings[n % BUILDERS], (uint32_t)(n / BUILDERS), n * PACKING);
	role->operations->poll(role, 0);
	assert_int_equal(results_role_held(role), EVENTS);
	filter(directory);
	for (unsigned b = 0; b < BUILDERS; b++)
		evring_end(rings[b]);
	while (!role->operations->drain(role, 0))
		;
	assert_int_equal(results_role_held(role), 0);
	assert_int_equal(results_role_stream(role)->records, EVENTS);
	assert_int_equal(results_role_stream(role)->lost, 0);
	assert_int_equal(results_role_order(role)->undecided, 1);
	assert_int_equal(results_role_order(role)->accepted, EVENTS / 2 - 1);
	assert_int_equal(results_role_order(role)->rejected, EVENTS / 2);
	for (unsigned b = 0; b < BUILDERS; b++) {
		uint32_t slots[SLOTS];

		assert_int_equal(evring_reclaim(rings[b], slots, SLOTS), SLOTS);
		evring_destroy(rings[b]);
	}
	if (end != NULL)
		end(directory, role);
	role->operations->fini(role);
}

static void results__are_in_the_order_of_events(void **state)
{
	const struct results_parameters parameters = make_results(*state);
	char path[PATH_SIZE];
	uint8_t *bytes;
	size_t size;

	run(*state, &parameters, NULL);
	path_in(path, *state, FILE_NAME);
	bytes = read_file(path, &size);
	assert_int_equal(size, (1 + EVENTS) * UNIT);
	expect_header(bytes, 0);
	for (uint64_t n = 0; n < EVENTS; n++)
		expect_record(bytes + (1 + n) * UNIT, n);
	free(bytes);
}

#define NO_ORIGIN 6u // own number of an event whose block is no built event

// The number of the event of the first stage that is the block of event n, and the reverse.
static uint64_t origin(uint64_t n)
{
	return n ^ 5;
}

// The event of a second stage.
static void publish_next(struct evring *ring, uint32_t slot, uint64_t n)
{
	static uint8_t inner[MEP_ROOM], mfp[MEP_ROOM];
	struct evring_event event = { .event_id = n * PACKING, .n_sources = 1 };
	struct mfp_header header = { .event_id = n * PACKING, .source_id = 1 };
	const size_t length = make_file_mep(inner, origin(n) * PACKING);
	const size_t size = MFP_HEADER_SIZE + length;
	const uint8_t *mfps = mfp;

	assert_true(size <= sizeof(mfp));
	assert_int_equal(mfp_encode_header(mfp, sizeof(mfp), &header, NULL, NULL), WIRE_OK);
	store_le32(mfp + 4, (uint32_t)size);
	memcpy(mfp + MFP_HEADER_SIZE, inner, length);
	if (n == NO_ORIGIN)
		mfp[MFP_HEADER_SIZE] ^= 1;
	evring_begin(ring, slot);
	event.length = make_mep(evring_slot(ring, slot), MEP_ROOM, 1, &mfps, &size);
	evring_publish(ring, slot, &event);
}

static void results__by_the_events_of_the_first_stage(void **state)
{
	struct results_parameters parameters = make_results(*state);
	struct evring *rings[BUILDERS];
	char error[RESULTS_ERROR_SIZE], path[PATH_SIZE];
	uint8_t *bytes, *record;
	struct role *role;
	size_t size;

	parameters.origins = true;
	make_rings(*state, rings);
	role = results_role_create(&parameters, error);
	assert_non_null(role);
	for (uint64_t n = 0; n < EVENTS; n++)
		publish_next(rings[n % BUILDERS], (uint32_t)(n / BUILDERS), n);
	filter(*state);
	for (unsigned b = 0; b < BUILDERS; b++)
		evring_end(rings[b]);
	while (!role->operations->drain(role, 0))
		;
	assert_int_equal(results_role_order(role)->late, 1);
	role->operations->fini(role);
	for (unsigned b = 0; b < BUILDERS; b++)
		evring_destroy(rings[b]);
	path_in(path, *state, FILE_NAME);
	bytes = read_file(path, &size);
	assert_int_equal(size, EVENTS * UNIT);
	record = bytes + UNIT;
	for (uint64_t n = 0; n < EVENTS; n++) {
		if (origin(n) == NO_ORIGIN)
			continue;
		assert_int_equal(load_le64(record), n * PACKING);
		assert_int_equal(load_le64(record + 8),
				 origin(n) == 3 ? 0 : UINT64_C(1) << origin(n));
		assert_int_equal(load_le16(record + 24), origin(n) % BUILDERS);
		record += UNIT;
	}
	free(bytes);
}

static void results__are_sent_as_datagrams(void **state)
{
	struct results_parameters parameters = make_results(*state);
	const int receiver = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);
	uint8_t bytes[2048];

	assert_int_equal(bind(receiver, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(receiver, (struct sockaddr *)&at, &length), 0);
	parameters.stream.directory = NULL;
	parameters.stream.address = INADDR_LOOPBACK;
	parameters.stream.port = ntohs(at.sin_port);
	run(*state, &parameters, NULL);
	for (uint64_t n = 0; n < EVENTS;) {
		const ssize_t size = recv(receiver, bytes, sizeof(bytes), 0);

		assert_true(size >= 2 * (ssize_t)UNIT && size % (ssize_t)UNIT == 0);
		expect_header(bytes, n);
		for (ssize_t at_byte = UNIT; at_byte < size; at_byte += UNIT)
			expect_record(bytes + at_byte, n++);
	}
	close(receiver);
}

// --- in an event ring ---

static void read_block(const char *directory, struct role *role)
{
	struct evb_reader *reader = open_reader(directory, EVB_READER_GROUP);
	struct evring_group_state group;
	struct evb_results results;
	struct evb_result result = { 0 };
	struct evb_event event;

	assert_true(evring_group(results_role_ring(role), 0, &group));
	assert_string_equal(group.name, "list");
	assert_int_equal(group.lag, 1);
	assert_int_equal(results_role_finish(role), 1);
	assert_int_equal(evb_reader_next(reader, &event, 0), 1);
	assert_int_equal(event.length, (1 + EVENTS) * UNIT);
	assert_int_equal(event.run_number, RUN);
	expect_header(event.data, 0);
	assert_int_equal(evb_results_open(&results, event.data, event.length), 0);
	assert_int_equal(results.run_number, RUN);
	assert_int_equal(results.packing, PACKING);
	assert_int_equal(results.first, 0);
	for (uint64_t n = 0; n < EVENTS; n++) {
		expect_record((const uint8_t *)event.data + (1 + n) * UNIT, n);
		assert_true(evb_results_next(&results, &result));
		assert_int_equal(result.event_id, n * PACKING);
		assert_int_equal(result.lines, n == 3 ? 0 : UINT64_C(1) << n);
		assert_int_equal(result.tag, n == 3 ? 0 : n + 5);
		assert_int_equal(result.builder, n % BUILDERS);
		assert_int_equal(result.flags & EVB_RESULT_UNDECIDED, n == 3 ? 2 : 0);
		assert_int_equal(result.flags & EVB_RESULT_ACCEPTED, n % 2);
	}
	assert_false(evb_results_next(&results, &result));
	assert_int_equal(results_role_finish(role), 1); // it is held
	assert_int_equal(evb_reader_release(reader, &event), 0);
	assert_int_equal(evb_reader_next(reader, &event, 0), -EPIPE);
	assert_int_equal(results_role_finish(role), 0);
	evb_reader_close(reader);
}

static void results__are_blocks_of_a_ring(void **state)
{
	struct results_parameters parameters = make_results(*state);

	parameters.stream = make_ring_stream(*state, 4, 1);
	run(*state, &parameters, read_block);
}

static void limit_files(rlim_t size)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = size;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

// A file that takes only a part of what is written has it all in the end.
static void stream__waits_for_room_on_the_disk(void **state)
{
	const struct results_parameters parameters = make_results(*state);
	struct decision_stream *stream;
	char error[DECISION_STREAM_ERROR_SIZE], path[PATH_SIZE];
	struct decision_result result = { 0 };
	uint8_t *bytes;
	size_t size;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(decision_stream_open(&stream, &parameters.stream, error), 0);
	limit_files(3 * UNIT + 5);
	for (unsigned i = 0; i < 6; i++) {
		result.event_id = i;
		decision_stream_add(stream, &result);
	}
	decision_stream_flush(stream);
	assert_int_equal(decision_stream_counters(stream)->records, 2);
	assert_int_equal(decision_stream_counters(stream)->pauses, 1);
	limit_files(RLIM_INFINITY);
	decision_stream_close(stream);
	path_in(path, *state, FILE_NAME);
	bytes = read_file(path, &size);
	assert_int_equal(size, 7 * UNIT);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(load_le64(bytes + (1 + i) * UNIT), i);
	free(bytes);
	assert_int_equal(decision_stream_open(&stream, &parameters.stream, error), 0);
	assert_non_null(strstr(decision_stream_name(stream), "d-run000077-0001.decisions"));
	decision_stream_close(stream);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(results__are_in_the_order_of_events),
		TEST(results__by_the_events_of_the_first_stage),
		TEST(results__are_sent_as_datagrams),
		TEST(results__are_blocks_of_a_ring),
		TEST(stream__waits_for_room_on_the_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
