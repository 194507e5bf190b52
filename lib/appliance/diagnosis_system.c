// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Facts about the nodes of a system, from what the control role publishes.
#include "appliance/diagnosis_facts.h"

// Time since the last frame of a node; at least 1, also if none was received.
static uint64_t since(uint64_t at, uint64_t now)
{
	return at > 0 && now > at ? now - at : 1;
}

static bool can_lack_nodes(enum ctrl_run_state state)
{
	return state != CTRL_DRAINING && state != CTRL_STOPPED && state != CTRL_FAILED;
}

static struct diagnosis_node *add_node(struct facts_watch *watch, const char *name)
{
	if (watch->facts.n_nodes == FACTS_NODES)
		return NULL;
	watch->nodes[watch->facts.n_nodes] = (struct diagnosis_node){ .name = name };
	return &watch->nodes[watch->facts.n_nodes++];
}

// Whether consumers hold most slots of a builder, so that the event manager has none to grant.
static bool is_full(const struct sched_builder_view *builder)
{
	return builder->registered && builder->slots > 0 && builder->free == 0 &&
	       builder->granted * 2 < builder->slots;
}

// Stores in *full, by node, a builder of each other node that has had no slot for a while.
static void find_full(struct facts_watch *watch, const struct appliance *appliance, uint64_t now,
		      struct diagnosis_node *node, unsigned index)
{
	const struct cluster_system *system = &appliance->config->cluster;
	const struct cluster_system_node *at = &system->nodes[index];

	for (unsigned i = at->first_builder; i < at->first_builder + at->n_builders; i++) {
		struct sched_builder_view view;
		uint64_t full_ns;

		control_role_builder(appliance_control(appliance), i, &view);
		full_ns = steady_holds(&watch->node_full[i], is_full(&view), now);
		if (full_ns >= STEADY_WINDOW_NS / 2)
			node->full = system->builders[i].name;
	}
}

static void take_node(struct facts_watch *watch, const struct appliance *appliance, unsigned index,
		      uint64_t now)
{
	const struct role *control = appliance_control(appliance);
	const uint64_t role_now = control_role_now(control);
	struct cluster_node_state state;
	struct diagnosis_node node = { .name = appliance->config->cluster.nodes[index].name };
	struct diagnosis_node *to;

	control_role_member(control, index, &state);
	find_full(watch, appliance, now, &node, index);
	node.absent_ns = steady_holds(&watch->node_absent[index], !state.registered, now);
	if (state.registered && !state.lost && !state.excluded && node.full == NULL)
		return;
	node.silent = state.lost;
	node.died = state.process_ended;
	node.excluded = state.excluded;
	if (state.lost)
		node.silent_ns = since(state.heard_at, role_now);
	if (state.in_doubt_until > role_now && state.lost)
		node.in_doubt_ns = state.in_doubt_until - role_now;
	node.in_doubt = state.in_doubt;
	to = add_node(watch, node.name);
	if (to != NULL)
		*to = node;
}

static void take_as_manager(struct facts_watch *watch, const struct appliance *appliance,
			    uint64_t now)
{
	const struct cluster_system *system = &appliance->config->cluster;
	struct cluster_manager_view view;

	control_role_manager_view(appliance_control(appliance), &view);
	watch->facts.throttled = view.throttled;
	for (unsigned i = 0; can_lack_nodes(view.state) && i < system->n_nodes; i++)
		if (i != system->self)
			take_node(watch, appliance, i, now);
}

static void take_as_member(struct facts_watch *watch, const struct appliance *appliance,
			   const struct cluster_node_view *view, uint64_t now)
{
	const struct role *control = appliance_control(appliance);
	struct control_manager_view link;
	const bool takes_part = can_lack_nodes(view->state) && !view->excluded;

	control_role_manager_link(control, &link);
	if (takes_part && link.is_silent)
		watch->facts.manager_silent_ns = since(link.heard_at, control_role_now(control));
	watch->facts.unregistered_ns =
	    steady_holds(&watch->unregistered, takes_part && !view->registered, now);
}

void facts_take_system(struct facts_watch *watch, const struct appliance *appliance, uint64_t now)
{
	const struct cluster_system *system = &appliance->config->cluster;
	const struct role *control = appliance_control(appliance);
	struct diagnosis_facts *facts = &watch->facts;
	struct control_office_view office;
	struct cluster_node_view view;

	if (control == NULL || atomic_load(&appliance->state) != APPLIANCE_RUNNING)
		return;
	control_role_node_view(control, &view);
	control_role_office(control, &office);
	facts->place = control_role_manages(control) ? DIAGNOSIS_MANAGER : DIAGNOSIS_MEMBER;
	facts->elects = cluster_elects(system);
	facts->standbys = office.n_standbys;
	facts->n_system = system->n_nodes;
	facts->waits_for_nodes =
	    appliance->config->event_manager.on_source_silent == CONFIG_SOURCE_SILENT_PAUSE;
	if (view.manager < system->n_nodes)
		facts->manager = system->nodes[view.manager].name;
	if (facts->place == DIAGNOSIS_MANAGER)
		take_as_manager(watch, appliance, now);
	else
		take_as_member(watch, appliance, &view, now);
}
