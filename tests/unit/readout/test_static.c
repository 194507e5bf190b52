// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Static mode with messages: events are sent without grants of a manager, to builders that
// acknowledge them.
#include "stubs.h"

#define BUILDERS 2u
#define PLACES   16u // of messages that remember the grants of so many events
#define READY    100u

static struct bench {
	struct readout_logic logic;
	struct readout_counters counters;
	struct block_store store;
	uint64_t waits[PLACES]; // event + 1 that waits for its acknowledgement; 0: none
	uint64_t posted;        // events, all of them in order
	struct message told;    // the last message to the control protocol
} bench;

// --- a builder that acknowledges when it is told to ---

static enum readout_reach find_builder(void *context, unsigned builder)
{
	(void)context;
	assert_true(builder < BUILDERS);
	return READOUT_REMOTE;
}

static bool to_control(void *context, const struct message *message)
{
	(void)context;
	bench.told = *message;
	return true;
}

static void granted(void *context, const struct message *grant)
{
	(void)context;
	assert_int_equal(bench.waits[grant->event % PLACES], 0);
}

static void released(void *context, uint64_t event)
{
	(void)context;
	(void)event;
}

static void forget(void *context)
{
	(void)context;
}

static bool holds(void *context, uint64_t event)
{
	(void)context;
	return bench.waits[event % PLACES] != 0;
}

static bool holds_any(void *context)
{
	for (uint64_t event = 0; event < PLACES; event++)
		if (holds(context, event))
			return true;
	return false;
}

static bool post(void *context, uint64_t now)
{
	struct readout_logic *logic = &bench.logic;

	(void)context;
	(void)now;
	assert_int_equal(logic->grant.event, bench.posted);
	bench.waits[bench.posted % PLACES] = bench.posted + 1;
	bench.posted++;
	logic->cursor.source = readout_logic_sources(logic);
	return true;
}

static void acknowledge(uint64_t event)
{
	assert_int_equal(bench.waits[event % PLACES], event + 1);
	bench.waits[event % PLACES] = 0;
}

// --- the bench ---

static const struct block_store_operations operations = { .find = stub_find_block };
static const struct readout_messages messages = {
	.is_connected = stub_finish,
	.granted = granted,
	.released = released,
	.forget = forget,
	.holds = holds,
	.holds_any = holds_any,
	.step = post,
};
static const struct readout_output output = {
	.find = find_builder,
	.finish = stub_finish,
	.to_control = to_control,
	.messages = &messages,
};

static int bench_open(void **state)
{
	static const uint16_t ids[] = { 1, 2 };
	const struct message run = { .kind = MESSAGE_RUN, .run = 1, .state = CTRL_RUNNING };
	struct readout_logic_parameters parameters = {
		.store = &bench.store,
		.n_builders = BUILDERS,
		.n_nodes = 2,
		.is_static = true,
		.source_buffer = 1000,
		.pace = { .n_sources = 2, .node_sources = 2, .system_sources = 4 },
		.segment_size = 1000,
		.ticks_per_second = 1000000,
		.output = &output,
	};

	(void)state;
	bench = (struct bench){ .store = { .operations = &operations,
					   .ids = ids,
					   .n_sources = 2,
					   .packing = 1,
					   .ready = READY,
					   .end = UINT64_MAX } };
	assert_true(readout_logic_make(&bench.logic, &parameters, &bench.counters, 0));
	readout_logic_message(&bench.logic, &run, 0);
	return 0;
}

static int bench_close(void **state)
{
	(void)state;
	readout_logic_free(&bench.logic);
	return 0;
}

static void poll(void)
{
	readout_logic_tend(&bench.logic, 1);
	while (readout_logic_step(&bench.logic, 1))
		;
}

static void poll_some(void)
{
	for (unsigned i = 0; i < 5; i++)
		poll();
}

// --- tests ---

static void late_builder__is_sent_no_more_than_the_grants_that_are_remembered(void **state)
{
	(void)state;
	poll_some();
	assert_int_equal(bench.posted, PLACES);
	acknowledge(0);
	poll_some();
	assert_int_equal(bench.posted, PLACES); // a round is of both builders
	acknowledge(1);
	poll_some();
	assert_int_equal(bench.posted, PLACES + BUILDERS);
}

static void late_event__holds_those_behind_it_back(void **state)
{
	(void)state;
	poll_some();
	for (uint64_t event = 0; event < PLACES; event++)
		if (event != 4)
			acknowledge(event);
	poll_some();
	assert_int_equal(bench.posted, PLACES + 4);
	acknowledge(4);
	poll_some();
	assert_int_equal(bench.posted, 2 * PLACES);
}

static void all_events__are_sent_once(void **state)
{
	uint64_t done = 0;

	(void)state;
	while (done < READY) {
		poll();
		assert_true(bench.posted > done);
		acknowledge(done++);
	}
	assert_int_equal(bench.posted, READY);
	poll_some();
	assert_int_equal(bench.posted, READY);
}

static void end__is_told_when_all_events_are_acknowledged(void **state)
{
	uint64_t done = 0;

	(void)state;
	bench.store.end = READY;
	for (poll_some(); done < READY; poll_some()) {
		assert_int_equal(bench.told.kind, MESSAGE_ANNOUNCE);
		assert_int_equal(bench.told.event, READY);
		assert_int_equal(bench.told.flags, MESSAGE_LAST | MESSAGE_UNSENT);
		acknowledge(done++);
	}
	assert_int_equal(bench.posted, READY);
	assert_int_equal(bench.told.event, READY);
	assert_int_equal(bench.told.flags, MESSAGE_LAST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_open, bench_close)
		TEST(late_builder__is_sent_no_more_than_the_grants_that_are_remembered),
		TEST(late_event__holds_those_behind_it_back),
		TEST(all_events__are_sent_once),
		TEST(end__is_told_when_all_events_are_acknowledged),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
