// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Who is let in: against builders that open events late, out of order, or never.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "rdma/roce_slots.h"

#define SLOTS  8u
#define EVENTS 20000u
#define WAY    512u // events between the port and the builder, at most

static struct roce_slots_state told[2];

static struct roce_slots_state ask(void *context, unsigned builder)
{
	assert_ptr_equal(context, told);
	return told[builder];
}

static struct roce_slots *create(uint32_t n_free)
{
	struct roce_slots *slots = roce_slots_create(2, ask, told);

	assert_non_null(slots);
	memset(told, 0, sizeof(told));
	told[0].free = told[1].free = n_free;
	return slots;
}

static bool admits(struct roce_slots *slots, unsigned builder, uint64_t index, bool always,
		   uint64_t now)
{
	return roce_slots_admit(slots, builder, index, always, now) == ROCE_SLOTS_ADMITTED;
}

static struct roce_slots *create_remembering(uint32_t n_free)
{
	struct roce_slots *slots = create(n_free);

	assert_true(roce_slots_remember(slots));
	return slots;
}

static void admit__as_many_new_events_as_slots_are_free(void **state)
{
	struct roce_slots *slots = create(3);

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		assert_true(admits(slots, 0, 10 + i, false, 1));
		assert_true(admits(slots, 0, 10 + i, false, 1));
	}
	assert_false(admits(slots, 0, 13, false, 1));
	assert_true(admits(slots, 0, 12, false, 1)); // it is behind
	assert_true(admits(slots, 0, 5, false, 1));
	assert_true(admits(slots, 1, 13, false, 1)); // another builder
	told[0] = (struct roce_slots_state){ .free = 1, .opened = 2 };
	assert_false(admits(slots, 0, 13, false, 1));
	told[0] = (struct roce_slots_state){ .free = 0, .opened = 3 };
	assert_false(admits(slots, 0, 13, false, 1));
	told[0].free = 1;
	assert_true(admits(slots, 0, 13, false, 1));
	assert_false(admits(slots, 0, 14, false, 1));
	roce_slots_destroy(slots);
}

static void admit__always_is_counted(void **state)
{
	struct roce_slots *slots = create(1);

	(void)state;
	assert_true(admits(slots, 0, 0, true, 1));
	assert_true(admits(slots, 0, 1, true, 1));
	assert_false(admits(slots, 0, 2, false, 1));
	told[0].opened = 1;
	assert_false(admits(slots, 0, 2, false, 1));
	told[0].opened = 2;
	assert_true(admits(slots, 0, 2, false, 1));
	roce_slots_destroy(slots);
}

// One message with a wrong number does not let in all that come after it, however many its event
// has; a source that has skipped many events for good is followed.
static void admit__does_not_follow_a_wrong_number(void **state)
{
	const uint64_t wrong = (uint64_t)1 << 40;
	struct roce_slots *slots = create(3);

	(void)state;
	assert_true(admits(slots, 0, 7, false, 1));
	assert_true(admits(slots, 0, wrong, false, 1));
	assert_true(admits(slots, 0, wrong, false, 1));
	assert_true(admits(slots, 0, 8, false, 1));
	assert_false(admits(slots, 0, 9, false, 1));
	assert_false(admits(slots, 0, wrong + 1, false, 1));
	assert_true(admits(slots, 0, wrong, false, 1));
	told[0] = (struct roce_slots_state){ .free = 3, .opened = 3 };
	for (uint64_t i = 0; i < 200; i++) {
		assert_true(admits(slots, 0, 2 * wrong + i, false, 1));
		told[0].opened++;
	}
	assert_true(admits(slots, 0, 2 * wrong, false, 1));
	told[0].free = 0;
	assert_true(admits(slots, 0, 2 * wrong + 1, false, 1));
	assert_false(admits(slots, 0, 2 * wrong + 200, false, 1));
	assert_false(admits(slots, 0, 9, false, 1));
	roce_slots_destroy(slots);
}

// The first number of all may be the wrong one.
static void admit__follows_those_that_come_after_a_wrong_first(void **state)
{
	struct roce_slots *slots = create(3);

	(void)state;
	assert_true(admits(slots, 0, (uint64_t)1 << 40, false, 1));
	told[0].opened = 1;
	for (uint64_t i = 0; i < 200; i++) {
		assert_true(admits(slots, 0, i, false, 1));
		told[0].opened++;
	}
	told[0].free = 0;
	assert_false(admits(slots, 0, 200, false, 1));
	assert_true(admits(slots, 0, 199, false, 1));
	roce_slots_destroy(slots);
}

// What a builder drops instead of opening it does not count for ever; that the process stood still
// does not count.
static void admit__forgets_what_never_was_opened(void **state)
{
	struct roce_slots *slots = create(4);
	uint64_t now = 1, refused = 0;

	(void)state;
	for (uint64_t i = 0; i < 4; i++)
		assert_true(admits(slots, 0, i, false, now));
	now += 60 * (uint64_t)1000000000;
	while (!admits(slots, 0, 4, false, now)) {
		refused++;
		now += 1000000;
	}
	assert_in_range(refused, 900, 1100);
	// And what was opened beside counts no other way.
	told[0].opened = 3;
	for (uint64_t i = 5; i < 9; i++)
		assert_true(admits(slots, 0, i, false, now));
	assert_false(admits(slots, 0, 9, false, now));
	roce_slots_destroy(slots);
}

// A later event was admitted before: this one needs a slot like any other, and does not wait for
// it.
static void passed__needs_a_slot_or_is_dropped(void **state)
{
	struct roce_slots *slots = create_remembering(3);

	(void)state;
	assert_true(admits(slots, 0, 10, false, 1));
	assert_true(admits(slots, 0, 12, false, 1));
	assert_true(admits(slots, 0, 11, false, 1));
	for (unsigned source = 0; source < 3; source++) {
		assert_int_equal(roce_slots_admit(slots, 0, 9, false, 1), ROCE_SLOTS_PASSED);
		assert_int_equal(roce_slots_admit(slots, 0, 13, false, 1), ROCE_SLOTS_WAIT);
		for (uint64_t i = 10; i < 13; i++)
			assert_true(admits(slots, 0, i, false, 1));
	}
	// The three are opened, one of them is complete, and two passed ones come.
	told[0] = (struct roce_slots_state){ .free = 1, .opened = 3 };
	assert_true(admits(slots, 0, 8, false, 1));
	assert_true(admits(slots, 0, 8, false, 1));
	assert_int_equal(roce_slots_admit(slots, 0, 7, false, 1), ROCE_SLOTS_PASSED);
	assert_int_equal(roce_slots_admit(slots, 0, 13, false, 1), ROCE_SLOTS_WAIT);
	roce_slots_destroy(slots);
}

// Places of the memory that others have taken since are those of events that were admitted.
static void passed__is_no_event_that_is_not_remembered_any_more(void **state)
{
	struct roce_slots *slots = create_remembering(1);

	(void)state;
	for (uint64_t i = 0; i < 40000; i++) {
		assert_true(admits(slots, 0, i, false, 1));
		told[0].opened++;
	}
	told[0].free = 0;
	assert_true(admits(slots, 0, 39999, false, 1));
	assert_true(admits(slots, 0, 0, false, 1));
	roce_slots_destroy(slots);
}

static void end__counts_once(void **state)
{
	struct roce_slots *slots = create(1);

	(void)state;
	roce_slots_end(slots, 0);
	roce_slots_end(slots, 0);
	told[0].opened = 1; // that of the end
	assert_true(admits(slots, 0, 0, false, 1));
	assert_false(admits(slots, 0, 1, false, 1));
	roce_slots_destroy(slots);
}

// A builder with few slots, behind a way on which events wait for any time; events come in order
// from two sources that need not be equally fast. No event may reach the builder without a slot for
// it. All come through but those that only the second source has, which begins earlier: the process
// before has taken the others of the first.
static void never_one_too_many(struct roce_slots *slots, uint64_t ahead)
{
	struct random random = random_fork(1, 1);
	uint64_t way[WAY], next[2] = { ahead, 0 }, opened = 0, waits = 0, passed = 0;
	bool is_open[EVENTS] = { false };
	unsigned n_way = 0, in_use = 0;

	while (next[0] < EVENTS || next[1] < EVENTS) {
		unsigned source = (unsigned)(random_next(&random) % 2);
		uint64_t dice = random_next(&random) % 100;

		if (dice < 40 && next[source] < EVENTS && n_way < WAY) {
			enum roce_slots_verdict verdict =
			    roce_slots_admit(slots, 0, next[source], false, 1);

			if (verdict == ROCE_SLOTS_PASSED)
				assert_true(next[source] < ahead);
			if (verdict == ROCE_SLOTS_ADMITTED)
				way[n_way++] = next[source];
			next[source] += verdict != ROCE_SLOTS_WAIT;
			waits += verdict == ROCE_SLOTS_WAIT;
			passed += verdict == ROCE_SLOTS_PASSED;
		} else if (dice < 70 && n_way > 0) {
			if (!is_open[way[0]]) { // the first of its event
				assert_true(in_use < SLOTS);
				is_open[way[0]] = true;
				in_use++;
				opened++;
			}
			memmove(way, way + 1, --n_way * sizeof(way[0]));
		} else if (dice < 90 && in_use > 0) {
			in_use--;
		}
		told[0].free = SLOTS - in_use;
		told[0].opened = opened;
	}
	assert_true(waits > 100);
	assert_true((passed > 0) == (ahead > 0));
	roce_slots_destroy(slots);
}

static void admit__never_one_too_many(void **state)
{
	(void)state;
	never_one_too_many(create(SLOTS), 0);
	never_one_too_many(create_remembering(SLOTS), 0);
}

static void passed__never_one_too_many(void **state)
{
	(void)state;
	never_one_too_many(create_remembering(SLOTS), 500);
}

static struct roce_slots *create_granted(uint32_t n_free)
{
	struct roce_slots *slots = create(n_free);

	assert_true(roce_slots_granted(slots, 64));
	return slots;
}

// Where events are granted their slots are theirs before the data comes, in any order.
static void granted__is_let_in_without_a_free_slot(void **state)
{
	struct roce_slots *slots = create_granted(0);

	(void)state;
	for (uint64_t i = 0; i < 64; i++)
		roce_slots_expect(slots, 0, 1000 + i * 7 % 64);
	for (uint64_t i = 64; i-- > 0;)
		for (unsigned source = 0; source < 3; source++)
			assert_true(admits(slots, 0, 1000 + i, false, 1));
	assert_false(admits(slots, 1, 1000, false, 1)); // another builder's
	assert_false(admits(slots, 0, 1064, false, 1)); // the same place
	assert_true(admits(slots, 0, 1064, true, 1));
	roce_slots_destroy(slots);
}

static void granted__data_may_be_faster_while_slots_are_free(void **state)
{
	struct roce_slots *slots = create_granted(2);
	uint64_t now = 1000000000;

	(void)state;
	assert_true(admits(slots, 0, 5, false, now));
	assert_true(admits(slots, 0, 6, false, now));
	assert_false(admits(slots, 0, 7, false, now));
	assert_true(admits(slots, 0, 5, false, now)); // of another source
	roce_slots_expect(slots, 0, 7);
	assert_true(admits(slots, 0, 7, false, now));
	now += 6000000; // those have opened
	assert_true(admits(slots, 0, 8, false, now));
	told[0].free = 0;
	now += 6000000;
	assert_false(admits(slots, 0, 9, false, now));
	roce_slots_destroy(slots);
}

// What is another builder's by now must not hold up what comes behind it.
static void granted__the_grant_is_not_waited_for_for_ever(void **state)
{
	struct roce_slots *slots = create_granted(0);
	uint64_t now = 1000000000, before = now;

	(void)state;
	while (now - before < 1000000000 && !admits(slots, 0, 5, false, now))
		now += 640000;
	assert_in_range(now - before, 80000000, 120000000);
	before = now;
	assert_false(admits(slots, 0, 6, false, now));
	while (now - before < 1000000000 && !admits(slots, 0, 6, false, now))
		now += 640000;
	assert_in_range(now - before, 80000000, 120000000);
	roce_slots_destroy(slots);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(granted__is_let_in_without_a_free_slot),
		cmocka_unit_test(granted__data_may_be_faster_while_slots_are_free),
		cmocka_unit_test(granted__the_grant_is_not_waited_for_for_ever),
		cmocka_unit_test(admit__as_many_new_events_as_slots_are_free),
		cmocka_unit_test(admit__always_is_counted),
		cmocka_unit_test(admit__does_not_follow_a_wrong_number),
		cmocka_unit_test(admit__follows_those_that_come_after_a_wrong_first),
		cmocka_unit_test(admit__forgets_what_never_was_opened),
		cmocka_unit_test(passed__needs_a_slot_or_is_dropped),
		cmocka_unit_test(passed__is_no_event_that_is_not_remembered_any_more),
		cmocka_unit_test(passed__never_one_too_many),
		cmocka_unit_test(end__counts_once),
		cmocka_unit_test(admit__never_one_too_many),
	};

	return cmocka_run_group_tests_name("rdma-slots", tests, NULL, NULL);
}
