// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Decisions of members of two builders, in the order of events: in a file, as datagrams, and as
// blocks of an event ring.
#include "helpers.h"

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
#include "record/results_role.h"
#include "wire/wire.h"

#define BUILDERS  2u
#define SLOTS     8u
#define PACKING   10u
#define EVENTS    (BUILDERS * SLOTS)
#define UNIT      DECISION_STREAM_UNIT
#define FILE_NAME "d-run000077-0000.decisions"

static void make_rings(const char *directory, struct evring *rings[BUILDERS])
{
	static const char *const groups[] = { "filter", "results" };
	static const struct evring_group_rules rules[] = {
		{ .decides = true }, { .after = "filter", .rejected_too = true }
	};
	struct evring_parameters parameters = {
		.name = RING_NAME,
		.directory = directory,
		.memory = EVRING_SHM,
		.n_builders = BUILDERS,
		.run_number = RUN,
		.slots = SLOTS,
		.slot_size = MEP_ROOM,
		.groups = groups,
		.n_groups = 2,
		.rules = rules,
	};
	char error[EVRING_ERROR_SIZE];

	for (; parameters.builder < BUILDERS; parameters.builder++)
		if (evring_create(&rings[parameters.builder], &parameters, error) != 0)
			fail_msg("%s", error);
}

static struct results_parameters make_results(const char *directory)
{
	return (struct results_parameters){
		.name = "results.r",
		.appliance = RING_NAME,
		.reader = { .group = "results", .directory = directory },
		.order = { .window = 64, .packing = PACKING, .timeout_ns = 3600000000000 },
		.stream = { .directory = directory,
			    .prefix = "d",
			    .run_number = RUN,
			    .packing = PACKING },
	};
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

#define DECISIONS "decisions" // name of the ring
#define PER_BLOCK DECISION_STREAM_PER_BLOCK

static struct decision_stream_parameters make_ring_stream(const char *directory, uint32_t slots,
							  unsigned n_groups)
{
	static const char *const groups[] = { "list" };

	return (struct decision_stream_parameters){
		.run_number = RUN,
		.packing = PACKING,
		.ring = { .name = DECISIONS,
			  .directory = directory,
			  .run_number = RUN,
			  .slots = slots,
			  .groups = groups,
			  .n_groups = n_groups },
	};
}

static struct evb_reader *open_reader(const char *directory, enum evb_reader_mode mode)
{
	const struct evb_reader_options options = { mode, "list", directory };
	struct evb_reader *reader;

	assert_int_equal(evb_reader_open(&reader, DECISIONS, &options), 0);
	return reader;
}

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
		TEST(ring__waits_for_its_groups),
		TEST(ring__does_not_wait_for_spies),
		TEST(ring__that_is_cut_loses_results),
		cmocka_unit_test(block__is_checked),
		TEST(stream__waits_for_room_on_the_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
