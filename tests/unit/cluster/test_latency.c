// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The steps of events that nodes measure: each event counts once in each step.
#include "farm.h"

#include "base/histogram.h"

#define EVENTS 200u

static struct farm farm;

static void run_to_the_end(const struct farm_options *options)
{
	farm_open(&farm, options);
	assert_true(farm_await(&farm, CTRL_RUNNING, SECOND));
	farm_run(&farm, SECOND);
	farm_finish(&farm);
	farm_expect_whole(&farm);
	assert_int_equal(farm.n_published - farm.twice, EVENTS);
}

static const struct cluster_latency *latency_of(unsigned node)
{
	return cluster_node_latency(farm.nodes[node].node);
}

static bool has_readouts(unsigned node)
{
	return farm.configs[node]->n_generators > 0;
}

static void expect_all_grants(void)
{
	for (unsigned i = 0; i < farm.n_nodes; i++) {
		const struct histogram *grant = &latency_of(i)->grant;

		assert_int_equal(histogram_count(grant), has_readouts(i) ? EVENTS : 0);
		assert_true(grant->maximum < SECOND);
		assert_int_equal(grant->sum > 0, has_readouts(i));
	}
}

static uint64_t count_credits(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < farm.n_nodes; i++) {
		assert_true(latency_of(i)->credit.maximum < SECOND);
		n += histogram_count(&latency_of(i)->credit);
	}
	return n;
}

static void steps__count_each_event_once(const char *mode, double loss)
{
	const struct farm_options options = {
		.seed = 1, .n_folded = 3, .mode = mode, .events = EVENTS, .loss = loss
	};

	run_to_the_end(&options);
	expect_all_grants();
	assert_int_equal(count_credits(), EVENTS);
	farm_close(&farm);
}

static void steps__in_push(void **state)
{
	(void)state;
	steps__count_each_event_once("push", 0);
}

static void steps__in_pull_with_losses(void **state)
{
	(void)state;
	steps__count_each_event_once("pull", 0.05);
}

// Events that are granted again count by their first grant; the credits of a session that has ended
// do not count.
static void steps__with_a_dead_builder(void **state)
{
	const struct farm_options options = {
		.seed = 1, .n_readouts = 2, .n_builders = 2, .events = EVENTS, .in_doubt = "1ms"
	};

	(void)state;
	farm_open(&farm, &options);
	assert_true(farm_await(&farm, CTRL_RUNNING, SECOND));
	farm_run(&farm, SECOND / 8);
	farm_restart(&farm, 4);
	farm_run(&farm, SECOND);
	farm_finish(&farm);
	farm_expect_whole(&farm);
	expect_all_grants();
	assert_in_range(count_credits(), EVENTS / 2, EVENTS);
	farm_close(&farm);
}

static void steps__are_none_without_grants(void **state)
{
	const struct farm_options options = {
		.seed = 1, .n_readouts = 2, .n_builders = 2, .mode = "static", .events = EVENTS
	};

	(void)state;
	run_to_the_end(&options);
	for (unsigned i = 0; i < farm.n_nodes; i++)
		assert_int_equal(histogram_count(&latency_of(i)->grant), 0);
	assert_int_equal(count_credits(), 0);
	farm_close(&farm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps__in_push),
		cmocka_unit_test(steps__in_pull_with_losses),
		cmocka_unit_test(steps__with_a_dead_builder),
		cmocka_unit_test(steps__are_none_without_grants),
	};

	return cmocka_run_group_tests_name("latency", tests, NULL, NULL);
}
