// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Doubt. What a builder holds when its node falls silent, begins anew or goes stays its own while
// one of its events is in doubt: told to publish, and no answer yet. Where that does not end, or
// nobody is left who knows, the event is granted again, and suspected: it may be handed out twice,
// and consumers are told so.
#include "cluster/manager_internal.h"

#include <stdlib.h>

// --- events that may have been handed out before ---

bool manager_make_suspects(struct cluster_manager *manager)
{
	manager->n_suspects = cluster_unfinished(manager->parameters.cluster.source_buffer);
	manager->suspects = calloc(manager->n_suspects, sizeof(*manager->suspects));
	return manager->suspects != NULL;
}

// Events that are not finished are fewer than there are entries.
static void suspect(struct cluster_manager *manager, uint64_t event)
{
	manager->suspects[event & (manager->n_suspects - 1)] = event + 1;
}

bool manager_is_suspect(const struct cluster_manager *manager, uint64_t event)
{
	return manager->suspects[event & (manager->n_suspects - 1)] == event + 1;
}

// --- builders whose events wait ---

static bool in_doubt(const struct cluster_manager *manager, unsigned node)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[node];

	for (unsigned i = 0; i < at->n_builders; i++) {
		const struct manager_builder *builder = &manager->builders[at->first_builder + i];

		if (builder->suspended && builder->n_settled > 0)
			return true;
	}
	return false;
}

bool manager_is_reporting(const struct cluster_manager *manager, unsigned node)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[node];

	for (unsigned i = 0; i < at->n_builders; i++)
		if (manager->builders[at->first_builder + i].reporting)
			return true;
	return false;
}

static void hold_port(struct cluster_manager *manager, unsigned builder, bool held, uint64_t now)
{
	const struct sched_port port = { .paused = held };

	if (manager->sched != NULL)
		sched_port_state(manager->sched, builder, &port, now);
}

// A builder loses its events to others. Of those from `known_from` on it is known which of them it
// has published.
static void expel(struct cluster_manager *manager, unsigned index, uint64_t known_from,
		  uint64_t now)
{
	struct manager_builder *builder = &manager->builders[index];

	for (uint32_t i = 0; i < builder->n; i++) {
		struct entry *entry = &builder->entries[i];

		if (entry->state == ENTRY_SETTLED && entry->event < known_from)
			suspect(manager, entry->event);
		entry->state = ENTRY_NONE;
	}
	builder->n_settled = 0;
	builder->suspended = false;
	hold_port(manager, index, false, now);
	if (manager->sched != NULL)
		sched_exclude(manager->sched, index, now);
}

void manager_expel_suspended(struct cluster_manager *manager, unsigned node, uint64_t known_from,
			     uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[node];

	manager->nodes[node].doubt_until = 0;
	for (unsigned i = 0; i < at->n_builders; i++)
		if (manager->builders[at->first_builder + i].suspended)
			expel(manager, at->first_builder + i, known_from, now);
}

void manager_suspend(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[index];
	struct manager_node *node = &manager->nodes[index];

	for (unsigned i = 0; i < at->n_builders; i++) {
		manager->builders[at->first_builder + i].suspended = true;
		hold_port(manager, at->first_builder + i, true, now);
	}
	if (!in_doubt(manager, index))
		manager_expel_suspended(manager, index, 0, now);
	else if (node->doubt_until == 0)
		node->doubt_until = now + CLUSTER_IN_DOUBT_NS;
}

void manager_end_suspension(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[node];

	manager->nodes[node].doubt_until = 0;
	for (unsigned i = 0; i < at->n_builders; i++) {
		manager->builders[at->first_builder + i].suspended = false;
		hold_port(manager, at->first_builder + i, false, now);
	}
}

void manager_enter(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	const struct cluster_system_builder *at = &manager->cluster->builders[index];
	uint32_t slots = manager->builders[index].slots;

	sched_include(manager->sched, index, now);
	(void)sched_register(manager->sched, index, manager->nodes[at->node].registrations,
			     slots < at->slots ? slots : at->slots, now);
}

void manager_readmit(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	unsigned node = manager->cluster->builders[index].node;

	expel(manager, index, manager->nodes[node].known_from, now);
	if (!in_doubt(manager, node))
		manager->nodes[node].doubt_until = 0;
	manager->builders[index].reporting = false;
	manager_enter(manager, index, now);
}

void manager_say_silent(struct cluster_manager *manager, unsigned node)
{
	if (!manager->nodes[node].registered || manager_is_reporting(manager, node) ||
	    manager->cluster->nodes[node].n_builders == 0)
		return;
	manager->view.excluded++;
	manager_say_member(manager, node, CTRL_EXCLUDE, CTRL_REASON_SILENT);
}

void manager_end_doubts(struct cluster_manager *manager, uint64_t now)
{
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++) {
		struct manager_node *node = &manager->nodes[i];

		if (node->doubt_until == 0 || (now < node->doubt_until && in_doubt(manager, i)))
			continue;
		manager_expel_suspended(manager, i, UINT64_MAX, now);
		manager_say_silent(manager, i);
	}
}

// --- a manager that restarted ---

// From which event on a node's builders have told all.
static uint64_t told_from(const struct cluster_manager *manager, unsigned index)
{
	const struct manager_node *node = &manager->nodes[index];
	bool told =
	    node->registered && node->run == manager->run && !manager_is_reporting(manager, index);

	return told ? node->known_from : UINT64_MAX;
}

void manager_suspect_untold(struct cluster_manager *manager)
{
	uint64_t event = sched_released(manager->sched), end = event;

	for (unsigned i = 0; i < manager->cluster->n_nodes && manager->run != 0; i++)
		if (manager->cluster->nodes[i].n_builders > 0 && told_from(manager, i) > end)
			end = told_from(manager, i);
	// No manager grants further ahead.
	if (end - event > manager->n_suspects)
		end = event + manager->n_suspects;
	for (; event < end; event++)
		suspect(manager, event);
}
