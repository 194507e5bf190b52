// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "sim_system/internal.h"

void sim_system_pause_builders(struct sim_system *system, unsigned number, bool is_paused)
{
	struct sim_node *node = &system->nodes[number];

	for (unsigned i = 0; i < node->n_builders; i++)
		sim_builder_pause(&node->builders[i].builder, is_paused, sim_system_ns(system));
	sim_node_wake(node, sim_now(system->parameters.engine));
}

void sim_system_set_consumers(struct sim_system *system, unsigned number, uint64_t mean_ns)
{
	struct sim_node *node = &system->nodes[number];

	for (unsigned i = 0; i < node->n_builders; i++)
		node->builders[i].builder.consumer.mean_ns = mean_ns;
}

static struct sim_node *manager_of(struct sim_system *system)
{
	return &system->nodes[system->parameters.system->manager];
}

void sim_system_end_manager(struct sim_system *system)
{
	struct sim_node *node = manager_of(system);

	if (node->node == NULL)
		return;
	cluster_manager_view(node->manager, &system->last_view);
	sim_wire_forget(node);
	sim_node_end(node);
}

void sim_system_begin_manager(struct sim_system *system)
{
	struct sim_node *node = manager_of(system);
	char error[SIM_SYSTEM_ERROR_SIZE];

	if (node->node != NULL)
		return;
	if (sim_node_begin(node, error))
		sim_node_start(node);
	else
		system->is_broken = true;
}
