// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Nodes come, fall silent, come back and go. manager_doubt.c has what then becomes of the events of
// their builders.
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
static void repeat_grants(struct cluster_manager *manager, unsigned node)
{
	manager_repeat_for(manager, node, 0, manager->cluster->n_builders);
}

// What was sent to its builders while it was away is lost: it is sent again.
static void repeat_data(struct cluster_manager *manager, unsigned node)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[node];

	for (unsigned i = 0; i < manager->readouts.n; i++)
		manager_repeat_for(manager, manager->readouts.nodes[i], at->first_builder,
				   at->first_builder + at->n_builders);
}

void manager_welcome(struct cluster_manager *manager, unsigned node)
{
	manager->nodes[node].welcome_due = false;
	say_welcome(manager, node, CTRL_ACCEPTED, "welcome");
	manager_bring_into_line(manager, node);
	if (manager->nodes[node].run == manager->run)
		repeat_grants(manager, node);
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

// By the operator, as the manager before this one was told. Before all is known, what it has
// published is to be heard.
static void keep_excluded(const struct cluster_manager *manager, struct manager_node *node)
{
	node->exclude_due = !manager_is_ready(manager);
	node->operator_excluded = !node->exclude_due;
}

void manager_register(struct cluster_manager *manager, unsigned from,
		      const struct ctrl_record *record, uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[from];
	struct manager_node *node = &manager->nodes[from];
	struct ctrl_register said;

	if (ctrl_get_register(record, &said) != WIRE_OK)
		return;
	if (said.config_hash != manager->cluster->hash) {
		say_welcome(manager, from, CTRL_REFUSED_CONFIG,
			    "its configuration is not the manager's");
		return;
	}
	if ((said.flags & CTRL_EXCLUDED) != 0 && !node->operator_excluded && node->commanded) {
		// It has missed that it was included.
		manager_say_member(manager, from, CTRL_INCLUDE, CTRL_REASON_OPERATOR);
		return;
	}
	if ((said.flags & CTRL_EXCLUDED) != 0 && !node->operator_excluded)
		keep_excluded(manager, node);
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
	node->known_from = said.run == manager->run && said.run != 0 ? said.known_from : UINT64_MAX;
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

static bool source_takes_part(const struct cluster_manager *manager,
			      const struct manager_node *node)
{
	if (node->operator_excluded || node->left)
		return false;
	if (manager->parameters.waits_for_sources || manager->run == 0)
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
	if (!manager->parameters.waits_for_sources)
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
	node->end = said.end < manager->end ? said.end : manager->end;
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
	const struct cluster_system_node *at = &manager->cluster->nodes[from];
	unsigned priority = manager->parameters.data_priority;
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

	manager_send(manager, node, bytes, ctrl_put_member(bytes, sizeof(bytes), type, &member));
}

// --- silence, return, departure ---

static void node_lost(struct cluster_manager *manager, unsigned node, uint64_t now)
{
	manager->nodes[node].lost = true;
	manager_suspend(manager, node, now);
	if (manager->nodes[node].doubt_until == 0)
		manager_say_silent(manager, node);
	manager_sync_source(manager, node, now);
}

static void node_back(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	struct manager_node *node = &manager->nodes[index];
	bool goes_on = node->registered && !manager_is_reporting(manager, index) &&
		       (node->doubt_until != 0 || manager->cluster->nodes[index].n_builders == 0);

	node->lost = false;
	if (goes_on) {
		manager_end_suspension(manager, index, now);
		repeat_grants(manager, index);
		repeat_data(manager, index);
	}
	manager_sync_source(manager, index, now);
}

// Another process, or one that begins anew: what the one before held is gone, or it will say so.
static void node_restarted(struct cluster_manager *manager, unsigned index, uint64_t now)
{
	const struct cluster_system_node *at = &manager->cluster->nodes[index];
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
	manager_expel_suspended(manager, index, node->known_from, now);
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
