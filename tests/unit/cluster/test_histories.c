// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Histories of a farm, one for each thing that can go wrong, over layouts, modes and seeds.
//
// test-cluster-histories [STORY [HISTORY]] tells one story, or one history of it, by the number
// that a failure names. SEEDS in the environment is the number of seeds.
#include "stories.h"

#include <stdlib.h>
#include <string.h>

#define SEEDS 1u
#ifdef __SANITIZE_ADDRESS__
#define STEP STORY_WAYS
#else
#define STEP 1u
#endif

static const char *only_story;
static int only_history = -1;

struct sums {
	uint64_t histories, published, incomplete, twice, repeated, lost, forgotten;
};

static unsigned n_seeds(void)
{
	const char *text = getenv("SEEDS");

	return text != NULL ? (unsigned)atoi(text) : SEEDS;
}

static void add(struct sums *sums, const struct farm *farm)
{
	sums->histories++;
	sums->published += farm->n_published;
	sums->incomplete += farm->n_incomplete;
	sums->twice += farm->twice;
	sums->repeated += farm->n_repeated;
	sums->lost += farm->n_lost;
	sums->forgotten += farm->n_forgotten;
}

static void tell(const struct story *story)
{
	static struct farm farm;
	struct sums sums = { 0 };

	for (unsigned i = 0; i < n_seeds() * STORY_WAYS; i++) {
		if (only_history >= 0 ? (unsigned)only_history != i
				      : (i + strlen(story->name)) % STEP != 0)
			continue;
		story_tell(&farm, story, i);
		if (farm.broken[0] != '\0')
			fail_msg("%s, history %u: %s", story->name, i, farm.broken);
		add(&sums, &farm);
	}
	print_message("%s: %ju histories, %ju events published, %ju incomplete, %ju twice, %ju "
		      "flagged as that; the manager lost a node %ju times, %ju were forgotten\n",
		      story->name, (uintmax_t)sums.histories, (uintmax_t)sums.published,
		      (uintmax_t)sums.incomplete, (uintmax_t)sums.twice, (uintmax_t)sums.repeated,
		      (uintmax_t)sums.lost, (uintmax_t)sums.forgotten);
}

static void all_stories(void **state)
{
	(void)state;
	for (unsigned i = 0; i < n_stories; i++)
		if (only_story == NULL || strcmp(only_story, stories[i].name) == 0)
			tell(&stories[i]);
}

// Histories beyond the usual seeds. In the first ones events were published twice: a node that was
// silent when the manager took over knew more of them as released. In the others data came before
// the grant, which came as the builder closed the event at its deadline.
static void histories_that_were_broken(void **state)
{
	static const struct {
		const char *story;
		unsigned history;
	} found[] = {
		{ "the manager in office is lost, 10 % are lost", 21 },
		{ "the manager in office is lost, 10 % are lost", 86 },
		{ "the manager in office is lost, by multicast", 33 },
		{ "a readout restarts while nobody manages, pause", 19 },
		{ "a readout restarts while nobody manages, pause", 37 },
	};
	static struct farm farm;

	(void)state;
	for (unsigned i = 0; only_story == NULL && i < sizeof(found) / sizeof(found[0]); i++)
		for (unsigned j = 0; j < n_stories; j++) {
			if (strcmp(found[i].story, stories[j].name) != 0)
				continue;
			story_tell(&farm, &stories[j], found[i].history);
			if (farm.broken[0] != '\0')
				fail_msg("%s, history %u: %s", found[i].story, found[i].history,
					 farm.broken);
		}
}

int main(int n_arguments, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_stories),
		cmocka_unit_test(histories_that_were_broken),
	};

	only_story = n_arguments > 1 ? arguments[1] : NULL;
	only_history = n_arguments > 2 ? atoi(arguments[2]) : -1;
	return cmocka_run_group_tests_name("histories", tests, NULL, NULL);
}
