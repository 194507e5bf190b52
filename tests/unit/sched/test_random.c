// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A million random calls for each policy, over modes, shapings, groups and limits, with deaths and
// returns, lost and repeated messages and restarts of the manager: no invariant is ever broken.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "history.h"

#define STEPS_EACH 5000u
#ifdef __SANITIZE_ADDRESS__
#define STEPS 300000u
#else
#define STEPS 1000000u
#endif

static bool is_of_round_robin(unsigned counter)
{
	return counter == offsetof(struct sched_counters, skips) / sizeof(uint64_t) ||
	       counter == offsetof(struct sched_counters, strict_timeouts) / sizeof(uint64_t);
}

static void random_histories(void **state)
{
	enum sched_policy policy = *(const enum sched_policy *)*state;
	static struct model model;
	uint64_t counted[MODEL_COUNTERS] = { 0 };

	for (uint64_t seed = 0; seed < STEPS / STEPS_EACH; seed++) {
		history_run(&model, seed, policy, STEPS_EACH);
		if (model.broken != MODEL_HOLDS)
			fail_msg("seed %ju: invariant %d: %s", (uintmax_t)seed, (int)model.broken,
				 model.message);
		for (unsigned i = 0; i < MODEL_COUNTERS; i++)
			counted[i] += model.counted[i];
	}
	// Whatever can happen did happen.
	for (unsigned i = 0; i < MODEL_COUNTERS; i++) {
		if (counted[i] == 0 && (policy == SCHED_ROUND_ROBIN || !is_of_round_robin(i)))
			fail_msg("counter %u of struct sched_counters never moved", i);
	}
}

int main(void)
{
	static enum sched_policy policies[] = { SCHED_ROUND_ROBIN, SCHED_OCCUPANCY, SCHED_WEIGHTED,
						SCHED_RANDOM };
	const struct CMUnitTest tests[] = {
		{ "random__round_robin", random_histories, NULL, NULL, &policies[0] },
		{ "random__occupancy", random_histories, NULL, NULL, &policies[1] },
		{ "random__weighted", random_histories, NULL, NULL, &policies[2] },
		{ "random__random", random_histories, NULL, NULL, &policies[3] },
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
