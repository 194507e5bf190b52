// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Agreement of all nodes on another configuration file, between two runs. The manager asks each
// node in session; a node's control thread judges the file, and the role passes on its verdict. If
// all have agreed, the manager's process begins to use the file. The only manager then refuses the
// other nodes, which take the file for that reason. Where the manager is elected, nobody else is
// elected with the file yet: a node takes it as soon as it hears another one that has it.
#include <stdio.h>

#include "base/error_line.h"
#include "node/control_internal.h"

#define PATIENCE_NS 4000000000u // longest wait for the verdict of a node

// --- on the manager's node ---

static bool is_present(const struct control *control, unsigned node)
{
	struct control_state state;

	return control_state(control->endpoint, node, control->now, &state) && state.connected &&
	       !state.lost;
}

// The nodes need not be ready for the file any more, about which it has asked them.
static void withdraw_file(struct control *control)
{
	const struct ctrl_configuration record = {
		.request = control->asking.request,
		.config_hash = control->system->hash,
	};
	uint8_t bytes[CTRL_CONFIGURATION_SIZE];

	(void)ctrl_put_configuration(bytes, sizeof(bytes), &record);
	for (unsigned i = 0; i < control->system->n_nodes; i++)
		if (i != control->system->self && is_present(control, i))
			cluster_send(&control->transport, i, bytes, sizeof(bytes));
}

static void conclude(struct control *control, const char *node, const char *reason)
{
	struct control_asking *asking = &control->asking;

	if (reason != NULL)
		snprintf(asking->error, sizeof(asking->error), "%s%s%s%s",
			 node != NULL ? "node " : "", node != NULL ? node : "",
			 node != NULL ? ": " : "", reason);
	asking->refused = reason != NULL;
	if (asking->refused && asking->is_asked)
		withdraw_file(control);
	asking->is_asked = false;
	asking->n_waits = 0;
	command_set_step(&asking->step, COMMAND_FINISHED);
}

static bool is_excluded(const struct control *control, unsigned node)
{
	struct cluster_node_state state;

	cluster_manager_node(control->manager, node, &state);
	return state.excluded;
}

// Whether nothing of a run is in progress, and no node is missing.
static const char *obstacle(const struct control *control)
{
	struct cluster_manager_view view;

	if (control->manager == NULL)
		return "this node is not the event manager any more";
	cluster_manager_view(control->manager, &view);
	if (view.state != CTRL_READY || view.run != 0 || control->parameters.manager.autostart)
		return "the system is not ready for another run";
	for (unsigned i = 0; i < control->system->n_nodes; i++)
		if (i != control->system->self && !is_excluded(control, i) &&
		    !is_present(control, i))
			return "not all nodes are there: start them, or exclude them";
	return NULL;
}

static void ask_all(struct control *control)
{
	struct control_asking *asking = &control->asking;
	const char *reason = obstacle(control);
	struct ctrl_configuration record = {
		.request = ++asking->request,
		.config_hash = asking->file.hash,
	};
	uint8_t bytes[CTRL_CONFIGURATION_SIZE];

	if (reason != NULL) {
		conclude(control, NULL, reason);
		return;
	}
	snprintf(record.path, sizeof(record.path), "%s", asking->file.path);
	(void)ctrl_put_configuration(bytes, sizeof(bytes), &record);
	asking->since = control->now;
	asking->is_asked = true;
	for (unsigned i = 0; i < control->system->n_nodes; i++) {
		asking->waits[i] = i != control->system->self && is_present(control, i);
		if (!asking->waits[i])
			continue;
		asking->n_waits++;
		cluster_send(&control->transport, i, bytes, sizeof(bytes));
	}
	if (asking->n_waits == 0)
		conclude(control, NULL, NULL);
}

static void take_agreement(struct control *control, unsigned from, const struct ctrl_record *record)
{
	struct control_asking *asking = &control->asking;
	struct ctrl_agreement received;

	if (ctrl_get_agreement(record, &received) != WIRE_OK ||
	    received.request != asking->request || asking->n_waits == 0 || !asking->waits[from])
		return;
	asking->waits[from] = false;
	asking->n_waits--;
	if (received.refused != 0)
		conclude(control, control->system->nodes[from].name, received.text);
	else if (asking->n_waits == 0)
		conclude(control, NULL, obstacle(control));
}

static void give_up_late(struct control *control)
{
	unsigned late = 0;

	if (control->now - control->asking.since < PATIENCE_NS)
		return;
	while (!control->asking.waits[late])
		late++;
	conclude(control, control->system->nodes[late].name, "it does not answer");
}

// --- on the other nodes ---

static void respond(struct control *control, const char *reason)
{
	struct ctrl_agreement record = {
		.request = control->asked.request,
		.refused = reason != NULL,
	};
	uint8_t bytes[CTRL_AGREEMENT_SIZE];

	if (reason != NULL)
		snprintf(record.text, sizeof(record.text), "%s", reason);
	cluster_send(&control->transport, control->asked.from, bytes,
		     ctrl_put_agreement(bytes, sizeof(bytes), &record));
}

// Passes a file to the control thread, unless a run has begun.
static void begin_to_judge(struct control *control, unsigned from,
			   const struct ctrl_configuration *received)
{
	struct control_asked *asked = &control->asked;
	struct cluster_node_view view;

	cluster_node_view(control->node, &view);
	asked->request = received->request;
	asked->from = from;
	asked->is_void = false;
	if (view.run != 0 || control->parameters.node.cluster.prepared_run == 0) {
		respond(control, "it is in a run");
		return;
	}
	asked->file.hash = received->config_hash;
	snprintf(asked->file.path, sizeof(asked->file.path), "%s", received->path);
	command_set_step(&asked->step, COMMAND_REQUESTED);
}

static void take_configuration(struct control *control, unsigned from,
			       const struct ctrl_record *record)
{
	struct control_asked *asked = &control->asked;
	struct ctrl_configuration received;

	if (ctrl_get_configuration(record, &received) != WIRE_OK ||
	    from != cluster_node_manager(control->node))
		return;
	asked->agreed = 0;
	if (received.config_hash == control->system->hash) {
		asked->is_void |= received.request == asked->request;
		asked->has_next &= received.request != asked->next.request;
	} else if (command_step_of(&asked->step) != COMMAND_NONE) {
		asked->has_next = true;
		asked->next_from = from;
		asked->next = received;
	} else {
		begin_to_judge(control, from, &received);
	}
}

static void end_judgement(struct control *control)
{
	struct control_asked *asked = &control->asked;

	respond(control, asked->refused ? asked->reason : NULL);
	if (!asked->refused && !asked->is_void && !asked->has_next)
		asked->agreed = asked->file.hash;
	command_set_step(&asked->step, COMMAND_NONE);
	if (asked->has_next)
		begin_to_judge(control, asked->next_from, &asked->next);
	asked->has_next = false;
}

// The hash of the configuration of a node that asks for votes or to be registered; else 0.
static uint64_t hash_of(const struct ctrl_record *record)
{
	struct ctrl_heartbeat heartbeat;
	struct ctrl_register received;

	if (ctrl_get_heartbeat(record, &heartbeat) == WIRE_OK && heartbeat.has_lease)
		return heartbeat.lease.config_hash;
	return ctrl_get_register(record, &received) == WIRE_OK ? received.config_hash : 0;
}

// Whether the sender has the file on which this node has agreed. What it sends is not for the
// manager and the node of now: they would refuse it.
static bool shows_file(struct control *control, const struct ctrl_record *record)
{
	struct control_asked *asked = &control->asked;
	struct cluster_node_view view;

	if (asked->agreed == 0 || !control_elects(control) || hash_of(record) != asked->agreed)
		return false;
	cluster_node_view(control->node, &view);
	if (view.run != 0)
		return false;
	atomic_store_explicit(&asked->follows, true, memory_order_release);
	return true;
}

// --- both ---

bool control_agreement_record(struct control *control, unsigned from,
			      const struct ctrl_record *record)
{
	if (shows_file(control, record))
		return true;
	if (record->type == CTRL_CONFIGURATION)
		take_configuration(control, from, record);
	else if (record->type == CTRL_AGREEMENT)
		take_agreement(control, from, record);
	else
		return false;
	return true;
}

void control_agreement_poll(struct control *control)
{
	struct control_asked *asked = &control->asked;

	if (command_step_of(&control->asking.step) == COMMAND_REQUESTED) {
		if (control->asking.n_waits == 0)
			ask_all(control);
		else
			give_up_late(control);
	}
	if (command_step_of(&asked->step) == COMMAND_FINISHED)
		end_judgement(control);
}

// --- control thread ---

int control_role_propose(struct role *role, const struct control_file *file, char *error)
{
	struct control_asking *asking = &control_of(role)->asking;

	if (command_step_of(&asking->step) == COMMAND_REQUESTED)
		return error_line(error, CONTROL_ERROR_SIZE,
				  "the nodes have not answered the last question yet");
	asking->file = *file;
	command_set_step(&asking->step, COMMAND_REQUESTED);
	return 0;
}

enum control_role_answer control_role_agreement(struct role *role, char *error)
{
	struct control_asking *asking = &control_of(role)->asking;

	if (command_step_of(&asking->step) != COMMAND_FINISHED)
		return CONTROL_ROLE_WAITS;
	command_set_step(&asking->step, COMMAND_NONE);
	if (!asking->refused)
		return CONTROL_ROLE_DONE;
	snprintf(error, CONTROL_ERROR_SIZE, "%s", asking->error);
	return CONTROL_ROLE_REFUSED;
}

bool control_role_proposal(const struct role *role, struct control_file *file)
{
	const struct control_asked *asked = &control_of(role)->asked;

	if (command_step_of(&asked->step) != COMMAND_REQUESTED)
		return false;
	*file = asked->file;
	return true;
}

bool control_role_follows(const struct role *role)
{
	return atomic_load_explicit(&control_of(role)->asked.follows, memory_order_acquire);
}

void control_role_judge(struct role *role, const char *reason)
{
	struct control_asked *asked = &control_of(role)->asked;

	asked->refused = reason != NULL;
	if (reason != NULL)
		snprintf(asked->reason, sizeof(asked->reason), "%s", reason);
	command_set_step(&asked->step, COMMAND_FINISHED);
}
