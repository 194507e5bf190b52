// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A readout whose phases begin as a barrier allows.
#include "stubs.h"

#define BUILDERS 4u
#define READY    100u
#define SESSION  3u
#define WAIT     50u // ticks

static struct bench {
	struct readout_logic logic;
	struct readout_counters counters;
	struct block_store store;
	uint64_t now;
	uint64_t sent[READY]; // events
	unsigned n_sent;
	struct message told; // the last phase
	bool is_full;        // the mailbox
} bench;

static enum readout_reach find_builder(void *context, unsigned builder)
{
	(void)context;
	(void)builder;
	return READOUT_LOCAL;
}

static bool send(void *context, const struct packet_segment *at, const struct store_block *block,
		 uint32_t size, uint64_t now)
{
	(void)context;
	(void)block;
	(void)size;
	(void)now;
	assert_true(bench.n_sent < READY);
	bench.sent[bench.n_sent++] = at->event;
	return true;
}

static bool to_control(void *context, const struct message *message)
{
	(void)context;
	if (message->kind != MESSAGE_PHASE)
		return true;
	if (bench.is_full)
		return false;
	assert_int_equal(message->state, SESSION);
	bench.told = *message;
	return true;
}

static const struct block_store_operations operations = { .find = stub_find_block };
static const struct readout_output output = {
	.find = find_builder,
	.may_send = stub_may_send,
	.send = send,
	.finish = stub_finish,
	.to_control = to_control,
};

static void give(const struct message *message)
{
	readout_logic_message(&bench.logic, message, bench.now);
}

static int bench_open(void **state)
{
	static const uint16_t ids[] = { 1 };
	const struct message run = { .kind = MESSAGE_RUN, .run = 1, .state = CTRL_RUNNING };
	struct readout_logic_parameters parameters = {
		.store = &bench.store,
		.n_builders = BUILDERS,
		.n_nodes = BUILDERS,
		.rank = 1,
		.n_senders = BUILDERS,
		.source_buffer = 1000,
		.barrier = { .distance = 1, .longest_wait_ns = WAIT * 1000 },
		.pace = { .n_sources = 1, .node_sources = 1, .system_sources = 4 },
		.segment_size = 1000,
		.ticks_per_second = 1000000,
		.output = &output,
	};

	(void)state;
	bench = (struct bench){ .now = 1000,
				.store = { .operations = &operations,
					   .ids = ids,
					   .n_sources = 1,
					   .packing = 1,
					   .ready = READY,
					   .end = UINT64_MAX } };
	assert_true(readout_logic_make(&bench.logic, &parameters, &bench.counters, bench.now));
	give(&run);
	readout_logic_tend(&bench.logic, bench.now); // begins the run in the store
	readout_logic_tend(&bench.logic, bench.now);
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
	for (unsigned i = 0; i < 20; i++) {
		readout_logic_tend(&bench.logic, bench.now);
		while (readout_logic_step(&bench.logic, bench.now))
			;
	}
}

static void grant_round(uint64_t round, uint16_t flags)
{
	for (unsigned i = 0; i < BUILDERS; i++)
		give(&(struct message){ .kind = MESSAGE_SEND,
					.event = round * BUILDERS + i,
					.round = round,
					.run = 1,
					.builder = (uint16_t)i,
					.position = (uint16_t)i,
					.n_positions = BUILDERS,
					.state = SESSION,
					.flags = flags });
}

static void limit(uint32_t phase)
{
	give(&(struct message){ .kind = MESSAGE_PHASE, .event = phase, .state = SESSION });
}

// --- tests ---

static void phase__begins_when_all_have_reached_it(void **state)
{
	static const uint64_t order[] = { 1, 2, 3, 0, 5 };

	(void)state;
	grant_round(0, MESSAGE_BARRIER);
	grant_round(1, MESSAGE_BARRIER);
	poll();
	assert_int_equal(bench.n_sent, 0);
	for (uint32_t phase = 0; phase <= BUILDERS; phase++) {
		assert_int_equal(bench.told.event, phase);
		limit(phase);
		poll();
		assert_int_equal(bench.n_sent, phase + 1);
		assert_int_equal(bench.sent[phase], order[phase]);
	}
	assert_true(bench.counters.held_phase > 0);
	assert_int_equal(bench.counters.phase_timeouts, 0);
}

static void closed_barrier__is_waited_for_once(void **state)
{
	(void)state;
	grant_round(0, MESSAGE_BARRIER);
	poll();
	bench.now += WAIT - 1;
	poll();
	assert_int_equal(bench.n_sent, 0);
	bench.now++;
	poll();
	assert_int_equal(bench.n_sent, BUILDERS);
	assert_int_equal(bench.counters.phase_timeouts, 1);
}

static void grants_without_barrier__do_not_wait(void **state)
{
	(void)state;
	grant_round(0, 0);
	poll();
	assert_int_equal(bench.n_sent, BUILDERS);
}

// Their numbers are those of another manager.
static void grants_of_an_earlier_session__do_not_wait(void **state)
{
	(void)state;
	grant_round(0, MESSAGE_BARRIER);
	poll();
	give(&(struct message){ .kind = MESSAGE_PHASE, .event = 0, .state = SESSION + 1 });
	poll();
	assert_int_equal(bench.n_sent, BUILDERS);
	assert_int_equal(bench.told.event, 0);
}

static void stop__drops_the_grant_that_is_held(void **state)
{
	(void)state;
	grant_round(0, MESSAGE_BARRIER);
	poll();
	assert_int_equal(readout_logic_waiting(&bench.logic), BUILDERS);
	give(&(struct message){ .kind = MESSAGE_RUN, .run = 1, .state = CTRL_STOPPED });
	assert_int_equal(readout_logic_waiting(&bench.logic), 0);
	limit(0);
	poll();
	assert_int_equal(bench.n_sent, 0);
}

static void full_mailbox__is_told_later(void **state)
{
	(void)state;
	bench.is_full = true;
	limit(0);
	grant_round(0, MESSAGE_BARRIER);
	poll();
	assert_int_equal(bench.n_sent, 1);
	assert_int_equal(bench.told.event, 0);
	bench.is_full = false;
	poll();
	assert_int_equal(bench.told.event, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_open, bench_close)
		TEST(phase__begins_when_all_have_reached_it),
		TEST(closed_barrier__is_waited_for_once),
		TEST(grants_without_barrier__do_not_wait),
		TEST(grants_of_an_earlier_session__do_not_wait),
		TEST(stop__drops_the_grant_that_is_held),
		TEST(full_mailbox__is_told_later),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
