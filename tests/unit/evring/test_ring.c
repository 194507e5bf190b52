// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Events through the ring: groups, order, slots that come back.
#include "bench.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void ring__event_arrives_as_published(void **state)
{
	struct bench bench;
	struct evb_reader *reader;
	struct evb_event event;

	(void)state;
	bench_open(&bench, 4, "main");
	reader = bench_member(&bench, NULL);
	bench_take_none(reader);
	assert_true(bench_publish(&bench));
	event = bench_take(reader, 0);
	assert_int_equal(event.length, BENCH_LENGTH);
	assert_int_equal(event.first_ns, 1);
	assert_int_equal(event.complete_ns, 2);
	assert_int_equal(event.flags, EVB_EVENT_INCOMPLETE);
	assert_int_equal(event.run_number, BENCH_RUN);
	assert_int_equal(event.n_sources, 3);
	assert_int_equal(event.n_missing, 1);
	assert_int_equal(event.builder, 0);
	assert_int_equal((uintptr_t)event.data % 64, 0);
	assert_true(evb_event_intact(reader, &event));

	assert_int_equal(evring_outstanding(bench.ring), 1);
	assert_int_equal(bench_collect(&bench), 0);
	bench_release(reader, &event);
	assert_int_equal(bench_collect(&bench), 1);
	assert_int_equal(evring_outstanding(bench.ring), 0);
	bench_take_none(reader);
	evb_reader_close(reader);
	bench_close(&bench);
}

static void ring__event_is_released_once(void **state)
{
	struct bench bench;
	struct evb_reader *reader, *other;
	struct evb_event event;

	(void)state;
	bench_open(&bench, 4, "main");
	reader = bench_member(&bench, NULL);
	other = bench_member(&bench, NULL);
	bench_publish(&bench);
	event = bench_take(reader, 0);
	assert_int_equal(evb_reader_release(other, &event), -EINVAL);
	assert_non_null(strstr(evb_reader_error(other), "not held"));
	bench_release(reader, &event);
	assert_int_equal(evb_reader_release(reader, &event), -EINVAL);
	event.slot = UINT32_MAX;
	assert_int_equal(evb_reader_release(reader, &event), -EINVAL);
	assert_false(evb_event_intact(reader, &event));
	event.builder = 1;
	assert_int_equal(evb_reader_release(reader, &event), -EINVAL);
	evb_reader_close(other);
	evb_reader_close(reader);
	bench_close(&bench);
}

static void ring__member_gets_each_event_once(void **state)
{
	struct bench bench;
	struct evb_reader *readers[3];
	struct evb_event events[9];

	(void)state;
	bench_open(&bench, 16, "main");
	for (unsigned i = 0; i < 3; i++)
		readers[i] = bench_member(&bench, NULL);
	for (unsigned i = 0; i < 9; i++)
		bench_publish(&bench);
	for (unsigned i = 0; i < 9; i++)
		events[i] = bench_take(readers[i % 3], i);
	for (unsigned i = 0; i < 3; i++)
		bench_take_none(readers[i]);
	for (unsigned i = 0; i < 9; i++)
		bench_release(readers[i % 3], &events[i]);
	assert_int_equal(bench_collect(&bench), 9);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(evb_reader_counters(readers[i]).events, 3);
		assert_int_equal(evb_reader_counters(readers[i]).bytes, 3 * BENCH_LENGTH);
		evb_reader_close(readers[i]);
	}
	bench_close(&bench);
}

static void ring__each_group_gets_each_event(void **state)
{
	static const char *const names[] = { "a", "b", "c", "d", "e", "f", "g" };
	const unsigned n_groups = sizeof(names) / sizeof(names[0]);
	struct bench bench;
	struct evb_reader *readers[8];
	struct evb_event event;

	(void)state;
	bench_open(&bench, 8, "main");
	for (unsigned g = 0; g < n_groups; g++)
		readers[g] = bench_member(&bench, names[g]);
	readers[n_groups] = bench_member(&bench, "main");
	for (unsigned i = 0; i < 5; i++)
		bench_publish(&bench);
	for (unsigned g = 0; g <= n_groups; g++) {
		assert_int_equal(bench_collect(&bench), 0);
		for (unsigned i = 0; i < 5; i++) {
			event = bench_take(readers[g], i);
			bench_release(readers[g], &event);
		}
		bench_take_none(readers[g]);
	}
	assert_int_equal(bench_collect(&bench), 5);
	for (unsigned g = 0; g <= n_groups; g++)
		evb_reader_close(readers[g]);
	bench_close(&bench);
}

static void ring__slots_return_in_any_order(void **state)
{
	static const unsigned order[] = { 3, 0, 5, 1, 4, 2 };
	struct bench bench;
	struct evb_reader *reader;
	struct evb_event events[6];

	(void)state;
	bench_open(&bench, 6, "main");
	reader = bench_member(&bench, NULL);
	while (bench_publish(&bench))
		;
	for (unsigned i = 0; i < 6; i++)
		events[i] = bench_take(reader, i);
	for (unsigned i = 0; i < 6; i++) {
		bench_release(reader, &events[order[i]]);
		assert_int_equal(bench_collect(&bench), 1);
		assert_true(bench.is_free[events[order[i]].slot]);
	}
	evb_reader_close(reader);
	bench_close(&bench);
}

// A member that keeps an event keeps its slot, and nothing else.
static void ring__held_event_holds_only_its_slot(void **state)
{
	struct bench bench;
	struct evb_reader *slow, *quick;
	struct evb_event held, event;

	(void)state;
	bench_open(&bench, 8, "main");
	slow = bench_member(&bench, NULL);
	quick = bench_member(&bench, NULL);
	bench_publish(&bench);
	held = bench_take(slow, 0);
	for (uint64_t id = 1; id < 8 * 25;) {
		while (bench_publish(&bench))
			;
		for (; id < bench.published; id++) {
			event = bench_take(quick, id);
			assert_int_not_equal(event.slot, held.slot);
			bench_release(quick, &event);
		}
		assert_int_equal(bench_collect(&bench), 7);
	}
	assert_true(bench_event_is_right(&held));
	assert_true(evb_event_intact(slow, &held));
	bench_release(slow, &held);
	assert_int_equal(bench_collect(&bench), 1);
	evb_reader_close(slow);
	evb_reader_close(quick);
	bench_close(&bench);
}

static void ring__closing_a_reader_gives_its_events_back(void **state)
{
	struct bench bench;
	struct evb_reader *reader;
	struct evb_event event;
	unsigned seen = 0;

	(void)state;
	bench_open(&bench, 4, "main");
	reader = bench_member(&bench, NULL);
	for (unsigned i = 0; i < 3; i++)
		bench_publish(&bench);
	bench_take(reader, 0);
	bench_take(reader, 1);
	evb_reader_close(reader);
	assert_int_equal(bench_collect(&bench), 0);
	assert_int_equal(evring_reap(bench.ring), 0); // nobody died
	reader = bench_member(&bench, NULL);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(evb_reader_next(reader, &event, 0), 1);
		seen |= 1u << event.event_id; // those given back come in any order
		bench_release(reader, &event);
	}
	assert_int_equal(seen, 7);
	assert_int_equal(bench_collect(&bench), 3);
	evb_reader_close(reader);
	bench_close(&bench);
}

static void ring__without_group_slots_come_back_at_once(void **state)
{
	struct bench bench;

	(void)state;
	bench_open(&bench, 4, NULL);
	for (unsigned i = 0; i < 50; i++) {
		assert_true(bench_publish(&bench));
		assert_int_equal(bench_collect(&bench), 1);
	}
	bench_close(&bench);
}

static void ring__configured_group_waits_for_members(void **state)
{
	struct bench bench;
	struct evb_reader *reader;

	(void)state;
	bench_open(&bench, 4, "main");
	while (bench_publish(&bench))
		;
	assert_int_equal(evring_reap(bench.ring), 0);
	assert_int_equal(bench_collect(&bench), 0);
	reader = bench_member(&bench, "main");
	for (unsigned i = 0; i < 4; i++)
		bench_take(reader, i);
	evb_reader_close(reader);
	bench_close(&bench);
}

// A group made by a reader sees what is published from then on, and goes with its last member.
static void ring__readers_group_comes_and_goes(void **state)
{
	struct evring_group_state group;
	struct bench bench;
	struct evb_reader *reader;

	(void)state;
	bench_open(&bench, 4, NULL);
	for (unsigned round = 0; round < 20; round++) {
		const uint64_t first = bench.published + 1;

		bench_publish(&bench);
		assert_false(evring_group(bench.ring, 0, &group));
		reader = bench_member(&bench, "passing");
		bench_publish(&bench);
		bench_publish(&bench);
		bench_take(reader, first);
		assert_true(evring_group(bench.ring, 0, &group));
		assert_string_equal(group.name, "passing");
		assert_false(group.persistent);
		assert_int_equal(group.members, 1);
		assert_int_equal(group.delivered, 1);
		assert_int_equal(group.released, 0);
		assert_int_equal(group.lag, 1);
		evb_reader_close(reader);
		assert_int_equal(evring_reap(bench.ring), 0);
		assert_int_equal(bench_collect(&bench), 3);
	}
	bench_close(&bench);
}

static void ring__many_groups_cycle_longer_than_the_queue(void **state)
{
	struct bench bench;
	struct evb_reader *a, *b;
	struct evb_event event;
	uint64_t next_a = 0, next_b = 0;
	uint64_t seed = 5;

	(void)state;
	bench_open(&bench, 13, "main");
	a = bench_member(&bench, "main");
	b = bench_member(&bench, "other");
	while (bench.published < 3000) {
		bench_collect(&bench);
		for (unsigned n = bench_random(&seed) % 14; n > 0; n--)
			(void)bench_publish(&bench);
		for (unsigned n = bench_random(&seed) % 14; n > 0 && next_a < bench.published;
		     n--) {
			event = bench_take(a, next_a++);
			bench_release(a, &event);
		}
		for (unsigned n = bench_random(&seed) % 14; n > 0 && next_b < bench.published;
		     n--) {
			event = bench_take(b, next_b++);
			bench_release(b, &event);
		}
	}
	evb_reader_close(a);
	evb_reader_close(b);
	bench_close(&bench);
}

static void ring__reclaim_keeps_to_its_maximum(void **state)
{
	struct bench bench;
	struct evb_reader *reader;
	uint32_t slots[4];

	(void)state;
	bench_open(&bench, 10, "main");
	reader = bench_member(&bench, NULL);
	while (bench_publish(&bench))
		;
	for (unsigned i = 0; i < 10; i++) {
		const struct evb_event event = bench_take(reader, i);

		bench_release(reader, &event);
	}
	assert_int_equal(evring_reclaim(bench.ring, slots, 4), 4);
	assert_int_equal(evring_reclaim(bench.ring, slots, 4), 4);
	assert_int_equal(evring_reclaim(bench.ring, slots, 4), 2);
	assert_int_equal(evring_reclaim(bench.ring, slots, 4), 0);
	evb_reader_close(reader);
	bench_close(&bench);
}

static void ring__ended_run_is_drained(void **state)
{
	struct bench bench;
	struct evb_reader *reader, *spy;
	struct evb_event event;

	(void)state;
	bench_open(&bench, 4, "main");
	reader = bench_member(&bench, NULL);
	spy = bench_spy(&bench);
	bench_publish(&bench);
	bench_publish(&bench);
	evring_end(bench.ring);
	event = bench_take(reader, 0);
	bench_take(reader, 1);
	assert_int_equal(evb_reader_next(reader, &event, -1), -EPIPE);
	assert_string_equal(evb_reader_error(reader), "the run is over");
	bench_take(spy, 0);
	bench_take(spy, 1);
	assert_int_equal(evb_reader_next(spy, &event, -1), -EPIPE);
	evb_reader_close(spy);
	evb_reader_close(reader);
	bench_close(&bench);
}

// A reader stays over several runs, and each event has the number of its run, unless the reader
// asks for the end of one.
static void ring__runs_follow_each_other(void **state)
{
	struct bench bench;
	struct evb_reader *reader, *spy, *of_run;
	struct evb_event event;

	(void)state;
	bench_open(&bench, 4, "main");
	reader = bench_member(&bench, NULL);
	spy = bench_spy(&bench);
	of_run = bench_spy(&bench);
	evb_reader_end_with_run(of_run);
	bench_publish(&bench);
	event = bench_take(reader, 0);
	bench_release(reader, &event);
	bench_take(of_run, 0);
	evring_end_run(bench.ring);
	assert_int_equal(evb_reader_next(of_run, &event, -1), -EPIPE);
	bench_take_none(reader);

	assert_int_equal(bench_collect(&bench), 1);
	evring_begin_run(bench.ring, BENCH_RUN + 1);
	assert_int_equal(bench_take(spy, 0).run_number, BENCH_RUN);
	bench_publish(&bench);
	assert_int_equal(bench_take(spy, 1).run_number, BENCH_RUN + 1);
	event = bench_take(reader, 1);
	assert_int_equal(event.run_number, BENCH_RUN + 1);
	bench_release(reader, &event);
	evring_end_run(bench.ring);
	evring_end(bench.ring);
	assert_int_equal(evb_reader_next(reader, &event, -1), -EPIPE);
	evb_reader_close(of_run);
	evb_reader_close(spy);
	evb_reader_close(reader);
	bench_close(&bench);
}

// The memory stays with the readers when the appliance has gone.
static void ring__destroyed_ring_is_drained(void **state)
{
	struct bench bench;
	struct evb_reader *reader;
	struct evb_event event;

	(void)state;
	bench_open(&bench, 4, "main");
	reader = bench_member(&bench, NULL);
	bench_publish(&bench);
	bench_close(&bench);
	event = bench_take(reader, 0);
	bench_release(reader, &event);
	assert_int_equal(evb_reader_next(reader, &event, -1), -EPIPE);
	evb_reader_close(reader);
}

static void ring__groups_and_members_have_limits(void **state)
{
	const char *names[] = { "g1", "g2", "g3", "g4", "g5", "g6", "g7", "g8" };
	struct evb_reader *readers[EVRING_MAX_MEMBERS], *refused;
	struct bench bench;
	struct evb_reader_options options = { .group = "g9" };

	(void)state;
	bench_open(&bench, 4, NULL);
	options.directory = bench.directory;
	for (unsigned i = 0; i < EVRING_MAX_MEMBERS; i++)
		readers[i] = bench_member(&bench, names[i % EVRING_MAX_GROUPS]);
	assert_int_equal(evb_reader_open(&refused, BENCH_NAME, &options), -ENOSPC);
	assert_non_null(strstr(evb_reader_error(refused), "no room for group g9"));
	evb_reader_close(refused);
	options.group = "g1";
	assert_int_equal(evb_reader_open(&refused, BENCH_NAME, &options), -ENOSPC);
	assert_non_null(strstr(evb_reader_error(refused), "no room for a reader"));
	evb_reader_close(refused);
	for (unsigned i = 0; i < EVRING_MAX_MEMBERS; i++)
		evb_reader_close(readers[i]);
	assert_int_equal(evring_reap(bench.ring), 0);
	bench_close(&bench);
}

static void ring__two_builders_are_read_in_turn(void **state)
{
	const char *group = "main";
	struct bench benches[2];
	struct evring_parameters parameters;
	struct evb_reader *reader;
	struct evb_event event;

	(void)state;
	bench_make_directory(&benches[0]);
	benches[1] = benches[0];
	for (unsigned b = 0; b < 2; b++) {
		parameters = bench_parameters(&benches[b], 2, &group);
		parameters.builder = b;
		parameters.n_builders = 2;
		assert_int_equal(evring_create(&benches[b].ring, &parameters, benches[b].error), 0);
		for (uint32_t slot = 0; slot < 2; slot++)
			benches[b].free_slots[benches[b].n_free++] = slot;
	}
	reader = bench_member(&benches[0], NULL);
	for (unsigned i = 0; i < 2; i++)
		for (unsigned b = 0; b < 2; b++)
			bench_publish(&benches[b]);
	for (unsigned i = 0; i < 4; i++) {
		event = bench_take(reader, i / 2);
		assert_int_equal(event.builder, i % 2);
		bench_release(reader, &event);
	}
	assert_int_equal(bench_collect(&benches[0]), 2);
	assert_int_equal(bench_collect(&benches[1]), 2);
	evring_end(benches[0].ring);
	bench_take_none(reader);
	evring_end(benches[1].ring);
	assert_int_equal(evb_reader_next(reader, &event, 0), -EPIPE);
	evb_reader_close(reader);
	evring_destroy(benches[1].ring);
	bench_close(&benches[0]);
}

static void holds__name_the_member_with_the_oldest_event(void **state)
{
	struct evring_hold holds[EVRING_MAX_GROUPS];
	struct evb_reader *first, *second;
	struct evb_event events[3];
	struct bench bench;

	(void)state;
	bench_open(&bench, 8, "main");
	evring_holds(bench.ring, holds);
	assert_int_equal(holds[0].slots, 0);
	first = bench_member(&bench, NULL);
	second = bench_member(&bench, NULL);
	for (unsigned i = 0; i < 5; i++)
		assert_true(bench_publish(&bench));
	events[0] = bench_take(first, 0);
	events[1] = bench_take(second, 1);
	events[2] = bench_take(second, 2);
	evring_holds(bench.ring, holds);
	assert_int_equal(holds[0].slots, 5);
	assert_int_equal(holds[0].claimed, 3);
	assert_int_equal(holds[0].members, 2);
	assert_int_equal(holds[0].pid, getpid());
	assert_int_equal(holds[0].oldest, 0);
	bench_release(first, &events[0]);
	evring_holds(bench.ring, holds);
	assert_int_equal(holds[0].slots, 4);
	assert_int_equal(holds[0].members, 1);
	assert_int_equal(holds[0].oldest, 1);
	evb_reader_close(first);
	evb_reader_close(second);
	bench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring__event_arrives_as_published),
		cmocka_unit_test(ring__event_is_released_once),
		cmocka_unit_test(ring__member_gets_each_event_once),
		cmocka_unit_test(ring__each_group_gets_each_event),
		cmocka_unit_test(ring__slots_return_in_any_order),
		cmocka_unit_test(ring__held_event_holds_only_its_slot),
		cmocka_unit_test(ring__closing_a_reader_gives_its_events_back),
		cmocka_unit_test(ring__without_group_slots_come_back_at_once),
		cmocka_unit_test(ring__configured_group_waits_for_members),
		cmocka_unit_test(ring__readers_group_comes_and_goes),
		cmocka_unit_test(ring__many_groups_cycle_longer_than_the_queue),
		cmocka_unit_test(ring__reclaim_keeps_to_its_maximum),
		cmocka_unit_test(ring__ended_run_is_drained),
		cmocka_unit_test(ring__runs_follow_each_other),
		cmocka_unit_test(ring__destroyed_ring_is_drained),
		cmocka_unit_test(ring__groups_and_members_have_limits),
		cmocka_unit_test(ring__two_builders_are_read_in_turn),
		cmocka_unit_test(holds__name_the_member_with_the_oldest_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
