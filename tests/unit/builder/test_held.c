// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Granted events: they are held when they are built, until it is told what becomes of them.
#include "workbench.h"

#define N_SOURCES 3u
#define HELD      50u

static void open_bench(struct workbench *bench, enum on_incomplete on_incomplete)
{
	struct workbench_options options = workbench_standard;

	options.granted = true;
	options.spare = 1;
	options.on_incomplete = on_incomplete;
	workbench_open(bench, &options);
}

static void expect(struct workbench *bench, uint64_t event_id)
{
	assert_true(assembly_expect(bench->assembly, event_id, event_id / 4, bench->now));
}

static void send_all(struct workbench *bench, uint64_t event_id)
{
	for (unsigned i = 0; i < N_SOURCES; i++)
		workbench_send_mfp(bench, i, event_id, 4);
}

// The next report is that this event is built.
static struct assembly_report take_built(struct workbench *bench, uint64_t event_id)
{
	const struct assembly_report *report = assembly_take_report(bench->assembly);

	assert_non_null(report);
	assert_false(report->freed);
	assert_int_equal(report->index, event_id / 4);
	return *report;
}

// The next report is that the slot of this event is free again.
static void take_freed(struct workbench *bench, uint64_t event_id)
{
	const struct assembly_report *report = assembly_take_report(bench->assembly);

	assert_non_null(report);
	assert_true(report->freed);
	assert_int_equal(report->index, event_id / 4);
}

static void take_no_report(struct workbench *bench)
{
	assert_null(assembly_take_report(bench->assembly));
}

static void publish__hands_out_what_was_held(void **state)
{
	struct assembly_report report;
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	take_no_report(&bench);
	expect(&bench, 100);
	send_all(&bench, 100);
	workbench_take_none(&bench);
	report = take_built(&bench, 100);
	assert_int_equal(report.n_missing, 0);
	assert_true(report.bytes > 0);
	assert_false(
	    assembly_publish(bench.assembly, report.slot, report.index + 1, false, bench.now));
	assert_false(
	    assembly_publish(bench.assembly, report.slot + 1, report.index, false, bench.now));
	assert_false(assembly_publish(bench.assembly, UINT32_MAX, report.index, false, bench.now));
	assert_true(assembly_publish(bench.assembly, report.slot, report.index, false, bench.now));
	assert_false(assembly_publish(bench.assembly, report.slot, report.index, false, bench.now));
	workbench_take_complete(&bench, 100, 4);
	assert_int_equal(counters_of(&bench)->events_repeated, 0);
	take_no_report(&bench);
	workbench_wait(&bench, 1);
	take_freed(&bench, 100);
	workbench_close(&bench);
}

static void publish__says_that_an_event_may_be_repeated(void **state)
{
	const struct assembly_report *report;
	struct evb_event event;
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	expect(&bench, 100);
	send_all(&bench, 100);
	report = assembly_take_report(bench.assembly);
	assert_true(assembly_publish(bench.assembly, report->slot, report->index, true, bench.now));
	event = workbench_take(&bench);
	assert_int_equal(event.flags, EVB_EVENT_REPEATED);
	workbench_release(&bench, &event);
	assert_int_equal(counters_of(&bench)->events_repeated, 1);
	// The next event in that slot is not.
	for (unsigned i = 0; i < bench.options.slots; i++) {
		expect(&bench, 200);
		send_all(&bench, 200);
		workbench_wait(&bench, 1);
		while ((report = assembly_take_report(bench.assembly)) != NULL)
			if (!report->freed)
				assert_true(assembly_publish(bench.assembly, report->slot,
							     report->index, false, bench.now));
		event = workbench_take(&bench);
		assert_int_equal(event.flags, 0);
		workbench_release(&bench, &event);
	}
	workbench_close(&bench);
}

// Another stage may have published it under another number.
static void publish__says_that_a_block_may_have_been_sent_before(void **state)
{
	struct assembly_report report;
	struct evb_event event;
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	for (uint64_t id = 100; id <= 104; id += 4) {
		expect(&bench, id);
		workbench_send_mfp(&bench, 0, id, 4);
		bench.segment_flags = id == 100 ? SEGMENT_REPEATED : 0;
		workbench_send_mfp(&bench, 1, id, 4);
		bench.segment_flags = 0;
		workbench_send_mfp(&bench, 2, id, 4);
		report = take_built(&bench, id);
		assert_true(
		    assembly_publish(bench.assembly, report.slot, report.index, false, bench.now));
		event = workbench_take(&bench);
		assert_int_equal(event.flags, id == 100 ? EVB_EVENT_REPEATED : 0);
		assert_int_equal(counters_of(&bench)->events_repeated, 1);
		workbench_release(&bench, &event);
		workbench_wait(&bench, 1);
		take_freed(&bench, id);
	}
	workbench_close(&bench);
}

static void built__says_how_many_sources_are_missing(void **state)
{
	struct block garbage = block_random(1, 100, 60);
	struct assembly_report report;
	struct evb_event event;
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	expect(&bench, 100);
	workbench_send_mfp(&bench, 0, 100, 4);
	workbench_place(&bench, 1, 100, &garbage, 0, garbage.length);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	report = take_built(&bench, 100);
	assert_int_equal(report.n_missing, 2);
	assert_true(assembly_publish(bench.assembly, report.slot, report.index, true, bench.now));
	event = workbench_take(&bench);
	assert_int_equal(event.flags,
			 EVB_EVENT_INCOMPLETE | EVB_EVENT_MALFORMED | EVB_EVENT_REPEATED);
	workbench_release(&bench, &event);
	block_free(&garbage);
	workbench_close(&bench);
}

static void discarded__is_told_before_its_slot_is(void **state)
{
	struct assembly_report report;
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_DISCARD);
	expect(&bench, 100);
	workbench_send_mfp(&bench, 0, 100, 4);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	report = take_built(&bench, 100);
	assert_int_equal(report.slot, ASSEMBLY_NO_SLOT);
	assert_int_equal(report.n_missing, 2);
	take_freed(&bench, 100);
	take_no_report(&bench);
	workbench_close(&bench);
}

// An event that was given up and is built once more: who waits for its slot hears of that first.
static void forget__is_told_before_what_comes_after(void **state)
{
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_DISCARD);
	expect(&bench, 100);
	workbench_send_mfp(&bench, 0, 100, 4);
	assert_true(assembly_forget(bench.assembly, 100, 25));
	expect(&bench, 100);
	send_all(&bench, 100);
	take_freed(&bench, 100);
	(void)take_built(&bench, 100);
	// What is held is not told any more.
	expect(&bench, 104);
	send_all(&bench, 104);
	assert_true(assembly_forget(bench.assembly, 104, 26));
	take_freed(&bench, 104);
	take_no_report(&bench);
	assert_false(assembly_forget(bench.assembly, 104, 26));
	assert_true(assembly_forget(bench.assembly, 100, 25));
	take_freed(&bench, 100);
	assert_int_equal(counters_of(&bench)->events_withdrawn, 2);
	workbench_close(&bench);
}

// Slots that are kept for data without a grant are taken until the grant has come, or they are
// free.
static void ungranted__events_take_no_more_slots_than_are_kept(void **state)
{
	struct assembly_report report;
	struct workbench bench;
	struct block block;

	(void)state;
	open_bench(&bench, INCOMPLETE_DISCARD);
	block = block_mfp(&bench, 0, 104, 4);
	send_all(&bench, 100);
	report = take_built(&bench, 100);
	assert_int_equal(workbench_send(&bench, 0, 104, &block, 0, 10), SEGMENT_NO_SLOT);
	expect(&bench, 100); // held, and granted now
	assert_int_equal(workbench_send(&bench, 0, 104, &block, 0, 10), PLACED);
	assert_int_equal(workbench_send(&bench, 0, 108, &block, 0, 10), SEGMENT_NO_SLOT);
	assert_true(assembly_forget(bench.assembly, 104, 26));
	take_freed(&bench, 104);
	assert_int_equal(workbench_send(&bench, 0, 108, &block, 0, 10), PLACED);
	assert_false(assembly_expect(bench.assembly, 108, 27, bench.now)); // lacks what was refused
	expect(&bench, 108); // open, and granted again
	send_all(&bench, 112);
	assert_true(assembly_withdraw(bench.assembly, take_built(&bench, 112).slot, 28));
	take_freed(&bench, 112);
	send_all(&bench, 116);
	assert_true(assembly_withdraw(bench.assembly, take_built(&bench, 116).slot, 29));
	take_freed(&bench, 116);
	assert_true(assembly_withdraw(bench.assembly, report.slot, report.index));
	assert_true(assembly_forget(bench.assembly, 108, 27));
	block_free(&block);
	workbench_close(&bench);
}

// Many events are held at once, and granted, withdrawn and published in other orders than built.
static void ungranted__each_held_event_is_found(void **state)
{
	struct workbench_options options = workbench_standard;
	struct assembly_report reports[HELD];
	struct workbench bench;

	(void)state;
	options.granted = options.without_consumer = true;
	options.slots = options.spare = HELD;
	workbench_open(&bench, &options);
	for (unsigned round = 0; round < 3; round++) {
		const uint64_t first = (uint64_t)round * HELD * 4;

		for (unsigned i = 0; i < HELD; i++) {
			send_all(&bench, first + (uint64_t)i * 4);
			reports[i] = take_built(&bench, first + (uint64_t)i * 4);
		}
		for (unsigned i = 0; i < HELD; i++) // 7 and HELD have no common divisor
			expect(&bench, first + (uint64_t)(i * 7 % HELD) * 4);
		assert_int_equal(counters_of(&bench)->events_opened, (round + 1) * HELD);
		for (unsigned i = 0; i < HELD; i++) {
			const struct assembly_report *at = &reports[i * 11 % HELD];

			if (i % 2 == 0)
				assert_true(
				    assembly_forget(bench.assembly, at->index * 4, at->index));
			else
				assert_true(assembly_publish(bench.assembly, at->slot, at->index,
							     false, bench.now));
			assert_false(assembly_forget(bench.assembly, at->index * 4, at->index));
		}
		while (assembly_free_slots(bench.assembly) < HELD)
			(void)assembly_reclaim(bench.assembly, bench.now);
		while (assembly_take_report(bench.assembly) != NULL)
			;
	}
	workbench_close(&bench);
}

// --- how long the steps take ---

static void expect_steps(const struct workbench *bench, uint64_t n, uint64_t first_segment,
			 uint64_t published, uint64_t consumers)
{
	const struct assembly_latency *latency = assembly_latency(bench->assembly);

	assert_int_equal(histogram_count(&latency->first_segment), n);
	assert_int_equal(latency->first_segment.sum, first_segment);
	assert_int_equal(histogram_count(&latency->published), n);
	assert_int_equal(latency->published.sum, published);
	assert_int_equal(histogram_count(&latency->consumers), n);
	assert_int_equal(latency->consumers.sum, consumers);
}

// The next built event is published after 5 ticks, and released after 7 more.
static void publish_and_release(struct workbench *bench, uint64_t event_id)
{
	struct assembly_report report = take_built(bench, event_id);
	const struct assembly_report *freed;
	struct evb_event event;

	bench->now += 5;
	assert_true(
	    assembly_publish(bench->assembly, report.slot, report.index, false, bench->now));
	event = workbench_take(bench);
	workbench_release(bench, &event);
	workbench_wait(bench, 7);
	freed = assembly_take_report(bench->assembly);
	assert_true(freed->freed);
	assert_int_equal(freed->released, bench->now);
}

static void steps__count_each_published_event_once(void **state)
{
	const struct assembly_latency *latency;
	struct assembly_report report;
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	latency = assembly_latency(bench.assembly);
	expect(&bench, 100);
	bench.now += 10;
	workbench_send_mfp(&bench, 0, 100, 4);
	bench.now += 20;
	workbench_send_mfp(&bench, 1, 100, 4);
	workbench_send_mfp(&bench, 2, 100, 4);
	publish_and_release(&bench, 100);
	expect_steps(&bench, 1, 10, 5, 7);
	assert_int_equal(latency->complete.sum, 20);
	// The data is faster than the grant.
	send_all(&bench, 104);
	bench.now += 40;
	expect(&bench, 104);
	publish_and_release(&bench, 104);
	expect_steps(&bench, 2, 10, 10, 14);
	// Nothing has arrived.
	expect(&bench, 108);
	assembly_flush(bench.assembly, bench.now + 100);
	bench.now += 100;
	publish_and_release(&bench, 108);
	expect_steps(&bench, 3, 110, 15, 21);
	// Not published.
	expect(&bench, 112);
	send_all(&bench, 112);
	report = take_built(&bench, 112);
	assert_true(assembly_withdraw(bench.assembly, report.slot, report.index));
	assert_int_equal(assembly_take_report(bench.assembly)->released, 0);
	expect_steps(&bench, 3, 110, 15, 21);
	workbench_close(&bench);
}

// --- sources that take no part ---

static void set_source(struct workbench *bench, unsigned source, uint64_t from)
{
	assembly_set_source(bench->assembly, source, from, bench->now);
}

// Publishes the next built event, which lacks so many sources.
static void expect_missing(struct workbench *bench, uint64_t event_id, unsigned n_missing)
{
	struct assembly_report report = take_built(bench, event_id);
	struct evb_event event;

	assert_int_equal(report.n_missing, n_missing);
	assert_true(
	    assembly_publish(bench->assembly, report.slot, report.index, false, bench->now));
	event = workbench_take(bench);
	assert_int_equal(event.n_missing, n_missing);
	workbench_release(bench, &event);
	workbench_wait(bench, 1);
	take_freed(bench, event_id);
}

static void absent_source__is_not_waited_for(void **state)
{
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	set_source(&bench, 2, UINT64_MAX);
	expect(&bench, 100);
	workbench_send_mfp(&bench, 0, 100, 4);
	take_no_report(&bench);
	workbench_send_mfp(&bench, 1, 100, 4);
	expect_missing(&bench, 100, 1);
	// The data may be here before the grant.
	workbench_send_mfp(&bench, 1, 104, 4);
	workbench_send_mfp(&bench, 0, 104, 4);
	take_no_report(&bench);
	expect(&bench, 104);
	expect_missing(&bench, 104, 1);
	workbench_close(&bench);
}

static void absent_source__counts_if_its_data_comes(void **state)
{
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	set_source(&bench, 2, UINT64_MAX);
	expect(&bench, 100);
	workbench_send_mfp(&bench, 2, 100, 4);
	workbench_send_mfp(&bench, 0, 100, 4);
	take_no_report(&bench);
	workbench_send_mfp(&bench, 1, 100, 4);
	expect_missing(&bench, 100, 0);
	workbench_close(&bench);
}

static void absent_source__takes_part_from_an_event_on(void **state)
{
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	set_source(&bench, 2, UINT64_MAX);
	set_source(&bench, 2, 104 / 4);
	expect(&bench, 104);
	expect(&bench, 100);
	for (unsigned source = 0; source < 2; source++) {
		workbench_send_mfp(&bench, source, 104, 4);
		workbench_send_mfp(&bench, source, 100, 4);
	}
	expect_missing(&bench, 100, 1);
	take_no_report(&bench);
	workbench_send_mfp(&bench, 2, 104, 4);
	expect_missing(&bench, 104, 0);
	workbench_close(&bench);
}

// What it sent before may be on its way to open events.
static void absent_source__has_a_grace_in_open_events(void **state)
{
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	expect(&bench, 100);
	expect(&bench, 104);
	expect(&bench, 108);
	for (unsigned source = 0; source < 2; source++) {
		workbench_send_mfp(&bench, source, 100, 4);
		workbench_send_mfp(&bench, source, 104, 4);
	}
	workbench_send_mfp(&bench, 0, 108, 4);
	set_source(&bench, 2, UINT64_MAX);
	bench.now += WORKBENCH_GRACE - 1;
	assembly_housekeep(bench.assembly, bench.now, 0);
	take_no_report(&bench);
	workbench_send_mfp(&bench, 2, 104, 4);
	expect_missing(&bench, 104, 0);
	bench.now++;
	assembly_housekeep(bench.assembly, bench.now, 0);
	expect_missing(&bench, 100, 1);
	take_no_report(&bench);
	workbench_send_mfp(&bench, 1, 108, 4);
	expect_missing(&bench, 108, 1);
	workbench_close(&bench);
}

static void ungranted__event_that_is_closed_is_reported_as_such(void **state)
{
	struct assembly_report report;
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	workbench_send_mfp(&bench, 0, 100, 4);
	workbench_wait(&bench, WORKBENCH_DEADLINE + 1);
	report = take_built(&bench, 100);
	assert_true(report.ungranted);
	assert_true(assembly_withdraw(bench.assembly, report.slot, report.index));
	take_freed(&bench, 100);
	workbench_send_mfp(&bench, 0, 104, 4);
	expect(&bench, 104);
	workbench_wait(&bench, WORKBENCH_DEADLINE + 1);
	report = take_built(&bench, 104);
	assert_false(report.ungranted);
	assert_true(assembly_withdraw(bench.assembly, report.slot, report.index));
	workbench_close(&bench);
}

// What an event lacks whose data came first may be requested only with its grant.
static void grant__begins_the_deadline_of_data_that_came_before(void **state)
{
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	workbench_send_mfp(&bench, 0, 100, 4);
	workbench_wait(&bench, WORKBENCH_DEADLINE - 1);
	expect(&bench, 100);
	workbench_wait(&bench, WORKBENCH_DEADLINE - 1);
	take_no_report(&bench);
	workbench_send_mfp(&bench, 1, 100, 4);
	workbench_send_mfp(&bench, 2, 100, 4);
	expect_missing(&bench, 100, 0);
	workbench_close(&bench);
}

// --- events of which no data comes ---

static void overtaken__event_without_data_waits_for_one_deadline(void **state)
{
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	for (uint64_t id = 100; id <= 108; id += 4)
		expect(&bench, id);
	send_all(&bench, 104);
	expect_missing(&bench, 104, 0);
	workbench_wait(&bench, WORKBENCH_DEADLINE - 1);
	take_no_report(&bench);
	workbench_wait(&bench, 1);
	expect_missing(&bench, 100, N_SOURCES);
	// Nothing shows that the data of this one is not on its way.
	workbench_wait(&bench, 5 * WORKBENCH_DEADLINE);
	take_no_report(&bench);
	send_all(&bench, 108);
	expect_missing(&bench, 108, 0);
	workbench_close(&bench);
}

// Data that comes all the same has the usual deadline.
static void overtaken__event_takes_late_data(void **state)
{
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	expect(&bench, 100);
	expect(&bench, 104);
	send_all(&bench, 104);
	expect_missing(&bench, 104, 0);
	workbench_wait(&bench, WORKBENCH_DEADLINE - 1);
	workbench_send_mfp(&bench, 0, 100, 4);
	workbench_wait(&bench, WORKBENCH_DEADLINE - 1);
	take_no_report(&bench);
	workbench_send_mfp(&bench, 1, 100, 4);
	workbench_send_mfp(&bench, 2, 100, 4);
	expect_missing(&bench, 100, 0);
	workbench_close(&bench);
}

// A source that has sent nothing may not have come to the earlier event yet.
static void overtaken__event_waits_while_a_source_has_sent_nothing_later(void **state)
{
	struct workbench bench;

	(void)state;
	open_bench(&bench, INCOMPLETE_FLAG);
	expect(&bench, 100);
	expect(&bench, 104);
	workbench_send_mfp(&bench, 0, 104, 4);
	workbench_send_mfp(&bench, 1, 104, 4);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	expect_missing(&bench, 104, 1);
	workbench_wait(&bench, 5 * WORKBENCH_DEADLINE);
	take_no_report(&bench);
	set_source(&bench, 2, UINT64_MAX); // it takes no part
	expect(&bench, 108);
	workbench_send_mfp(&bench, 0, 108, 4);
	workbench_send_mfp(&bench, 1, 108, 4);
	expect_missing(&bench, 108, 1);
	workbench_wait(&bench, WORKBENCH_DEADLINE);
	expect_missing(&bench, 100, N_SOURCES);
	workbench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(publish__hands_out_what_was_held),
		cmocka_unit_test(publish__says_that_an_event_may_be_repeated),
		cmocka_unit_test(publish__says_that_a_block_may_have_been_sent_before),
		cmocka_unit_test(built__says_how_many_sources_are_missing),
		cmocka_unit_test(discarded__is_told_before_its_slot_is),
		cmocka_unit_test(forget__is_told_before_what_comes_after),
		cmocka_unit_test(ungranted__events_take_no_more_slots_than_are_kept),
		cmocka_unit_test(ungranted__each_held_event_is_found),
		cmocka_unit_test(ungranted__event_that_is_closed_is_reported_as_such),
		cmocka_unit_test(grant__begins_the_deadline_of_data_that_came_before),
		cmocka_unit_test(steps__count_each_published_event_once),
		cmocka_unit_test(absent_source__is_not_waited_for),
		cmocka_unit_test(absent_source__counts_if_its_data_comes),
		cmocka_unit_test(absent_source__takes_part_from_an_event_on),
		cmocka_unit_test(absent_source__has_a_grace_in_open_events),
		cmocka_unit_test(overtaken__event_without_data_waits_for_one_deadline),
		cmocka_unit_test(overtaken__event_takes_late_data),
		cmocka_unit_test(overtaken__event_waits_while_a_source_has_sent_nothing_later),
	};

	return cmocka_run_group_tests_name("held", tests, NULL, NULL);
}
