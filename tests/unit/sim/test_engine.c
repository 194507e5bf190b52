// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Events come in the order of their times, those of one time in the order of scheduling.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/random.h"
#include "sim/engine.h"

#define EVENTS 20000u

struct record {
	uint64_t time;
	uint32_t number; // in the order of scheduling
};

struct run {
	struct sim_engine *engine;
	unsigned handler;
	struct random random;
	struct record scheduled[EVENTS];
	struct record handled[EVENTS];
	uint32_t n_scheduled, n_handled;
	uint32_t stop_after;
	uint64_t early_before; // time: the handler schedules n_early events before it, once
	uint32_t n_early;
};

static struct run run;

static void schedule(uint64_t time)
{
	run.scheduled[run.n_scheduled] = (struct record){ time, run.n_scheduled };
	sim_at(run.engine, time, run.handler, run.n_scheduled, run.n_scheduled & SIM_MAX_DATA);
	run.n_scheduled++;
}

// Times from now on of all magnitudes, many of them equal.
static uint64_t draw_time(void)
{
	const uint64_t magnitude = random_next(&run.random) % 40;

	return sim_now(run.engine) +
	       (random_next(&run.random) & ((UINT64_C(1) << magnitude) - 1)) / 3 * 3;
}

// The present time or one up to `early_before`.
static uint64_t draw_early(void)
{
	const uint64_t now = sim_now(run.engine), draw = random_next(&run.random);

	return draw % 4 == 0 ? now : now + (draw >> 2) % (run.early_before - now + 1);
}

static void handle(void *context, uint32_t index, uint32_t data)
{
	assert_ptr_equal(context, &run);
	assert_int_equal(index & SIM_MAX_DATA, data);
	run.handled[run.n_handled++] = (struct record){ sim_now(run.engine), index };
	if (run.early_before != 0) {
		for (; run.n_early > 0; run.n_early--)
			schedule(draw_early());
		return;
	}
	for (unsigned i = 0; i < 2 && run.n_scheduled < EVENTS; i++)
		schedule(draw_time());
	if (run.n_handled == run.stop_after)
		sim_stop(run.engine);
}

static int begin(void **state)
{
	(void)state;
	run = (struct run){ .random = random_fork(1, 1) };
	run.engine = sim_engine_create(EVENTS);
	run.handler = sim_engine_handler(run.engine, handle, &run);
	return 0;
}

static int end(void **state)
{
	(void)state;
	sim_engine_destroy(run.engine);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct record *one = a, *other = b;

	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	return one->number < other->number ? -1 : 1;
}

// All that was scheduled has been handled in the order of times.
static void assert_in_order(void)
{
	assert_int_equal(run.n_handled, run.n_scheduled);
	qsort(run.scheduled, run.n_scheduled, sizeof(run.scheduled[0]), compare);
	assert_memory_equal(run.handled, run.scheduled, run.n_scheduled * sizeof(run.handled[0]));
}

static void events__come_in_order(void **state)
{
	(void)state;
	schedule(0);
	assert_true(sim_run(run.engine, SIM_NEVER));
	assert_int_equal(run.n_handled, EVENTS);
	assert_in_order();
	assert_int_equal(sim_now(run.engine), run.handled[EVENTS - 1].time);
}

// What is scheduled between runs may be earlier than what was pending.
static void events__come_in_order_over_several_runs(void **state)
{
	(void)state;
	schedule(1000);
	for (uint64_t until = 1; run.n_handled < EVENTS; until += until / 2 + 1) {
		assert_true(sim_run(run.engine, until));
		assert_int_equal(sim_now(run.engine), until);
		if (run.n_scheduled < EVENTS)
			schedule(draw_time());
	}
	assert_in_order();
}

// A handler schedules events before the one that was next when it was called: at the present time,
// in the same nanosecond or before, one or many, in any order, some at equal times.
static void events__come_in_order_before_the_one_that_was_next(void **state)
{
	(void)state;
	for (unsigned n = 1; n <= 100; n++) {
		const uint64_t first = sim_now(run.engine) + 10 * SIM_NANOSECOND;
		const uint64_t next = first + random_next(&run.random) % (UINT64_C(1) << n % 22);

		run.n_scheduled = run.n_handled = 0;
		run.n_early = n;
		run.early_before = next + n % 2;
		schedule(first);
		schedule(first);
		schedule(next);
		assert_true(sim_run(run.engine, SIM_NEVER));
		assert_int_equal(run.n_handled, 3 + n);
		assert_in_order();
	}
}

static void a_run__ends_at_its_time_and_when_it_is_stopped(void **state)
{
	(void)state;
	schedule(10);
	schedule(20);
	run.n_scheduled = EVENTS; // the handler schedules nothing
	assert_true(sim_run(run.engine, 19));
	assert_int_equal(run.n_handled, 1);
	assert_int_equal(sim_now(run.engine), 19);
	assert_true(sim_run(run.engine, 20));
	assert_int_equal(run.n_handled, 2);

	sim_at(run.engine, 30, run.handler, 0, 0);
	sim_at(run.engine, 30, run.handler, 0, 0);
	run.stop_after = 3;
	assert_true(sim_run(run.engine, 100));
	assert_int_equal(run.n_handled, 3);
	assert_int_equal(sim_now(run.engine), 30);
	assert_true(sim_run(run.engine, 100));
	assert_int_equal(run.n_handled, 4);
	assert_int_equal(sim_handled(run.engine), 4);
}

static void a_time_that_has_passed__means_now(void **state)
{
	(void)state;
	assert_true(sim_run(run.engine, 100));
	sim_at(run.engine, 5, run.handler, 0, 0);
	run.n_scheduled = EVENTS;
	assert_true(sim_run(run.engine, 100));
	assert_int_equal(run.handled[0].time, 100);
}

static void memory__does_not_grow_once_warm(void **state)
{
	size_t warm;

	(void)state;
	run.n_scheduled = EVENTS;
	for (unsigned i = 0; i < EVENTS; i++)
		sim_at(run.engine, i, run.handler, 0, 0);
	assert_true(sim_run(run.engine, SIM_NEVER));
	warm = sim_engine_memory(run.engine);
	run.n_handled = 0;
	for (unsigned i = 0; i < EVENTS; i++)
		sim_at(run.engine, UINT64_C(1000000) * i, run.handler, 0, 0);
	assert_int_equal(sim_engine_memory(run.engine), warm);
}

static void too_many_events__are_an_error(void **state)
{
	(void)state;
	for (unsigned i = 0; i < EVENTS; i++)
		sim_at(run.engine, i, run.handler, 0, 0);
	assert_null(sim_engine_error(run.engine));
	sim_at(run.engine, 0, run.handler, 0, 0);
	assert_non_null(sim_engine_error(run.engine));
	assert_false(sim_run(run.engine, SIM_NEVER));
	assert_null(sim_engine_create(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(events__come_in_order, begin, end),
		cmocka_unit_test_setup_teardown(events__come_in_order_over_several_runs, begin,
						end),
		cmocka_unit_test_setup_teardown(events__come_in_order_before_the_one_that_was_next,
						begin, end),
		cmocka_unit_test_setup_teardown(a_run__ends_at_its_time_and_when_it_is_stopped,
						begin, end),
		cmocka_unit_test_setup_teardown(a_time_that_has_passed__means_now, begin, end),
		cmocka_unit_test_setup_teardown(memory__does_not_grow_once_warm, begin, end),
		cmocka_unit_test_setup_teardown(too_many_events__are_an_error, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
