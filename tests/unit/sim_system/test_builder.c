// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// One simulated builder: how long events wait for data that does not come.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/histogram.h"
#include "sim_system/builder.h"

#define MS       UINT64_C(1000000)
#define DEADLINE (500 * MS)
#define SOURCES  2u
#define SLOTS    8u
#define NEVER    UINT64_MAX

struct setup {
	struct sim_builder builder;
	struct sim_builder_rules rules;
	struct pool segments, rows;
	struct histogram built;
	uint64_t closed[SLOTS]; // time at which the event was reported; NEVER: not yet
	uint64_t now;
};

static void tell(void *context, const struct message *message)
{
	struct setup *setup = context;

	if (message->kind == MESSAGE_BUILT && message->event < SLOTS)
		setup->closed[message->event] = setup->now;
}

static void published(void *context, uint64_t event, uint64_t now)
{
	(void)context;
	(void)event;
	(void)now;
}

static void open_setup(struct setup *setup)
{
	static const uint16_t nodes[SOURCES] = { 0, 1 };

	*setup = (struct setup){ .now = MS };
	for (unsigned i = 0; i < SLOTS; i++)
		setup->closed[i] = NEVER;
	pool_init(&setup->segments, sizeof(struct sim_segment));
	pool_init(&setup->rows, SOURCES * sizeof(uint32_t));
	setup->rules = (struct sim_builder_rules){
		.n_sources = SOURCES,
		.n_nodes = 2,
		.node_of_source = nodes,
		.deadline = DEADLINE,
		.grant_wait = DEADLINE,
		.consumer = { .n_workers = 1 },
		.segments = &setup->segments,
		.rows = &setup->rows,
		.built = &setup->built,
		.tell = tell,
		.published = published,
	};
	assert_true(
	    sim_builder_make(&setup->builder, &setup->rules, setup, SLOTS, 16, random_fork(1, 1)));
}

static void close_setup(struct setup *setup)
{
	sim_builder_free(&setup->builder);
	pool_free(&setup->segments);
	pool_free(&setup->rows);
}

static void grant(struct setup *setup, uint64_t event)
{
	const struct message message = { .kind = MESSAGE_EXPECT, .event = event };

	assert_true(sim_builder_message(&setup->builder, &message, setup->now));
}

static void open_with_grants(struct setup *setup, uint64_t n)
{
	open_setup(setup);
	for (uint64_t event = 0; event < n; event++)
		grant(setup, event);
}

static void send(struct setup *setup, uint64_t event, uint16_t source)
{
	const uint32_t number = pool_take(&setup->segments);

	*(struct sim_segment *)pool_at(&setup->segments, number) =
	    (struct sim_segment){ .event = event, .size = 100, .length = 100, .source = source };
	sim_builder_segment(&setup->builder, 0, number, setup->now);
}

static void pass(struct setup *setup, uint64_t time)
{
	for (const uint64_t end = setup->now + time; setup->now < end;) {
		setup->now += 10 * MS;
		sim_builder_poll(&setup->builder, setup->now);
	}
}

static void lost_event__waits_one_deadline_from_a_later_one_on(void **state)
{
	struct setup setup;

	(void)state;
	open_setup(&setup);
	for (uint64_t event = 0; event < 3; event++)
		grant(&setup, event);
	pass(&setup, 100 * MS);
	send(&setup, 1, 0);
	send(&setup, 1, 1);
	pass(&setup, 2 * DEADLINE);
	assert_int_equal(setup.closed[1], 101 * MS);
	assert_int_equal(setup.closed[0], 101 * MS + DEADLINE);
	// No later event has overtaken this one.
	assert_int_equal(setup.closed[2], NEVER);
	pass(&setup, 10 * DEADLINE);
	assert_int_equal(setup.closed[2], MS + 10 * DEADLINE);
	close_setup(&setup);
}

// The same if a source takes no part, and not while a source can still send the earlier event.
static void lost_event__waits_for_all_sources_that_take_part(void **state)
{
	const struct message absent = { .kind = MESSAGE_SOURCES, .node = 1, .event = NEVER };
	struct setup setup;

	(void)state;
	open_with_grants(&setup, 2);
	send(&setup, 1, 0);
	pass(&setup, 2 * DEADLINE);
	assert_int_equal(setup.closed[1], MS + DEADLINE);
	assert_int_equal(setup.closed[0], NEVER);
	close_setup(&setup);
	open_with_grants(&setup, 2);
	assert_true(sim_builder_message(&setup.builder, &absent, setup.now));
	send(&setup, 1, 0);
	pass(&setup, 2 * DEADLINE);
	assert_int_equal(setup.closed[1], MS);
	assert_int_equal(setup.closed[0], MS + DEADLINE);
	close_setup(&setup);
}

static void data_that_is_late__has_the_deadline_of_its_first_segment(void **state)
{
	struct setup setup;

	(void)state;
	open_with_grants(&setup, 2);
	send(&setup, 1, 0);
	send(&setup, 1, 1);
	pass(&setup, DEADLINE - 100 * MS);
	send(&setup, 0, 0);
	pass(&setup, DEADLINE - 100 * MS);
	assert_int_equal(setup.closed[0], NEVER);
	send(&setup, 0, 1);
	assert_int_equal(setup.closed[0], setup.now);
	assert_int_equal(setup.builder.counters.placed, 4);
	close_setup(&setup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_event__waits_one_deadline_from_a_later_one_on),
		cmocka_unit_test(lost_event__waits_for_all_sources_that_take_part),
		cmocka_unit_test(data_that_is_late__has_the_deadline_of_its_first_segment),
	};

	return cmocka_run_group_tests_name("builder", tests, NULL, NULL);
}
