// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pacing/readout_pace.h"

#define GIGAHERTZ 1000000000ull
#define MTU       1500u
#define SHARE     1000000u // bytes/s, of a grant

// One of n_senders nodes, each with one source in one readout, linear shift.
static struct readout_pace_parameters system_of(unsigned n_builders, unsigned n_senders)
{
	return (struct readout_pace_parameters){
		.n_builders = n_builders,
		.n_sources = 1,
		.node_sources = 1,
		.system_sources = n_senders,
		.paced = true,
		.mtu = MTU,
		.ticks_per_second = GIGAHERTZ,
	};
}

static void rate__is_the_granted_one_for_one_builder(void **state)
{
	struct readout_pace_parameters parameters = system_of(3, 8);
	struct readout_pace pace;

	(void)state;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	for (unsigned i = 0; i < 5; i++)
		readout_pace_add(&pace, 1);
	readout_pace_begin(&pace, 1, SHARE, 0);
	assert_int_equal(pace.pacer.rate, SHARE);
	assert_int_equal(pace.pacer.burst, 2 * MTU);
	readout_pace_free(&pace);
}

static void rate__grows_with_the_builders_that_wait(void **state)
{
	struct readout_pace_parameters parameters = system_of(3, 8);
	struct readout_pace pace;

	(void)state;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	readout_pace_add(&pace, 0);
	readout_pace_add(&pace, 1);
	readout_pace_begin(&pace, 0, SHARE, 0);
	assert_int_equal(pace.pacer.rate, 2 * SHARE);
	readout_pace_add(&pace, 2);
	readout_pace_add(&pace, 0); // counts already: it is being sent for
	readout_pace_adapt(&pace, 0);
	assert_int_equal(pace.pacer.rate, 3 * SHARE);
	readout_pace_begin(&pace, 1, SHARE, 0);
	readout_pace_begin(&pace, 2, SHARE, 0);
	assert_int_equal(pace.pacer.rate, 2 * SHARE); // 2, and 0 waits
	readout_pace_begin(&pace, 0, SHARE, 0);
	assert_int_equal(pace.pacer.rate, SHARE);
	readout_pace_free(&pace);
}

// Two nodes at a time send to a builder, of 8 with a source each: each has half of the link, and
// all of it if two links wait.
static void rate__is_larger_if_few_send_at_once(void **state)
{
	struct readout_pace_parameters parameters = system_of(6, 8);
	struct readout_pace pace;

	(void)state;
	parameters.n_at_once = 2;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	readout_pace_add(&pace, 0);
	readout_pace_begin(&pace, 0, SHARE, 0);
	assert_int_equal(pace.pacer.rate, 4 * SHARE);
	assert_int_equal(pace.flow->pacer.rate, 4 * SHARE);
	for (unsigned i = 0; i < 3; i++) {
		readout_pace_add(&pace, i);
		readout_pace_adapt(&pace, 0);
		assert_int_equal(pace.pacer.rate, i == 0 ? 4 * SHARE : 8 * SHARE);
	}
	readout_pace_free(&pace);
	// 3 of 8 nodes: rounded down, so that together they do not exceed the link.
	parameters.n_at_once = 3;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	readout_pace_begin(&pace, 0, SHARE, 0);
	assert_int_equal(pace.pacer.rate, 2 * SHARE);
	readout_pace_free(&pace);
	// A node with 3 of the 8 sources has more of the link than 3 shares only if it is alone.
	parameters.n_sources = parameters.node_sources = 3;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	readout_pace_begin(&pace, 0, 3 * SHARE, 0);
	assert_int_equal(pace.pacer.rate, 3 * SHARE);
	readout_pace_free(&pace);
}

// Builders 0 to 2 share a link: whoever of them has grants that wait, it is one share.
static void rate__counts_a_link_once(void **state)
{
	struct readout_pace_parameters parameters = system_of(4, 8);
	struct readout_pace pace;

	(void)state;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	for (unsigned i = 0; i < 4; i++)
		readout_pace_set_link(&pace, i, i < 3 ? 0 : 3);
	for (unsigned i = 0; i < 3; i++)
		readout_pace_add(&pace, i);
	readout_pace_begin(&pace, 1, SHARE, 0);
	assert_int_equal(pace.pacer.rate, SHARE);
	readout_pace_add(&pace, 3);
	readout_pace_adapt(&pace, 0);
	assert_int_equal(pace.pacer.rate, 2 * SHARE);
	readout_pace_free(&pace);
}

// After an event for a builder, the next one for another builder of the link waits for the link's
// share.
static void flow__is_that_of_a_link(void **state)
{
	struct readout_pace_parameters parameters = system_of(3, 8);
	const uint64_t size = 100 * MTU, lasts = size * GIGAHERTZ / SHARE;
	struct readout_pace pace;

	(void)state;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	readout_pace_set_link(&pace, 1, 0);
	for (unsigned i = 0; i < 3; i++)
		readout_pace_add(&pace, i);
	readout_pace_begin(&pace, 0, SHARE, 0);
	for (unsigned i = 0; i < 100; i++)
		readout_pace_take(&pace, MTU, i * lasts / 200);
	readout_pace_begin(&pace, 1, SHARE, lasts / 2);
	assert_false(readout_pace_ready(&pace, lasts / 2));
	assert_true(readout_pace_ready(&pace, lasts));
	readout_pace_begin(&pace, 2, SHARE, lasts / 2);
	assert_true(readout_pace_ready(&pace, lasts));
	readout_pace_free(&pace);
}

static void rate__is_never_more_than_one_node_may_take(void **state)
{
	struct readout_pace_parameters parameters = system_of(8, 2);
	struct readout_pace pace;

	(void)state;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	for (unsigned i = 0; i < 8; i++)
		readout_pace_add(&pace, i);
	readout_pace_begin(&pace, 0, SHARE, 0);
	assert_int_equal(pace.pacer.rate, 2 * SHARE);
	readout_pace_free(&pace);
}

// A node has a third of all sources, and so a third of the link, in one readout or in two. Together
// its readouts send no faster than one link, three shares.
static void rate__of_a_large_node_is_not_more_than_a_link(void **state)
{
	struct readout_pace_parameters parameters = system_of(8, 2);
	struct readout_pace pace;

	(void)state;
	parameters.node_sources = 10;
	parameters.system_sources = 30;
	for (unsigned n_sources = 10; n_sources > 0; n_sources -= 5) {
		parameters.n_sources = n_sources;
		assert_true(readout_pace_make(&pace, &parameters, 0));
		readout_pace_begin(&pace, 0, SHARE, 0);
		assert_int_equal(pace.pacer.rate, SHARE * n_sources / 10);
		for (unsigned i = 0; i < 8; i++)
			readout_pace_add(&pace, i);
		readout_pace_adapt(&pace, 0);
		assert_int_equal(pace.pacer.rate, 3 * SHARE * n_sources / 10);
		readout_pace_free(&pace);
	}
}

// A whole link is 2.5 shares: the third builder adds half a share.
static void rate__of_a_node_is_not_rounded_above_a_link(void **state)
{
	struct readout_pace_parameters parameters = system_of(3, 5);
	struct readout_pace pace;

	(void)state;
	parameters.n_sources = parameters.node_sources = 2;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	for (unsigned i = 0; i < 3; i++)
		readout_pace_add(&pace, i);
	readout_pace_begin(&pace, 0, SHARE, 0);
	assert_int_equal(pace.pacer.rate, 5 * SHARE / 2);
	readout_pace_free(&pace);
}

static void rate__does_not_count_builders_of_the_own_node(void **state)
{
	struct readout_pace_parameters parameters = system_of(3, 8);
	struct readout_pace pace;

	(void)state;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	readout_pace_set_local(&pace, 1);
	readout_pace_add(&pace, 0);
	readout_pace_add(&pace, 1);
	readout_pace_begin(&pace, 0, SHARE, 0);
	assert_int_equal(pace.pacer.rate, SHARE);
	readout_pace_begin(&pace, 1, 5 * SHARE, 0);
	assert_int_equal(pace.pacer.rate, SHARE); // it is not sent over the port
	readout_pace_free(&pace);
}

static void rate__forgets_what_is_cleared(void **state)
{
	struct readout_pace_parameters parameters = system_of(3, 8);
	struct readout_pace pace;

	(void)state;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	readout_pace_add(&pace, 0);
	readout_pace_add(&pace, 1);
	readout_pace_clear(&pace);
	readout_pace_begin(&pace, 2, SHARE, 0);
	assert_int_equal(pace.pacer.rate, SHARE);
	readout_pace_free(&pace);
}

static void rate__is_that_of_the_grant_by_the_clock(void **state)
{
	struct readout_pace_parameters parameters = system_of(3, 8);
	struct readout_pace pace;

	(void)state;
	parameters.timed = true;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	readout_pace_add(&pace, 0);
	readout_pace_add(&pace, 1);
	readout_pace_begin(&pace, 0, SHARE, 0);
	assert_int_equal(pace.pacer.rate, SHARE);
	readout_pace_free(&pace);
}

static void rate__is_not_limited_without_one_or_without_shaping(void **state)
{
	struct readout_pace_parameters parameters = system_of(1, 1);
	struct readout_pace pace;

	(void)state;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	readout_pace_begin(&pace, 0, 0, 0);
	assert_int_equal(pace.pacer.rate, PACER_UNLIMITED);
	readout_pace_free(&pace);
	parameters.paced = false;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	readout_pace_begin(&pace, 0, SHARE, 0);
	assert_int_equal(pace.pacer.rate, PACER_UNLIMITED);
	readout_pace_free(&pace);
}

// What was taken too much at one rate is owed at the next.
static void rate__a_change_gives_no_burst(void **state)
{
	struct readout_pace_parameters parameters = system_of(2, 8);
	struct readout_pace pace;
	uint64_t now = 1000;

	(void)state;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	readout_pace_begin(&pace, 0, SHARE, now);
	while (readout_pace_ready(&pace, now))
		readout_pace_take(&pace, MTU, now);
	for (unsigned i = 0; i < 10; i++) {
		readout_pace_begin(&pace, i % 2, SHARE + i, now);
		assert_false(readout_pace_ready(&pace, now));
	}
	readout_pace_free(&pace);
}

// Sends `bytes` in packets as they may leave. Returns the time at which the last one left.
static uint64_t send(struct readout_pace *pace, uint64_t now, uint32_t bytes)
{
	for (uint32_t sent = 0; sent < bytes; sent += MTU) {
		while (!readout_pace_ready(pace, now))
			now += 100;
		readout_pace_take(pace, MTU, now);
	}
	return now;
}

// Much waits for builders 0 and 1, and all behind it for builder 2: the node goes as fast as for
// three, and still no builder gets more than the node's share.
static void flow__bounds_what_one_builder_gets(void **state)
{
	struct readout_pace_parameters parameters = system_of(3, 8);
	struct readout_pace pace;
	uint64_t now = 0;

	(void)state;
	assert_true(readout_pace_make(&pace, &parameters, now));
	for (unsigned i = 0; i < 20; i++)
		readout_pace_add(&pace, i % 2);
	readout_pace_add(&pace, 2);
	for (unsigned i = 0; i < 20; i++) {
		readout_pace_begin(&pace, i % 2, SHARE, now);
		if (i < 18)
			assert_int_equal(pace.pacer.rate, 3 * SHARE);
		now = send(&pace, now, 10 * MTU);
	}
	// Ten events to each: nine of them have to wait for their share, and the first was a burst.
	assert_in_range(now, (9 * 10 - 2) * MTU * 1000, (10 * 10) * MTU * 1000);
	readout_pace_free(&pace);
}

// What waits alike for all is sent as fast as before: flows have room when it is their turn again.
static void flow__does_not_hold_what_is_spread(void **state)
{
	struct readout_pace_parameters parameters = system_of(3, 8);
	struct readout_pace pace;
	uint64_t now = 0;

	(void)state;
	assert_true(readout_pace_make(&pace, &parameters, now));
	for (unsigned i = 0; i < 60; i++)
		readout_pace_add(&pace, i % 3);
	for (unsigned i = 0; i < 57; i++) {
		readout_pace_begin(&pace, i % 3, SHARE, now);
		now = send(&pace, now, 10 * MTU);
	}
	assert_in_range(now, 55 * 10 * MTU * 1000 / 3, 57 * 10 * MTU * 1000 / 3);
	readout_pace_free(&pace);
}

static void burst__covers_the_sleeps_of_an_lcore(void **state)
{
	struct readout_pace_parameters parameters = system_of(1, 1);
	struct readout_pace pace;

	(void)state;
	parameters.sleep_ns = 100000;
	assert_true(readout_pace_make(&pace, &parameters, 0));
	readout_pace_begin(&pace, 0, 1000000000, 0);
	assert_int_equal(pace.pacer.burst, 170000);
	readout_pace_free(&pace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate__is_the_granted_one_for_one_builder),
		cmocka_unit_test(rate__grows_with_the_builders_that_wait),
		cmocka_unit_test(rate__is_larger_if_few_send_at_once),
		cmocka_unit_test(rate__counts_a_link_once),
		cmocka_unit_test(flow__is_that_of_a_link),
		cmocka_unit_test(rate__is_never_more_than_one_node_may_take),
		cmocka_unit_test(rate__of_a_large_node_is_not_more_than_a_link),
		cmocka_unit_test(rate__of_a_node_is_not_rounded_above_a_link),
		cmocka_unit_test(rate__does_not_count_builders_of_the_own_node),
		cmocka_unit_test(rate__forgets_what_is_cleared),
		cmocka_unit_test(rate__is_that_of_the_grant_by_the_clock),
		cmocka_unit_test(rate__is_not_limited_without_one_or_without_shaping),
		cmocka_unit_test(rate__a_change_gives_no_burst),
		cmocka_unit_test(flow__bounds_what_one_builder_gets),
		cmocka_unit_test(flow__does_not_hold_what_is_spread),
		cmocka_unit_test(burst__covers_the_sleeps_of_an_lcore),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
