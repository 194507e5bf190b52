// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "take_overs.h"

#define TIMES    4u
#define PATIENCE (10 * SECOND)
#define LATER    (100 * MS) // than heartbeat_timeout, at most

static uint64_t most(const struct farm *farm)
{
	return farm->configs[0]->event_manager.heartbeat_timeout_ns + LATER;
}

static void expect_take_over(struct farm *farm, unsigned before, uint64_t limit)
{
	const uint64_t took = farm_await_office(farm, before, PATIENCE);

	if (took > limit)
		farm_broken(farm, "nobody is in office in the place of node %u for %ju ms", before,
			    (uintmax_t)(took / MS));
}

void manager_in_office_is_killed(struct farm *farm)
{
	for (unsigned i = 0; i < TIMES; i++) {
		const unsigned node = farm->manager;

		farm_kill(farm, node);
		expect_take_over(farm, node, most(farm));
		farm_run(farm, farm_below(farm, 300 * MS));
		farm_start(farm, node);
		farm_run(farm, 500 * MS + farm_below(farm, 500 * MS));
	}
}

// It learns when it goes on that its lease has ended. Its builders and sources go on with what they
// have, but for what the others gave up while it was silent.
void manager_in_office_sleeps(struct farm *farm)
{
	for (unsigned i = 0; i < TIMES; i++) {
		const unsigned node = farm->manager;

		farm_sleep(farm, node, 250 * MS + farm_below(farm, 600 * MS));
		expect_take_over(farm, node, most(farm));
		farm_run(farm, SECOND);
	}
}

// In both directions, or one: it does not hear the others, or is not heard.
void manager_in_office_is_cut_off(struct farm *farm)
{
	for (unsigned i = 0; i < TIMES; i++) {
		const unsigned node = farm->manager, ways = 1 + i % 3;

		farm_cut(farm, node, (ways & 1) != 0, (ways & 2) != 0);
		expect_take_over(farm, node, most(farm));
		farm_run(farm, farm_below(farm, 300 * MS));
		farm_heal(farm);
		farm_run(farm, SECOND);
	}
}

static void lose(struct farm *farm, unsigned node)
{
	switch (farm_below(farm, 3)) {
	case 0:
		farm_restart(farm, node);
		break;
	case 1:
		farm_sleep(farm, node, 200 * MS + farm_below(farm, SECOND));
		break;
	default:
		farm_cut(farm, node, true, farm_below(farm, 2) > 0);
		break;
	}
}

void manager_in_office_is_lost_in_noise(struct farm *farm)
{
	for (unsigned i = 0; i < TIMES; i++) {
		lose(farm, farm->manager);
		farm_run(farm, 200 * MS + farm_below(farm, 600 * MS));
		farm_heal(farm);
		farm_run(farm, farm_below(farm, SECOND));
	}
}

// While the nodes register with it, or before.
void successor_is_lost_too(struct farm *farm)
{
	for (unsigned i = 0; i < TIMES; i++) {
		const unsigned node = farm->manager;

		farm_sleep(farm, node, 300 * MS + farm_below(farm, SECOND));
		(void)farm_await_office(farm, node, PATIENCE);
		farm_run(farm, farm_below(farm, 20 * MS));
		lose(farm, farm->manager);
		farm_run(farm, 500 * MS);
		farm_heal(farm);
		farm_run(farm, SECOND);
	}
}

void manager_in_office_is_killed_in_the_drain(struct farm *farm)
{
	const unsigned node = farm->manager;

	if (!farm_command(farm, CLUSTER_DRAIN, 0))
		farm_broken(farm, "drain is refused");
	farm_run(farm, farm_below(farm, 5 * MS));
	if (farm_view(farm).state == CTRL_STOPPED)
		return; // others know that the run is over
	farm_kill(farm, node);
	expect_take_over(farm, node, most(farm));
	farm_start(farm, node);
	farm_run(farm, farm_below(farm, SECOND));
}

// The successor of the manager does not know that the run drains until the one node that has
// received the order is back.
void drain_reaches_one_node(struct farm *farm)
{
	const unsigned manager = farm->manager, node = (manager + 1) % farm->n_nodes;

	if (farm_below(farm, 2) == 0 && !farm_command(farm, CLUSTER_PAUSE, 0))
		farm_broken(farm, "pause is refused");
	farm_run(farm, 50 * MS);
	for (unsigned i = 0; i < farm->n_nodes; i++)
		farm->cut[manager][i] = i != node;
	if (!farm_command(farm, CLUSTER_DRAIN, 0))
		farm_broken(farm, "drain is refused");
	farm_run(farm, 20 * MS);
	if (farm->nodes[node].state != CTRL_DRAINING)
		farm_broken(farm, "node %u does not drain", node);
	farm_restart(farm, manager);
	farm_heal(farm);
	farm_cut(farm, node, true, true);
	(void)farm_await_office(farm, CLUSTER_NONE, PATIENCE);
	farm_run(farm, farm_below(farm, 600 * MS));
	farm_heal(farm);
	if (!farm_await(farm, CTRL_STOPPED, 60 * SECOND))
		farm_broken(farm, "the drain is forgotten: state %d", (int)farm_view(farm).state);
}

// Events that are granted now stay open at node `to`, which lacks the data of node `from`.
static void withhold_data(struct farm *farm, unsigned from, unsigned to)
{
	farm->cut[from][to] = true;
	farm_run(farm, 20 * MS);
}

// One node goes on while another one sees the run paused. Then only the latter is left, beside a
// new process of the manager, and they drain the run before the former is back: it has published
// events behind the end that they know.
void drain_ends_before_what_a_silent_node_has(struct farm *farm)
{
	const unsigned manager = farm->manager, paused = (manager + 1) % farm->n_nodes,
		       ahead = (manager + 2) % farm->n_nodes;
	uint64_t end;

	if (farm->n_nodes != 3)
		return; // with more, those that stay behind are no majority
	withhold_data(farm, ahead, paused);
	if (!farm_command(farm, CLUSTER_PAUSE, 0))
		farm_broken(farm, "pause is refused");
	farm_run(farm, 20 * MS);
	farm_cut(farm, paused, true, true);
	farm_run(farm, 250 * MS); // it is missed
	if (!farm_command(farm, CLUSTER_RESUME, 0))
		farm_broken(farm, "resume is refused");
	farm_run(farm, 50 * MS);
	farm_heal(farm);
	farm_cut(farm, ahead, true, true);
	farm_restart(farm, manager);
	(void)farm_await_office(farm, CLUSTER_NONE, PATIENCE);
	farm_run(farm, 50 * MS);
	if (!farm_command(farm, CLUSTER_DRAIN, 0))
		farm_broken(farm, "drain is refused");
	end = farm_view(farm).end;
	farm_run(farm, farm_below(farm, 500 * MS));
	if (farm_view(farm).state != CTRL_DRAINING)
		farm_broken(farm, "the drain is over too early");
	farm_heal(farm);
	if (!farm_await(farm, CTRL_STOPPED, 60 * SECOND))
		farm_broken(farm, "the drain does not end: state %d", (int)farm_view(farm).state);
	if (farm_view(farm).end <= end)
		farm_broken(farm, "the silent node has nothing behind the end, %ju",
			    (uintmax_t)end);
}

// The next process of the manager's node has another configuration. The others elect one of them as
// soon as if it were not there, and this one refuses it.
void manager_returns_with_another_configuration(struct farm *farm)
{
	for (unsigned i = 0; i < TIMES; i++) {
		const unsigned node = farm->manager;
		uint64_t *hash = &farm->configs[node]->cluster.hash;
		const char *why = NULL;

		farm_kill(farm, node);
		++*hash;
		farm_start(farm, node);
		expect_take_over(farm, node, most(farm));
		farm_run(farm, SECOND);
		if (!cluster_node_ended(farm->nodes[node].node, &why) || why == NULL)
			farm_broken(farm, "node %u, with another configuration, is not refused",
				    node);
		farm_kill(farm, node);
		--*hash;
		farm_start(farm, node);
		farm_run(farm, 500 * MS + farm_below(farm, 500 * MS));
	}
}
