// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The builder role when no slot is free: whom it waits for, and for how long.
#include "role_bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "packet/segment_mbuf.h"
#include "wire/mep.h"

static void no_slot__waits_for_the_consumer(void **state)
{
	struct evb_event event;
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
	for (uint64_t id = 0; id < 2 * SLOTS; id += 2)
		feed_event(&bench, id);
	feed_event(&bench, 100);
	feed_event(&bench, 102);
	for (unsigned i = 0; i < 10; i++)
		role_bench_poll(&bench);
	assert_true(bench.role->backpressured);
	assert_int_equal(role_bench_poll(&bench), 0);
	assert_int_equal(counters(&bench)->events_complete, SLOTS);
	assert_int_equal(counters(&bench)->segments, 2 * SLOTS);
	assert_int_equal(counters(&bench)->drops[SEGMENT_NO_SLOT], 0);
	event = take(&bench, 0);
	assert_int_equal(role_bench_poll(&bench), 0);
	assert_int_equal(evb_reader_release(bench.reader, &event), 0);
	for (unsigned i = 0; i < 3; i++)
		role_bench_poll(&bench);
	assert_int_equal(counters(&bench)->events_complete, SLOTS + 1);
	for (uint64_t id = 2; id < 2 * SLOTS; id += 2)
		take_complete(&bench, id);
	for (unsigned i = 0; i < 3; i++)
		role_bench_poll(&bench);
	take_complete(&bench, 100);
	take_complete(&bench, 102);
	assert_false(bench.role->backpressured);
	role_bench_close(&bench);
}

// 10 ms of waiting and more do not bring the deadline of 10 ms near.
static void no_slot__stops_the_clock_of_deadlines(void **state)
{
	uint64_t deadline = rte_get_tsc_hz() / 100;
	struct evb_event events[3];
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
	for (uint64_t id = 0; id < 6; id += 2)
		feed_event(&bench, id);
	feed_block(&bench, 6, 0);
	feed_block(&bench, 8, 0);
	for (unsigned i = 0; i < 10; i++)
		role_bench_poll(&bench);
	assert_true(bench.role->backpressured);
	for (unsigned i = 0; i < 10; i++) {
		bench.now += deadline;
		role_poll(bench.role, bench.now);
		assert_true(bench.role->backpressured);
		bench.role->operations->housekeep(bench.role, bench.now);
	}
	for (unsigned i = 0; i < 3; i++)
		events[i] = take(&bench, 2 * i);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(evb_reader_release(bench.reader, &events[i]), 0);
	role_poll(bench.role, bench.now); // the wait is over
	bench.role->operations->housekeep(bench.role, bench.now);
	assert_int_equal(counters(&bench)->events_incomplete, 0);
	bench.now += deadline / 2;
	bench.role->operations->housekeep(bench.role, bench.now);
	assert_int_equal(counters(&bench)->events_incomplete, 0);
	bench.now += deadline;
	bench.role->operations->housekeep(bench.role, bench.now);
	assert_int_equal(counters(&bench)->events_incomplete, 2);
	role_bench_close(&bench);
}

// Feeds events of source `only`, or complete ones (2), for some deadlines. A consumer holds the
// next `hold` of them for ever, and releases the others. Returns the number of released events.
static unsigned consume(struct role_bench *bench, unsigned only, unsigned deadlines, unsigned hold,
			uint64_t *id)
{
	const uint64_t tick = rte_get_tsc_hz() / 1000; // a tenth of a deadline
	struct evb_event event;
	unsigned n = 0;

	for (unsigned i = 0; i < 10 * deadlines; i++) {
		while (rte_ring_count(bench->links[0]->ring) < 32) {
			if (only != 1)
				feed_block(bench, *id, 0);
			if (only != 0)
				feed_block(bench, *id, 1);
			*id += 2;
		}
		bench->now += tick;
		for (unsigned j = 0; j < 4; j++)
			role_poll(bench->role, bench->now + j);
		bench->role->operations->housekeep(bench->role, bench->now + 4);
		while (evb_reader_next(bench->reader, &event, 0) == 1) {
			if (hold > 0) {
				hold--;
				continue;
			}
			assert_int_equal(evb_reader_release(bench->reader, &event), 0);
			n++;
		}
	}
	return n;
}

// Consumers that stop for ever with all slots but one, and a source that is silent: the events of
// the other source go on, one per free slot and deadline.
static void no_slot__stopped_consumers_and_silent_sources_stop_nobody(void **state)
{
	(void)state;
	for (unsigned held = 0; held < SLOTS; held++)
		for (unsigned only = 0; only < 3; only++) {
			struct role_bench bench;
			uint64_t id = 0;

			role_bench_open(&bench, "");
			assert_true(consume(&bench, 0, 120, 0, &id) > 300);
			(void)consume(&bench, only, 20, held, &id);
			assert_in_range(consume(&bench, only, 40, 0, &id),
					40 * (SLOTS - held) * 8 / 10, 100000);
			while (role_bench_poll(&bench) > 0)
				;
			role_bench_close(&bench);
		}
}

static void no_slot__drops_where_configured(void **state)
{
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, ", \"on_no_slot\": \"drop\"");
	for (uint64_t id = 0; id < 2 * SLOTS + 4; id += 2)
		feed_event(&bench, id);
	for (unsigned i = 0; i < 3; i++)
		role_bench_poll(&bench);
	assert_false(bench.role->backpressured);
	assert_int_equal(counters(&bench)->events_complete, SLOTS);
	assert_int_equal(counters(&bench)->segments, 2 * SLOTS + 4);
	assert_int_equal(counters(&bench)->drops[SEGMENT_NO_SLOT], 4);
	assert_int_equal(rte_mempool_in_use_count(bench.pool), 0);
	for (uint64_t id = 0; id < 2 * SLOTS; id += 2)
		take_complete(&bench, id);
	feed_event(&bench, 50);
	role_bench_poll(&bench);
	role_bench_poll(&bench);
	take_complete(&bench, 50);
	role_bench_close(&bench);
}

// All slots are with open events, and no link brings what they miss: waiting would not help.
static void no_slot__does_not_wait_for_nobody(void **state)
{
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
	for (uint64_t id = 0; id < 2 * SLOTS; id += 2)
		feed_block(&bench, id, 0);
	feed_block(&bench, 100, 0);
	feed(&bench, 1, 102, 0, 0, SIZE, 1024);
	assert_int_equal(role_bench_poll(&bench), SLOTS);
	assert_int_equal(role_bench_poll(&bench), 1);
	assert_int_equal(counters(&bench)->drops[SEGMENT_NO_SLOT], 1);
	assert_int_equal(counters(&bench)->placed, SLOTS);
	role_bench_close(&bench);
}

// Sources on two links that are further apart than there are slots: the one ahead is held back
// until the other has caught up, and nothing is lost.
static void no_slot__waits_for_the_other_link(void **state)
{
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
	for (uint64_t id = 0; id < 2 * (SLOTS + 2); id += 2)
		feed_block(&bench, id, 0);
	assert_int_equal(role_bench_poll(&bench), SLOTS);
	assert_int_equal(role_bench_poll(&bench), 0);
	assert_true(bench.role->backpressured);
	for (uint64_t id = 0; id < 2 * (SLOTS + 2); id += 2) {
		feed(&bench, 1, id, 1, 0, SIZE, 1024);
		role_bench_poll(&bench);
		role_bench_poll(&bench);
		take_complete(&bench, id);
		role_bench_poll(&bench);
	}
	assert_int_equal(counters(&bench)->segments, 2 * (SLOTS + 2));
	assert_int_equal(counters(&bench)->placed, 2 * (SLOTS + 2));
	assert_int_equal(counters(&bench)->events_complete, SLOTS + 2);
	role_bench_close(&bench);
}

// The slot that an overtaken event gives up is waited for: the new event is not lost.
static void no_slot__overtaken_event_makes_room(void **state)
{
	struct evb_event event;
	struct role_bench bench;

	(void)state;
	role_bench_open(&bench, "");
	feed_block(&bench, 0, 0);
	role_bench_poll(&bench);
	feed_event(&bench, 2);
	role_bench_poll(&bench);
	role_bench_poll(&bench);
	take_complete(&bench, 2);
	for (uint64_t id = 4; id < 10; id += 2)
		feed_block(&bench, id, 0);
	role_bench_poll(&bench);
	feed_block(&bench, 10, 0);
	assert_int_equal(role_bench_poll(&bench), 0);
	assert_true(bench.role->backpressured);
	assert_int_equal(counters(&bench)->events_overtaken, 1);
	event = take(&bench, 0);
	assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE);
	assert_block(&event, 0);
	assert_int_equal(evb_reader_release(bench.reader, &event), 0);
	assert_int_equal(role_bench_poll(&bench), 1);
	assert_int_equal(counters(&bench)->drops[SEGMENT_NO_SLOT], 0);
	role_bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_slot__waits_for_the_consumer),
		cmocka_unit_test(no_slot__stops_the_clock_of_deadlines),
		cmocka_unit_test(no_slot__stopped_consumers_and_silent_sources_stop_nobody),
		cmocka_unit_test(no_slot__drops_where_configured),
		cmocka_unit_test(no_slot__does_not_wait_for_nobody),
		cmocka_unit_test(no_slot__waits_for_the_other_link),
		cmocka_unit_test(no_slot__overtaken_event_makes_room),
	};

	return cmocka_run_group_tests_name("role_slots", tests, testbed_start, testbed_stop);
}
