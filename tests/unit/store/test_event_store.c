// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The store of another appliance's built events.
#include "../evring/bench.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "store/event_store.h"
#include "testbed.h"

#define GROUP   "egress"
#define SLOTS   8u
#define HELD    4u
#define NO_PORT 77u // ids that name no port: nothing is mapped for a device

static struct bench bench;
static struct block_store *store;
static const uint16_t id = 5;
static uint64_t first; // index of the run's first event
static bool is_shared, by_id;

static struct block_store *make_store(uint32_t max_event)
{
	const struct event_store_parameters parameters = {
		.appliance = BENCH_NAME,
		.group = GROUP,
		.directory = bench.directory,
		.id = &id,
		.packing = 1,
		.max_event = max_event,
		.events = HELD,
		.is_shared = is_shared,
		.by_id = by_id,
	};
	struct block_store *made = event_store_create(&parameters);

	assert_non_null(made);
	return made;
}

static enum event_store_news watch(void)
{
	char error[EVENT_STORE_ERROR_SIZE];

	return event_store_watch(store, NO_PORT, error);
}

static void open_store(void)
{
	store = make_store(EVRING_SLOT_ALIGNMENT);
	assert_int_equal(watch(), EVENT_STORE_OPENED);
	assert_int_equal(watch(), EVENT_STORE_NOTHING_NEW);
	first = by_id ? 0 : 100;
	block_store_begin(store, first);
}

static int set_up(void **state)
{
	(void)state;
	bench_open(&bench, SLOTS, GROUP);
	open_store();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	block_store_destroy(store);
	bench_close(&bench);
	return 0;
}

static void publish(unsigned n)
{
	while (n-- > 0)
		assert_true(bench_publish(&bench));
}

static bool is_event(uint64_t event, uint64_t event_id)
{
	const struct store_block block = block_store_find(store, event, 0);
	const struct evb_event built = {
		.event_id = event_id,
		.data = block.bytes,
		.length = block.size,
	};

	assert_non_null(block.hold);
	assert_false(block.is_missing || block.is_temporary);
	return bench_event_is_right(&built);
}

static void assert_event(uint64_t event, uint64_t event_id)
{
	assert_true(is_event(event, event_id));
}

static bool is_marked(uint64_t event)
{
	return block_store_find(store, event, 0).is_repeated;
}

static void events__are_sent_from_their_slots(void **state)
{
	(void)state;
	for (uint64_t event = 0; event < 4 * SLOTS; event++) {
		publish(1);
		block_store_poll(store, 0);
		assert_int_equal(store->ready, first + event + 1);
		assert_event(first + event, event);
		assert_int_equal(bench_collect(&bench), 0);
		block_store_release(store, first + event + 1);
		block_store_poll(store, 0);
		assert_int_equal(bench_collect(&bench), 1);
		assert_int_equal(block_store_find(store, first + event, 0).size, 0);
	}
}

static void slot__is_held_while_packets_point_into_it(void **state)
{
	struct store_block block;

	(void)state;
	publish(2);
	block_store_poll(store, 0);
	block = block_store_find(store, first, 0);
	block_hold_take(block.hold);
	block_store_release(store, first + 2);
	block_store_poll(store, 0);
	assert_int_equal(bench_collect(&bench), 0);
	block_hold_return(block.hold);
	block_store_poll(store, 0);
	assert_int_equal(bench_collect(&bench), 2);
}

static void store__takes_no_more_than_it_may(void **state)
{
	(void)state;
	publish(SLOTS);
	block_store_poll(store, 0);
	block_store_poll(store, 0);
	block_store_housekeep(store);
	assert_int_equal(store->ready, first + HELD);
	assert_int_equal(store->counters.events, HELD);
	block_store_release(store, first + 1);
	block_store_poll(store, 0);
	assert_int_equal(store->ready, first + HELD + 1);
	assert_event(first + HELD, HELD);
}

static void events__go_to_the_group_when_the_store_goes(void **state)
{
	(void)state;
	publish(3);
	block_store_poll(store, 0);
	block_store_release(store, first + 1);
	block_store_poll(store, 0);
	block_store_destroy(store);
	open_store();
	block_store_poll(store, 0);
	assert_int_equal(store->ready, first + 2); // the released one does not come again
	// They come in the order of slots.
	assert_true((is_event(first, 1) && is_event(first + 1, 2)) ||
		    (is_event(first, 2) && is_event(first + 1, 1)));
	// They may have been sent; the next event was not.
	publish(1);
	block_store_poll(store, 0);
	assert_true(is_marked(first) && is_marked(first + 1) && !is_marked(first + 2));
}

static void block__is_marked_if_its_event_is(void **state)
{
	(void)state;
	publish(1);
	bench.flags = EVB_EVENT_REPEATED;
	publish(1);
	bench.flags = 0;
	publish(1);
	block_store_poll(store, 0);
	assert_true(!is_marked(first) && is_marked(first + 1) && !is_marked(first + 2));
}

static void run__begins_with_what_was_not_released(void **state)
{
	(void)state;
	publish(3);
	block_store_poll(store, 0);
	block_store_release(store, first + 1);
	block_store_begin(store, 1000);
	assert_int_equal(store->ready, 1000);
	block_store_poll(store, 0);
	assert_int_equal(store->ready, 1002);
	publish(1);
	block_store_poll(store, 0);
	assert_event(1000, 1);
	assert_event(1001, 2);
	assert_true(is_marked(1000) && is_marked(1001) && !is_marked(1002));
	block_store_release(store, 1003);
	block_store_poll(store, 0);
	assert_int_equal(bench_collect(&bench), 4);
}

static void store__ends_with_the_run(void **state)
{
	(void)state;
	publish(2);
	evring_end(bench.ring);
	block_store_housekeep(store);
	assert_true(store->end == UINT64_MAX);
	block_store_poll(store, 0);
	block_store_housekeep(store);
	assert_true(store->end == UINT64_MAX); // the events may have to be sent again
	assert_int_equal(watch(), EVENT_STORE_NOTHING_NEW);
	assert_event(first + 1, 1);
	block_store_begin(store, 50); // the next run has these events, too
	block_store_poll(store, 0);
	block_store_release(store, 51);
	block_store_unpublished(store, 51, false);
	block_store_release(store, 52);
	block_store_poll(store, 0);
	block_store_housekeep(store);
	assert_true(store->end == UINT64_MAX);
	assert_event(52, 1);
	block_store_release(store, 53);
	block_store_poll(store, 0);
	block_store_housekeep(store);
	assert_int_equal(store->end, 53);
}

static void discarded__event_comes_again(void **state)
{
	struct store_block block;

	(void)state;
	publish(2);
	block_store_poll(store, 0);
	block_store_unpublished(store, first, false);
	block_store_unpublished(store, first + 7, false); // that of another node
	block = block_store_find(store, first, 0);
	block_hold_take(block.hold);
	block_store_release(store, first + 1);
	block_store_poll(store, 0);
	assert_int_equal(store->ready, first + 2); // packets point into the slot
	block_hold_return(block.hold);
	publish(1);
	block_store_poll(store, 0);
	assert_int_equal(store->ready, first + 4);
	assert_event(first + 1, 1);
	assert_event(first + 2, 0);
	assert_event(first + 3, 2);
	assert_false(is_marked(first + 2)); // nobody has published it
	block_store_unpublished(store, first + 2, true);
	block_store_release(store, first + 4);
	block_store_poll(store, 0);
	assert_event(first + 4, 0);
	assert_true(is_marked(first + 4));
	assert_int_equal(bench_collect(&bench), 2);
	assert_int_equal(store->counters.again, 2);
}

static void discarded__event_is_given_up(void **state)
{
	(void)state;
	publish(SLOTS);
	for (unsigned i = 0; i <= EVENT_STORE_AGAIN; i++) {
		const uint64_t begin = first + i * HELD;

		block_store_poll(store, 0);
		assert_int_equal(store->ready, begin + HELD);
		for (uint64_t event = begin; event < begin + HELD; event++) {
			assert_event(event, event - begin);
			block_store_unpublished(store, event, false);
		}
		block_store_release(store, begin + HELD);
	}
	block_store_poll(store, 0);
	assert_int_equal(bench_collect(&bench), HELD);
	assert_int_equal(store->counters.again, EVENT_STORE_AGAIN * HELD);
	assert_int_equal(store->counters.given_up, HELD);
	block_store_poll(store, 0);
	assert_event(store->ready - 1, SLOTS - 1);
}

// The event manager chooses the indices.
static void shared__events_get_indices(void **state)
{
	(void)state;
	block_store_destroy(store);
	is_shared = true;
	open_store();
	is_shared = false;
	publish(3);
	block_store_poll(store, 0);
	assert_int_equal(store->offered, 3);
	assert_int_equal(block_store_find(store, first, 0).size, 0);
	block_store_assign(store, 107, 1);
	block_store_assign(store, 120, 1);
	assert_event(107, 0);
	assert_event(120, 1);
	assert_int_equal(block_store_find(store, 108, 0).size, 0);
	block_store_release(store, 119);
	assert_int_equal(block_store_find(store, 107, 0).size, 0);
	assert_event(120, 1);
	block_store_assign(store, 130, 4); // more than there are
	assert_event(130, 2);
	assert_int_equal(block_store_find(store, 131, 0).size, 0);
	publish(1);
	block_store_poll(store, 0);
	assert_int_equal(store->offered, 4);
	block_store_assign(store, 140, 1);
	assert_event(140, 3);
	block_store_release(store, 141);
	block_store_poll(store, 0);
	assert_int_equal(bench_collect(&bench), 4);

	evring_end(bench.ring);
	block_store_housekeep(store);
	assert_true(store->end != UINT64_MAX);
	assert_int_equal(store->offered, 4);
}

static void shared__run_begins_without_indices(void **state)
{
	(void)state;
	block_store_destroy(store);
	is_shared = true;
	open_store();
	is_shared = false;
	publish(2);
	block_store_poll(store, 0);
	block_store_assign(store, 110, 2);
	block_store_release(store, 111);
	block_store_begin(store, 500);
	block_store_poll(store, 0);
	assert_int_equal(store->offered, 1);
	assert_int_equal(block_store_find(store, 111, 0).size, 0);
	block_store_assign(store, 503, 1);
	assert_event(503, 1);
}

static void store__refuses_larger_slots(void **state)
{
	struct block_store *good = store;
	char error[EVENT_STORE_ERROR_SIZE];

	(void)state;
	store = make_store(EVRING_SLOT_ALIGNMENT - 1);
	assert_int_equal(event_store_watch(store, NO_PORT, error), EVENT_STORE_WAITS);
	assert_string_equal(error, "its slots have 4096 bytes, max_event is 4095");
	assert_int_equal(watch(), EVENT_STORE_NOTHING_NEW); // the reason is the same
	block_store_poll(store, 0);
	block_store_destroy(store);
	store = good;
}

// An appliance that publishes two events and then waits for its death. Its directory is bench's.
static pid_t start_appliance(void)
{
	int ends[2];
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = bench_fork();
	if (child == 0) {
		bench_open(&bench, SLOTS, GROUP);
		publish(2);
		if (write(ends[1], bench.directory, sizeof(bench.directory)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ends[0], bench.directory, sizeof(bench.directory)),
			 sizeof(bench.directory));
	close(ends[0]);
	close(ends[1]);
	return child;
}

static void replace_appliance(void)
{
	const char *group = GROUP;
	const struct evring_parameters parameters = bench_parameters(&bench, SLOTS, &group);

	assert_int_equal(evring_create(&bench.ring, &parameters, bench.error), 0);
	bench.free_slots[bench.n_free++] = 0;
}

static void kill_appliance(void)
{
	pid_t child = start_appliance();

	open_store();
	block_store_poll(store, 0);
	assert_event(first + 1, 1);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	for (unsigned i = 0; i < 200; i++) { // processes are looked after every 100 ms
		block_store_housekeep(store);
		usleep(1000);
	}
	assert_int_equal(watch(), EVENT_STORE_NOTHING_NEW);
	block_store_release(store, first + 2);
	block_store_poll(store, 0);
	block_store_housekeep(store);
	assert_int_equal(watch(), EVENT_STORE_CLOSED);
	assert_int_equal(watch(), EVENT_STORE_WAITS);
	assert_int_equal(watch(), EVENT_STORE_NOTHING_NEW);
	block_store_poll(store, 0);
	assert_true(store->end == UINT64_MAX);

	// The next process of the appliance.
	replace_appliance();
	assert_int_equal(watch(), EVENT_STORE_OPENED);
	bench.published = 2;
	publish(1);
	block_store_poll(store, 0);
	assert_int_equal(store->ready, first + 3);
	assert_event(first + 2, 2);
	block_store_destroy(store);
	evring_destroy(bench.ring);
	bench_remove_directory(&bench);
	memset(&bench, 0, sizeof(bench));
}

static void appliance__may_die(void **state)
{
	(void)state;
	kill_appliance();
	by_id = true;
	kill_appliance();
	by_id = false;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events__are_sent_from_their_slots),
		TEST(slot__is_held_while_packets_point_into_it),
		TEST(store__takes_no_more_than_it_may),
		TEST(events__go_to_the_group_when_the_store_goes),
		TEST(block__is_marked_if_its_event_is),
		TEST(run__begins_with_what_was_not_released),
		TEST(store__ends_with_the_run),
		TEST(discarded__event_comes_again),
		TEST(discarded__event_is_given_up),
		TEST(shared__events_get_indices),
		TEST(shared__run_begins_without_indices),
		TEST(store__refuses_larger_slots),
		cmocka_unit_test(appliance__may_die),
	};

	return cmocka_run_group_tests_name("event_store", tests, testbed_start, testbed_stop);
}
