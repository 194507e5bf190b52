// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "mixture.h"

#define CUT_MOST (2 * SECOND)
#define CUT_REST (2 * SECOND) // from the end of a cut to the next

struct mixture {
	struct farm *farm;
	struct mixture_sums *sums;
	uint64_t back_at[FARM_NODES]; // a dead node is started; UINT64_MAX: never
	bool excluded[FARM_NODES];
	uint64_t left_at[FARM_NODES];
	uint64_t healed_at, next_cut;
};

static struct farm_options options_of(uint64_t seed, bool elects)
{
	static const struct farm_options layouts[] = {
		{ .n_folded = 3 },
		{ .n_readouts = 3, .n_builders = 2 },
		{ .n_folded = 2, .local = 2 },
		{ .n_readouts = 4, .n_builders = 4 },
		{ .n_readouts = 1, .n_builders = 2, .local = 2 },
	};
	static const double losses[] = { 0, 0.01, 0.05, 0.1 };
	struct random random = random_fork(seed, 5);
	struct farm_options options = layouts[random_next(&random) % 5];

	options.seed = seed;
	options.mode = random_next(&random) % 2 ? "push" : "pull";
	options.on_source_silent = random_next(&random) % 3 ? "continue" : "pause";
	options.on_incomplete = random_next(&random) % 4 ? NULL : "discard";
	options.loss = losses[random_next(&random) % 4];
	options.duplicate = random_next(&random) % 2 ? 0.05 : 0;
	options.delay_max = random_next(&random) % 4 ? MS : 10 * MS;
	options.refusal = random_next(&random) % 4 ? 0 : 0.02;
	options.lazy = random_next(&random) % 2 ? 0.3 : 0.9;
	options.slow = random_next(&random) % 4 ? 1 : 10;
	options.deadline = random_next(&random) % 2 ? SECOND : 200 * MS;
	options.source_buffer = random_next(&random) % 2 ? 64 : 16;
	options.events = random_next(&random) % 4 ? 0 : 200;
	options.resumes = random_next(&random) % 2;
	options.in_doubt = random_next(&random) % 4 ? NULL : "auto";
	options.asks = random_next(&random) % 4 == 0;
	options.wills = random_next(&random) % 2 ? 0.7 : 0;
	if (elects) {
		options.n_managers = 2 + (unsigned)(random_next(&random) % 2);
		options.n_folded = options.n_folded == 2 ? 3 : options.n_folded;
	}
	return options;
}

static bool one_in(struct mixture *mixture, unsigned n)
{
	return farm_below(mixture->farm, n) == 0;
}

static void kill(struct mixture *mixture, unsigned node)
{
	struct farm *farm = mixture->farm;

	if (!farm->nodes[node].alive)
		return;
	farm_kill(farm, node);
	mixture->sums->kills++;
	mixture->sums->managers += node == farm->manager;
	mixture->back_at[node] = farm->now + farm_below(farm, 800 * MS);
	if (node != farm->manager && one_in(mixture, 8))
		mixture->back_at[node] = UINT64_MAX;
}

static void cut(struct mixture *mixture, unsigned node)
{
	struct farm *farm = mixture->farm;
	uint64_t ways = 1 + farm_below(farm, 3);

	if (farm->now < mixture->next_cut)
		return;
	farm_cut(farm, node, (ways & 1) != 0, (ways & 2) != 0);
	mixture->sums->cuts++;
	mixture->healed_at = farm->now + farm_below(farm, CUT_MOST);
	mixture->next_cut = mixture->healed_at + CUT_REST;
}

static void exclude_or_include(struct mixture *mixture, unsigned node)
{
	struct farm *farm = mixture->farm;

	if (!mixture->excluded[node] && farm_command(farm, CLUSTER_EXCLUDE, node)) {
		mixture->excluded[node] = true;
		mixture->sums->exclusions++;
	} else if (farm_command(farm, CLUSTER_INCLUDE, node)) {
		mixture->excluded[node] = false;
	}
}

static void pause_or_resume(struct mixture *mixture)
{
	if (farm_command(mixture->farm, CLUSTER_PAUSE, 0))
		mixture->sums->pauses++;
	else
		(void)farm_command(mixture->farm, CLUSTER_RESUME, 0);
}

static void leave(struct mixture *mixture, unsigned number)
{
	struct farm_node *node = &mixture->farm->nodes[number];

	if (!node->alive || node->leaving || node->manager != NULL)
		return;
	node->leaving = true;
	cluster_node_leave(node->node);
	mixture->left_at[number] = mixture->farm->now;
	mixture->sums->departures++;
}

// What was begun earlier is ended.
static void tidy(struct mixture *mixture)
{
	struct farm *farm = mixture->farm;

	if (farm->now >= mixture->healed_at)
		farm_heal(farm);
	for (unsigned i = 0; i < farm->n_nodes; i++) {
		struct farm_node *node = &farm->nodes[i];

		if (node->alive && node->leaving && farm->now - mixture->left_at[i] > 100 * MS)
			kill(mixture, i);
		if (!node->alive && farm->now >= mixture->back_at[i])
			farm_start(farm, i);
	}
}

// To the manager in office.
static void happen_in_office(struct mixture *mixture)
{
	struct farm *farm = mixture->farm;

	switch (farm_below(farm, 3)) {
	case 0:
		kill(mixture, farm->manager);
		break;
	case 1:
		cut(mixture, farm->manager);
		break;
	default:
		farm_sleep(farm, farm->manager, farm_below(farm, 600 * MS));
		break;
	}
}

static void happen(struct mixture *mixture)
{
	struct farm *farm = mixture->farm;
	unsigned node = (unsigned)farm_below(farm, farm->n_nodes);

	if (farm_elects(farm) && one_in(mixture, 6)) {
		happen_in_office(mixture);
		return;
	}
	switch (farm_below(farm, 12)) {
	case 0:
	case 1:
		kill(mixture, node);
		break;
	case 2:
		kill(mixture, farm->manager);
		break;
	case 3:
	case 4:
		cut(mixture, node);
		break;
	case 5:
	case 6:
		exclude_or_include(mixture, node);
		break;
	case 7:
		pause_or_resume(mixture);
		break;
	case 8:
		leave(mixture, node);
		break;
	case 9:
		if (one_in(mixture, 4))
			(void)farm_command(farm, CLUSTER_DRAIN, 0);
		break;
	default:
		break;
	}
}

static bool has_builder(const struct farm *farm)
{
	for (unsigned i = 0; i < farm->n_nodes; i++)
		if (farm->nodes[i].alive && farm->configs[i]->n_builders > 0)
			return true;
	return false;
}

// All that can be is back, so that the run can end.
static void mend(struct mixture *mixture)
{
	struct farm *farm = mixture->farm;

	for (unsigned i = 0; i < 100; i++) {
		mixture->healed_at = 0;
		tidy(mixture);
		farm_run(farm, 10 * MS);
	}
	for (unsigned i = 0; i < farm->n_nodes; i++)
		if (!farm->nodes[i].alive && (farm_elects(farm) || !has_builder(farm)))
			farm_start(farm, i); // all, where a majority is needed
	if (farm_elects(farm) && farm_view(farm).state != CTRL_STOPPED)
		farm_run(farm, 6 * SECOND);
	for (unsigned i = 0; i < farm->n_nodes && farm_view(farm).state != CTRL_STOPPED; i++) {
		// A silent source that is waited for has to be given up by the operator.
		if (!farm->nodes[i].alive)
			(void)farm_command(farm, CLUSTER_EXCLUDE, i);
		else
			(void)farm_command(farm, CLUSTER_INCLUDE, i);
	}
}

void mixture_run(struct farm *farm, uint64_t seed, bool elects, bool multicast,
		 struct mixture_sums *sums)
{
	struct farm_options options = options_of(seed, elects);
	struct mixture mixture = { .farm = farm, .sums = sums };
	uint64_t end;

	options.multicast = multicast;
	farm_open(farm, &options);
	if (!farm_await(farm, CTRL_RUNNING, 10 * SECOND))
		farm_broken(farm, "the run does not start");
	end = farm->now + SECOND + farm_below(farm, 6 * SECOND);
	while (farm->now < end && farm_view(farm).state != CTRL_STOPPED) {
		tidy(&mixture);
		happen(&mixture);
		farm_run(farm, farm_below(farm, 200 * MS));
	}
	mend(&mixture);
	farm_finish(farm);
	farm_close(farm);
	sums->published += farm->n_published;
	sums->incomplete += farm->n_incomplete;
	sums->twice += farm->twice;
	sums->repeated += farm->n_repeated;
	sums->unasked += farm->n_unasked;
	sums->take_overs += farm->n_take_overs;
	sums->shared += farm->n_shared;
	sums->shared_received += farm->n_shared_received;
	sums->shared_repeated += farm->n_shared_repeated;
}
