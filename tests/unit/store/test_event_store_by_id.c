// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The store of another appliance's built events, which keep their ids.
#include "../evring/bench.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/event_store.h"
#include "testbed.h"

#define GROUP       "egress"
#define SLOTS       8u
#define NO_PORT     77u // names no port: nothing is mapped for a device
#define PACKING     10u
#define FIRST_EVENT 50u
#define FIRST       100u   // index of the run's first event
#define WINDOW      16384u // events
#define DEADLINE    1000u

static struct bench bench;
static struct block_store *store;
static const uint16_t id = 5;
static uint64_t now;

static void open_store(void)
{
	const struct event_store_parameters parameters = {
		.appliance = BENCH_NAME,
		.group = GROUP,
		.directory = bench.directory,
		.id = &id,
		.packing = PACKING,
		.max_event = EVRING_SLOT_ALIGNMENT,
		.events = 1,
		.by_id = true,
		.first_event = FIRST_EVENT,
		.deadline_cycles = DEADLINE,
	};
	char error[EVENT_STORE_ERROR_SIZE];

	store = event_store_create(&parameters);
	assert_non_null(store);
	assert_int_equal(event_store_watch(store, NO_PORT, error), EVENT_STORE_OPENED);
	now = 1;
}

static int set_up(void **state)
{
	(void)state;
	bench_open(&bench, SLOTS, GROUP);
	open_store();
	block_store_begin(store, FIRST);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	block_store_destroy(store);
	bench_close(&bench);
	return 0;
}

static void publish_id(uint64_t event_id)
{
	bench.published = event_id;
	assert_true(bench_publish(&bench));
}

static void publish(uint64_t event)
{
	publish_id(FIRST_EVENT + event * PACKING);
}

static void poll(void)
{
	block_store_poll(store, now);
}

// Released slots come back with the poll after that.
static unsigned collect(void)
{
	poll();
	poll();
	return bench_collect(&bench);
}

static void assert_event(uint64_t event)
{
	const struct store_block block = block_store_find(store, event, 0);
	const struct evb_event built = {
		.event_id = FIRST_EVENT + event * PACKING,
		.data = block.bytes,
		.length = block.size,
	};

	assert_non_null(block.hold);
	assert_false(block.is_missing || block.is_temporary);
	assert_true(bench_event_is_right(&built));
}

static void assert_missing(uint64_t event)
{
	const struct store_block block = block_store_find(store, event, 0);

	assert_int_equal(block.size, 0);
	assert_true(block.is_missing);
}

static bool is_marked(uint64_t event)
{
	return block_store_find(store, event, 0).is_repeated;
}

static void pass_deadline(void)
{
	poll();
	now += DEADLINE;
	poll();
	now++;
	poll();
}

static void events__come_in_any_order(void **state)
{
	static const uint64_t order[] = { 3, 1, 0, 2, 5, 4 };
	static const uint64_t ready[] = { 0, 0, 2, 4, 4, 6 };

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		publish(FIRST + order[i]);
		poll();
		assert_int_equal(store->ready, FIRST + ready[i]);
	}
	for (unsigned i = 0; i < 6; i++)
		assert_event(FIRST + i);
	block_store_release(store, FIRST + 5);
	assert_int_equal(collect(), 5);
	assert_event(FIRST + 5);
	assert_int_equal(store->counters.missing + store->counters.late, 0);
}

static void slot__is_held_while_packets_point_into_it(void **state)
{
	struct store_block block;

	(void)state;
	publish(FIRST);
	publish(FIRST + 1);
	poll();
	block = block_store_find(store, FIRST, 0);
	block_hold_take(block.hold);
	block_store_release(store, FIRST + 2);
	assert_int_equal(collect(), 0);
	block_hold_return(block.hold);
	assert_int_equal(collect(), 2);
}

static void gap__holds_events_back_for_the_deadline(void **state)
{
	(void)state;
	publish(FIRST);
	publish(FIRST + 2);
	poll();
	assert_int_equal(store->ready, FIRST + 1);
	pass_deadline(); // the event before is not released
	assert_int_equal(store->ready, FIRST + 1);
	block_store_release(store, FIRST + 1);
	poll();
	now += DEADLINE;
	poll();
	assert_int_equal(store->ready, FIRST + 1);
	now++;
	poll();
	assert_int_equal(store->ready, FIRST + 3);
	assert_missing(FIRST + 1);
	assert_event(FIRST + 2);
	assert_int_equal(store->counters.missing, 1);

	publish(FIRST + 1);
	assert_int_equal(collect(), 2);
	assert_int_equal(store->counters.late, 1);
	assert_missing(FIRST + 1);
	assert_int_equal(store->counters.missing, 1);
}

static void gap__is_filled_in_time(void **state)
{
	(void)state;
	publish(FIRST + 1);
	poll();
	now += DEADLINE;
	publish(FIRST);
	poll();
	now++;
	poll();
	assert_int_equal(store->ready, FIRST + 2);
	assert_event(FIRST);
	assert_int_equal(store->counters.missing, 0);
}

static void gap__does_not_keep_all_slots(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= SLOTS; i++)
		publish(FIRST + i);
	poll();
	assert_false(bench_publish(&bench));
	assert_int_equal(store->ready, FIRST);
	pass_deadline();
	assert_int_equal(store->ready, FIRST + SLOTS + 1);
	assert_int_equal(store->counters.missing, 1);
	block_store_release(store, FIRST + SLOTS + 1);
	assert_int_equal(collect(), SLOTS);
	publish(FIRST + SLOTS + 1);
	poll();
	assert_event(FIRST + SLOTS + 1);
}

// With few slots, events behind a gap may lack one until the gap is given up.
static void gaps__are_given_up_together_if_slots_are_left(void **state)
{
	(void)state;
	publish(FIRST + 1);
	publish(FIRST + 3);
	pass_deadline();
	assert_int_equal(store->ready, FIRST + 4);
	assert_int_equal(store->counters.missing, 2);
	block_store_release(store, FIRST + 4);
	assert_int_equal(collect(), 2);

	for (uint64_t event = FIRST + 5; event < FIRST + 11; event++)
		if (event != FIRST + 7)
			publish(event);
	pass_deadline();
	assert_int_equal(store->ready, FIRST + 7);
	assert_int_equal(store->counters.missing, 3);
	block_store_release(store, FIRST + 7);
	publish(FIRST + 7);
	poll();
	assert_int_equal(store->ready, FIRST + 11);
	assert_int_equal(store->counters.missing, 3);
	assert_int_equal(store->counters.late, 0);
}

// Slots return while an event that came earlier waits.
static void slots__return_in_the_order_of_events(void **state)
{
	(void)state;
	publish(FIRST + 9);
	for (uint64_t event = FIRST; event < FIRST + 9; event++) {
		publish(event);
		poll();
		block_store_release(store, event + 1);
		assert_int_equal(collect(), 1);
	}
	assert_int_equal(store->ready, FIRST + 10);
	assert_event(FIRST + 9);
}

static void second__event_of_an_id_is_late(void **state)
{
	(void)state;
	publish(FIRST + 1);
	bench.flags = EVB_EVENT_REPEATED;
	publish(FIRST + 1);
	publish(FIRST);
	bench.flags = 0;
	assert_int_equal(collect(), 1);
	assert_int_equal(store->counters.late, 1);
	assert_true(is_marked(FIRST) && !is_marked(FIRST + 1));
	publish(FIRST);
	assert_int_equal(collect(), 1);
	block_store_release(store, FIRST + 2);
	publish(FIRST);
	assert_int_equal(collect(), 3);
	assert_int_equal(store->counters.late, 3);
	assert_int_equal(store->ready, FIRST + 2);
}

static void ids__of_no_event_are_unknown(void **state)
{
	(void)state;
	publish_id(FIRST_EVENT - PACKING);
	publish_id(FIRST_EVENT + FIRST * PACKING + 1);
	publish(FIRST - 1); // of an earlier run
	assert_int_equal(collect(), 3);
	assert_int_equal(store->counters.unknown, 2);
	assert_int_equal(store->counters.late, 1);
	assert_int_equal(store->ready, FIRST);
}

static void event__far_ahead_waits_for_the_window(void **state)
{
	const uint64_t far = FIRST + WINDOW + 7;
	char error[EVENT_STORE_ERROR_SIZE];

	(void)state;
	publish(far);
	assert_int_equal(event_store_watch(store, NO_PORT, error), EVENT_STORE_NOTHING_NEW);
	poll();
	assert_int_equal(event_store_watch(store, NO_PORT, error), EVENT_STORE_AHEAD);
	assert_int_equal(strtoull(error, NULL, 10), FIRST_EVENT + far * PACKING);
	assert_int_equal(event_store_watch(store, NO_PORT, error), EVENT_STORE_NOTHING_NEW);
	publish(FIRST + 1);
	pass_deadline();
	assert_int_equal(store->ready, FIRST + WINDOW);
	assert_event(FIRST + 1);
	block_store_release(store, FIRST + 1);
	pass_deadline(); // the others are not released
	assert_int_equal(store->ready, FIRST + WINDOW);
	block_store_release(store, FIRST + WINDOW);
	pass_deadline();
	assert_int_equal(store->ready, far + 1);
	assert_event(far);
	assert_int_equal(store->counters.missing, WINDOW + 7 - 1);
	assert_int_equal(store->counters.late, 0);
	block_store_release(store, far + 1);
	assert_int_equal(collect(), 2);
}

static void run__begins_with_the_events_that_it_has(void **state)
{
	(void)state;
	for (uint64_t event = FIRST; event < FIRST + 3; event++)
		publish(event);
	publish(FIRST + 4);
	poll();
	block_store_release(store, FIRST + 1);
	block_store_begin(store, FIRST + 2);
	assert_int_equal(store->ready, FIRST + 3);
	assert_int_equal(collect(), 2);
	assert_int_equal(store->counters.late, 1); // that before the run
	publish(FIRST + 3);
	poll();
	assert_int_equal(store->ready, FIRST + 5);
	for (uint64_t event = FIRST + 2; event < FIRST + 5; event++)
		assert_event(event);
	assert_true(is_marked(FIRST + 2));
	assert_false(is_marked(FIRST + 3) || is_marked(FIRST + 4));
	block_store_release(store, FIRST + 5);
	assert_int_equal(collect(), 3);
}

static void store__ends_with_the_run(void **state)
{
	(void)state;
	publish(FIRST);
	publish(FIRST + 2);
	poll();
	evring_end(bench.ring);
	block_store_housekeep(store);
	assert_int_equal(store->end, FIRST + 3);
	assert_int_equal(store->ready, FIRST + 3);
	assert_missing(FIRST + 1);
	assert_int_equal(store->counters.missing, 1);
	block_store_release(store, FIRST + 3);
	assert_int_equal(collect(), 2);
}

static void discarded__event_is_given_up(void **state)
{
	(void)state;
	publish(FIRST);
	poll();
	block_store_unpublished(store, FIRST, false);
	block_store_unpublished(store, FIRST, true); // the same report again
	block_store_unpublished(store, FIRST + 1, false);
	assert_int_equal(store->counters.given_up, 1);
	block_store_release(store, FIRST + 1);
	assert_int_equal(collect(), 1);
	assert_int_equal(store->ready, FIRST + 1);
	assert_int_equal(store->counters.again, 0);
}

// Takes three events and dies. Returns when it is dead.
static void open_store_that_dies(void)
{
	pid_t child = bench_fork();
	int status;

	if (child == 0) {
		open_store();
		block_store_begin(store, FIRST);
		poll();
		_exit(store->ready == FIRST + 3 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void next__process_resumes(void **state)
{
	(void)state;
	block_store_destroy(store);
	for (uint64_t event = FIRST; event < FIRST + 3; event++)
		publish(event);
	open_store_that_dies();
	publish(FIRST + 3);
	open_store();
	assert_true(store->resumes && store->is_inheriting);
	block_store_begin(store, FIRST + 1); // the first event is released
	assert_true(store->is_inheriting);
	poll();
	assert_false(store->is_inheriting);
	assert_int_equal(store->ready, FIRST + 4);
	assert_int_equal(store->counters.late, 1);
	for (uint64_t event = FIRST + 1; event < FIRST + 4; event++)
		assert_event(event);
	assert_true(is_marked(FIRST + 1) && is_marked(FIRST + 2) && !is_marked(FIRST + 3));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events__come_in_any_order),
		TEST(slot__is_held_while_packets_point_into_it),
		TEST(gap__holds_events_back_for_the_deadline),
		TEST(gap__is_filled_in_time),
		TEST(gap__does_not_keep_all_slots),
		TEST(gaps__are_given_up_together_if_slots_are_left),
		TEST(slots__return_in_the_order_of_events),
		TEST(second__event_of_an_id_is_late),
		TEST(ids__of_no_event_are_unknown),
		TEST(event__far_ahead_waits_for_the_window),
		TEST(run__begins_with_the_events_that_it_has),
		TEST(store__ends_with_the_run),
		TEST(discarded__event_is_given_up),
		TEST(next__process_resumes),
	};

	return cmocka_run_group_tests_name("event_store_by_id", tests, testbed_start, testbed_stop);
}
