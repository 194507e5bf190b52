// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Waiting for room: with a time limit, asleep until a release, through an eventfd, and through the
// death of the appliance.
#include "ring_bench.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#define A       ring_source_ids[0]
#define FOREVER (-1)

static uint64_t fill_up(struct evb_producer *producer, uint64_t event_id)
{
	int rc;

	while ((rc = ring_put(producer, A, event_id, RING_LARGEST)) == 0)
		event_id++;
	assert_int_equal(rc, -EAGAIN);
	return event_id;
}

static bool is_readable(int file, int timeout_ms)
{
	struct pollfd poll_for = { .fd = file, .events = POLLIN };

	return poll(&poll_for, 1, timeout_ms) == 1;
}

static void wait_until_somebody_sleeps(const struct evb_producer *producer)
{
	const struct timespec pause = { .tv_nsec = 100000 };

	while (evb_producer_counters(producer).waits == 0)
		nanosleep(&pause, NULL);
}

// Makes room for a block of the largest size: the room of one such block does not suffice, because
// the ends of the used memory must not meet.
static void release_two(struct ring_bench *bench)
{
	for (unsigned i = 0; i < 2; i++)
		producer_ring_release(bench->ring, ring_take(bench, A, i).sequence);
	producer_ring_housekeep(bench->ring);
}

// A thread that waits for room, and is asleep.
struct waiting {
	struct evb_producer *producer;
	pthread_t thread;
	_Atomic int rc;
	_Atomic bool over;
};

static void *wait_for_room(void *argument)
{
	struct waiting *waiting = argument;

	waiting->rc = evb_producer_wait(waiting->producer, RING_LARGEST, FOREVER);
	waiting->over = true;
	return NULL;
}

static void start_waiting(struct waiting *waiting, struct evb_producer *producer)
{
	*waiting = (struct waiting){ .producer = producer };
	assert_int_equal(pthread_create(&waiting->thread, NULL, wait_for_room, waiting), 0);
	wait_until_somebody_sleeps(producer);
}

static void fill_up_and_wait(struct waiting *waiting, struct evb_producer *producer)
{
	fill_up(producer, 0);
	start_waiting(waiting, producer);
}

static void expect_end(struct waiting *waiting, int rc)
{
	pthread_join(waiting->thread, NULL);
	assert_int_equal(waiting->rc, rc);
	evb_producer_close(waiting->producer);
}

static void wait__ends_with_time_or_room(void **state)
{
	struct ring_bench bench;
	struct evb_producer *producer;

	(void)state;
	producer = ring_bench_begin(&bench);
	assert_int_equal(evb_producer_wait(producer, RING_LARGEST, 0), 1);
	assert_int_equal(evb_producer_wait(producer, RING_LARGEST + 1, 0), -EMSGSIZE);
	fill_up(producer, 0);
	assert_int_equal(evb_producer_wait(producer, RING_LARGEST, 0), 0);
	assert_int_equal(evb_producer_wait(producer, RING_LARGEST, 3), 0);
	release_two(&bench);
	assert_int_equal(evb_producer_wait(producer, RING_LARGEST, 0), 1);
	ring_bench_end(&bench, producer);
}

static void wait__sleeps_until_a_release(void **state)
{
	struct waiting waiting;
	struct ring_bench bench;

	(void)state;
	ring_bench_open(&bench);
	fill_up_and_wait(&waiting, ring_producer(&bench, false));
	producer_ring_housekeep(bench.ring);
	assert_false(waiting.over);
	release_two(&bench);
	expect_end(&waiting, 1);
	ring_bench_close(&bench);
}

static void wait__lasts_through_the_death_of_the_appliance(void **state)
{
	struct producer_ring_parameters parameters;
	struct evb_producer *producer;
	struct waiting waiting;
	struct ring_bench bench;
	void *block;

	(void)state;
	ring_bench_open(&bench);
	parameters = ring_parameters(&bench);
	producer = ring_producer(&bench, false);
	producer_ring_close(bench.ring); // as a death leaves it
	assert_false(evb_producer_info(producer).connected);
	for (unsigned i = 0; ring_put(producer, A, i, RING_LARGEST) == 0; i++)
		;
	assert_int_equal(evb_producer_reserve(producer, A, RING_LARGEST, &block), -ENOTCONN);
	start_waiting(&waiting, producer);
	ring_open(&bench, &parameters);
	assert_false(waiting.over);
	release_two(&bench);
	expect_end(&waiting, 1);
	ring_bench_close(&bench);
}

static void wait__ends_with_the_ring(void **state)
{
	struct waiting waiting;
	struct ring_bench bench;

	(void)state;
	ring_bench_open(&bench);
	fill_up_and_wait(&waiting, ring_producer(&bench, false));
	producer_ring_end(bench.ring);
	expect_end(&waiting, -EPIPE);
	ring_bench_close(&bench);
}

static void wait__for_own_reservations_is_refused(void **state)
{
	struct ring_bench bench;
	struct evb_producer *producer;
	void *block;

	(void)state;
	producer = ring_bench_begin(&bench);
	while (evb_producer_reserve(producer, A, RING_LARGEST, &block) == 0)
		;
	assert_int_equal(evb_producer_wait(producer, RING_LARGEST, FOREVER), -EDEADLK);
	evb_producer_cancel(producer);
	assert_int_equal(evb_producer_wait(producer, RING_LARGEST, FOREVER), 1);
	ring_bench_end(&bench, producer);
}

static void wait__eventfd_is_readable_with_room(void **state)
{
	struct ring_bench bench;
	struct evb_producer *producer;
	int file;

	(void)state;
	producer = ring_bench_begin(&bench);
	assert_int_equal(evb_producer_event_fd(producer, 0), -EMSGSIZE);
	file = evb_producer_event_fd(producer, RING_LARGEST);
	assert_true(file >= 0);
	assert_true(is_readable(file, FOREVER)); // there is room at once
	fill_up(producer, 0);
	assert_int_equal(evb_producer_event_fd(producer, RING_LARGEST), file);
	assert_false(is_readable(file, 0));
	release_two(&bench);
	assert_true(is_readable(file, FOREVER));
	assert_int_equal(ring_put(producer, A, 1000, RING_LARGEST), 0);
	fill_up(producer, 1001);
	assert_int_equal(evb_producer_event_fd(producer, RING_LARGEST), file);
	assert_false(is_readable(file, 0));
	producer_ring_end(bench.ring);
	assert_true(is_readable(file, FOREVER));
	ring_bench_end(&bench, producer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wait__ends_with_time_or_room),
		cmocka_unit_test(wait__sleeps_until_a_release),
		cmocka_unit_test(wait__lasts_through_the_death_of_the_appliance),
		cmocka_unit_test(wait__ends_with_the_ring),
		cmocka_unit_test(wait__for_own_reservations_is_refused),
		cmocka_unit_test(wait__eventfd_is_readable_with_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
