// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A builder and two members at full speed, each in a thread.
#include "bench.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef __SANITIZE_THREAD__
#define EVENTS 250000u
#else
#define EVENTS 1000000u
#endif
#define SLOTS 512u
#define HELD  16u

struct work {
	struct evb_reader *reader;
	_Atomic uint8_t *deliveries; // of both members
	uint64_t events;
	uint64_t wrong;
};

// Keeps some events and releases them in another order than they came.
static void *consume(void *argument)
{
	struct work *work = argument;
	struct evb_event held[HELD];
	unsigned n_held = 0;
	uint64_t seed = (uintptr_t)work->reader;

	while (evb_reader_next(work->reader, &held[n_held], -1) == 1) {
		const struct evb_event *event = &held[n_held];

		work->events++;
		work->wrong += !bench_event_is_right(event) || event->event_id >= EVENTS;
		if (event->event_id < EVENTS)
			atomic_fetch_add(&work->deliveries[event->event_id], 1);
		n_held++;
		if (n_held == HELD) {
			const unsigned chosen = bench_random(&seed) % HELD;

			work->wrong += evb_reader_release(work->reader, &held[chosen]) != 0;
			held[chosen] = held[--n_held];
		}
	}
	while (n_held > 0)
		work->wrong += evb_reader_release(work->reader, &held[--n_held]) != 0;
	return NULL;
}

static void reclaim(struct bench *bench)
{
	uint32_t slots[64];
	const unsigned n = evring_reclaim(bench->ring, slots, 64);

	for (unsigned i = 0; i < n; i++) {
		assert_false(bench->is_free[slots[i]]);
		bench->is_free[slots[i]] = true;
		bench->free_slots[bench->n_free++] = slots[i];
	}
	if (bench->n_free == 0)
		sched_yield();
}

static void threads__each_event_arrives_once(void **state)
{
	_Atomic uint8_t *deliveries = calloc(EVENTS, sizeof(*deliveries));
	struct bench bench;
	struct work works[2] = { 0 };
	pthread_t threads[2];

	(void)state;
	assert_non_null(deliveries);
	bench_open(&bench, SLOTS, "main");
	for (unsigned i = 0; i < 2; i++) {
		works[i].reader = bench_member(&bench, NULL);
		works[i].deliveries = deliveries;
		assert_int_equal(pthread_create(&threads[i], NULL, consume, &works[i]), 0);
	}
	while (bench.published < EVENTS) {
		(void)bench_publish(&bench);
		reclaim(&bench);
		if (bench.published % 4096 == 0)
			assert_int_equal(evring_reap(bench.ring), 0);
	}
	evring_end(bench.ring);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(works[i].wrong, 0);
		evb_reader_close(works[i].reader);
	}
	assert_int_equal(works[0].events + works[1].events, EVENTS);
	for (unsigned i = 0; i < EVENTS; i++)
		assert_int_equal(deliveries[i], 1);
	bench_collect(&bench);
	assert_int_equal(bench.n_free, SLOTS);
	bench_close(&bench);
	free(deliveries);
}

// Groups come and go while the builder publishes: no slot gets lost with them.
static void *come_and_go(void *argument)
{
	const struct bench *bench = argument;
	const struct evb_reader_options options = {
		.group = "passing",
		.directory = bench->directory,
	};
	struct evb_reader *reader;
	struct evb_event event;
	uintptr_t wrong = 0;
	int rc = 0;

	while (rc != -EPIPE) {
		if (evb_reader_open(&reader, BENCH_NAME, &options) != 0)
			wrong++;
		for (unsigned i = 0; i < 10 && rc != -EPIPE; i++) {
			rc = evb_reader_next(reader, &event, 1);
			wrong += rc == 1 && !bench_event_is_right(&event);
			// The last one is given back by closing, and comes again or goes with the
			// group.
			if (rc == 1 && i < 9)
				wrong += evb_reader_release(reader, &event) != 0;
		}
		evb_reader_close(reader);
	}
	return (void *)wrong;
}

static void threads__passing_groups_lose_no_slot(void **state)
{
	struct bench bench;
	struct work work = { 0 };
	pthread_t main_member, passing;
	void *wrong;

	(void)state;
	work.deliveries = calloc(EVENTS, sizeof(*work.deliveries));
	assert_non_null(work.deliveries);
	bench_open(&bench, 64, "main");
	work.reader = bench_member(&bench, NULL);
	assert_int_equal(pthread_create(&main_member, NULL, consume, &work), 0);
	assert_int_equal(pthread_create(&passing, NULL, come_and_go, &bench), 0);
	while (bench.published < EVENTS / 10) {
		(void)bench_publish(&bench);
		reclaim(&bench);
		if (bench.published % 16 == 0 || bench.n_free == 0)
			assert_int_equal(evring_reap(bench.ring), 0);
	}
	evring_end(bench.ring);
	assert_int_equal(pthread_join(main_member, NULL), 0);
	assert_int_equal(pthread_join(passing, &wrong), 0);
	assert_int_equal((uintptr_t)wrong, 0);
	assert_int_equal(work.wrong, 0);
	assert_int_equal(work.events, EVENTS / 10);
	evb_reader_close(work.reader);
	evring_reap(bench.ring);
	bench_collect(&bench);
	assert_int_equal(bench.n_free, 64);
	bench_close(&bench);
	free(work.deliveries);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads__each_event_arrives_once),
		cmocka_unit_test(threads__passing_groups_lose_no_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
