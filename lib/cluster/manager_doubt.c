// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Nodes that are in doubt. A silent node may be back soon: it did not get the CPU, or its network
// was down. Its builders retain their events for in_doubt_ns. When a node restarts or leaves, only
// those stay with it for which the manager has sent PUBLISH and not yet received PUBLISHED: only
// the builder knows whether consumers have such an event. The others are granted again at once. If
// the node does not report within in_doubt_ns, or its process is gone, all are granted again; those
// that may be published are marked, and consumers see EVB_EVENT_REPEATED.
#include "cluster/manager_internal.h"

#include <stdlib.h>

// --- events that are possibly published ---

bool manager_make_maybe_published(struct cluster_manager *manager)
{
	manager->n_maybe_published = cluster_unfinished(manager->parameters.cluster.source_buffer);
	manager->maybe_published =
	    calloc(manager->n_maybe_published, sizeof(*manager->maybe_published));
	return manager->maybe_published != NULL;
}

// The table has more entries than there can be unfinished events, so no two of them share one.
static void mark(struct cluster_manager *manager, uint64_t event)
{
	manager->maybe_published[event & (manager->n_maybe_published - 1)] = event + 1;
}

bool manager_maybe_published(const struct cluster_manager *manager, uint64_t event)
{
	return manager->maybe_published[event & (manager->n_maybe_published - 1)] == event + 1;
}

// --- nodes that are in doubt ---

static bool in_doubt(const struct cluster_manager *manager, unsigned node)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[node];

	for (unsigned i = 0; i < at->n_builders; i++) {
		const struct manager_builder *builder = &manager->builders[at->first_builder + i];

		if (builder->suspended && builder->n_publishable > 0)
			return true;
	}
	return false;
}

uint32_t manager_count_events(const struct cluster_manager *manager, unsigned node)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[node];
	uint32_t n = 0;

	for (unsigned i = 0; i < at->n_builders; i++) {
		const struct manager_builder *builder = &manager->builders[at->first_builder + i];

		for (uint32_t j = 0; j < builder->n; j++)
			n += builder->entries[j].state != ENTRY_NONE;
	}
	return n;
}

// Whether a builder of the node has a granted event.
static bool has_events(const struct cluster_manager *manager, unsigned node)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[node];

	for (unsigned i = 0; i < at->n_builders; i++) {
		const struct manager_builder *builder = &manager->builders[at->first_builder + i];

		for (uint32_t j = 0; j < builder->n; j++)
			if (builder->entries[j].state != ENTRY_NONE)
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

static void suspend(struct cluster_manager *manager, unsigned builder, bool suspended, uint64_t now)
{
	manager->builders[builder].suspended = suspended;
	if (manager->sched != NULL)
		sched_suspend(manager->sched, builder, suspended, now);
}

// Frees the events of a builder for other builders. For events from `known_from` on it is known
// whether the builder has published them.
static void expel(struct cluster_manager *manager, unsigned index, uint64_t known_from,
		  uint64_t now)
{
	const struct sched_port port = { .paused = false }; // until it reports again
	struct manager_builder *builder = &manager->builders[index];

	for (uint32_t i = 0; i < builder->n; i++) {
		struct entry *entry = &builder->entries[i];

		if (entry->state >= ENTRY_PERMITTED && entry->event < known_from)
			mark(manager, entry->event);
		manager_set_state(manager, index, entry, ENTRY_NONE);
	}
	suspend(manager, index, false, now);
	if (manager->sched == NULL)
		return;
	sched_exclude(manager->sched, index, now);
	sched_port_state(manager->sched, index, &port, now);
}

void manager_expel_suspended(struct cluster_manager *manager, unsigned node, uint64_t known_from,
			     uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[node];

	manager->nodes[node].in_doubt_until = 0;
	for (unsigned i = 0; i < at->n_builders; i++)
		if (manager->builders[at->first_builder + i].suspended)
			expel(manager, at->first_builder + i, known_from, now);
}

// Takes back the events in this state, of which the node's builders hold some, or wait for their
// data. Those in ENTRY_GRANTED are not in doubt and are granted again; in case that the node is
// back in time, its builders receive the order to drop them.
static void take_back_all(struct cluster_manager *manager, unsigned node, enum entry_state state,
			  uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[node];

	for (unsigned i = 0; i < at->n_builders; i++)
		for (uint32_t j = 0; j < manager->builders[at->first_builder + i].n; j++)
			if (manager_entry(manager, at->first_builder + i, j)->state == state)
				manager_take_back(manager, at->first_builder + i, j, now);
}

void manager_recall(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	take_back_all(manager, node, ENTRY_PERMITTED, now);
}

static void begin_time_in_doubt(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	struct manager_node *node = &manager->nodes[index];

	if (node->in_doubt_until == 0)
		node->in_doubt_until = now + manager->parameters.in_doubt_ns;
	manager->any_in_doubt = true;
}

void manager_set_aside(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[index];

	for (unsigned i = 0; i < at->n_builders; i++)
		suspend(manager, at->first_builder + i, true, now);
	if (has_events(manager, index))
		begin_time_in_doubt(manager, index, now);
	else
		manager_expel_suspended(manager, index, 0, now);
}

void manager_suspend(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[index];

	for (unsigned i = 0; i < at->n_builders; i++)
		suspend(manager, at->first_builder + i, true, now);
	if (in_doubt(manager, index))
		take_back_all(manager, index, ENTRY_GRANTED, now);
	else
		manager_expel_suspended(manager, index, 0, now);
	if (in_doubt(manager, index))
		begin_time_in_doubt(manager, index, now);
}

void manager_end_suspension(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[node];

	manager->nodes[node].in_doubt_until = 0;
	for (unsigned i = 0; i < at->n_builders; i++)
		suspend(manager, at->first_builder + i, false, now);
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
		manager->nodes[node].in_doubt_until = 0;
	manager->builders[index].reporting = false;
	manager_enter(manager, index, now);
}

void manager_exclude_silent(struct cluster_manager *manager, unsigned node)
{
	if (!manager->nodes[node].registered || manager_is_reporting(manager, node) ||
	    manager->cluster->nodes[node].n_builders == 0)
		return;
	manager->view.excluded++;
	manager_send_member(manager, node, CTRL_EXCLUDE, CTRL_REASON_SILENT);
}

static bool is_waited_for(const struct cluster_manager *manager, unsigned node)
{
	return manager->nodes[node].lost ? has_events(manager, node) : in_doubt(manager, node);
}

void manager_end_in_doubt(struct cluster_manager *manager, uint64_t now)
{
	const bool any = manager->any_in_doubt;

	manager->any_in_doubt = false;
	for (unsigned i = 0; any && i < manager->cluster->n_nodes; i++) {
		struct manager_node *node = &manager->nodes[i];

		manager->any_in_doubt |= node->in_doubt_until != 0;

		if (node->in_doubt_until == 0 ||
		    (now < node->in_doubt_until && is_waited_for(manager, i)))
			continue;
		manager_expel_suspended(manager, i, UINT64_MAX, now);
		manager_exclude_silent(manager, i);
	}
}

// --- a manager that restarted ---

// The first event from which on a node's builders have reported all that they published.
static uint64_t reported_from(const struct cluster_manager *manager, unsigned index)
{
	const struct manager_node *node = &manager->nodes[index];
	bool reported =
	    node->registered && node->run == manager->run && !manager_is_reporting(manager, index);

	return reported ? node->known_from : UINT64_MAX;
}

void manager_mark_unreported(struct cluster_manager *manager)
{
	uint64_t event = sched_released(manager->sched), end = event;

	for (unsigned i = 0; i < manager->cluster->n_nodes && manager->run != 0; i++)
		if (manager->cluster->nodes[i].n_builders > 0 && reported_from(manager, i) > end)
			end = reported_from(manager, i);
	// A manager never grants events beyond this limit.
	if (end - event > manager->n_maybe_published)
		end = event + manager->n_maybe_published;
	for (; event < end; event++)
		mark(manager, event);
}
