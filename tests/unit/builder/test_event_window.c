// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The event window: which events a source may open alone, and how the window follows a run.
#include "workbench.h"

#include <stdlib.h>

#define SLOTS  32u
#define PERIOD 100u // ticks between two events: 10 in a deadline

struct run {
	struct workbench bench;
	uint64_t index; // of the next event
	unsigned n_complete, n_flagged;
	uint64_t last; // id of the last event that was taken
};

static void open_run(struct run *run, unsigned n_sources, uint32_t packing)
{
	const struct workbench_options options = {
		.n_sources = n_sources,
		.packing = packing,
		.slots = SLOTS,
		.slot_size = 16384,
		.payload = PAYLOAD_OPAQUE,
		.guarded = true,
	};

	*run = (struct run){ .index = 1000 };
	workbench_open(&run->bench, &options);
}

static void take(struct run *run)
{
	struct evb_event event;

	while (evb_reader_next(run->bench.reader, &event, 0) == 1) {
		*(event.flags == 0 ? &run->n_complete : &run->n_flagged) += 1;
		run->last = event.event_id;
		workbench_release(&run->bench, &event);
	}
}

static enum segment_cause send_segment(struct run *run, unsigned source, uint64_t index)
{
	static const uint8_t bytes[8] = { 1 };
	const struct segment segment = {
		.event_id = index * run->bench.options.packing,
		.event_index = index,
		.arrival = run->bench.now,
		.size = sizeof(bytes),
		.length = sizeof(bytes),
		.source = (uint16_t)source,
	};

	return workbench_send_forged(&run->bench, &segment, bytes);
}

// n events, `step` apart, of the sources [first, last), and then the housekeeping.
static void events(struct run *run, unsigned n, uint64_t step, unsigned first, unsigned last)
{
	for (unsigned i = 0; i < n; i++, run->index += step) {
		for (unsigned source = first; source < last; source++)
			assert_int_equal(send_segment(run, source, run->index), PLACED);
		workbench_wait(&run->bench, PERIOD);
		take(run);
	}
}

static void pass(struct run *run, unsigned n_deadlines)
{
	for (unsigned i = 0; i < 10 * n_deadlines; i++) {
		workbench_wait(&run->bench, WORKBENCH_DEADLINE / 10);
		take(run);
	}
}

static void close_run(struct run *run)
{
	assembly_flush(run->bench.assembly, run->bench.now);
	take(run);
	workbench_close(&run->bench);
}

// Of one source: what the window has, and a few events outside of it.
static void shares__of_slots(void **state)
{
	struct run run;
	unsigned n = 0;

	(void)state;
	open_run(&run, 8, 1);
	events(&run, 10, 1, 0, 8);
	for (uint64_t ahead = 0; ahead < 1000; ahead++)
		n += send_segment(&run, 3, run.index + ahead) == PLACED;
	assert_int_equal(n, SLOTS / 2 + SLOTS / 16);
	assert_int_equal(send_segment(&run, 3, run.index + 5000), SEGMENT_EARLY);
	assert_int_equal(counters_of(&run.bench)->drops[SEGMENT_EARLY], 1000 - n + 1);
	// The other sources are not affected.
	events(&run, 40, 1, 4, 8);
	assert_int_equal(run.n_complete, 10);
	close_run(&run);
}

static void ids__that_are_no_multiples_of_the_packing_are_not_of_the_run(void **state)
{
	struct run run;
	unsigned n = 0;

	(void)state;
	open_run(&run, 4, 10);
	events(&run, 10, 1, 0, 4);
	for (uint64_t i = 0; i < 200; i++) {
		static const uint8_t bytes[8];
		const struct segment segment = { .event_id = run.index * 10 + i,
						 .event_index = run.index + i / 10,
						 .size = 8,
						 .length = 8,
						 .source = 1 };

		n += workbench_send_forged(&run.bench, &segment, bytes) == PLACED;
	}
	assert_int_equal(n, SLOTS / 2 + SLOTS / 16);
	close_run(&run);
}

// Source 2 is ahead by more than a deadline.
static void ahead__waits_for_the_others(void **state)
{
	struct run run;

	(void)state;
	open_run(&run, 4, 1);
	events(&run, 5, 1, 0, 4);
	for (uint64_t ahead = 0; ahead < 15; ahead++)
		assert_int_equal(send_segment(&run, 2, run.index + ahead), PLACED);
	for (unsigned i = 0; i < 200; i++) {
		assert_int_equal(send_segment(&run, 2, run.index + 15), PLACED);
		assert_int_equal(send_segment(&run, 3, run.index), PLACED);
		events(&run, 1, 1, 0, 2);
	}
	assert_int_equal(run.n_complete, 205);
	assert_int_equal(run.n_flagged, 0);
	close_run(&run);
}

// Sources of a quorum are silent: the events of the others are published after a while, all of
// them.
static void quorum__that_is_silent_stops_nobody(void **state)
{
	struct run run;

	(void)state;
	open_run(&run, 8, 1);
	events(&run, 50, 1, 0, 8);
	for (unsigned i = 0; i < 300; i++)
		events(&run, 1, 1, 0, 2);
	pass(&run, 2);
	assert_int_equal(run.n_flagged, 300);
	events(&run, 50, 1, 0, 8);
	assert_int_equal(run.n_complete, 100);
	assert_int_equal(run.n_flagged, 300);
	close_run(&run);
}

static void source__may_start_late_and_stop(void **state)
{
	struct run run;

	(void)state;
	open_run(&run, 3, 1);
	events(&run, 30, 1, 0, 2);
	pass(&run, 2);
	assert_int_equal(run.n_flagged, 30);
	events(&run, 30, 1, 0, 3);
	assert_int_equal(run.n_complete, 30);
	events(&run, 30, 1, 1, 3);
	pass(&run, 2);
	assert_int_equal(run.n_flagged, 60);
	close_run(&run);
}

// All sources go on at other ids, without a pause: nothing is lost.
static void jump__of_all_sources_loses_nothing(void **state)
{
	static const uint64_t places[] = { 1000, UINT64_C(1) << 40, 5, UINT64_C(1) << 63,
					   7000, UINT32_MAX };

	(void)state;
	for (unsigned n_sources = 2; n_sources < 9; n_sources++) {
		struct run run;

		open_run(&run, n_sources, 1);
		for (unsigned i = 0; i < 6; i++) {
			run.index = places[i];
			events(&run, 60, 1, 0, n_sources);
		}
		assert_int_equal(run.n_complete, 6 * 60);
		assert_int_equal(run.n_flagged, 0);
		close_run(&run);
	}
}

static void jump__of_a_counter_that_wraps(void **state)
{
	struct run run;

	(void)state;
	open_run(&run, 5, 1);
	run.index = (1 << 24) - 100;
	for (unsigned round = 0; round < 3; round++) {
		events(&run, 100, 1, 0, 5);
		run.index &= (1 << 24) - 1;
	}
	assert_int_equal(run.n_complete, 300);
	close_run(&run);
}

// Ids that are times, and ids of which other builders get some.
static void gaps__between_ids_of_a_run(void **state)
{
	static const uint64_t steps[] = { 1, 4, 7, 2000000, UINT64_C(1) << 36 };

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct run run;

		open_run(&run, 3, 1);
		events(&run, 300, steps[i], 0, 3);
		assert_int_equal(run.n_complete, 300);
		// A source that is ahead by 10 events.
		for (uint64_t ahead = 0; ahead < 10; ahead++)
			assert_int_equal(send_segment(&run, 1, run.index + ahead * steps[i]),
					 PLACED);
		for (unsigned j = 0; j < 10; j++) {
			assert_int_equal(send_segment(&run, 0, run.index), PLACED);
			events(&run, 1, steps[i], 2, 3);
		}
		assert_int_equal(run.n_complete, 310);
		assert_int_equal(counters_of(&run.bench)->drops[SEGMENT_EARLY], 0);
		close_run(&run);
	}
}

// 0.35 s at 200 000 events per second: 20 events in a tick.
static void late__segments_publish_no_event_twice(void **state)
{
	struct run run;

	(void)state;
	open_run(&run, 3, 1);
	for (unsigned i = 0; i < 70000; i++, run.index++) {
		for (unsigned source = 0; source < 3; source++)
			(void)send_segment(&run, source, run.index);
		if (i % 20 == 0)
			workbench_wait(&run.bench, 1);
		take(&run);
	}
	assert_int_equal(run.n_complete, 70000);
	for (uint64_t i = 0; i < 20; i++)
		assert_int_equal(send_segment(&run, 1, 1000 + i),
				 i < SLOTS / 16 ? PLACED : SEGMENT_LATE);
	for (unsigned i = 0; i < 30; i++)
		events(&run, 1, 1, 0, 3);
	assert_int_equal(run.n_complete, 70030);
	assert_int_equal(run.n_flagged, 0);
	assert_int_equal(counters_of(&run.bench)->events_discarded, SLOTS / 16);
	close_run(&run);
}

// All sources pause for some deadlines, but one sends the next events, too early: nothing is lost.
static void pause__is_not_used_by_one_source(void **state)
{
	struct run run;

	(void)state;
	open_run(&run, 8, 1);
	for (unsigned round = 0; round < 10; round++) {
		events(&run, 30, 1, 0, 8);
		for (unsigned i = 0; i < 50; i++) {
			(void)send_segment(&run, 3, run.index + i % 12);
			(void)send_segment(&run, 3, run.index + 1000 + i);
			workbench_wait(&run.bench, PERIOD);
			take(&run);
		}
		for (unsigned i = 0; i < 12; i++, run.index++) {
			for (unsigned source = 0; source < 8; source++)
				(void)send_segment(&run, source, run.index);
			workbench_wait(&run.bench, PERIOD);
			take(&run);
		}
	}
	assert_int_equal(run.n_complete, 420);
	assert_int_equal(run.n_flagged, 0);
	close_run(&run);
}

// A source whose ids are all wrong costs its own blocks only.
static void source__with_wrong_ids_opens_nothing_for_good(void **state)
{
	(void)state;
	for (unsigned n_sources = 2; n_sources < 10; n_sources++) {
		struct run run;

		open_run(&run, n_sources, 1);
		events(&run, 20, 1, 0, n_sources);
		for (unsigned i = 0; i < 400; i++) {
			for (uint64_t k = 0; k < 10; k++)
				(void)send_segment(&run, 0, run.index + 100000 + 37 * i + k);
			events(&run, 1, 1, 1, n_sources);
		}
		pass(&run, 4);
		assert_int_equal(run.n_complete, 20);
		// Of two sources nobody knows which one is wrong.
		assert_in_range(run.n_flagged, 400, n_sources == 2 ? 4000 : 400 + SLOTS);
		assert_int_equal(counters_of(&run.bench)->drops[SEGMENT_NO_SLOT], 0);
		close_run(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares__of_slots),
		cmocka_unit_test(ids__that_are_no_multiples_of_the_packing_are_not_of_the_run),
		cmocka_unit_test(ahead__waits_for_the_others),
		cmocka_unit_test(quorum__that_is_silent_stops_nobody),
		cmocka_unit_test(source__may_start_late_and_stop),
		cmocka_unit_test(jump__of_all_sources_loses_nothing),
		cmocka_unit_test(jump__of_a_counter_that_wraps),
		cmocka_unit_test(gaps__between_ids_of_a_run),
		cmocka_unit_test(late__segments_publish_no_event_twice),
		cmocka_unit_test(pause__is_not_used_by_one_source),
		cmocka_unit_test(source__with_wrong_ids_opens_nothing_for_good),
	};

	return cmocka_run_group_tests_name("event_window", tests, NULL, NULL);
}
