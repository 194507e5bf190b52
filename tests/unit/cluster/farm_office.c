// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Heartbeats, and where the manager is elected its office.
#include "farm.h"

static void renew(struct farm_node *node)
{
	struct farm *farm = node->farm;
	struct ctrl_heartbeat heartbeat;
	uint8_t bytes[CTRL_HEARTBEAT_SIZE(CTRL_MAX_PORTS)];
	struct ctrl_record record;

	heartbeat = cluster_node_heartbeat(node->node);
	heartbeat.time = farm->now;
	if (node->manager != NULL)
		heartbeat.waits = cluster_manager_waits(node->manager);
	if (node->office != NULL)
		office_state(node->office, &heartbeat.lease, farm->now);
	assert_true(control_set_heartbeat(node->endpoint, &heartbeat));
	if (node->manager == NULL ||
	    ctrl_record_at(bytes, ctrl_put_heartbeat(bytes, sizeof(bytes), &heartbeat), &record) !=
		WIRE_OK)
		return;
	cluster_manager_record(node->manager, node->number, &record, farm->now);
	cluster_node_record(node->node, node->number, &record, farm->now);
}

static void beat_at_once(struct farm_node *node, unsigned to)
{
	renew(node);
	for (unsigned i = 0; i < node->farm->n_nodes; i++)
		if (to == CLUSTER_NONE || to == i)
			control_hasten_heartbeat(node->endpoint, i);
}

void farm_beat(struct farm_node *node)
{
	struct farm *farm = node->farm;
	unsigned voted_for;

	if (cluster_node_has_voted(node->node, &voted_for))
		beat_at_once(node, voted_for);
	if (farm->now < node->next_beat)
		return;
	node->next_beat = farm->now + 10 * MS;
	renew(node);
}

// --- the office, where the manager is elected ---

// What the manager knew is gone.
static void leave_office(struct farm_node *node)
{
	struct farm *farm = node->farm;

	farm->may_doubt |= farm->builder_ended;
	node->manager = NULL;
}

// At the end of a run nobody renews the leases of the manager that has stopped it.
static bool holds_lease(const struct farm_node *node)
{
	struct office_view view;

	if (node->manager == NULL || cluster_node_ended(node->node, NULL))
		return false;
	office_view(node->office, node->farm->now, &view);
	return view.until > node->farm->now;
}

static void come_into_office(struct farm_node *node)
{
	struct farm *farm = node->farm;
	const struct farm_node *before = &farm->nodes[farm->manager];
	struct office_view view;

	node->manager = office_manager(node->office);
	office_view(node->office, farm->now, &view);
	if (control_epoch(node->endpoint) < view.of_epoch)
		farm_broken(farm, "node %u is in office in epoch %u and sends in epoch %u",
			    node->number, (unsigned)view.of_epoch,
			    (unsigned)control_epoch(node->endpoint));
	if (before != node && holds_lease(before))
		farm_broken(farm, "nodes %u and %u are in office", before->number, node->number);
	farm->manager = node->number;
	farm->epoch++;
	farm->n_take_overs += farm->epoch > 1;
	// It does not wait for nodes that are silent now.
	farm->may_doubt |= farm->epoch > 1;
}

static void follow_office(struct farm_node *node, bool is_due)
{
	if (node->manager != NULL && office_manager(node->office) != node->manager)
		leave_office(node);
	if (office_manager(node->office) != NULL && node->manager == NULL)
		come_into_office(node);
	if (!is_due)
		return;
	beat_at_once(node, CLUSTER_NONE);
	office_end_term(node->office, node->farm->now);
}

void farm_begin(struct farm_node *node)
{
	const uint32_t epoch = (uint32_t)(node->farm->now / (100 * MS));

	// At the end of a run the manager that has stopped it stays.
	if (node->office != NULL && !node->leaving && !cluster_node_ended(node->node, NULL))
		follow_office(node, office_poll(node->office, epoch, node->farm->now));
}

void farm_fenced(struct farm_node *node)
{
	office_fenced(node->office, node->farm->now);
	follow_office(node, true);
}

bool farm_elects(const struct farm *farm)
{
	return cluster_elects(&farm->configs[0]->cluster);
}

struct cluster_manager *farm_manager(const struct farm *farm)
{
	return farm->nodes[farm->manager].manager;
}

uint64_t farm_await_office(struct farm *farm, unsigned not, uint64_t limit)
{
	const uint64_t begin = farm->now;

	while ((farm->manager == not || farm_manager(farm) == NULL) && farm->now - begin < limit)
		farm_run(farm, MS);
	return farm->now - begin;
}
