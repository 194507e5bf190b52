// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "pacing/timing_wheel.h"

// 1 GHz: 0.5 us are 500 ticks, so a slot is 256.
#define GIGAHERTZ 1000000000ull
#define SLOT      256
#define N_SLOTS   64
#define HORIZON   (63 * SLOT)
#define START     1000000ull
#define FLOWS     300
#define MANY      (4 * FLOWS)

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

static struct timing_wheel wheel_at(uint64_t now)
{
	struct timing_wheel wheel;

	assert_int_equal(timing_wheel_init(&wheel, N_SLOTS, GIGAHERTZ, now), 0);
	return wheel;
}

static unsigned poll(struct timing_wheel *wheel, uint64_t now, struct timing_wheel_entry **out)
{
	return timing_wheel_poll(wheel, now, out, FLOWS);
}

static void init__slots_and_horizon(void **state)
{
	struct timing_wheel wheel;

	(void)state;
	assert_int_equal(timing_wheel_init(&wheel, 4096, 2600000000, 0), 0);
	assert_int_equal(timing_wheel_slot_ticks(&wheel), 1024); // 0.39 us
	assert_int_equal(timing_wheel_horizon_ticks(&wheel), 4095 * 1024);
	timing_wheel_fini(&wheel);
	timing_wheel_fini(&wheel); // does nothing
	assert_int_equal(timing_wheel_init(&wheel, 64, 2000000, 0), 0);
	assert_int_equal(timing_wheel_slot_ticks(&wheel), 1);
	timing_wheel_fini(&wheel);
}

static void init__refuses(void **state)
{
	static const uint32_t bad[] = { 0, 1, 32, 63, 65, 100, 131072 };
	struct timing_wheel wheel;

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(timing_wheel_init(&wheel, bad[i], GIGAHERTZ, 0), -1);
	assert_int_equal(timing_wheel_init(&wheel, 64, 1999999, 0), -1);
	timing_wheel_fini(&wheel);
}

static void poll__never_before_the_time(void **state)
{
	struct timing_wheel wheel = wheel_at(START);
	struct timing_wheel_entry entry, *out[FLOWS];

	(void)state;
	timing_wheel_entry_init(&entry);
	for (uint64_t due = START; due < START + 3 * SLOT; due += 17) {
		uint64_t now = due;

		timing_wheel_put(&wheel, &entry, due);
		assert_true(timing_wheel_holds(&entry));
		if (due > START)
			assert_int_equal(poll(&wheel, due - 1, out), 0);
		while (poll(&wheel, now, out) == 0)
			now++;
		assert_in_range(now, due, due + SLOT - 1);
		assert_ptr_equal(out[0], &entry);
		assert_false(timing_wheel_holds(&entry));
		timing_wheel_fini(&wheel);
		wheel = wheel_at(START);
	}
	timing_wheel_fini(&wheel);
}

static void poll__what_has_passed_comes_at_once(void **state)
{
	struct timing_wheel wheel = wheel_at(START);
	struct timing_wheel_entry entry, *out[FLOWS];

	(void)state;
	timing_wheel_entry_init(&entry);
	assert_int_equal(poll(&wheel, START + 1000, out), 0);
	timing_wheel_put(&wheel, &entry, 5);
	assert_int_equal(poll(&wheel, START + 1000, out), 1);
	assert_int_equal(poll(&wheel, START + 1000, out), 0);
	timing_wheel_fini(&wheel);
}

static void poll__in_order(void **state)
{
	struct timing_wheel wheel = wheel_at(START);
	struct timing_wheel_entry entries[FLOWS], *out[FLOWS];
	uint64_t now = START;

	(void)state;
	// Backwards, a slot each but for triples that share one.
	for (unsigned i = 0; i < 30; i++) {
		timing_wheel_entry_init(&entries[i]);
		timing_wheel_put(&wheel, &entries[i], START + (29 - i) / 3 * SLOT);
	}
	for (unsigned group = 0; group < 10; group++, now += SLOT) {
		// START is in the middle of a slot, so all are due in the next one.
		assert_int_equal(poll(&wheel, now + SLOT, out), 3);
		for (unsigned i = 0; i < 3; i++)
			assert_ptr_equal(out[i], &entries[27 - 3 * group + i]);
	}
	timing_wheel_fini(&wheel);
}

static void poll__takes_no_more_than_asked(void **state)
{
	struct timing_wheel wheel = wheel_at(START);
	struct timing_wheel_entry entries[10], *out[10];

	(void)state;
	for (unsigned i = 0; i < 10; i++) {
		timing_wheel_entry_init(&entries[i]);
		timing_wheel_put(&wheel, &entries[i], START);
	}
	assert_int_equal(timing_wheel_poll(&wheel, START + SLOT, out, 0), 0);
	assert_int_equal(timing_wheel_poll(&wheel, START + SLOT, out, 7), 7);
	assert_int_equal(timing_wheel_poll(&wheel, START + SLOT, out, 7), 3);
	assert_ptr_equal(out[0], &entries[7]);
	timing_wheel_fini(&wheel);
}

static void put__beyond_the_horizon(void **state)
{
	struct timing_wheel wheel = wheel_at(START);
	struct timing_wheel_entry entry, *out[FLOWS];
	const uint64_t due = START + 10 * HORIZON + 5;
	uint64_t now = START;

	(void)state;
	timing_wheel_entry_init(&entry);
	timing_wheel_put(&wheel, &entry, due);
	while (poll(&wheel, now, out) == 0) {
		assert_true(timing_wheel_holds(&entry));
		now += 100;
	}
	assert_in_range(now, due, due + SLOT + 100);
	// And where nobody polls for longer than the horizon.
	timing_wheel_put(&wheel, &entry, now + 3 * HORIZON);
	assert_int_equal(poll(&wheel, now + 2 * HORIZON, out), 0);
	assert_int_equal(poll(&wheel, now + 3 * HORIZON + SLOT, out), 1);
	timing_wheel_fini(&wheel);
}

static void put__after_a_long_silence(void **state)
{
	struct timing_wheel wheel = wheel_at(START);
	struct timing_wheel_entry entries[2], *out[FLOWS];
	const uint64_t now = START + 1000 * HORIZON;

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		timing_wheel_entry_init(&entries[i]);
	timing_wheel_put(&wheel, &entries[0], START + 100);
	// Nobody polled since the start: the wheel believes it is still then.
	timing_wheel_put(&wheel, &entries[1], now + 10 * SLOT);
	assert_int_equal(poll(&wheel, now, out), 1);
	assert_ptr_equal(out[0], &entries[0]);
	assert_int_equal(poll(&wheel, now + 9 * SLOT, out), 0);
	assert_int_equal(poll(&wheel, now + 11 * SLOT, out), 1);
	timing_wheel_fini(&wheel);
}

static void remove__before_its_time(void **state)
{
	struct timing_wheel wheel = wheel_at(START);
	struct timing_wheel_entry entries[3], *out[FLOWS];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		timing_wheel_entry_init(&entries[i]);
		timing_wheel_remove(&wheel, &entries[i]); // does nothing
		timing_wheel_put(&wheel, &entries[i], START);
	}
	timing_wheel_remove(&wheel, &entries[1]);
	assert_false(timing_wheel_holds(&entries[1]));
	assert_int_equal(poll(&wheel, START + SLOT, out), 2);
	assert_ptr_equal(out[0], &entries[0]);
	assert_ptr_equal(out[1], &entries[2]);
	timing_wheel_put(&wheel, &entries[1], START);
	timing_wheel_remove(&wheel, &entries[1]);
	assert_int_equal(wheel.n_entries, 0);
	assert_int_equal(wheel.occupied[0], 0);
	assert_int_equal(poll(&wheel, START + 2 * SLOT, out), 0);
	timing_wheel_fini(&wheel);
}

// 300 flows that are put, removed and polled at random, against their times in an array.
static void history__of_many_flows(void **state)
{
	struct timing_wheel wheel = wheel_at(START);
	struct timing_wheel_entry entries[FLOWS], *out[MANY];
	uint64_t due[FLOWS] = { 0 }, now = START, random = 9, delivered = 0;
	bool in[FLOWS] = { false };

	(void)state;
	for (unsigned i = 0; i < FLOWS; i++)
		timing_wheel_entry_init(&entries[i]);
	for (unsigned step = 0; step < 200000; step++) {
		unsigned i = (unsigned)(next_random(&random) % FLOWS);
		bool all = next_random(&random) % 2 == 0;
		unsigned most = all ? MANY : 1 + (unsigned)(next_random(&random) % 4), n;

		if (!in[i]) {
			due[i] = now + next_random(&random) % (2 * HORIZON);
			timing_wheel_put(&wheel, &entries[i], due[i]);
			in[i] = true;
		} else if (next_random(&random) % 16 == 0) {
			timing_wheel_remove(&wheel, &entries[i]);
			in[i] = false;
		}
		now += next_random(&random) % 200;
		if (next_random(&random) % 10000 == 0)
			now += 3 * HORIZON;
		n = timing_wheel_poll(&wheel, now, out, most);
		assert_true(n <= most);
		for (unsigned k = 0; k < n; k++) {
			unsigned flow = (unsigned)(out[k] - entries);

			assert_true(in[flow]);
			assert_true(due[flow] <= now);
			in[flow] = false;
			delivered++;
		}
		// Having nothing left to give it owes nothing but to the begun slot.
		for (unsigned k = 0; all && k < FLOWS; k++)
			assert_true(!in[k] || due[k] + SLOT > now);
	}
	assert_true(delivered > 10000);
	timing_wheel_fini(&wheel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init__slots_and_horizon),
		cmocka_unit_test(init__refuses),
		cmocka_unit_test(poll__never_before_the_time),
		cmocka_unit_test(poll__what_has_passed_comes_at_once),
		cmocka_unit_test(poll__in_order),
		cmocka_unit_test(poll__takes_no_more_than_asked),
		cmocka_unit_test(put__beyond_the_horizon),
		cmocka_unit_test(put__after_a_long_silence),
		cmocka_unit_test(remove__before_its_time),
		cmocka_unit_test(history__of_many_flows),
	};

	return cmocka_run_group_tests_name("timing_wheel", tests, NULL, NULL);
}
