// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "stories.h"

#include <string.h>

#include "deaths.h"
#include "several_runs.h"
#include "silent_sources.h"
#include "take_overs.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static unsigned some_builder(struct farm *farm)
{
	unsigned n = farm->configs[0]->cluster.n_builders;

	return farm_builder(farm, (unsigned)farm_below(farm, n))->node;
}

unsigned some_readout(struct farm *farm)
{
	unsigned node = farm->manager;

	while (node == farm->manager || farm->configs[node]->n_generators == 0)
		node = (unsigned)farm_below(farm, farm->n_nodes);
	return node;
}

unsigned other_builder(struct farm *farm)
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

// The next manager asks a process that does not know what the one before it has published.
static void builder_and_manager_are_killed(struct farm *farm)
{
	for (unsigned i = 0; i < 3; i++) {
		unsigned node = other_builder(farm);

		farm_restart(farm, node);
		farm_run(farm, farm_below(farm, 60 * MS));
		farm_restart(farm, farm->manager);
		farm_run(farm, SECOND);
	}
}

// Nothing waits for the dead node's builder but what it may have published.
static void expect_granted_again(struct farm *farm, unsigned builder)
{
	const struct sched *sched = cluster_manager_sched(farm_manager(farm));
	struct sched_builder_view view;
	unsigned n = 0;

	for (uint64_t i = farm->released; i < FARM_EVENTS; i++)
		n += farm->truth[i].granted != 0 && farm->truth[i].granted_to == builder &&
		     (farm->truth[i].ordered >> builder & 1) != 0;
	sched_view(sched, builder, &view);
	if (view.granted > n)
		farm_broken(farm, "%u events wait for builder %u, which is dead and published %u",
			    view.granted, builder, n);
}

static void builder_is_killed_in_doubt(struct farm *farm)
{
	unsigned node = other_builder(farm);

	farm_kill(farm, node);
	farm_run(farm, 300 * MS); // it is missed, and may be back
	if (!farm_command(farm, CLUSTER_EXCLUDE, node))
		farm_broken(farm, "exclude is refused");
	farm_run(farm, 10 * MS);
	expect_granted_again(farm, farm->configs[0]->cluster.nodes[node].first_builder);
	farm_run(farm, SECOND);
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

// Whom the operator has excluded, the next manager does not include.
static void manager_is_restarted_beside_an_excluded_node(struct farm *farm)
{
	unsigned node = other_builder(farm);
	struct cluster_node_state state;

	if (!farm_command(farm, CLUSTER_EXCLUDE, node))
		farm_broken(farm, "exclude is refused");
	farm_run(farm, 500 * MS);
	for (unsigned i = 0; i < 2; i++) {
		farm_restart(farm, farm->manager);
		farm_run(farm, 2 * SECOND);
		cluster_manager_node(farm_manager(farm), node, &state);
		if (!state.excluded || state.registered)
			farm_broken(farm, "the manager has forgotten whom the operator excluded");
	}
	if (!farm_command(farm, CLUSTER_INCLUDE, node))
		farm_broken(farm, "include is refused");
	farm_run(farm, SECOND);
	cluster_manager_node(farm_manager(farm), node, &state);
	if (state.excluded || !state.registered)
		farm_broken(farm, "the node is not included");
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

// What was sent to it meanwhile is lost. It goes on if one of its events was in doubt.
static void builder_is_cut_off(struct farm *farm)
{
	for (unsigned i = 0; i < 4; i++) {
		farm_cut(farm, other_builder(farm), true, true);
		farm_run(farm, 250 * MS + farm_below(farm, SECOND)); // it is missed
		farm_heal(farm);
		farm_run(farm, SECOND);
	}
}

// Events wait for it, and it sends what they lack.
static void readout_is_cut_off(struct farm *farm)
{
	for (unsigned i = 0; i < 4; i++) {
		farm_cut(farm, some_readout(farm), true, true);
		farm_run(farm, 250 * MS + farm_below(farm, SECOND)); // it is missed
		farm_heal(farm);
		farm_run(farm, SECOND);
	}
}

// It gets, late, all that it was sent. What it then has is not sent to it again.
static void node_sleeps(struct farm *farm)
{
	for (unsigned i = 0; i < 4; i++) {
		farm_sleep(farm, other_builder(farm), 210 * MS + farm_below(farm, 300 * MS));
		farm_run(farm, SECOND);
	}
	if (farm->n_again > farm->n_published / 100)
		farm_broken(farm, "%ju times data comes again", (uintmax_t)farm->n_again);
}

// All nodes, for as long as the machine may keep them from the CPU. They have much to catch up
// with, and all that they were granted. Readouts send in any order, so that an event now and then
// seems to lack data.
static void busy_node_sleeps(struct farm *farm)
{
	const bool is_push = strcmp(farm->options.mode, "push") == 0;
	uint64_t again;

	for (unsigned i = 0; i < 6; i++) {
		farm_sleep(farm, (unsigned)farm_below(farm, farm->n_nodes),
			   i % 2 == 0 ? 150 * MS : 300 * MS);
		farm_run(farm, SECOND);
	}
	again = sched_counters(cluster_manager_sched(farm_manager(farm)))->regrants;
	// In mode pull, builders request again what a silent node has not confirmed as sent.
	if (again + (is_push ? farm->n_again : 0) > farm->n_published / 1000)
		farm_broken(farm, "%ju events are granted again, %ju times data comes again",
			    (uintmax_t)again, (uintmax_t)farm->n_again);
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

// It gives up what it is permitted to publish: nothing waits for it, although it is not asked back.
static void builder_is_excluded(struct farm *farm)
{
	const unsigned node = other_builder(farm);
	const unsigned builder = farm->configs[0]->cluster.nodes[node].first_builder;
	struct sched_builder_view view;

	if (!farm_command(farm, CLUSTER_EXCLUDE, node))
		farm_broken(farm, "exclude is refused");
	farm_run(farm, 300 * MS);
	sched_view(cluster_manager_sched(farm->nodes[farm->manager].manager), builder, &view);
	if (view.granted > 0)
		farm_broken(farm, "%u events wait for an excluded builder", view.granted);
	if (!farm_command(farm, CLUSTER_INCLUDE, node))
		farm_broken(farm, "include is refused");
}

// What the one may have published, and what the other gave up, is granted again together.
static void builder_is_killed_as_another_is_excluded(struct farm *farm)
{
	for (unsigned i = 0; i < 6; i++) {
		const unsigned node = other_builder(farm);
		unsigned other = node;

		while (other == node)
			other = some_builder(farm);
		farm_restart(farm, node);
		(void)farm_command(farm, CLUSTER_EXCLUDE, other);
		farm_run(farm, farm_below(farm, 20 * MS));
		(void)farm_command(farm, CLUSTER_INCLUDE, other);
		farm_run(farm, 300 * MS);
	}
}

static void node_is_excluded_and_included_at_once(struct farm *farm)
{
	for (unsigned i = 0; i < 20; i++) {
		unsigned node = some_builder(farm);

		(void)farm_command(farm, CLUSTER_EXCLUDE, node);
		farm_run(farm, farm_below(farm, 5 * MS));
		(void)farm_command(farm, CLUSTER_INCLUDE, node);
		farm_run(farm, farm_below(farm, 50 * MS));
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
	for (unsigned i = 0; i < 3; i++) {
		unsigned node = other_builder(farm);

		leave(farm, node);
		farm_run(farm, farm_below(farm, SECOND));
		farm_start(farm, node);
		farm_run(farm, SECOND);
	}
}

// What it held was granted to others, and both claim it of the next manager.
static void manager_dies_as_a_node_returns(struct farm *farm)
{
	for (unsigned i = 0; i < 3; i++) {
		farm_cut(farm, other_builder(farm), true, true);
		farm_run(farm, 210 * MS + farm_below(farm, 20 * MS));
		farm_heal(farm);
		farm_restart(farm, farm->manager);
		farm_run(farm, SECOND);
	}
}

// The manager's word does not reach a node, whose own is heard.
static void node_is_deaf(struct farm *farm)
{
	unsigned node = other_builder(farm);

	farm->cut[farm->manager][node] = true;
	farm->may_doubt = true;
	farm_run(farm, 12 * SECOND);
	farm_heal(farm);
	farm_run(farm, 2 * SECOND);
}

static uint64_t published_by(const struct farm *farm, unsigned node)
{
	struct cluster_node_view view;

	cluster_node_view(farm->nodes[node].node, &view);
	return view.published;
}

// The manager does not hear a node that hears the manager, and has events that take long. When they
// are built, others have them.
static void node_is_not_heard(struct farm *farm)
{
	const unsigned node = farm->n_nodes - 1;
	uint64_t published;

	for (unsigned i = 0; i < 2; i++) {
		farm->options.slow = 1000;
		farm_run(farm, 50 * MS);
		farm->cut[node][farm->manager] = true;
		farm_run(farm, 250 * MS); // it is missed
		farm->options.slow = 1;
		published = published_by(farm, node);
		farm_run(farm, 2 * SECOND);
		if (published_by(farm, node) != published)
			farm_broken(farm, "a node that is not heard publishes");
		farm_heal(farm);
		farm_run(farm, SECOND);
	}
}

static void run_drains_while_a_node_dies(struct farm *farm)
{
	unsigned node = farm_below(farm, 2) > 0 ? other_builder(farm) : some_readout(farm);

	if (!farm_command(farm, CLUSTER_DRAIN, 0))
		farm_broken(farm, "drain is refused");
	farm_run(farm, farm_below(farm, 20 * MS));
	farm_kill(farm, node);
	farm_run(farm, farm_below(farm, 500 * MS));
	farm_start(farm, node);
}

static void run_drains_while_the_manager_dies(struct farm *farm)
{
	if (!farm_command(farm, CLUSTER_DRAIN, 0))
		farm_broken(farm, "drain is refused");
	farm_run(farm, farm_below(farm, 5 * MS));
	farm_restart(farm, farm->manager);
	farm_run(farm, farm_below(farm, SECOND));
}

const struct story stories[] = {
	{ "healthy", nothing_happens, ALWAYS, { .n_folded = 0 } },
	{ "static", nothing_happens, NEVER, { .mode = "static" } },
	{ "slots are refused", nothing_happens, ALWAYS, { .refusal = 0.05, .rate = 4000 } },
	{ "datagrams are reordered", nothing_happens, ALWAYS, { .delay_max = 20 * MS } },
	{ "5 % are lost", nothing_happens, ALWAYS, { .loss = 0.05, .duplicate = 0.05 } },
	{ "30 % are lost",
	  nothing_happens,
	  NEVER,
	  { .loss = 0.3, .duplicate = 0.2, .delay_max = 5 * MS } },
	{ "run follows run",
	  run_follows_run,
	  NEVER,
	  { .runs = 5, .straggle = 0.2, .loss = 0.02, .rate = 2000 } },
	{ "run follows run, by multicast",
	  run_follows_run,
	  NEVER,
	  { .runs = 5, .straggle = 0.2, .loss = 0.02, .rate = 2000, .multicast = true } },
	{ "run follows run of elected managers, by multicast",
	  run_follows_run,
	  NEVER,
	  { .runs = 5, .straggle = 0.2, .rate = 2000, .n_managers = 3, .multicast = true } },
	{ "a builder is slow", nothing_happens, ALWAYS, { .slow = 10 } },
	{ "outboxes are small",
	  nothing_happens,
	  NEVER,
	  { .loss = 0.02, .queue_size = 2048, .window = 1, .rate = 1000 } },
	{ "sources end by themselves", nothing_happens, ALWAYS, { .events = 300 } },
	{ "a builder is killed and back", builder_is_killed_and_back, SPLIT, { .loss = 0.02 } },
	{ "a builder is killed", builder_is_killed, SPLIT, { .loss = 0.02 } },
	{ "a builder and the manager are killed and back",
	  builder_and_manager_are_killed,
	  NEVER,
	  { .lazy = 0.9, .rate = 2000 } },
	{ "a builder is killed in doubt",
	  builder_is_killed_in_doubt,
	  SPLIT,
	  { .lazy = 0.9, .rate = 2000 } },
	{ "a builder is killed, the others go on",
	  others_go_on,
	  NEVER,
	  { .lazy = 0.9, .rate = 2000, .deadline = 200 * MS, .in_doubt = "auto" } },
	{ "a builder is cut off, the others go on",
	  builder_is_cut_off,
	  NEVER,
	  { .lazy = 0.9, .rate = 2000, .in_doubt = "auto" } },
	{ "a readout is killed, the builders go on",
	  builders_go_on,
	  NEVER,
	  { .deadline = 5 * SECOND, .in_doubt = "auto" } },
	{ "a builder leaves a will",
	  builder_leaves_a_will,
	  NEVER,
	  { .rate = 1000, .wills = 1, .deadline = 5 * SECOND } },
	{ "a readout leaves a will",
	  readout_leaves_a_will,
	  NEVER,
	  { .rate = 1000, .wills = 1, .deadline = 5 * SECOND } },
	{ "nodes leave wills at once",
	  nodes_leave_wills_at_once,
	  NEVER,
	  { .rate = 1000, .wills = 0.8, .loss = 0.02, .delay_max = 10 * MS } },
	{ "nodes leave wills, pause",
	  readout_and_manager_are_killed_and_back,
	  ALWAYS,
	  { .wills = 0.8,
	    .loss = 0.02,
	    .resumes = true,
	    .on_source_silent = "pause",
	    .deadline = 300 * MS,
	    .rate = 2000 } },
	{ "a builder and the manager leave wills",
	  builder_and_manager_are_killed,
	  NEVER,
	  { .lazy = 0.9, .rate = 2000, .wills = 0.8 } },
	{ "the manager in office leaves a will",
	  manager_in_office_is_killed,
	  SPLIT,
	  { .n_managers = 3, .rate = 1000, .wills = 1 } },
	{ "a readout is killed and back", readout_is_killed_and_back, NEVER, { .loss = 0.02 } },
	{ "a readout is killed and back, pause",
	  readout_is_killed_and_back,
	  NEVER,
	  { .loss = 0.02, .on_source_silent = "pause" } },
	{ "a readout is killed and resumes",
	  readout_is_killed_and_back,
	  NEVER,
	  { .loss = 0.02, .resumes = true } },
	{ "a readout is killed and resumes, pause",
	  readout_is_killed_and_back,
	  ALWAYS,
	  { .loss = 0.02,
	    .resumes = true,
	    .on_source_silent = "pause",
	    .deadline = 300 * MS,
	    .rate = 2000 } },
	{ "a readout and the manager are killed, pause",
	  readout_and_manager_are_killed_and_back,
	  ALWAYS,
	  { .loss = 0.02,
	    .resumes = true,
	    .on_source_silent = "pause",
	    .deadline = 300 * MS,
	    .rate = 2000 } },
	{ "the manager dies before it misses a readout, pause",
	  manager_dies_before_it_misses_a_readout,
	  ALWAYS,
	  { .resumes = true, .on_source_silent = "pause", .deadline = 300 * MS, .rate = 2000 } },
	{ "a readout restarts while nobody manages, pause",
	  readout_restarts_while_nobody_manages,
	  ALWAYS,
	  { .resumes = true,
	    .on_source_silent = "pause",
	    .deadline = 500 * MS,
	    .rate = 2000,
	    .lazy = 0.9 } },
	{ "incomplete events are discarded",
	  readout_is_killed_and_back,
	  ALWAYS,
	  { .on_incomplete = "discard", .deadline = 200 * MS } },
	{ "the manager is killed and back",
	  manager_is_restarted,
	  SPLIT,
	  { .loss = 0.02, .delay_max = 10 * MS } },
	{ "the manager is killed and back, 30 % are lost",
	  manager_is_restarted,
	  SPLIT,
	  { .loss = 0.3 } },
	{ "the manager is killed and back, 10 % are lost, pause",
	  manager_is_restarted,
	  SPLIT,
	  { .loss = 0.1, .resumes = true, .on_source_silent = "pause", .deadline = 400 * MS } },
	{ "the manager is killed and back beside an excluded node",
	  manager_is_restarted_beside_an_excluded_node,
	  NEVER,
	  { .loss = 0.02 } },
	{ "a node is cut off", node_is_cut_off, NEVER, { .loss = 0.02 } },
	{ "a builder is cut off", builder_is_cut_off, SPLIT, { .lazy = 0.95, .rate = 2000 } },
	{ "a readout is cut off", readout_is_cut_off, ALWAYS, { .rate = 1000 } },
	{ "a node sleeps", node_sleeps, ALWAYS, { .rate = 1000 } },
	{ "a busy node sleeps", busy_node_sleeps, ALWAYS, { .rate = 3000, .slow = 4 } },
	{ "a node is cut off, pause",
	  node_is_cut_off,
	  NEVER,
	  { .loss = 0.02, .on_source_silent = "pause" } },
	{ "the manager is cut off", manager_is_cut_off, NEVER, { .loss = 0.02 } },
	{ "the manager dies as a node returns",
	  manager_dies_as_a_node_returns,
	  NEVER,
	  { .rate = 1000, .lazy = 0.9, .in_doubt = "10ms" } },
	{ "a node is deaf", node_is_deaf, NEVER, { .loss = 0.02 } },
	{ "a node is not heard", node_is_not_heard, NEVER, { .in_doubt = "auto" } },
	{ "nodes are excluded and included",
	  node_is_excluded_and_included,
	  NEVER,
	  { .loss = 0.02 } },
	{ "a builder is excluded", builder_is_excluded, SPLIT, { .lazy = 0.9, .rate = 2000 } },
	{ "a builder is killed as another is excluded",
	  builder_is_killed_as_another_is_excluded,
	  NEVER,
	  { .lazy = 0.9, .rate = 2000 } },
	{ "nodes are excluded and included at once",
	  node_is_excluded_and_included_at_once,
	  SPLIT,
	  { .lazy = 0.95, .rate = 2000 } },
	{ "nodes are excluded and included at once, 10 % are lost",
	  node_is_excluded_and_included_at_once,
	  NEVER,
	  { .lazy = 0.95, .loss = 0.1, .rate = 2000, .deadline = 50 * MS } },
	{ "the run is paused and resumed", run_is_paused_and_resumed, ALWAYS, { .loss = 0.02 } },
	{ "a builder leaves and comes back",
	  builder_leaves_and_comes_back,
	  SPLIT,
	  { .lazy = 0.95 } },
	{ "a node dies in the drain", run_drains_while_a_node_dies, NEVER, { .loss = 0.02 } },
	{ "the manager in office is killed",
	  manager_in_office_is_killed,
	  SPLIT,
	  { .n_managers = 3, .rate = 1000 } },
	{ "the manager in office sleeps",
	  manager_in_office_sleeps,
	  ALWAYS,
	  { .n_managers = 3, .rate = 1000 } },
	{ "the manager in office sleeps, mailboxes are slow",
	  manager_in_office_sleeps,
	  ALWAYS,
	  { .n_managers = 3, .rate = 2000, .lazy = 0.9 } },
	{ "the manager in office is cut off",
	  manager_in_office_is_cut_off,
	  ALWAYS,
	  { .n_managers = 3, .rate = 1000 } },
	{ "the manager in office is lost, 10 % are lost",
	  manager_in_office_is_lost_in_noise,
	  NEVER,
	  { .n_managers = 3, .loss = 0.1, .duplicate = 0.05, .delay_max = 20 * MS, .lazy = 0.9 } },
	{ "the manager in office and its successor are lost",
	  successor_is_lost_too,
	  NEVER,
	  { .n_managers = 3, .rate = 2000, .lazy = 0.9 } },
	{ "the manager in office is killed in the drain",
	  manager_in_office_is_killed_in_the_drain,
	  SPLIT,
	  { .n_managers = 2 } },
	{ "the manager in office is killed, by multicast",
	  manager_in_office_is_killed,
	  SPLIT,
	  { .n_managers = 3, .rate = 1000, .multicast = true } },
	{ "the manager in office is lost, by multicast",
	  manager_in_office_is_lost_in_noise,
	  NEVER,
	  { .n_managers = 3, .loss = 0.05, .delay_max = 20 * MS, .multicast = true } },
	{ "a drain reaches one node", drain_reaches_one_node, NEVER, { .n_managers = 3 } },
	{ "a drain ends before what a silent node has",
	  drain_ends_before_what_a_silent_node_has,
	  NEVER,
	  { .n_managers = 3 } },
	{ "the manager returns with another configuration",
	  manager_returns_with_another_configuration,
	  NEVER,
	  { .n_managers = 3, .rate = 1000 } },
	{ "the manager dies in the drain",
	  run_drains_while_the_manager_dies,
	  SPLIT,
	  { .loss = 0.02 } },
};

const unsigned n_stories = N(stories);

static struct farm_options options_of(const struct story *story, unsigned history)
{
	static const struct farm_options layouts[] = {
		{ .n_folded = 3 },
		{ .n_readouts = 3, .n_builders = 2 },
		{ .n_folded = 2, .local = 2 },
	};
	const struct farm_options *layout = &layouts[history / 2 % N(layouts)];
	struct farm_options options = story->options;

	options.seed = history / STORY_WAYS;
	if (options.mode == NULL)
		options.mode = history % 2 == 0 ? "push" : "pull";
	options.n_folded = layout->n_folded;
	options.n_readouts = layout->n_readouts;
	options.n_builders = layout->n_builders;
	options.local = layout->local;
	options.asks = (history % 2 + history / 2 + options.seed) % 2 != 0;
	if (options.n_managers > 1 && options.n_folded == 2)
		options.n_folded = 3; // a majority remains without one
	return options;
}

void story_tell(struct farm *farm, const struct story *story, unsigned history)
{
	const struct farm_options options = options_of(story, history);

	farm_open(farm, &options);
	if (!farm_await(farm, CTRL_RUNNING, 10 * SECOND))
		farm_broken(farm, "the run does not start");
	farm_run(farm, 100 * MS + farm_below(farm, 500 * MS));
	story->happen(farm);
	farm_run(farm, 200 * MS);
	farm_finish(farm);
	if (farm->n_incomplete > 0 &&
	    (story->complete == ALWAYS || (story->complete == SPLIT && options.n_folded == 0)))
		farm_broken(farm, "%ju events are incomplete", (uintmax_t)farm->n_incomplete);
	if (farm->n_repeated > 0 && !farm->may_doubt)
		farm_broken(farm, "%ju events are said to be repeated, and all who built are there",
			    (uintmax_t)farm->n_repeated);
	farm_close(farm);
}
