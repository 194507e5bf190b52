// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "pacing/readout_pace.h"

#define GIGAHERTZ 1000000000ull
#define MTU       1500u
#define SHARE     1000000u // bytes a second, of a grant

// Builders b on nodes 1 + b; node 0 sends, and as many of nodes 10, 11, ...
static struct config *system_of(unsigned n_builders, unsigned n_senders)
{
	struct config *config = calloc(1, sizeof(*config));

	assert_non_null(config);
	config->event_manager.shaping = CONFIG_SHAPING_LINEAR_SHIFT;
	config->idle.policy = CONFIG_IDLE_POLL;
	config->cluster.n_nodes = 20;
	config->cluster.n_builders = n_builders;
	for (unsigned i = 0; i < n_builders; i++)
		config->cluster.builders[i].node = 1 + i;
	config->cluster.nodes[0].n_sources = 1;
	config->cluster.n_sources = n_senders;
	for (unsigned i = 1; i < n_senders; i++)
		config->cluster.nodes[9 + i].n_sources = 1;
	return config;
}

static void rate__is_the_granted_one_for_one_builder(void **state)
{
	struct config *config = system_of(3, 8);
	struct readout_pace pace;

	(void)state;
	assert_true(readout_pace_make(&pace, config, 1, MTU, GIGAHERTZ, 0));
	for (unsigned i = 0; i < 5; i++)
		readout_pace_add(&pace, 1);
	readout_pace_begin(&pace, 1, SHARE, 0);
	assert_int_equal(pace.pacer.rate, SHARE);
	assert_int_equal(pace.pacer.burst, 2 * MTU);
	readout_pace_free(&pace);
	free(config);
}

static void rate__grows_with_the_builders_that_wait(void **state)
{
	struct config *config = system_of(3, 8);
	struct readout_pace pace;

	(void)state;
	assert_true(readout_pace_make(&pace, config, 1, MTU, GIGAHERTZ, 0));
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
	free(config);
}

static void rate__is_never_more_than_one_node_may_take(void **state)
{
	struct config *config = system_of(8, 2);
	struct readout_pace pace;

	(void)state;
	assert_true(readout_pace_make(&pace, config, 1, MTU, GIGAHERTZ, 0));
	for (unsigned i = 0; i < 8; i++)
		readout_pace_add(&pace, i);
	readout_pace_begin(&pace, 0, SHARE, 0);
	assert_int_equal(pace.pacer.rate, 2 * SHARE);
	readout_pace_free(&pace);
	free(config);
}

// A node with a third of all sources, and so of the link, in one readout and in two.
static void rate__of_a_large_node_is_not_more_than_a_link(void **state)
{
	struct config *config = system_of(8, 2);
	struct readout_pace pace;

	(void)state;
	config->cluster.nodes[0].n_sources = 10;
	config->cluster.n_sources = 30;
	for (unsigned n_sources = 10; n_sources > 0; n_sources -= 5) {
		assert_true(readout_pace_make(&pace, config, n_sources, MTU, GIGAHERTZ, 0));
		readout_pace_begin(&pace, 0, SHARE, 0);
		assert_int_equal(pace.pacer.rate, SHARE * n_sources / 10);
		for (unsigned i = 0; i < 8; i++)
			readout_pace_add(&pace, i);
		readout_pace_adapt(&pace, 0);
		assert_int_equal(pace.pacer.rate, 3 * SHARE);
		readout_pace_free(&pace);
	}
	free(config);
}

static void rate__does_not_count_builders_of_the_own_node(void **state)
{
	struct config *config = system_of(3, 8);
	struct readout_pace pace;

	(void)state;
	config->cluster.builders[1].node = 0;
	assert_true(readout_pace_make(&pace, config, 1, MTU, GIGAHERTZ, 0));
	readout_pace_add(&pace, 0);
	readout_pace_add(&pace, 1);
	readout_pace_begin(&pace, 0, SHARE, 0);
	assert_int_equal(pace.pacer.rate, SHARE);
	readout_pace_begin(&pace, 1, 5 * SHARE, 0);
	assert_int_equal(pace.pacer.rate, SHARE); // it is not sent over the port
	readout_pace_free(&pace);
	free(config);
}

static void rate__forgets_what_is_cleared(void **state)
{
	struct config *config = system_of(3, 8);
	struct readout_pace pace;

	(void)state;
	assert_true(readout_pace_make(&pace, config, 1, MTU, GIGAHERTZ, 0));
	readout_pace_add(&pace, 0);
	readout_pace_add(&pace, 1);
	readout_pace_clear(&pace);
	readout_pace_begin(&pace, 2, SHARE, 0);
	assert_int_equal(pace.pacer.rate, SHARE);
	readout_pace_free(&pace);
	free(config);
}

static void rate__is_that_of_the_grant_by_the_clock(void **state)
{
	struct config *config = system_of(3, 8);
	struct readout_pace pace;

	(void)state;
	config->event_manager.shaping = CONFIG_SHAPING_TIMED_SHIFT;
	assert_true(readout_pace_make(&pace, config, 1, MTU, GIGAHERTZ, 0));
	readout_pace_add(&pace, 0);
	readout_pace_add(&pace, 1);
	readout_pace_begin(&pace, 0, SHARE, 0);
	assert_int_equal(pace.pacer.rate, SHARE);
	readout_pace_free(&pace);
	free(config);
}

static void rate__is_not_limited_without_one_or_without_shaping(void **state)
{
	struct config *config = system_of(1, 1);
	struct readout_pace pace;

	(void)state;
	assert_true(readout_pace_make(&pace, config, 1, MTU, GIGAHERTZ, 0));
	readout_pace_begin(&pace, 0, 0, 0);
	assert_int_equal(pace.pacer.rate, PACER_UNLIMITED);
	readout_pace_free(&pace);
	config->event_manager.shaping = CONFIG_SHAPING_NONE;
	assert_true(readout_pace_make(&pace, config, 1, MTU, GIGAHERTZ, 0));
	readout_pace_begin(&pace, 0, SHARE, 0);
	assert_int_equal(pace.pacer.rate, PACER_UNLIMITED);
	readout_pace_free(&pace);
	free(config);
}

// What was taken too much at one rate is owed at the next.
static void rate__a_change_gives_no_burst(void **state)
{
	struct config *config = system_of(2, 8);
	struct readout_pace pace;
	uint64_t now = 1000;

	(void)state;
	assert_true(readout_pace_make(&pace, config, 1, MTU, GIGAHERTZ, 0));
	readout_pace_begin(&pace, 0, SHARE, now);
	while (readout_pace_ready(&pace, now))
		readout_pace_take(&pace, MTU, now);
	for (unsigned i = 0; i < 10; i++) {
		readout_pace_begin(&pace, i % 2, SHARE + i, now);
		assert_false(readout_pace_ready(&pace, now));
	}
	readout_pace_free(&pace);
	free(config);
}

// Sends `bytes` in packets, as they may leave; when the last has left.
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
static void lane__bounds_what_one_builder_gets(void **state)
{
	struct config *config = system_of(3, 8);
	struct readout_pace pace;
	uint64_t now = 0;

	(void)state;
	assert_true(readout_pace_make(&pace, config, 1, MTU, GIGAHERTZ, now));
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
	free(config);
}

// What waits alike for all is sent as fast as before: lanes have room when it is their turn again.
static void lane__does_not_hold_what_is_spread(void **state)
{
	struct config *config = system_of(3, 8);
	struct readout_pace pace;
	uint64_t now = 0;

	(void)state;
	assert_true(readout_pace_make(&pace, config, 1, MTU, GIGAHERTZ, now));
	for (unsigned i = 0; i < 60; i++)
		readout_pace_add(&pace, i % 3);
	for (unsigned i = 0; i < 57; i++) {
		readout_pace_begin(&pace, i % 3, SHARE, now);
		now = send(&pace, now, 10 * MTU);
	}
	assert_in_range(now, 55 * 10 * MTU * 1000 / 3, 57 * 10 * MTU * 1000 / 3);
	readout_pace_free(&pace);
	free(config);
}

static void burst__covers_the_sleeps_of_an_lcore(void **state)
{
	struct config *config = system_of(1, 1);
	struct readout_pace pace;

	(void)state;
	config->idle.policy = CONFIG_IDLE_ADAPTIVE;
	config->idle.sleep_ns = 100000;
	assert_true(readout_pace_make(&pace, config, 1, MTU, GIGAHERTZ, 0));
	readout_pace_begin(&pace, 0, 1000000000, 0);
	assert_int_equal(pace.pacer.burst, 170000);
	readout_pace_free(&pace);
	free(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate__is_the_granted_one_for_one_builder),
		cmocka_unit_test(rate__grows_with_the_builders_that_wait),
		cmocka_unit_test(rate__is_never_more_than_one_node_may_take),
		cmocka_unit_test(rate__of_a_large_node_is_not_more_than_a_link),
		cmocka_unit_test(rate__does_not_count_builders_of_the_own_node),
		cmocka_unit_test(rate__forgets_what_is_cleared),
		cmocka_unit_test(rate__is_that_of_the_grant_by_the_clock),
		cmocka_unit_test(rate__is_not_limited_without_one_or_without_shaping),
		cmocka_unit_test(rate__a_change_gives_no_burst),
		cmocka_unit_test(lane__bounds_what_one_builder_gets),
		cmocka_unit_test(lane__does_not_hold_what_is_spread),
		cmocka_unit_test(burst__covers_the_sleeps_of_an_lcore),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
