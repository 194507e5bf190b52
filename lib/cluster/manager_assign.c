// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Systems whose readout nodes share their source (system/system.h). A node announces how many
// events have come to it, and the manager gives them the next event indices. So an event has its
// data on one node, and no node waits for another.
//
// Indices are lost with a node that dies before it has sent their events, and with a manager that
// dies: nobody sends these events, and they become incomplete.
#include "cluster/manager_internal.h"

static bool may_assign(const struct cluster_manager *manager)
{
	return manager_is_ready(manager) &&
	       (manager->state == CTRL_RUNNING || manager->state == CTRL_PAUSED);
}

static void assign_to(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	struct manager_node *node = &manager->nodes[index];
	struct ctrl_announce record = {
		.begin = manager->next_index,
		.run = manager->run,
		.flags = CTRL_ASSIGNED,
	};
	uint8_t bytes[CTRL_ANNOUNCE_SIZE];

	if (!may_assign(manager) || node->assigned >= node->offered)
		return;
	manager->next_index += node->offered - node->assigned;
	node->assigned = node->offered;
	record.end = manager->next_index;
	manager_send(manager, index, bytes, ctrl_put_announce(bytes, sizeof(bytes), &record));
	sched_announce(manager->sched, 0, manager->next_index, now);
}

void manager_offered(struct cluster_manager *manager, unsigned from,
		     const struct ctrl_announce *announce, uint64_t now)
{
	struct manager_node *node = &manager->nodes[from];

	// Behind REGISTER: the indices that an earlier manager has assigned.
	if ((announce->flags & CTRL_ASSIGNED) != 0) {
		if (announce->end > manager->next_index)
			manager->next_index = announce->end;
		return;
	}
	if (!node->begun)
		node->assigned = announce->begin;
	node->offered = announce->end;
	node->ended = (announce->flags & CTRL_END_OF_RUN) != 0;
	manager->changes += !node->begun;
	node->begun = true;
	assign_to(manager, from, now);
	manager_sync_source(manager, from, now);
}

bool manager_may_have_more(const struct cluster_manager *manager, unsigned index)
{
	const struct manager_node *node = &manager->nodes[index];

	if (!manager->cluster->shares_source || manager->state == CTRL_DRAINING ||
	    node->operator_excluded || node->left)
		return false;
	return node->lost || !node->registered || !node->begun || node->assigned < node->offered;
}

// Nodes that have not registered may have more indices: those that they can have are left out.
void manager_adopt_indices(struct cluster_manager *manager, uint64_t now)
{
	uint64_t most = (uint64_t)manager->readouts.n * manager->parameters.cluster.source_buffer;
	uint64_t released = sched_released(manager->sched);

	if (!manager->cluster->shares_source)
		return;
	if (manager->next_index < released)
		manager->next_index = released;
	if (manager->run != 0 && !manager_all_registered(manager, true) &&
	    manager->next_index < released + most)
		manager->next_index = released + most;
	sched_announce(manager->sched, 0, manager->next_index, now);
}

void manager_assign(struct cluster_manager *manager, uint64_t now)
{
	for (unsigned i = 0; manager->cluster->shares_source && i < manager->readouts.n; i++)
		if (manager_is_target(manager, manager->readouts.nodes[i]))
			assign_to(manager, manager->readouts.nodes[i], now);
}
