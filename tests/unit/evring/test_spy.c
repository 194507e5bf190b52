// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Spies: what they see, what they miss, and that they know it.
#include "bench.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define STRESS_EVENTS 300000u // at least
#define STRESS_SEEN   500u    // at least

static void spy__starts_at_the_newest_event(void **state)
{
	struct bench bench;
	struct evb_reader *spy;

	(void)state;
	bench_open(&bench, 8, NULL);
	for (unsigned i = 0; i < 5; i++)
		bench_publish(&bench);
	spy = bench_spy(&bench);
	bench_take(spy, 4);
	bench_take_none(spy);
	bench_publish(&bench);
	bench_publish(&bench);
	bench_take(spy, 5);
	bench_take(spy, 6);
	bench_take_none(spy);
	assert_int_equal(evb_reader_counters(spy).events, 3);
	assert_int_equal(evb_reader_counters(spy).overruns, 0);
	evb_reader_close(spy);
	bench_close(&bench);
}

static void spy__holds_nothing_back(void **state)
{
	struct bench bench;
	struct evb_reader *spy;

	(void)state;
	bench_open(&bench, 8, NULL);
	spy = bench_spy(&bench);
	bench_publish(&bench);
	bench_take(spy, 0);
	assert_int_equal(bench_collect(&bench), 1);
	evb_reader_close(spy);
	bench_close(&bench);
}

static void spy__learns_of_overwriting(void **state)
{
	struct bench bench;
	struct evb_reader *spy;
	struct evb_event event;

	(void)state;
	bench_open(&bench, 2, NULL);
	spy = bench_spy(&bench);
	bench_publish(&bench);
	event = bench_take(spy, 0);
	bench_collect(&bench);
	assert_true(evb_event_intact(spy, &event));
	evring_begin(bench.ring, event.slot);
	assert_false(evb_event_intact(spy, &event));
	bench_publish(&bench);
	assert_int_equal(bench_take(spy, 1).slot, event.slot);
	assert_false(evb_event_intact(spy, &event));
	evb_reader_close(spy);
	bench_close(&bench);
}

static void spy__counts_what_it_missed(void **state)
{
	struct bench bench;
	struct evb_reader *spy;

	(void)state;
	bench_open(&bench, 4, NULL);
	spy = bench_spy(&bench);
	bench_publish(&bench);
	bench_take(spy, 0);
	for (unsigned i = 1; i < 100; i++) {
		bench_collect(&bench);
		bench_publish(&bench);
	}
	bench_take(spy, 99);
	assert_int_equal(evb_reader_counters(spy).overruns, 98);
	bench_take_none(spy);

	// The newest event itself is being overwritten.
	bench_collect(&bench);
	bench_publish(&bench);
	bench_collect(&bench);
	evring_begin(bench.ring, bench.free_slots[bench.n_free - 1]);
	bench_take_none(spy);
	assert_int_equal(evb_reader_counters(spy).overruns, 99);
	evb_reader_close(spy);
	bench_close(&bench);
}

static void exit_42(int signal_number)
{
	(void)signal_number;
	_exit(42);
}

static void assert_write_faults(struct evb_reader *reader, uint64_t id)
{
	const struct evb_event event = bench_take(reader, id);
	int status;
	pid_t child = bench_fork();

	if (child == 0) {
		signal(SIGSEGV, exit_42);
		*(volatile uint8_t *)(uintptr_t)event.data = 0;
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 42);
}

static void spy__and_member_cannot_write_events(void **state)
{
	struct bench bench;
	struct evb_reader *spy, *member;

	(void)state;
	bench_open(&bench, 4, "main");
	bench_publish(&bench);
	spy = bench_spy(&bench);
	member = bench_member(&bench, NULL);
	assert_write_faults(spy, 0);
	assert_write_faults(member, 0);
	evb_reader_close(member);
	evb_reader_close(spy);
	bench_close(&bench);
}

struct stress {
	struct evb_reader *spy;
	uint64_t torn;          // wrong bytes that were reported as intact
	_Atomic uint64_t right; // right bytes
	uint64_t backward;
};

static void *watch(void *argument)
{
	struct stress *stress = argument;
	struct evb_event event;
	uint64_t last = 0;

	while (evb_reader_next(stress->spy, &event, -1) == 1) {
		const bool right = bench_event_is_right(&event);

		stress->torn += !right && evb_event_intact(stress->spy, &event);
		stress->right += right;
		stress->backward += stress->right > 1 && event.event_id <= last;
		last = event.event_id;
	}
	return NULL;
}

static void spy__never_takes_torn_bytes_for_an_event(void **state)
{
	struct bench bench;
	struct stress stress = { 0 };
	struct evb_reader_counters counters;
	pthread_t thread;

	(void)state;
	bench_open(&bench, 4, NULL);
	stress.spy = bench_spy(&bench);
	assert_int_equal(pthread_create(&thread, NULL, watch, &stress), 0);
	while (bench.published < STRESS_EVENTS || stress.right < STRESS_SEEN) {
		// Only when all are used up: so the newest events stay a little.
		while (bench_publish(&bench))
			;
		bench_collect(&bench);
	}
	evring_end(bench.ring);
	assert_int_equal(pthread_join(thread, NULL), 0);
	counters = evb_reader_counters(stress.spy);
	assert_int_equal(stress.torn, 0);
	assert_int_equal(stress.backward, 0);
	assert_int_equal(counters.events + counters.overruns, bench.published);
	evb_reader_close(stress.spy);
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spy__starts_at_the_newest_event),
		cmocka_unit_test(spy__holds_nothing_back),
		cmocka_unit_test(spy__learns_of_overwriting),
		cmocka_unit_test(spy__counts_what_it_missed),
		cmocka_unit_test(spy__and_member_cannot_write_events),
		cmocka_unit_test(spy__never_takes_torn_bytes_for_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
