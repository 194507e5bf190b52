// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The invariants can fail: with a fault in the logic some history breaks one of them.
//
// test-cluster-mutant-NAME PATCH is linked with the mutant. The histories that the patch names come
// first; where the logic has changed so that they do not catch the mutant any more, all others are
// tried, which takes longer, and the message says which of them to name.
#include "../mutant.h"
#include "mixture.h"
#include "stories.h"

#define MIXTURE   "mixture" // the name of the random histories
#define MIXTURES  600u
#define HISTORIES (16 * STORY_WAYS) // of each story

static struct farm farm;

static bool breaks_a_story(const struct story *story)
{
	for (unsigned history = 0; history < HISTORIES; history++) {
		story_tell(&farm, story, history);
		if (farm.broken[0] == '\0')
			continue;
		print_message("%s, history %u: %s\n", story->name, history, farm.broken);
		return true;
	}
	return false;
}

static bool breaks_a_mixture(void)
{
	struct mixture_sums sums = { 0 };

	for (uint64_t seed = 0; seed < MIXTURES; seed++) {
		mixture_run(&farm, seed, seed % 2 != 0, false, &sums);
		if (farm.broken[0] == '\0')
			continue;
		print_message(MIXTURE " %ju: %s\n", (uintmax_t)seed, farm.broken);
		return true;
	}
	return false;
}

static bool breaks_any(const char *name)
{
	if (strcmp(name, MIXTURE) == 0 && breaks_a_mixture())
		return true;
	for (unsigned i = 0; i < n_stories; i++)
		if (strcmp(name, stories[i].name) == 0 && breaks_a_story(&stories[i]))
			return true;
	print_message("%s: '%s' does not catch it\n", mutant_patch, name);
	for (unsigned i = 0; i < n_stories; i++)
		if (breaks_a_story(&stories[i]))
			return true;
	return breaks_a_mixture();
}

static void mutant__is_caught(void **state)
{
	char name[MUTANT_TEXT];

	(void)state;
	mutant_read(mutant_patch, "Caught by", name);
	if (!breaks_any(name))
		fail_msg("%s breaks nothing", mutant_patch);
}

int main(int argc, char **argv)
{
	return mutant_run(argc, argv, mutant__is_caught);
}
