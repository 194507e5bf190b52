// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "port/pause_state.h"

// One tick a nanosecond; at 10 Gb/s a quantum is 51.2 ns, so 1000 quanta are 51200 ticks.
#define QUANTA 1000
#define PAUSE  51200
#define HIGH   50000
#define LOW    20000

// Whether the peer is paused by us now.
static bool is_pausing(const struct pause_state *state, uint64_t now)
{
	return now < atomic_load(&state->sender.pausing_until);
}

static struct pause_parameters parameters_of(uint8_t priority)
{
	return (struct pause_parameters){
		.priority = priority,
		.high_water = HIGH,
		.low_water = LOW,
		.quanta = QUANTA,
		.bits_per_second = 10000000000,
		.ticks_per_second = 1000000000,
	};
}

static struct pause_state state_of(uint8_t priority)
{
	struct pause_parameters parameters = parameters_of(priority);
	struct pause_state state;

	pause_state_init(&state, &parameters);
	return state;
}

static void observe(struct pause_state *state, unsigned priority, uint32_t slots)
{
	struct pause_occupancy occupancy = { .slots = slots };

	pause_state_observe(state, priority, &occupancy);
}

// Polls as a port does; the frame sent, or nothing with all zeros.
static struct pfc_frame poll(struct pause_state *state, uint64_t now)
{
	struct pfc_frame frame;

	pause_state_account(state, now);
	if (!pause_state_due(state, now, &frame))
		return (struct pfc_frame){ 0 };
	pause_state_sent(state, now, &frame);
	return frame;
}

static void expect_frame(struct pfc_frame frame, uint8_t priorities, unsigned i, uint16_t quanta)
{
	assert_int_equal(frame.priorities, priorities);
	assert_int_equal(frame.quanta[i], quanta);
}

static struct pause_counters counters_of(const struct pause_state *state, unsigned priority)
{
	struct pause_counters counters;

	pause_state_counters(state, priority, &counters);
	return counters;
}

static void give(struct pause_state *state, uint64_t now, uint8_t priorities, uint16_t quanta)
{
	struct pfc_frame frame = { .priorities = priorities };

	for (unsigned i = 0; i < PFC_PRIORITIES; i++)
		frame.quanta[i] = priorities >> i & 1 ? quanta : 0;
	pause_state_received(state, now, &frame);
}

static void parameters__that_contradict_each_other(void **state)
{
	struct pause_parameters good = parameters_of(3), bad;

	(void)state;
	assert_null(pause_parameters_problem(&good));
	bad = good;
	bad.high_water = PAUSE_FULL;
	assert_non_null(pause_parameters_problem(&bad));
	bad = good;
	bad.low_water = 0;
	assert_non_null(pause_parameters_problem(&bad));
	bad = good;
	bad.low_water = bad.high_water;
	assert_non_null(pause_parameters_problem(&bad));
	bad = good;
	bad.quanta = 1;
	assert_non_null(pause_parameters_problem(&bad));
	bad = good;
	bad.ticks_per_second = 0;
	assert_non_null(pause_parameters_problem(&bad));
}

static void send__xoff_above_high_water_only(void **state)
{
	struct pause_state s = state_of(3);

	(void)state;
	expect_frame(poll(&s, 100), 0, 3, 0);
	observe(&s, 3, HIGH);
	expect_frame(poll(&s, 200), 0, 3, 0);
	observe(&s, 3, HIGH + 1);
	expect_frame(poll(&s, 300), 8, 3, QUANTA);
	assert_true(is_pausing(&s, 300));
	assert_true(is_pausing(&s, 300 + PAUSE - 1));
	assert_false(is_pausing(&s, 300 + PAUSE));
	assert_true(pause_state_holding(&s, 3)); // late, not over
	observe(&s, 3, LOW - 1);
	(void)poll(&s, 400 + PAUSE);
	assert_false(pause_state_holding(&s, 3));
	assert_false(pause_state_holding(&s, 2));
}

static void send__any_of_the_three_counts(void **state)
{
	static const struct pause_occupancy full[] = { { .slots = HIGH + 1 },
						       { .links = HIGH + 1 },
						       { .pool = HIGH + 1 } };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct pause_state s = state_of(0);

		pause_state_observe(&s, 0, &full[i]);
		expect_frame(poll(&s, 1), 1, 0, QUANTA);
	}
}

static void send__renewed_at_half_the_pause_time(void **state)
{
	struct pause_state s = state_of(3);

	(void)state;
	observe(&s, 3, PAUSE_FULL);
	expect_frame(poll(&s, 0), 8, 3, QUANTA);
	expect_frame(poll(&s, PAUSE / 2 - 1), 0, 3, 0);
	expect_frame(poll(&s, PAUSE / 2), 8, 3, QUANTA);
	expect_frame(poll(&s, PAUSE / 2 + 1), 0, 3, 0);
	// Between the marks the hold stays.
	observe(&s, 3, LOW);
	expect_frame(poll(&s, PAUSE - 1), 0, 3, 0);
	expect_frame(poll(&s, PAUSE), 8, 3, QUANTA);
	assert_int_equal(counters_of(&s, 3).xoff_sent, 3);
	assert_int_equal(counters_of(&s, 3).lapsed, 0);
}

static void send__xon_below_low_water_once(void **state)
{
	struct pause_state s = state_of(3);

	(void)state;
	observe(&s, 3, PAUSE_FULL);
	expect_frame(poll(&s, 0), 8, 3, QUANTA);
	observe(&s, 3, LOW - 1);
	expect_frame(poll(&s, 10), 8, 3, 0);
	assert_false(is_pausing(&s, 10));
	expect_frame(poll(&s, 20), 0, 3, 0);
	// And up again: between the marks nothing happens.
	observe(&s, 3, HIGH);
	expect_frame(poll(&s, 30), 0, 3, 0);
	observe(&s, 3, HIGH + 1);
	expect_frame(poll(&s, 40), 8, 3, QUANTA);
	assert_int_equal(counters_of(&s, 3).xon_sent, 1);
	assert_int_equal(counters_of(&s, 3).xoff_sent, 2);
}

static void send__due_until_it_left(void **state)
{
	struct pause_state s = state_of(3);
	struct pfc_frame frame;

	(void)state;
	observe(&s, 3, PAUSE_FULL);
	for (unsigned i = 0; i < 3; i++)
		assert_true(pause_state_due(&s, i, &frame));
	assert_int_equal(counters_of(&s, 3).xoff_sent, 0);
	pause_state_sent(&s, 3, &frame);
	assert_false(pause_state_due(&s, 4, &frame));
	assert_int_equal(counters_of(&s, 3).xoff_sent, 1);
}

static void send__a_late_owner_lets_the_hold_lapse(void **state)
{
	struct pause_state s = state_of(3);

	(void)state;
	observe(&s, 3, PAUSE_FULL);
	poll(&s, 0);
	poll(&s, 3 * PAUSE);
	assert_int_equal(counters_of(&s, 3).lapsed, 1);
	poll(&s, 3 * PAUSE + 10);
	assert_int_equal(counters_of(&s, 3).pausing_ns, PAUSE + 10);
}

static void send__priorities_not_asked_for_are_left_alone(void **state)
{
	struct pause_state s = state_of(3);

	(void)state;
	observe(&s, 2, PAUSE_FULL);
	expect_frame(poll(&s, 0), 0, 2, 0);
}

static void send__pausing_time(void **state)
{
	struct pause_state s = state_of(3);

	(void)state;
	observe(&s, 3, PAUSE_FULL);
	poll(&s, 1000);
	assert_int_equal(counters_of(&s, 3).pausing_ns, 0);
	poll(&s, 1700); // while it holds
	assert_int_equal(counters_of(&s, 3).pausing_ns, 700);
	observe(&s, 3, 0);
	poll(&s, 3000);
	poll(&s, 9000);
	assert_int_equal(counters_of(&s, 3).pausing_ns, 2000);
}

static void release__lets_the_held_go_on(void **state)
{
	struct pause_state s = state_of(3);
	struct pfc_frame frame;

	(void)state;
	assert_false(pause_state_release(&s, &frame));
	observe(&s, 3, PAUSE_FULL);
	poll(&s, 0);
	assert_true(pause_state_release(&s, &frame));
	expect_frame(frame, 8, 3, 0);
	pause_state_sent(&s, 5, &frame);
	assert_false(pause_state_release(&s, &frame));
	assert_int_equal(counters_of(&s, 3).xon_sent, 1);
	assert_int_equal(counters_of(&s, 3).pausing_ns, 5);
}

static void receive__holds_until_the_deadline(void **state)
{
	struct pause_state s = state_of(3);

	(void)state;
	assert_false(pause_state_paused(&s, 3, 0));
	give(&s, 1000, 8, QUANTA);
	assert_true(pause_state_paused(&s, 3, 1000));
	assert_true(pause_state_paused(&s, 3, 1000 + PAUSE - 1));
	assert_false(pause_state_paused(&s, 3, 1000 + PAUSE));
	assert_false(pause_state_paused(&s, 2, 1000));
}

static void receive__the_last_frame_counts(void **state)
{
	struct pause_state s = state_of(3);

	(void)state;
	give(&s, 0, 8, QUANTA);
	give(&s, 100, 8, QUANTA / 10);
	assert_false(pause_state_paused(&s, 3, 100 + PAUSE / 10));
	give(&s, 200, 8, QUANTA);
	assert_true(pause_state_paused(&s, 3, 200 + PAUSE - 1));
	give(&s, 300, 8, 0);
	assert_false(pause_state_paused(&s, 3, 300));
	assert_int_equal(counters_of(&s, 3).xoff_received, 3);
	assert_int_equal(counters_of(&s, 3).xon_received, 1);
}

static void receive__other_priorities_are_ignored(void **state)
{
	struct pause_state s = state_of(3);

	(void)state;
	give(&s, 0, 0x01, QUANTA); // control traffic, say: is never stopped
	assert_false(pause_state_paused(&s, 0, 0));
	assert_int_equal(s.ignored, 1);
	give(&s, 0, 0xFF, QUANTA);
	assert_false(pause_state_paused(&s, 0, 0));
	assert_true(pause_state_paused(&s, 3, 0));
	assert_int_equal(s.ignored, 1);
	assert_int_equal(counters_of(&s, 0).xoff_received, 0);
}

static void receive__paused_time(void **state)
{
	struct pause_state s = state_of(3);

	(void)state;
	poll(&s, 500);
	give(&s, 1000, 8, QUANTA);
	poll(&s, 1000);
	poll(&s, 1400); // while it is paused
	assert_int_equal(counters_of(&s, 3).paused_ns, 400);
	poll(&s, 1000 + PAUSE + 12345); // ran out meanwhile
	assert_int_equal(counters_of(&s, 3).paused_ns, PAUSE);
	give(&s, 200000, 8, QUANTA);
	poll(&s, 200000);
	give(&s, 200300, 8, 0);
	poll(&s, 200300);
	poll(&s, 300000);
	assert_int_equal(counters_of(&s, 3).paused_ns, PAUSE + 300);
}

// Polls and frames at random times against a sum made step by step.
static void receive__paused_time_of_any_history(void **state)
{
	struct pause_state s = state_of(3);
	uint64_t now = 0, until = 0, expected = 0, random = 1;

	(void)state;
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t pass, end;
		uint16_t quanta;

		random = random * 6364136223846793005u + 1442695040888963407u;
		pass = random >> 33 & 0xFFFF;
		end = now + pass < until ? now + pass : until;
		expected += end > now ? end - now : 0;
		now += pass;
		if (random >> 62 == 0) {
			quanta = random >> 50 & 1 ? (uint16_t)(random >> 20 & 0x7FF) : 0;
			give(&s, now, 8, quanta);
			// 51.2 ticks a quantum, rounded up
			until = quanta != 0 ? now + (quanta * 512u + 9) / 10 : 0;
		}
		pause_state_account(&s, now);
		assert_int_equal(counters_of(&s, 3).paused_ns, expected);
		assert_int_equal(pause_state_paused(&s, 3, now), now < until);
	}
	assert_true(expected > 0);
}

static void rate__unknown_is_10_gigabit(void **state)
{
	struct pause_parameters parameters = parameters_of(3);
	struct pause_state s;

	(void)state;
	parameters.bits_per_second = 0;
	pause_state_init(&s, &parameters);
	give(&s, 0, 8, QUANTA);
	assert_true(pause_state_paused(&s, 3, PAUSE - 1));
	assert_false(pause_state_paused(&s, 3, PAUSE));
	pause_state_set_rate(&s, 100000000000);
	give(&s, 0, 8, QUANTA);
	assert_true(pause_state_paused(&s, 3, PAUSE / 10 - 1));
	assert_false(pause_state_paused(&s, 3, PAUSE / 10));
}

static void rate__slow_links_and_fast_counters(void **state)
{
	struct pause_parameters parameters = parameters_of(3);
	struct pause_state s;

	(void)state;
	parameters.ticks_per_second = 5000000000;
	parameters.bits_per_second = 1; // taken as 1 Mb/s
	pause_state_init(&s, &parameters);
	give(&s, 0, 8, UINT16_MAX);
	assert_true(pause_state_paused(&s, 3, 65535ull * 2560000 - 1));
	assert_false(pause_state_paused(&s, 3, 65535ull * 2560000));
}

static void pause__of_all_priorities_is_ignored(void **state)
{
	struct pfc_frame pause = { .is_pause = true, .priorities = 0xFF, .quanta = { [3] = 9 } };
	struct pause_state s = state_of(3);

	(void)state;
	pause_state_received(&s, 0, &pause);
	assert_false(pause_state_paused(&s, 3, 0));
	assert_int_equal(s.ignored, 1);
}

static void share__of_any_capacity(void **state)
{
	static const uint64_t capacities[] = { 1, 3, 1000, 65536, 1000003, 1ull << 32 };

	(void)state;
	for (unsigned i = 0; i < sizeof(capacities) / sizeof(capacities[0]); i++) {
		uint64_t capacity = capacities[i], scale = pause_share_scale(capacity);

		assert_int_equal(pause_share(0, scale), 0);
		assert_in_range(pause_share(capacity, scale), PAUSE_FULL - 1, PAUSE_FULL);
		assert_int_equal(pause_share(2 * capacity, scale), PAUSE_FULL);
		assert_in_range(pause_share(capacity / 2, scale),
				(capacity / 2) * PAUSE_FULL / capacity - (capacity > 1),
				(capacity / 2) * PAUSE_FULL / capacity);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters__that_contradict_each_other),
		cmocka_unit_test(send__xoff_above_high_water_only),
		cmocka_unit_test(send__any_of_the_three_counts),
		cmocka_unit_test(send__renewed_at_half_the_pause_time),
		cmocka_unit_test(send__xon_below_low_water_once),
		cmocka_unit_test(send__due_until_it_left),
		cmocka_unit_test(send__a_late_owner_lets_the_hold_lapse),
		cmocka_unit_test(send__priorities_not_asked_for_are_left_alone),
		cmocka_unit_test(send__pausing_time),
		cmocka_unit_test(release__lets_the_held_go_on),
		cmocka_unit_test(receive__holds_until_the_deadline),
		cmocka_unit_test(receive__the_last_frame_counts),
		cmocka_unit_test(receive__other_priorities_are_ignored),
		cmocka_unit_test(receive__paused_time),
		cmocka_unit_test(receive__paused_time_of_any_history),
		cmocka_unit_test(rate__unknown_is_10_gigabit),
		cmocka_unit_test(rate__slow_links_and_fast_counters),
		cmocka_unit_test(pause__of_all_priorities_is_ignored),
		cmocka_unit_test(share__of_any_capacity),
	};

	return cmocka_run_group_tests_name("pause_state", tests, NULL, NULL);
}
