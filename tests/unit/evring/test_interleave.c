// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Races between two sides, played through: one side is stopped after each of its instructions, and
// the other does all of its work there.
#include "bench.h"
#include "trace.h"

#include <signal.h>
#include <unistd.h>

#define SLOTS 2u

// The builder publishes while its only group is dissolved.
static uint64_t dissolve_after(uint64_t steps)
{
	struct evb_reader *member;
	struct bench bench;
	uint64_t done;
	pid_t builder;

	bench_open(&bench, SLOTS, NULL);
	member = bench_member(&bench, "passing");
	builder = trace_fork();
	if (builder == 0) {
		raise(SIGSTOP);
		bench_publish(&bench);
		raise(SIGSTOP);
		_exit(bench_collect(&bench) == 1 ? 0 : 1);
	}
	done = trace_steps(builder, PTRACE_SINGLESTEP, steps);
	evb_reader_close(member);
	(void)evring_reap(bench.ring); // dissolves the group
	trace_to_exit(builder);
	bench_close(&bench);
	return done;
}

static void interleave__dissolving_a_group_frees_the_slot_of_the_moment(void **state)
{
	uint64_t all;

	(void)state;
	if (!trace_is_possible())
		skip();
	all = dissolve_after(UINT64_MAX);
	assert_true(all > 20);
	for (uint64_t steps = 0; steps < all; steps += trace_stride(all))
		dissolve_after(steps);
}

// A spy looks at an event while another takes its place.
static uint64_t overwrite_after(uint64_t steps)
{
	struct bench bench;
	uint64_t done;
	pid_t child;

	bench_open(&bench, SLOTS, NULL);
	bench_publish(&bench);
	child = trace_fork();
	if (child == 0) {
		struct evb_reader *spy = bench_spy(&bench);
		struct evb_event event;
		int rc;

		raise(SIGSTOP);
		rc = evb_reader_next(spy, &event, 0);
		raise(SIGSTOP);
		// Whichever event it is, what is told of it belongs together.
		_exit(rc == 1 && event.first_ns == event.event_id + 1 &&
			      event.complete_ns == event.event_id + 2 &&
			      event.sequence == event.event_id
			  ? 0
			  : 1);
	}
	done = trace_steps(child, PTRACE_SINGLESTEP, steps);
	bench_collect(&bench);
	bench_publish(&bench); // the slot that came back last is the first to be used
	trace_to_exit(child);
	bench_close(&bench);
	return done;
}

static void interleave__spy_gets_the_description_of_one_event(void **state)
{
	uint64_t all;

	(void)state;
	if (!trace_is_possible())
		skip();
	all = overwrite_after(UINT64_MAX);
	assert_true(all > 20);
	for (uint64_t steps = 0; steps < all; steps += trace_stride(all))
		overwrite_after(steps);
}

// A member is about to claim an event when another claims and releases it, and its slot gets the
// next event.
static uint64_t overtake_after(uint64_t steps)
{
	struct evb_reader *quick;
	struct evb_event event;
	struct bench bench;
	uint64_t done, seen = 0;
	pid_t child;

	bench_open(&bench, SLOTS, "main");
	quick = bench_member(&bench, NULL);
	bench_publish(&bench);
	child = trace_fork();
	if (child == 0) {
		struct evb_reader *slow = bench_member(&bench, NULL);

		raise(SIGSTOP);
		if (evb_reader_next(slow, &event, 0) == 1 &&
		    (!bench_event_is_right(&event) || evb_reader_release(slow, &event) != 0))
			_exit(1);
		raise(SIGSTOP);
		evb_reader_close(slow);
		_exit(0);
	}
	done = trace_steps(child, PTRACE_SINGLESTEP, steps);
	for (unsigned i = 0; i < 2 * SLOTS; i++) {
		while (evb_reader_next(quick, &event, 0) == 1) {
			seen++;
			bench_release(quick, &event);
		}
		bench_collect(&bench);
		bench_publish(&bench);
	}
	trace_to_exit(child);
	while (evb_reader_next(quick, &event, 0) == 1) {
		seen++;
		bench_release(quick, &event);
	}
	// The slow one has got one event at most, and nobody got one twice.
	assert_in_range(seen, bench.published - 1, bench.published);
	bench_collect(&bench);
	assert_int_equal(bench.n_free, SLOTS);
	evb_reader_close(quick);
	bench_close(&bench);
	return done;
}

static void interleave__overtaken_member_goes_on(void **state)
{
	uint64_t all;

	(void)state;
	if (!trace_is_possible())
		skip();
	all = overtake_after(UINT64_MAX);
	assert_true(all > 20);
	for (uint64_t steps = 0; steps < all; steps += trace_stride(all))
		overtake_after(steps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interleave__dissolving_a_group_frees_the_slot_of_the_moment),
		cmocka_unit_test(interleave__spy_gets_the_description_of_one_event),
		cmocka_unit_test(interleave__overtaken_member_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
