// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A readout whose store has the events of an earlier process.
#include "stubs.h"

#define SOURCES 2u
#define BUFFER  16u
#define HZ      1000u
#define MOST    64u

static const uint16_t ids[SOURCES] = { 3, 4 };

struct bench {
	struct block_store store;
	struct readout_logic logic;
	struct readout_counters counters;
	uint64_t begun;      // event with which the store has begun; UINT64_MAX: it has not
	uint64_t sent[MOST]; // segments, by event
	unsigned n_answers;  // MESSAGE_SENT
	uint64_t announced;
	enum readout_reach reach; // of the builder
};

static struct bench bench;

// --- store and output ---

static struct store_block find(struct block_store *store, uint64_t event, unsigned source)
{
	static const uint8_t bytes[8];

	(void)source;
	if (event < store->released || event >= store->ready)
		return (struct store_block){ .is_missing = true };
	return (struct store_block){ .bytes = bytes, .size = sizeof(bytes) };
}

static void begin(struct block_store *store, uint64_t first)
{
	bench.begun = store->released = store->ready = first;
}

static void release(struct block_store *store, uint64_t event)
{
	store->released = event;
}

static enum readout_reach reach(void *context, unsigned builder)
{
	(void)context;
	(void)builder;
	return bench.reach;
}

static bool send(void *context, const struct packet_segment *at, const struct store_block *block,
		 uint32_t size, uint64_t now)
{
	(void)context;
	(void)block;
	(void)size;
	(void)now;
	assert_true(at->event < MOST);
	bench.sent[at->event]++;
	return true;
}

static bool to_control(void *context, const struct message *message)
{
	(void)context;
	if (message->kind == MESSAGE_ANNOUNCE)
		bench.announced = message->event;
	bench.n_answers += message->kind == MESSAGE_SENT;
	return true;
}

// --- the bench ---

static const struct block_store_operations operations = {
	.find = find,
	.begin = begin,
	.release = release,
};

static const struct readout_output output = {
	.find = reach,
	.may_send = stub_may_send,
	.send = send,
	.finish = stub_finish,
	.to_control = to_control,
};

static void open_bench(bool is_static, bool resumes)
{
	const struct readout_logic_parameters parameters = {
		.store = &bench.store,
		.n_builders = 1,
		.n_nodes = 2,
		.is_static = is_static,
		.source_buffer = BUFFER,
		.pace = { .n_sources = SOURCES,
			  .node_sources = SOURCES,
			  .system_sources = SOURCES },
		.segment_size = 8,
		.ticks_per_second = HZ,
		.output = &output,
	};

	bench = (struct bench){ .begun = UINT64_MAX, .reach = READOUT_LOCAL };
	bench.store = (struct block_store){
		.operations = &operations,
		.ids = ids,
		.n_sources = SOURCES,
		.packing = 1,
		.capacity = MOST,
		.end = UINT64_MAX,
		.resumes = resumes,
		.is_inheriting = resumes,
		.resumes_at = UINT64_MAX,
	};
	assert_true(readout_logic_make(&bench.logic, &parameters, &bench.counters, 1));
}

static int close_bench(void **state)
{
	(void)state;
	readout_logic_free(&bench.logic);
	return 0;
}

static void give(enum message_kind kind, uint64_t event, unsigned flags)
{
	const struct message message = {
		.kind = (uint16_t)kind,
		.event = event,
		.run = 1,
		.state = CTRL_RUNNING,
		.n_positions = 1,
		.flags = (uint16_t)flags,
	};

	readout_logic_message(&bench.logic, &message, 1);
	readout_logic_adapt(&bench.logic, 1);
}

static void poll_some(void)
{
	for (unsigned i = 0; i < 40; i++) {
		readout_logic_tend(&bench.logic, 1);
		(void)readout_logic_step(&bench.logic, 1);
	}
}

// --- tests ---

// The grants of open events come before the store has taken their blocks from memory again.
static void grant__waits_for_what_is_inherited(void **state)
{
	(void)state;
	open_bench(false, true);
	give(MESSAGE_SEND, 7, MESSAGE_REQUESTED); // a builder knows no run
	poll_some();
	assert_int_equal(bench.n_answers, 0);
	give(MESSAGE_RUN, 5, 0);
	give(MESSAGE_SEND, 6, 0);
	poll_some();
	assert_int_equal(bench.begun, 5);
	assert_int_equal(bench.sent[6] + bench.sent[7], 0);
	bench.store.ready = 8;
	bench.store.is_inheriting = false;
	poll_some();
	assert_int_equal(bench.sent[6], SOURCES);
	assert_int_equal(bench.sent[7], SOURCES);
	assert_int_equal(bench.n_answers, 1);
	assert_int_equal(bench.counters.gone, 0);
}

// The manager may have stopped announcements while the events wait for data.
static void grant__of_an_inherited_event_needs_no_announcement(void **state)
{
	(void)state;
	open_bench(false, true);
	give(MESSAGE_RUN, 5, 0);
	readout_logic_message(&bench.logic,
			      &(struct message){ .kind = MESSAGE_THROTTLE, .state = 1 }, 1);
	poll_some();
	bench.store.ready = 8;
	bench.store.is_inheriting = false;
	give(MESSAGE_SEND, 6, 0);
	give(MESSAGE_SEND, 4, 0); // is released
	give(MESSAGE_SEND, 8, 0); // nobody has announced it
	poll_some();
	assert_int_equal(bench.announced, 0);
	assert_int_equal(bench.sent[6], SOURCES);
	assert_int_equal(bench.sent[4] + bench.sent[8], 0);
	assert_int_equal(bench.counters.gone, 2);
}

// A store that does not outlive its process has nothing to wait for.
static void grant__of_an_event_that_died_is_gone(void **state)
{
	(void)state;
	open_bench(false, false);
	give(MESSAGE_SEND, 7, MESSAGE_REQUESTED);
	give(MESSAGE_RUN, 9, 0);
	poll_some();
	assert_int_equal(bench.n_answers, 1);
	assert_int_equal(bench.counters.gone, 1);
}

static void inherited_events__are_announced(void **state)
{
	(void)state;
	open_bench(false, true);
	give(MESSAGE_RUN, 5, 0);
	poll_some();
	bench.store.ready = 30;
	bench.store.is_inheriting = false;
	poll_some();
	assert_int_equal(bench.announced, 5 + BUFFER);
}

// Nobody else knows what the process before has sent.
static void static_mode__begins_with_the_oldest_event(void **state)
{
	(void)state;
	open_bench(true, true);
	bench.store.resumes_at = 12;
	give(MESSAGE_RUN, 20, 0);
	poll_some();
	assert_int_equal(bench.begun, 12);
	bench.store.ready = 22;
	bench.store.is_inheriting = false;
	poll_some();
	poll_some();
	assert_int_equal(bench.sent[11], 0);
	for (uint64_t event = 12; event < 22; event++)
		assert_int_equal(bench.sent[event], SOURCES);
}

// The sources of a new run begin together, and a source without earlier events joins where it is.
static void static_mode__begins_with_the_run(void **state)
{
	(void)state;
	open_bench(true, true);
	bench.store.resumes_at = 12;
	give(MESSAGE_RUN, 0, 0);
	poll_some();
	assert_int_equal(bench.begun, 0);
	readout_logic_free(&bench.logic);
	open_bench(true, true);
	give(MESSAGE_RUN, 20, 0);
	poll_some();
	assert_int_equal(bench.begun, 20);
}

#define TEST(name) cmocka_unit_test_teardown(name, close_bench)

static void announcement__waits_for_the_addresses_of_builders(void **state)
{
	(void)state;
	open_bench(false, false);
	bench.reach = READOUT_SOUGHT;
	give(MESSAGE_RUN, 0, 0);
	poll_some();
	bench.store.ready = 3;
	poll_some();
	assert_int_equal(bench.announced, 0);
	bench.reach = READOUT_REMOTE;
	poll_some();
	assert_int_equal(bench.announced, 3);
}

static void announcement__waits_for_absent_builders_not_for_ever(void **state)
{
	(void)state;
	open_bench(false, false);
	bench.reach = READOUT_SOUGHT;
	give(MESSAGE_RUN, 0, 0);
	poll_some();
	bench.store.ready = 3;
	readout_logic_tend(&bench.logic, 2 * HZ);
	assert_int_equal(bench.announced, 0);
	readout_logic_tend(&bench.logic, 2 * HZ + 2);
	assert_int_equal(bench.announced, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(grant__waits_for_what_is_inherited),
		TEST(grant__of_an_inherited_event_needs_no_announcement),
		TEST(grant__of_an_event_that_died_is_gone),
		TEST(inherited_events__are_announced),
		TEST(static_mode__begins_with_the_oldest_event),
		TEST(static_mode__begins_with_the_run),
		TEST(announcement__waits_for_the_addresses_of_builders),
		TEST(announcement__waits_for_absent_builders_not_for_ever),
	};

	return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
