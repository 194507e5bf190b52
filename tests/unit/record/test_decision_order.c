// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The order of decisions, with injected time: single cases, and histories drawn at random.
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "packet/decision_queue.h"
#include "record/decision_order.h"

#define PACKING  10u
#define TIMEOUT  1000u
#define WINDOW   64u
#define ROUNDING (4 * 4096u) // of up to four blocks, to whole pages

static struct decision_order *make(bool accept)
{
	const struct decision_order_parameters parameters = {
		.window = WINDOW,
		.packing = PACKING,
		.timeout_ns = TIMEOUT,
		.accept_timed_out = accept,
	};
	struct decision_order *order = decision_order_create(&parameters);

	assert_non_null(order);
	return order;
}

static void expect(struct decision_order *order, uint64_t index, uint64_t now)
{
	assert_true(decision_order_expect(order, index * PACKING, 0, now));
}

static void decide(struct decision_order *order, uint64_t index, bool accept, uint64_t now)
{
	const struct decision_result result = {
		.event_id = index * PACKING,
		.lines = index,
		.flags = accept ? DECISION_ACCEPTED : 0,
	};

	assert_true(decision_order_decide(order, &result, now));
}

// Takes one result, which must be that of this event.
static struct decision_result take(struct decision_order *order, uint64_t index, uint64_t now)
{
	struct decision_result result;

	assert_int_equal(decision_order_take(order, now, &result, 1), 1);
	assert_int_equal(result.event_id, index * PACKING);
	return result;
}

static void take_none(struct decision_order *order, uint64_t now)
{
	struct decision_result result;

	assert_int_equal(decision_order_take(order, now, &result, 1), 0);
}

static void order__decided_events_leave_in_order(void **state)
{
	struct decision_order *order = make(true);

	(void)state;
	take_none(order, 0);
	for (uint64_t i = 5; i < 9; i++)
		expect(order, i, 0);
	decide(order, 6, true, 10);
	decide(order, 5, false, 20);
	take_none(order, TIMEOUT - 1); // earlier events might follow the first one
	expect(order, 4, TIMEOUT - 1);
	decide(order, 4, true, TIMEOUT - 1);
	take(order, 4, TIMEOUT);
	assert_int_equal(take(order, 5, TIMEOUT).flags, 0);
	assert_int_equal(take(order, 6, TIMEOUT).flags, DECISION_ACCEPTED);
	assert_int_equal(decision_order_held(order), 2);
	decision_order_destroy(order);
}

static void time_out(bool accept)
{
	struct decision_order *order = make(accept);

	expect(order, 0, 0);
	expect(order, 1, 100);
	decide(order, 1, true, 200);
	take_none(order, TIMEOUT - 1);
	assert_int_equal(take(order, 0, TIMEOUT).flags,
			 DECISION_TIMED_OUT | (accept ? DECISION_ACCEPTED : 0));
	take(order, 1, TIMEOUT);
	decide(order, 0, false, TIMEOUT + 1); // counted, not shown
	take_none(order, 9 * TIMEOUT);
	assert_int_equal(decision_order_counters(order)->timed_out, 1);
	assert_int_equal(decision_order_counters(order)->late, 1);
	assert_int_equal(decision_order_counters(order)->accepted, 1);
	decision_order_destroy(order);
}

static void order__event_without_a_decision_times_out(void **state)
{
	(void)state;
	time_out(true);
	time_out(false);
}

static void order__ids_of_others_hold_back_for_the_timeout(void **state)
{
	struct decision_order *order = make(true);

	(void)state;
	decide(order, 10, true, 0);
	take(order, 10, TIMEOUT);
	decide(order, 13, true, TIMEOUT);
	decide(order, 14, true, TIMEOUT + 5);
	take_none(order, 2 * TIMEOUT - 1);
	decide(order, 12, true, 2 * TIMEOUT - 1); // of another builder, nearly too late
	take_none(order, 2 * TIMEOUT - 1);
	take(order, 12, 3 * TIMEOUT);
	take(order, 13, 3 * TIMEOUT);
	take(order, 14, 3 * TIMEOUT);
	assert_int_equal(decision_order_counters(order)->skipped, 1);
	decision_order_destroy(order);
}

static void order__full_window_lets_the_oldest_go(void **state)
{
	const struct decision_result jump = { .event_id = (UINT64_C(1) << 60) * PACKING };
	struct decision_order *order = make(false);

	(void)state;
	for (uint64_t i = 0; i < WINDOW; i++)
		expect(order, i, 0);
	decide(order, 3, true, 0);
	assert_false(decision_order_expect(order, WINDOW * PACKING, 0, 1));
	assert_int_equal(take(order, 0, 1).flags, DECISION_TIMED_OUT);
	take_none(order, 1);
	expect(order, WINDOW, 1);
	assert_false(decision_order_decide(order, &jump, 2));
	for (uint64_t i = 1; i <= WINDOW; i++)
		take(order, i, 2);
	take_none(order, 2);
	assert_true(decision_order_decide(order, &jump, 2));
	assert_int_equal(decision_order_held(order), 1);
	decision_order_end(order);
	take(order, jump.event_id / PACKING, 2);
	decision_order_destroy(order);
}

static void order__ids_at_the_end_of_the_range_are_refused(void **state)
{
	const struct decision_order_parameters parameters = { .window = WINDOW, .packing = 1 };
	struct decision_order *order = decision_order_create(&parameters);
	struct decision_result result = { .event_id = UINT64_MAX };

	(void)state;
	assert_non_null(order);
	assert_true(decision_order_expect(order, 5, 0, 0));
	assert_true(decision_order_decide(order, &result, 0));
	assert_true(decision_order_expect(order, UINT64_MAX - WINDOW, 0, 0));
	assert_int_equal(decision_order_counters(order)->late, 2);
	assert_int_equal(decision_order_take(order, 0, &result, 1), 1);
	assert_int_equal(result.event_id, 5);
	assert_int_equal(decision_order_held(order), 0);
	decision_order_destroy(order);
}

static void order__end_lets_all_go(void **state)
{
	struct decision_order *order = make(true);

	(void)state;
	expect(order, 7, 0);
	decide(order, 9, true, 0);
	decide(order, 9, true, 0);
	decision_order_end(order);
	assert_int_equal(take(order, 7, 1).flags, DECISION_TIMED_OUT | DECISION_ACCEPTED);
	take(order, 9, 1);
	take_none(order, 1);
	assert_int_equal(decision_order_held(order), 0);
	assert_int_equal(decision_order_counters(order)->repeated, 1);
	decision_order_destroy(order);
}

static struct decision_order *make_held(void)
{
	const struct decision_order_parameters parameters = {
		.window = WINDOW, .packing = PACKING, .timeout_ns = TIMEOUT, .holds = true
	};
	struct decision_order *order = decision_order_create(&parameters);

	assert_non_null(order);
	return order;
}

// The first event and those that exist are known: nothing waits for others.
static void order__settled_gaps_cost_no_time(void **state)
{
	struct decision_order *order = make_held();

	(void)state;
	decision_order_begin(order, 7);
	decide(order, 9, true, 0);
	take_none(order, 0); // 7 and 8 may exist
	expect(order, 8, 0);
	decision_order_settle(order, 9);
	take_none(order, 0); // 8 exists, and 7 does not
	decide(order, 8, false, 1);
	take(order, 8, 1);
	take(order, 9, 1);
	assert_int_equal(decision_order_counters(order)->skipped, 1);
	decision_order_settle(order, 30);
	take_none(order, 1);
	assert_int_equal(decision_order_next(order), 30);
	decide(order, 6, true, 1); // before this process
	decide(order, 9, true, 1); // again
	assert_int_equal(decision_order_counters(order)->repeated, 2);
	decide(order, 12, true, 1); // did not exist
	assert_int_equal(decision_order_counters(order)->late, 1);
	decision_order_destroy(order);
}

static void order__what_is_behind_the_window_waits(void **state)
{
	const struct decision_result behind = { .event_id = (7 + WINDOW) * PACKING };
	const struct decision_result nowhere = { .event_id = (UINT64_C(1) << 50) * PACKING };
	struct decision_order *order = make_held();

	(void)state;
	decision_order_begin(order, 7);
	expect(order, 7, 0);
	assert_false(decision_order_decide(order, &behind, 1));
	take_none(order, 1);
	assert_true(decision_order_decide(order, &nowhere, 1)); // it would wait for ever
	assert_int_equal(decision_order_counters(order)->late, 1);
	assert_int_equal(take(order, 7, TIMEOUT).flags, DECISION_TIMED_OUT);
	decide(order, 7, true, TIMEOUT);
	assert_int_equal(decision_order_counters(order)->late, 2);
	assert_true(decision_order_decide(order, &behind, TIMEOUT));
	assert_int_equal(decision_order_held(order), 1);
	decision_order_destroy(order);
}

// --- histories -------------------------------------------------------------------------------

#define EVENTS     100000u
#define STEP_NS    1000u
#define TICK_NS    100000u // between two takes
#define MEMBERS    24u
#define LONGEST_NS 2000000u
#define PATIENCE   20000000u // the timeout
#define NEVER      UINT64_MAX

// One event: when it is announced, and when it is decided.
struct life {
	uint64_t index, announced, decided;
};

struct moment {
	uint64_t when;
	uint32_t life;
	bool decides;
};

static int compare(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	return x->when != y->when ? (x->when < y->when ? -1 : 1)
				  : (int)x->decides - (int)y->decides;
}

// 24 members with random processing times; every thousandth event is never decided; events are
// announced a little out of order, as several builders complete them. hole: of so many ids one is
// that of another node; 0: none.
static void draw(struct random *random, struct life *lives, struct moment *moments, unsigned hole)
{
	uint64_t free_at[MEMBERS] = { 0 };
	uint64_t index = 1000;

	for (uint32_t i = 0; i < EVENTS; i++) {
		struct life *life = &lives[i];
		unsigned member = 0;

		index += 1 + (hole > 0 && random_next(random) % hole == 0);
		life->index = index;
		life->announced = (uint64_t)i * STEP_NS + random_next(random) % (20 * STEP_NS);
		for (unsigned m = 1; m < MEMBERS; m++)
			member = free_at[m] < free_at[member] ? m : member;
		if (free_at[member] < life->announced)
			free_at[member] = life->announced;
		// 20 us on the average, and seldom up to 2 ms.
		free_at[member] += random_next(random) % 1000 == 0
				       ? random_next(random) % LONGEST_NS
				       : random_next(random) % 40000;
		life->decided = random_next(random) % 1000 == 0 ? NEVER : free_at[member];
		moments[2 * i] = (struct moment){ life->announced, i, false };
		moments[2 * i + 1] = (struct moment){ life->decided, i, true };
	}
	qsort(moments, 2 * (size_t)EVENTS, sizeof(*moments), compare);
}

struct check {
	const struct life *lives;
	uint32_t next;      // life whose turn it is
	uint64_t may_leave; // latest time at which those before it may leave
	uint64_t timed_out;
};

static void check_result(struct check *check, const struct decision_result *result, uint64_t now,
			 bool holes)
{
	const struct life *life = &check->lives[check->next++];
	const bool in_time = life->decided != NEVER && life->decided - life->announced < PATIENCE;

	assert_int_equal(result->event_id, life->index * PACKING);
	if (in_time)
		assert_int_equal(result->flags & DECISION_TIMED_OUT, 0);
	else if (life->decided == NEVER)
		assert_int_equal(result->flags, DECISION_TIMED_OUT | DECISION_ACCEPTED);
	check->timed_out += (result->flags & DECISION_TIMED_OUT) != 0;
	if ((result->flags & DECISION_TIMED_OUT) == 0)
		assert_int_equal(result->tag, check->next - 1);
	// No event waits longer than the timeout of itself or of one before it; a gap ends with the
	// timeout of the event behind it.
	if (!in_time || holes || check->next == 1)
		check->may_leave = life->announced + PATIENCE > check->may_leave
				       ? life->announced + PATIENCE
				       : check->may_leave;
	if (life->decided != NEVER && life->decided > check->may_leave)
		check->may_leave = life->decided;
	assert_true(now <= check->may_leave + 2 * TICK_NS + 20 * STEP_NS);
}

static void take_all(struct decision_order *order, struct check *check, uint64_t now, bool holes)
{
	struct decision_result results[32];
	unsigned n;

	while ((n = decision_order_take(order, now, results, 32)) > 0)
		for (unsigned i = 0; i < n; i++)
			check_result(check, &results[i], now, holes);
}

static void play(uint64_t seed, unsigned hole)
{
	const struct decision_order_parameters parameters = {
		.window = 1u << 16,
		.packing = PACKING,
		.timeout_ns = PATIENCE,
		.accept_timed_out = true,
	};
	struct decision_order *order = decision_order_create(&parameters);
	struct life *lives = calloc(EVENTS, sizeof(*lives));
	struct moment *moments = calloc(2 * (size_t)EVENTS, sizeof(*moments));
	struct random random = { seed };
	struct check check = { .lives = lives };
	uint64_t tick = 0;

	draw(&random, lives, moments, hole);
	for (size_t i = 0; i < 2 * (size_t)EVENTS && moments[i].when != NEVER; i++) {
		const struct moment *moment = &moments[i];
		const struct decision_result result = {
			.event_id = lives[moment->life].index * PACKING,
			.tag = moment->life,
			.flags = DECISION_ACCEPTED,
		};

		for (; tick <= moment->when; tick += TICK_NS)
			take_all(order, &check, tick, hole > 0);
		assert_true(moment->decides
				? decision_order_decide(order, &result, moment->when)
				: decision_order_expect(order, result.event_id, 0, moment->when));
	}
	for (; check.next < EVENTS; tick += TICK_NS)
		take_all(order, &check, tick, hole > 0);
	assert_int_equal(decision_order_held(order), 0);
	assert_in_range(check.timed_out, EVENTS / 1000 / 2, EVENTS / 1000 * 2);
	assert_int_equal(decision_order_counters(order)->timed_out, check.timed_out);
	assert_int_equal(decision_order_counters(order)->skipped,
			 lives[EVENTS - 1].index - lives[0].index - (EVENTS - 1));
	decision_order_destroy(order);
	free(lives);
	free(moments);
}

static void order__of_random_members(void **state)
{
	(void)state;
	play(1, 0);
	play(2, 0);
}

static void order__of_a_part_of_the_events(void **state)
{
	(void)state;
	play(3, 3);
	play(4, 1000);
}

// What the plan states is what the queues take, but for the rounding of the allocator.
static void memory__is_what_is_stated(void **state)
{
	const struct decision_order_parameters parameters = { .window = 4096, .packing = 1 };
	struct decision_order *order = decision_order_create(&parameters);
	struct decision_outbox *outbox = decision_outbox_create(4096, 1);
	struct decision_inbox *inbox = decision_inbox_create(4096, 1, 3);

	(void)state;
	assert_true(order != NULL && outbox != NULL && inbox != NULL);
	assert_in_range(malloc_usable_size(order), decision_order_memory(4096),
			decision_order_memory(4096) + ROUNDING);
	assert_in_range(malloc_usable_size(outbox) + malloc_usable_size(outbox->results),
			decision_outbox_memory(4096), decision_outbox_memory(4096) + ROUNDING);
	assert_in_range(malloc_usable_size(inbox) + malloc_usable_size(inbox->arrivals) +
			    malloc_usable_size(inbox->builders) +
			    malloc_usable_size(inbox->received),
			decision_inbox_memory(4096, 3), decision_inbox_memory(4096, 3) + ROUNDING);
	decision_order_destroy(order);
	decision_outbox_destroy(outbox);
	decision_inbox_destroy(inbox);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory__is_what_is_stated),
		cmocka_unit_test(order__decided_events_leave_in_order),
		cmocka_unit_test(order__event_without_a_decision_times_out),
		cmocka_unit_test(order__ids_of_others_hold_back_for_the_timeout),
		cmocka_unit_test(order__full_window_lets_the_oldest_go),
		cmocka_unit_test(order__ids_at_the_end_of_the_range_are_refused),
		cmocka_unit_test(order__end_lets_all_go),
		cmocka_unit_test(order__settled_gaps_cost_no_time),
		cmocka_unit_test(order__what_is_behind_the_window_waits),
		cmocka_unit_test(order__of_random_members),
		cmocka_unit_test(order__of_a_part_of_the_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
