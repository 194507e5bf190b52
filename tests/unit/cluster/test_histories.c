// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Histories of a farm, one for each thing that can go wrong, over layouts, modes and seeds.
//
// test-cluster-histories [STORY [HISTORY]] tells one story, or one history of it, by the number
// that a failure names. SEEDS in the environment is the number of seeds.
#include "farm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#define SEEDS 2u
#else
#define SEEDS 8u
#endif

typedef void story_fn(struct farm *farm);

static const struct farm_options layouts[] = {
	{ .n_folded = 3 },
	{ .n_readouts = 3, .n_builders = 2 },
	{ .n_folded = 2, .local = 2 },
};

static unsigned n_seeds(void)
{
	const char *text = getenv("SEEDS");

	return text != NULL ? (unsigned)atoi(text) : SEEDS;
}

static const char *only_story;
static int only_history = -1;

// Where all events have to be complete: where builders and readouts do not die together at most.
enum complete { ALWAYS, SPLIT, NEVER };

struct sums {
	uint64_t histories, published, incomplete, twice, lost, forgotten;
};

static void begin(struct farm *farm)
{
	if (!farm_await(farm, CTRL_RUNNING, 10 * SECOND))
		farm_broken(farm, "the run does not start");
}

// Runs a story in each layout and mode, with the options that are not layout, mode or seed.
static void tell(const char *name, struct farm_options options, story_fn *story,
		 enum complete complete)
{
	static struct farm farm;
	static const char *const modes[] = { "push", "pull" };
	struct sums sums = { 0 };

	if (only_story != NULL && strcmp(only_story, name) != 0)
		return;
	for (unsigned i = 0; i < n_seeds() * 6; i++) {
		struct farm_options each = options;

		if (only_history >= 0 && (unsigned)only_history != i)
			continue;
		each.seed = i / 6;
		each.mode = modes[i % 2];
		each.n_folded = layouts[i / 2 % 3].n_folded;
		each.n_readouts = layouts[i / 2 % 3].n_readouts;
		each.n_builders = layouts[i / 2 % 3].n_builders;
		each.local = layouts[i / 2 % 3].local;
		farm_open(&farm, &each);
		begin(&farm);
		farm_run(&farm, 100 * MS + farm_below(&farm, 500 * MS));
		story(&farm);
		farm_run(&farm, 200 * MS);
		farm_finish(&farm);
		if (farm.n_incomplete > 0 &&
		    (complete == ALWAYS || (complete == SPLIT && each.n_folded == 0)))
			farm_broken(&farm, "%ju events are incomplete",
				    (uintmax_t)farm.n_incomplete);
		farm_close(&farm);
		if (farm.broken[0] != '\0')
			fail_msg("%s, history %u: %s", name, i, farm.broken);
		sums.histories++;
		sums.published += farm.n_published;
		sums.incomplete += farm.n_incomplete;
		sums.twice += farm.twice;
		sums.lost += farm.n_lost;
		sums.forgotten += farm.n_forgotten;
	}
	print_message("%s: %ju histories, %ju events published, %ju incomplete, %ju twice, %ju "
		      "times lost, %ju forgotten\n",
		      name, (uintmax_t)sums.histories, (uintmax_t)sums.published,
		      (uintmax_t)sums.incomplete, (uintmax_t)sums.twice, (uintmax_t)sums.lost,
		      (uintmax_t)sums.forgotten);
}

static unsigned some_builder(struct farm *farm)
{
	unsigned n = farm->configs[0]->cluster.n_builders;

	return farm_builder(farm, (unsigned)farm_below(farm, n))->node;
}

static unsigned some_readout(struct farm *farm)
{
	unsigned node = farm->manager;

	while (node == farm->manager || farm->configs[node]->n_generators == 0)
		node = (unsigned)farm_below(farm, farm->n_nodes);
	return node;
}

static unsigned other_builder(struct farm *farm)
{
	unsigned node = farm->manager;

	while (node == farm->manager)
		node = some_builder(farm);
	return node;
}

// --- stories ---

static void nothing_happens(struct farm *farm)
{
	farm_run(farm, SECOND);
}

static void builder_is_killed_and_back(struct farm *farm)
{
	for (unsigned i = 0; i < 3; i++) {
		unsigned node = other_builder(farm);

		farm_kill(farm, node);
		farm_run(farm, farm_below(farm, 600 * MS));
		farm_start(farm, node);
		farm_run(farm, farm_below(farm, 800 * MS));
	}
}

static void builder_is_killed(struct farm *farm)
{
	farm_kill(farm, other_builder(farm));
	farm_run(farm, 8 * SECOND);
}

static void readout_is_killed_and_back(struct farm *farm)
{
	for (unsigned i = 0; i < 3; i++) {
		unsigned node = some_readout(farm);

		farm_kill(farm, node);
		farm_run(farm, farm_below(farm, 600 * MS));
		farm_start(farm, node);
		farm_run(farm, farm_below(farm, 800 * MS));
	}
}

static void manager_is_restarted(struct farm *farm)
{
	for (unsigned i = 0; i < 3; i++) {
		farm_kill(farm, farm->manager);
		farm_run(farm, farm_below(farm, 800 * MS));
		farm_start(farm, farm->manager);
		farm_run(farm, farm_below(farm, 2 * SECOND));
	}
}

static void node_is_cut_off(struct farm *farm)
{
	unsigned node = (unsigned)farm_below(farm, farm->n_nodes);
	unsigned ways = 1 + (unsigned)farm_below(farm, 3);

	farm_cut(farm, node, (ways & 1) != 0, (ways & 2) != 0);
	farm_run(farm, 2 * SECOND);
	farm_heal(farm);
	farm_run(farm, SECOND);
}

static void manager_is_cut_off(struct farm *farm)
{
	farm_cut(farm, farm->manager, true, true);
	farm_run(farm, 2 * SECOND);
	farm_heal(farm);
	farm_run(farm, SECOND);
}

static void node_is_excluded_and_included(struct farm *farm)
{
	for (unsigned i = 0; i < 3; i++) {
		unsigned node = (unsigned)farm_below(farm, farm->n_nodes);

		if (!farm_command(farm, CLUSTER_EXCLUDE, node))
			farm_broken(farm, "exclude is refused");
		farm_run(farm, farm_below(farm, 500 * MS));
		if (!farm_command(farm, CLUSTER_INCLUDE, node))
			farm_broken(farm, "include is refused");
		farm_run(farm, farm_below(farm, 500 * MS));
	}
}

static void run_is_paused_and_resumed(struct farm *farm)
{
	for (unsigned i = 0; i < 3; i++) {
		uint64_t published;

		if (!farm_command(farm, CLUSTER_PAUSE, 0))
			farm_broken(farm, "pause is refused");
		farm_run(farm, 800 * MS); // what was granted goes on
		published = farm->n_published;
		farm_run(farm, farm_below(farm, 500 * MS));
		if (farm->n_published != published)
			farm_broken(farm, "a paused run goes on");
		if (!farm_command(farm, CLUSTER_RESUME, 0))
			farm_broken(farm, "resume is refused");
		farm_run(farm, farm_below(farm, 500 * MS));
	}
}

static void leave(struct farm *farm, unsigned number)
{
	struct farm_node *node = &farm->nodes[number];
	uint64_t end = farm->now + 2 * SECOND;

	node->leaving = true;
	cluster_node_leave(node->node);
	while (farm->now < end && !cluster_node_left(node->node))
		farm_run(farm, MS);
	if (!cluster_node_left(node->node))
		farm_broken(farm, "node %u does not leave", number);
	farm_run(farm, 500 * MS);
	farm_kill(farm, number);
}

static void builder_leaves_and_comes_back(struct farm *farm)
{
	unsigned node = other_builder(farm);

	leave(farm, node);
	farm_run(farm, farm_below(farm, 2 * SECOND));
	farm_start(farm, node);
	farm_run(farm, SECOND);
}

// --- and what is told of them ---

static void healthy(void **state)
{
	(void)state;
	tell("healthy", (struct farm_options){ 0 }, nothing_happens, ALWAYS);
	tell("refusals", (struct farm_options){ .refusal = 0.05 }, nothing_happens, ALWAYS);
}

static void bad_network(void **state)
{
	(void)state;
	tell("reordered", (struct farm_options){ .delay_max = 20 * MS }, nothing_happens, ALWAYS);
	tell("5 % lost", (struct farm_options){ .loss = 0.05, .duplicate = 0.05 }, nothing_happens,
	     ALWAYS);
	tell("30 % lost",
	     (struct farm_options){ .loss = 0.3, .duplicate = 0.2, .delay_max = 5 * MS },
	     nothing_happens, NEVER);
}

static void slow_builder(void **state)
{
	(void)state;
	tell("slow builder", (struct farm_options){ .slow = 10 }, nothing_happens, ALWAYS);
}

static void builders_die(void **state)
{
	(void)state;
	tell("builder killed and back", (struct farm_options){ .loss = 0.02 },
	     builder_is_killed_and_back, SPLIT);
	tell("builder killed", (struct farm_options){ .loss = 0.02 }, builder_is_killed, SPLIT);
}

static void readouts_die(void **state)
{
	(void)state;
	tell("readout killed and back, continue", (struct farm_options){ .loss = 0.02 },
	     readout_is_killed_and_back, NEVER);
	tell("readout killed and back, pause",
	     (struct farm_options){ .loss = 0.02, .on_source_silent = "pause" },
	     readout_is_killed_and_back, NEVER);
}

static void manager_dies(void **state)
{
	(void)state;
	tell("manager killed and back", (struct farm_options){ .loss = 0.02 }, manager_is_restarted,
	     SPLIT);
}

static void partitions(void **state)
{
	(void)state;
	tell("a node cut off for 2 s", (struct farm_options){ .loss = 0.02 }, node_is_cut_off,
	     NEVER);
	tell("a node cut off for 2 s, pause",
	     (struct farm_options){ .loss = 0.02, .on_source_silent = "pause" }, node_is_cut_off,
	     NEVER);
	tell("the manager cut off for 2 s", (struct farm_options){ .loss = 0.02 },
	     manager_is_cut_off, NEVER);
}

static void operator_acts(void **state)
{
	(void)state;
	tell("excluded and included", (struct farm_options){ .loss = 0.02 },
	     node_is_excluded_and_included, NEVER);
	tell("paused and resumed", (struct farm_options){ .loss = 0.02 }, run_is_paused_and_resumed,
	     ALWAYS);
}

static void nodes_leave(void **state)
{
	(void)state;
	tell("a builder leaves and comes back", (struct farm_options){ .loss = 0.02 },
	     builder_leaves_and_comes_back, SPLIT);
}

int main(int n_arguments, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(healthy),      cmocka_unit_test(bad_network),
		cmocka_unit_test(slow_builder), cmocka_unit_test(builders_die),
		cmocka_unit_test(readouts_die), cmocka_unit_test(manager_dies),
		cmocka_unit_test(partitions),   cmocka_unit_test(operator_acts),
		cmocka_unit_test(nodes_leave),
	};

	only_story = n_arguments > 1 ? arguments[1] : NULL;
	only_history = n_arguments > 2 ? atoi(arguments[2]) : -1;
	return cmocka_run_group_tests_name("histories", tests, NULL, NULL);
}
