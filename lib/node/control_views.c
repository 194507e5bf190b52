// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <stdlib.h>

#include "node/control_internal.h"

bool control_views_make(struct control *control)
{
	struct control_views *views = &control->views;

	if (control->manager != NULL || control->office != NULL) {
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

// The time of the last frame of a peer; 0: it is none.
static uint64_t heard_at(const struct control *control, unsigned node, uint64_t *is_silent)
{
	struct control_state state = { 0 };

	*is_silent = 0;
	if (control->endpoint == NULL ||
	    !control_state(control->endpoint, node, control->now, &state))
		return 0;
	*is_silent = state.lost || state.process_ended;
	return control->now - state.received_ago;
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
		uint64_t is_silent;

		cluster_manager_node(control->manager, i, &node);
		node.heard_at = heard_at(control, i, &is_silent);
		seqlock_copy(&views->nodes[i], &node, sizeof(node));
	}
	for (unsigned i = 0; i < control->system->n_builders; i++) {
		struct sched_builder_view builder = { .oldest_event = SCHED_NEVER };

		if (sched != NULL)
			sched_view(sched, i, &builder);
		seqlock_copy(&views->builders[i], &builder, sizeof(builder));
	}
}

static void list_standbys(const struct control *control, struct control_office_view *view)
{
	const struct cluster_system *system = control->system;
	struct control_state state = { 0 };

	for (unsigned i = 0; i < system->n_nodes; i++)
		if (system->nodes[i].manager && i != view->manager &&
		    view->n_standbys < EVB_MAX_MANAGERS &&
		    (i == system->self ||
		     (control_state(control->endpoint, i, control->now, &state) &&
		      state.connected && !state.lost)))
			view->standbys[view->n_standbys++] = (uint16_t)i;
}

static void publish_office(struct control *control, const struct cluster_node_view *node)
{
	struct control_office_view view = {
		.manager = node->manager,
		.epoch = node->epoch,
		.take_overs = node->take_overs,
		.since = node->followed_at,
	};

	if (control->office != NULL)
		office_view(control->office, control->now, &view.own);
	if (control->manager != NULL)
		view.since = view.own.from;
	list_standbys(control, &view);
	seqlock_copy(&control->views.office, &view, sizeof(view));
}

void control_publish(struct control *control)
{
	struct cluster_node_view node;
	struct control_manager_view link;

	cluster_node_view(control->node, &node);
	link.heard_at = heard_at(control, node.manager, &link.is_silent);
	seqlock_begin_write(&control->views.lock);
	seqlock_copy(&control->views.node, &node, sizeof(node));
	seqlock_copy(&control->views.manager_link, &link, sizeof(link));
	if (control_elects(control))
		publish_office(control, &node);
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

void control_role_manager_link(const struct role *role, struct control_manager_view *view)
{
	read_view(role, view, &control_of(role)->views.manager_link, sizeof(*view));
}

void control_role_office(const struct role *role, struct control_office_view *view)
{
	read_view(role, view, &control_of(role)->views.office, sizeof(*view));
}

uint64_t control_role_wall_clock(const struct role *role, uint64_t time)
{
	return control_wall_clock_ns() - (control_role_now(role) - time);
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
