// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Events of which data is refused before their grant, because no slot is free: the grant is refused
// in turn, so that the sources send all of the data again.
#include "workbench.h"

#define N_SOURCES 3u
#define FIRST     100u // an event that takes the one slot for events without a grant
#define EVENT     104u

static bool expect(struct workbench *bench, uint64_t event_id)
{
	return assembly_expect(bench->assembly, event_id, event_id / 4, bench->now);
}

static void send_all(struct workbench *bench, uint64_t event_id)
{
	for (unsigned i = 0; i < N_SOURCES; i++)
		workbench_send_mfp(bench, i, event_id, 4);
}

// Publishes the next built event, which must be complete, and frees its slot.
static void publish(struct workbench *bench, uint64_t event_id)
{
	const struct assembly_report *report = assembly_take_report(bench->assembly);

	assert_non_null(report);
	assert_int_equal(report->index, event_id / 4);
	assert_int_equal(report->n_missing, 0);
	assert_true(
	    assembly_publish(bench->assembly, report->slot, report->index, false, bench->now));
	workbench_take_complete(bench, event_id, 4);
	workbench_wait(bench, 1);
	report = assembly_take_report(bench->assembly);
	assert_non_null(report);
	assert_true(report->freed);
}

static void refuse_segment(struct workbench *bench, uint64_t event_id)
{
	struct block block = block_mfp(bench, 0, event_id, 4);

	assert_int_equal(workbench_send(bench, 0, event_id, &block, 0, 10), SEGMENT_NO_SLOT);
	block_free(&block);
}

// Event FIRST is built without a grant, and EVENT has been refused.
static void open_refused(struct workbench *bench)
{
	struct workbench_options options = workbench_standard;

	options.granted = true;
	options.spare = 1;
	workbench_open(bench, &options);
	send_all(bench, FIRST);
	refuse_segment(bench, EVENT);
}

static void refused__event_is_complete_with_its_next_grant(void **state)
{
	struct workbench bench;

	(void)state;
	open_refused(&bench);
	assert_false(expect(&bench, EVENT));
	assert_int_equal(counters_of(&bench)->events_opened, 1);
	assert_true(expect(&bench, EVENT));
	assert_true(expect(&bench, FIRST));
	publish(&bench, FIRST);
	send_all(&bench, EVENT);
	publish(&bench, EVENT);
	// Other events are granted as ever.
	assert_true(expect(&bench, EVENT + 4));
	send_all(&bench, EVENT + 4);
	publish(&bench, EVENT + 4);
	workbench_close(&bench);
}

// Other data of it had a slot: that stays, and what was refused comes again.
static void refused__event_that_is_open_stays_open(void **state)
{
	struct workbench bench;

	(void)state;
	open_refused(&bench);
	assert_true(expect(&bench, FIRST));
	publish(&bench, FIRST);
	workbench_send_mfp(&bench, 1, EVENT, 4);
	assert_false(expect(&bench, EVENT));
	workbench_send_mfp(&bench, 2, EVENT, 4);
	assert_true(expect(&bench, EVENT));
	workbench_send_mfp(&bench, 0, EVENT, 4);
	publish(&bench, EVENT);
	assert_int_equal(counters_of(&bench)->events_opened, 2);
	workbench_close(&bench);
}

static void refused__event_may_have_become_complete(void **state)
{
	struct workbench bench;

	(void)state;
	open_refused(&bench);
	assert_true(expect(&bench, FIRST));
	publish(&bench, FIRST);
	send_all(&bench, EVENT);
	assert_true(expect(&bench, EVENT));
	publish(&bench, EVENT);
	workbench_close(&bench);
}

// Ten times as many as there are slots.
static void refused__events_are_told_apart(void **state)
{
	unsigned n_refused = 0;
	struct workbench bench;

	(void)state;
	open_refused(&bench);
	for (unsigned i = 0; i < 40; i++)
		refuse_segment(&bench, EVENT + 8 * i);
	for (unsigned i = 0; i < 40; i++) {
		const uint64_t other = EVENT + 8 * i + 4, event = EVENT + 8 * i;

		assert_true(expect(&bench, other));
		assert_true(assembly_forget(bench.assembly, other, other / 4));
		if (!expect(&bench, event))
			n_refused++;
		else
			assert_true(assembly_forget(bench.assembly, event, event / 4));
	}
	assert_in_range(n_refused, 37, 40);
	assert_true(assembly_forget(bench.assembly, FIRST, FIRST / 4));
	workbench_close(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused__event_is_complete_with_its_next_grant),
		cmocka_unit_test(refused__event_that_is_open_stays_open),
		cmocka_unit_test(refused__event_may_have_become_complete),
		cmocka_unit_test(refused__events_are_told_apart),
	};

	return cmocka_run_group_tests_name("refused", tests, NULL, NULL);
}
