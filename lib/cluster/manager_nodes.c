// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Nodes come, fall silent, come back and go. What a builder holds when that happens stays its own
// while one of its events is in doubt: told to publish, and no answer yet.
#include "cluster/manager_internal.h"

#include <stdio.h>

// --- coming ---

static void say_welcome(struct cluster_manager *manager, unsigned node, enum ctrl_verdict verdict,
			const char *text)
{
	struct ctrl_welcome welcome = {
		.config_hash = manager->cluster->hash,
		.run = manager->run,
		.verdict = (uint16_t)verdict,
		.run_state = (uint16_t)manager->state,
	};
	uint8_t bytes[CTRL_WELCOME_SIZE];

	snprintf(welcome.text, sizeof(welcome.text), "%s", text);
	manager_send(manager, node, bytes, ctrl_put_welcome(bytes, sizeof(bytes), &welcome));
}

// A readout node may have missed grants: it gets them again.
static void repeat_grants(struct manager_node *node)
{
	node->repeat_builder = CLUSTER_MUTANT(13, 0, node->repeat_builder);
	node->repeat_token = 0;
}

void manager_welcome(struct cluster_manager *manager, unsigned node)
{
	manager->nodes[node].welcome_due = false;
	say_welcome(manager, node, CTRL_ACCEPTED, "welcome");
	manager_bring_into_line(manager, node);
	if (manager->nodes[node].run == manager->run)
		repeat_grants(&manager->nodes[node]);
}

// A run goes on under a manager that restarted.
static void learn_run(struct cluster_manager *manager, uint32_t run)
{
	if (run == 0 || manager->run != 0 || manager->sched != NULL)
		return;
	manager->run = run;
	manager->state = CTRL_RUNNING;
	manager->command_start = false;
}

void manager_register(struct cluster_manager *manager, unsigned from,
		      const struct ctrl_record *record, uint64_t now)
{
	const struct config_cluster_node *at = &manager->cluster->nodes[from];
	struct manager_node *node = &manager->nodes[from];
	struct ctrl_register said;

	if (ctrl_get_register(record, &said) != WIRE_OK)
		return;
	if (said.config_hash != manager->cluster->hash) {
		say_welcome(manager, from, CTRL_REFUSED_CONFIG,
			    "its configuration is not the manager's");
		return;
	}
	if (node->operator_excluded) {
		say_welcome(manager, from, CTRL_REFUSED_NOT_NOW, "it is excluded");
		if (manager->state == CTRL_STOPPED)
			manager_bring_into_line(manager, from);
		return;
	}
	if (!manager->heard)
		manager->first_heard = now;
	manager->heard = true;
	learn_run(manager, said.run);
	for (unsigned i = 0; i < at->n_builders; i++) {
		manager_drop_adopted(manager, at->first_builder + i, now);
		manager->builders[at->first_builder + i].reporting = true;
	}
	manager_suspend(manager, from, now);
	node->registered = true;
	node->left = false;
	node->registrations++;
	node->run = said.run;
	node->stated = node->begun = node->ended = false;
	node->told_release = 0;
	node->told_throttle = -1;
	manager_sync_source(manager, from, now);
	// All that register together are welcomed together.
	node->welcome_due = manager->sched == NULL;
	if (!node->welcome_due)
		manager_welcome(manager, from);
}

bool manager_all_registered(const struct cluster_manager *manager, bool or_due)
{
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++) {
		const struct manager_node *node = &manager->nodes[i];

		if (!node->registered && !node->operator_excluded && !(or_due && node->exclude_due))
			return false;
	}
	return true;
}

// --- sources ---

static bool pauses_for_sources(const struct cluster_manager *manager)
{
	return manager->parameters.config->event_manager.on_source_silent ==
	       CONFIG_SOURCE_SILENT_PAUSE;
}

static bool source_takes_part(const struct cluster_manager *manager,
			      const struct manager_node *node)
{
	if (node->operator_excluded || node->left)
		return false;
	if (pauses_for_sources(manager) || manager->run == 0)
		return true;
	return node->registered && !node->lost && node->begun;
}

void manager_sync_source(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	struct manager_node *node = &manager->nodes[index];
	unsigned rank = manager->readouts.of_node[index];
	bool excluded = !source_takes_part(manager, node);

	if (rank == CLUSTER_NONE || manager->sched == NULL || node->source_excluded == excluded)
		return;
	node->source_excluded = excluded;
	if (excluded)
		sched_exclude_source(manager->sched, rank, now);
	else
		sched_include_source(manager->sched, rank, now);
}

bool manager_waits_for_source(const struct cluster_manager *manager)
{
	if (!pauses_for_sources(manager))
		return false;
	for (unsigned i = 0; i < manager->readouts.n; i++) {
		const struct manager_node *node = &manager->nodes[manager->readouts.nodes[i]];

		if (!node->operator_excluded && !node->left &&
		    (node->lost || !node->registered || !node->begun))
			return true;
	}
	return false;
}

void manager_announced(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record, uint64_t now)
{
	struct manager_node *node = &manager->nodes[from];
	struct ctrl_announce said;
	unsigned rank = manager->readouts.of_node[from];

	if (rank == CLUSTER_NONE || ctrl_get_announce(record, &said) != WIRE_OK ||
	    said.run != manager->run)
		return;
	// What comes behind the end of the run is not built.
	node->end = CLUSTER_MUTANT(12, said.end < manager->end, true) ? said.end : manager->end;
	node->ended = (said.flags & CTRL_END_OF_RUN) != 0;
	node->begun = true;
	if (manager->sched == NULL)
		return;
	sched_announce(manager->sched, rank, node->end, now);
	manager_sync_source(manager, from, now);
}

// --- signs of life ---

void manager_heartbeat(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record, uint64_t now)
{
	const struct config_cluster_node *at = &manager->cluster->nodes[from];
	unsigned priority = manager->parameters.config->event_manager.data_priority;
	struct ctrl_heartbeat said;

	if (ctrl_get_heartbeat(record, &said) != WIRE_OK)
		return;
	manager->nodes[from].state = said.run_state;
	manager->nodes[from].slots_free = said.slots_free;
	if (said.n_ports == 0 || manager->sched == NULL || manager->nodes[from].doubt_until != 0)
		return;
	for (unsigned i = 0; i < at->n_builders; i++) {
		const struct ctrl_port *port = &said.ports[0];
		const struct sched_port state = {
			// Pausing its own partner means that what it receives is too much.
			.paused = (port->pausing >> priority & 1) != 0,
			.paused_share = (double)port->paused_share / CTRL_FULL_SHARE,
			.occupancy = (double)port->occupancy / CTRL_FULL_SHARE,
			.marks = port->ecn_marks,
		};

		sched_port_state(manager->sched, at->first_builder + i, &state, now);
	}
}

void manager_say_member(struct cluster_manager *manager, unsigned node, enum ctrl_type type,
			enum ctrl_reason reason)
{
	const struct ctrl_member member = {
		.node = (uint16_t)node,
		.subject = CTRL_SUBJECT_NODE,
		.reason = (uint8_t)reason,
	};
	uint8_t bytes[CTRL_MEMBER_SIZE];

	manager_send(manager, node, bytes,
		     type == CTRL_EXCLUDE ? ctrl_put_exclude(bytes, sizeof(bytes), &member)
					  : ctrl_put_include(bytes, sizeof(bytes), &member));
}

// --- doubt ---

static bool in_doubt(const struct cluster_manager *manager, unsigned node)
{
	const struct config_cluster_node *at = &manager->cluster->nodes[node];

	for (unsigned i = 0; i < at->n_builders; i++) {
		const struct manager_builder *builder = &manager->builders[at->first_builder + i];

		if (builder->suspended && builder->n_settled > 0)
			return true;
	}
	return false;
}

static bool is_reporting(const struct cluster_manager *manager, unsigned node)
{
	const struct config_cluster_node *at = &manager->cluster->nodes[node];

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

// A builder loses its events to others.
static void expel(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	struct manager_builder *builder = &manager->builders[index];

	for (uint32_t i = 0; i < builder->n; i++)
		builder->entries[i].state = ENTRY_NONE;
	builder->n_settled = 0;
	builder->suspended = false;
	hold_port(manager, index, false, now);
	if (manager->sched != NULL)
		sched_exclude(manager->sched, index, now);
}

static void expel_suspended(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	const struct config_cluster_node *at = &manager->cluster->nodes[node];

	manager->nodes[node].doubt_until = 0;
	for (unsigned i = 0; i < at->n_builders; i++)
		if (manager->builders[at->first_builder + i].suspended)
			expel(manager, at->first_builder + i, now);
}

void manager_suspend(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	const struct config_cluster_node *at = &manager->cluster->nodes[index];
	struct manager_node *node = &manager->nodes[index];

	for (unsigned i = 0; i < at->n_builders; i++) {
		manager->builders[at->first_builder + i].suspended = true;
		hold_port(manager, at->first_builder + i, true, now);
	}
	if (!CLUSTER_MUTANT(1, in_doubt(manager, index), false))
		expel_suspended(manager, index, now);
	else if (node->doubt_until == 0)
		node->doubt_until = now + CLUSTER_IN_DOUBT_NS;
}

// A node is heard again in the same session: it goes on where it was.
static void resume(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	const struct config_cluster_node *at = &manager->cluster->nodes[node];

	manager->nodes[node].doubt_until = 0;
	for (unsigned i = 0; i < at->n_builders; i++) {
		manager->builders[at->first_builder + i].suspended = false;
		hold_port(manager, at->first_builder + i, false, now);
	}
}

void manager_enter(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	const struct config_cluster_builder *at = &manager->cluster->builders[index];
	uint32_t slots = manager->builders[index].slots;

	sched_include(manager->sched, index, now);
	(void)sched_register(manager->sched, index, manager->nodes[at->node].registrations,
			     slots < at->slots ? slots : at->slots, now);
}

void manager_readmit(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	unsigned node = manager->cluster->builders[index].node;

	expel(manager, index, now);
	if (!in_doubt(manager, node))
		manager->nodes[node].doubt_until = 0;
	manager->builders[index].reporting = false;
	manager_enter(manager, index, now);
}

// A node that registered before it was silent hears that it is out, behind what was said before,
// and registers anew.
static void say_silent(struct cluster_manager *manager, unsigned node)
{
	if (!manager->nodes[node].registered || is_reporting(manager, node) ||
	    manager->cluster->nodes[node].n_builders == 0)
		return;
	manager->view.excluded++;
	if (CLUSTER_MUTANT(16, true, false))
		manager_say_member(manager, node, CTRL_EXCLUDE, CTRL_REASON_SILENT);
}

void manager_end_doubts(struct cluster_manager *manager, uint64_t now)
{
	for (unsigned i = 0; i < manager->cluster->n_nodes; i++) {
		struct manager_node *node = &manager->nodes[i];

		if (node->doubt_until == 0 ||
		    (CLUSTER_MUTANT(14, now < node->doubt_until, true) && in_doubt(manager, i)))
			continue;
		expel_suspended(manager, i, now);
		say_silent(manager, i);
	}
}

// --- silence, return, departure ---

static void node_lost(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	manager->nodes[node].lost = true;
	manager_suspend(manager, node, now);
	if (manager->nodes[node].doubt_until == 0)
		say_silent(manager, node);
	manager_sync_source(manager, node, now);
}

static void node_back(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	struct manager_node *node = &manager->nodes[index];
	bool goes_on = node->registered && !is_reporting(manager, index) &&
		       (node->doubt_until != 0 || manager->cluster->nodes[index].n_builders == 0);

	node->lost = false;
	if (goes_on) {
		resume(manager, index, now);
		repeat_grants(node);
	}
	manager_sync_source(manager, index, now);
}

// Another process, or one that begins anew: what the one before held is gone, or it will say so.
static void node_restarted(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	const struct config_cluster_node *at = &manager->cluster->nodes[index];
	struct manager_node *node = &manager->nodes[index];

	node->lost = node->registered = node->begun = false;
	for (unsigned i = 0; i < at->n_builders; i++) {
		manager_drop_adopted(manager, at->first_builder + i, now);
		manager->builders[at->first_builder + i].reporting = false;
	}
	manager_suspend(manager, index, now);
	manager_sync_source(manager, index, now);
}

void manager_bye(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	struct manager_node *node = &manager->nodes[index];

	// It has published what it was told to.
	node->registered = false;
	node->left = true;
	manager_suspend(manager, index, now);
	expel_suspended(manager, index, now);
	manager_sync_source(manager, index, now);
}

void cluster_manager_event(struct cluster_manager *manager, unsigned peer, enum control_event event,
			   uint64_t now)
{
	if (peer >= manager->cluster->n_nodes)
		return;
	switch (event) {
	case CONTROL_LOST:
		node_lost(manager, peer, now);
		break;
	case CONTROL_BACK:
		node_back(manager, peer, now);
		break;
	case CONTROL_RESTARTED:
		node_restarted(manager, peer, now);
		break;
	case CONTROL_CONNECTED:
		manager->nodes[peer].lost = false;
		break;
	default:
		break;
	}
}
