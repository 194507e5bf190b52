// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The invariants can fail: with each fault of lib/cluster/mutant.h some history breaks one of them.
#include "mixture.h"
#include "stories.h"

#define MUTANTS   24u
#define HISTORIES 300u // of mixtures, at most

unsigned cluster_mutation;

static struct farm farm;

static bool breaks_a_story(void)
{
	for (unsigned history = 0; history < 4 * STORY_WAYS; history++)
		for (unsigned i = 0; i < n_stories; i++) {
			story_tell(&farm, &stories[i], history);
			if (farm.broken[0] == '\0')
				continue;
			print_message("mutant %u: %s, history %u: %s\n", cluster_mutation,
				      stories[i].name, history, farm.broken);
			return true;
		}
	return false;
}

static bool breaks_a_mixture(void)
{
	struct mixture_sums sums = { 0 };

	for (uint64_t seed = 0; seed < HISTORIES; seed++) {
		mixture_run(&farm, seed, &sums);
		if (farm.broken[0] == '\0')
			continue;
		print_message("mutant %u: mixture %ju: %s\n", cluster_mutation, (uintmax_t)seed,
			      farm.broken);
		return true;
	}
	return false;
}

static void every_mutant_is_caught(void **state)
{
	(void)state;
	for (cluster_mutation = 1; cluster_mutation <= MUTANTS; cluster_mutation++)
		if (!breaks_a_story() && !breaks_a_mixture())
			fail_msg("mutant %u breaks nothing", cluster_mutation);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_mutant_is_caught),
	};

	return cmocka_run_group_tests_name("mutants", tests, NULL, NULL);
}
