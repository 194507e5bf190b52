// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <stdlib.h>

#include "node/control_internal.h"

bool control_views_make(struct control *control)
{
	struct control_views *views = &control->views;

	if (control->manager != NULL || control->election != NULL) {
		views->nodes = calloc(control->system->n_nodes, sizeof(*views->nodes));
		views->builders = calloc(control->system->n_builders + 1, sizeof(*views->builders));
		if (views->nodes == NULL || views->builders == NULL)
			return false;
	}
	control_publish(control);
	return true;
}

void control_views_free(struct control *control)
{
	free(control->views.nodes);
	free(control->views.builders);
}

static void publish_manager(struct control *control)
{
	struct control_views *views = &control->views;
	const struct sched *sched = cluster_manager_sched(control->manager);
	struct cluster_manager_view manager;

	cluster_manager_view(control->manager, &manager);
	seqlock_copy(&views->manager, &manager, sizeof(manager));
	if (sched != NULL)
		seqlock_copy(&views->counters, sched_counters(sched), sizeof(views->counters));
	for (unsigned i = 0; i < control->system->n_nodes; i++) {
		struct cluster_node_state node;

		cluster_manager_node(control->manager, i, &node);
		seqlock_copy(&views->nodes[i], &node, sizeof(node));
	}
	for (unsigned i = 0; i < control->system->n_builders; i++) {
		struct sched_builder_view builder = { .oldest_event = SCHED_NEVER };

		if (sched != NULL)
			sched_view(sched, i, &builder);
		seqlock_copy(&views->builders[i], &builder, sizeof(builder));
	}
}

void control_publish(struct control *control)
{
	struct cluster_node_view node;

	cluster_node_view(control->node, &node);
	seqlock_begin_write(&control->views.lock);
	seqlock_copy(&control->views.node, &node, sizeof(node));
	for (unsigned i = 0; control->flow != NULL && i < control->system->n_results; i++) {
		struct decision_flow_view decisions;

		decision_flow_view(control->flow, i, &decisions);
		seqlock_copy(&control->views.decisions[i], &decisions, sizeof(decisions));
	}
	if (control->manager != NULL)
		publish_manager(control);
	seqlock_end_write(&control->views.lock);
}

// --- for other threads ---

static void read_view(const struct role *role, void *to, const void *view, size_t size)
{
	const struct seqlock *lock = &control_of(role)->views.lock;
	unsigned begun;

	do {
		begun = seqlock_begin_read(lock);
		seqlock_copy(to, view, size);
	} while (seqlock_is_disturbed(lock, begun));
}

bool control_role_manages(const struct role *role)
{
	return atomic_load_explicit(&control_of(role)->in_office, memory_order_acquire);
}

void control_role_node_view(const struct role *role, struct cluster_node_view *view)
{
	read_view(role, view, &control_of(role)->views.node, sizeof(*view));
}

void control_role_decisions(const struct role *role, unsigned results,
			    struct decision_flow_view *view)
{
	read_view(role, view, &control_of(role)->views.decisions[results], sizeof(*view));
}

void control_role_manager_view(const struct role *role, struct cluster_manager_view *view)
{
	read_view(role, view, &control_of(role)->views.manager, sizeof(*view));
}

void control_role_sched_counters(const struct role *role, struct sched_counters *counters)
{
	read_view(role, counters, &control_of(role)->views.counters, sizeof(*counters));
}

void control_role_member(const struct role *role, unsigned node, struct cluster_node_state *state)
{
	read_view(role, state, &control_of(role)->views.nodes[node], sizeof(*state));
}

void control_role_builder(const struct role *role, unsigned builder,
			  struct sched_builder_view *view)
{
	read_view(role, view, &control_of(role)->views.builders[builder], sizeof(*view));
}
