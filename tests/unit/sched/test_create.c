// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Parameters that are refused, the largest that are not, and memory.
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct bench bench;

static void refuses(const char *expected)
{
	char error[SCHED_ERROR_SIZE] = "";
	struct sched *sched = NULL;

	bench.parameters.builders = bench.builders;
	assert_int_equal(sched_create(&sched, &bench.parameters, error), -1);
	assert_null(sched);
	if (strstr(error, expected) == NULL)
		fail_msg("'%s' is not about '%s'", error, expected);
	bench = bench_plain(2);
}

static void create__refuses_what_is_out_of_range(void **state)
{
	(void)state;
	bench = bench_plain(2);
	bench.parameters.n_builders = 0;
	refuses("n_builders is 0; expected 1 to 1024");
	bench.parameters.n_builders = 1025;
	refuses("n_builders is 1025");
	bench.parameters.n_sources = 0;
	refuses("n_sources is 0; expected 1 to 4096");
	bench.parameters.n_sources = 4097;
	refuses("n_sources");
	bench.builders[1].slots = 0;
	refuses("builders[1].slots is 0; expected 1 to 65536");
	bench.builders[0].slots = 65537;
	refuses("builders[0].slots");
	bench.builders[1].group = 1024;
	refuses("builders[1].group is 1024; expected 0 to 1023");
	bench.builders[1].weight = 0;
	refuses("builders[1].weight");
	bench.builders[1].weight = 1025;
	refuses("builders[1].weight");
	bench.parameters.queue = 0;
	refuses("queue");
	bench.parameters.unfinished = 1000;
	refuses("unfinished is 1000; expected a power of two");
	bench.parameters.unfinished = 0;
	refuses("unfinished");
	bench.parameters.unfinished = SCHED_MAX_EVENTS * 2;
	refuses("unfinished");
	bench.parameters.first_event = UINT64_MAX;
	refuses("first_event");
	bench.parameters.throttle_level = 5;
	refuses("throttle_level is 5; expected 0 to 4");
	bench.parameters.recover_ns = 0;
	refuses("recover_ns");
}

static void create__refuses_rules_that_do_not_fit(void **state)
{
	(void)state;
	bench = bench_plain(2);
	bench.parameters.distance = 2;
	refuses("distance is 2 with 2 congestion groups");
	bench.parameters.strict = true;
	bench.parameters.policy = SCHED_OCCUPANCY;
	refuses("strict");
	bench.parameters.strict = true;
	bench.parameters.mode = SCHED_STATIC;
	refuses("strict");
	bench.parameters.barrier = true;
	refuses("barrier");
	bench.parameters.barrier = true;
	bench.parameters.shaping = SCHED_TIMED_SHIFT;
	bench.parameters.send_window_ns = 1;
	refuses("barrier");
	bench.parameters.phase_barrier = 1;
	bench.parameters.mode = SCHED_PULL;
	refuses("phase_barrier needs");
	bench.parameters.phase_barrier = SCHED_MAX_PHASE_BARRIER + 1;
	bench.parameters.shaping = SCHED_LINEAR_SHIFT;
	refuses("phase_barrier is 65536");
	bench.parameters.shaping = SCHED_TIMED_SHIFT;
	refuses("send_window_ns is 0");
	bench.parameters.shaping = SCHED_TIMED_SHIFT;
	bench.parameters.send_window_ns = 1;
	bench.parameters.idle_window_ns = UINT64_MAX;
	refuses("idle_window_ns");
	bench.parameters.mode = (enum sched_mode)3;
	refuses("mode");
	bench.parameters.policy = (enum sched_policy)4;
	refuses("policy");
	bench.parameters.shaping = (enum sched_shaping)4;
	refuses("shaping");
}

static void create__refuses_shares_that_are_none(void **state)
{
	static const double wrong[] = { 0, -0.5, 1.01, NAN, INFINITY };
	double *const shares[] = { &bench.parameters.target_utilisation,
				   &bench.parameters.phase_share };
	static const char *const names[] = { "target_utilisation", "phase_share" };

	(void)state;
	bench = bench_plain(2);
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned j = 0; j < sizeof(wrong) / sizeof(wrong[0]); j++) {
			*shares[i] = wrong[j];
			refuses(names[i]);
		}
	}
}

// The automatic distance is 1023: each group gets one event before the rule has to yield.
static void grants_one_event_to_each(struct sched *sched)
{
	static struct sched_grant grants[SCHED_MAX_BUILDERS + 1];
	bool granted[SCHED_MAX_BUILDERS] = { false };

	for (uint32_t i = 0; i < SCHED_MAX_BUILDERS; i++) {
		assert_int_equal(sched_register(sched, i, 1, 64, 0), SCHED_OK);
		assert_int_equal(sched_credit(sched, i, 63, 1, 0), SCHED_OK);
	}
	for (uint32_t i = 0; i < SCHED_MAX_SOURCES; i++)
		assert_int_equal(sched_announce(sched, i, 2000, 0), SCHED_OK);
	assert_int_equal(sched_poll(sched, 0, grants, SCHED_MAX_BUILDERS + 1), SCHED_MAX_BUILDERS);
	for (uint32_t i = 0; i < SCHED_MAX_BUILDERS; i++) {
		assert_int_equal(grants[i].relaxed, 0);
		assert_int_equal(grants[i].n_positions, 4096);
		assert_false(granted[grants[i].builder]);
		granted[grants[i].builder] = true;
	}
}

static void create__takes_the_largest(void **state)
{
	struct sched_builder_parameters *builders = calloc(SCHED_MAX_BUILDERS, sizeof(*builders));
	char error[SCHED_ERROR_SIZE];

	(void)state;
	assert_non_null(builders);
	for (uint32_t i = 0; i < SCHED_MAX_BUILDERS; i++)
		builders[i] = (struct sched_builder_parameters){ 64, i, SCHED_MAX_WEIGHT, i, 1, 1 };
	for (int policy = SCHED_ROUND_ROBIN; policy <= SCHED_RANDOM; policy++) {
		struct sched_parameters parameters = sched_defaults();
		struct sched *sched = NULL;

		parameters.policy = (enum sched_policy)policy;
		parameters.builders = builders;
		parameters.n_builders = SCHED_MAX_BUILDERS;
		parameters.n_sources = SCHED_MAX_SOURCES;
		parameters.unfinished = 1u << 20;
		assert_int_equal(sched_create(&sched, &parameters, error), 0);
		grants_one_event_to_each(sched);
		sched_destroy(sched);
	}
	free(builders);
}

static void create__uses_nothing_of_the_parameters_later(void **state)
{
	(void)state;
	bench = bench_plain(3);
	bench_start(&bench);
	memset(bench.builders, 0xFF, sizeof(bench.builders));
	assert_int_equal(sched_credit(bench.sched, 2, 3, 1, 0), SCHED_OK);
	bench_announce(&bench, 1);
	bench_expect(&bench, 1, "2");
	bench_stop(&bench);
	sched_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(create__refuses_what_is_out_of_range),
		cmocka_unit_test(create__refuses_rules_that_do_not_fit),
		cmocka_unit_test(create__refuses_shares_that_are_none),
		cmocka_unit_test(create__takes_the_largest),
		cmocka_unit_test(create__uses_nothing_of_the_parameters_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
