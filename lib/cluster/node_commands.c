// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The commands of the manager: run control, and which nodes take part.
#include "cluster/node_internal.h"

void node_send_state(struct cluster_node *node, const struct ctrl_run_command *command)
{
	const struct ctrl_run_report record = {
		.config_hash = node->cluster->hash,
		.run = node->run,
		.request = command != NULL ? command->request : 0,
		.command = command != NULL ? command->command : 0,
		.state = (uint8_t)node->state,
	};
	uint8_t bytes[CTRL_RUN_REPORT_SIZE];

	node_send_to_manager(node, bytes, ctrl_put_run_report(bytes, sizeof(bytes), &record));
}

static void begin_run(struct cluster_node *node, const struct ctrl_run_command *command)
{
	node->run = command->run;
	node->start_event = command->event;
	node->announced = node->cluster->shares_source ? 0 : command->event;
	node->assigned = node->assigned_end = 0;
	node->announced_end = false;
	node->announce_due = true;
	// An earlier process of this node got no grants beyond this event.
	if (command->run == node->welcomed_run)
		node->known_from =
		    node->released + cluster_unfinished(node->parameters.cluster.source_buffer);
	node_readouts_start(node);
}

// The run has another number than the one for which this process is prepared: it prepares again.
static void renumber(struct cluster_node *node, uint32_t run)
{
	node->renumbered = run;
	node->ended = true;
}

// The manager has seen that the run before is over on all nodes, and is about to start this one.
static void configure(struct cluster_node *node, const struct ctrl_run_command *command)
{
	if (command->run != node->parameters.cluster.prepared_run) {
		renumber(node, command->run);
		return;
	}
	node->state = CTRL_READY;
	node->configured = command->request;
	node->opening = node->accepts_data = true;
}

// START of the present run only ends a pause.
static void run_command(struct cluster_node *node, const struct ctrl_run_command *command)
{
	static const enum ctrl_run_state states[] = {
		[CTRL_CONFIGURE] = CTRL_READY, [CTRL_START] = CTRL_RUNNING,
		[CTRL_PAUSE] = CTRL_PAUSED,    [CTRL_RESUME] = CTRL_RUNNING,
		[CTRL_DRAIN] = CTRL_DRAINING,  [CTRL_STOP] = CTRL_STOPPED,
	};

	if (command->command == CTRL_START && command->run != node->run)
		begin_run(node, command);
	if (command->command == CTRL_DRAIN)
		node->end_event = command->event;
	node->state = states[command->command];
	node_readouts_send_run(node);
	node->accepts_data = node->state != CTRL_STOPPED;
	if (node->state == CTRL_STOPPED) {
		node->ended = true;
		node_builders_withdraw(node);
	}
	node_send_state(node, command);
}

// Whether a command for this node's run changes nothing, or is for the nodes in a run only.
static bool is_without_effect(const struct cluster_node *node,
			      const struct ctrl_run_command *command)
{
	if (node->state == CTRL_STOPPED || node->renumbered != 0)
		return true;
	if (command->command == CTRL_CONFIGURE)
		return false;
	if (node->run == 0)
		return command->command != CTRL_START && command->command != CTRL_STOP;
	// A manager that does not know yet that the run drains learns it from this node's report.
	return node->state == CTRL_DRAINING && command->command != CTRL_DRAIN &&
	       command->command != CTRL_STOP;
}

// The reason why a command is refused, or NULL.
static const char *refusal(const struct cluster_node *node, unsigned from, uint64_t hash)
{
	if (from != node->manager)
		return "not from the event manager";
	return hash != node->cluster->hash ? "another configuration" : NULL;
}

// A manager that restarted while this node was excluded does not know the run.
static const char *refusal_of_run(const struct cluster_node *node, uint32_t run)
{
	return node_is_in_run(node, run) || (run == 0 && node->operator_excluded) ? NULL
										  : "another run";
}

static bool obey(struct cluster_node *node, struct cluster_node_command command)
{
	struct cluster_node_command *last =
	    command.why == NULL ? &node->view.obeyed : &node->view.refused;

	command.n = last->n + 1;
	*last = command;
	return command.why == NULL;
}

static void take_run_command(struct cluster_node *node, unsigned from,
			     const struct ctrl_record *record)
{
	struct ctrl_run_command command;
	const char *why;

	if (ctrl_get_run_command(record, &command) != WIRE_OK)
		return;
	why = refusal(node, from, command.config_hash);
	if (why == NULL && (command.command != CTRL_CONFIGURE || node->run != 0))
		why = refusal_of_run(node, command.run);
	if (why == NULL && is_without_effect(node, &command))
		return;
	if (!obey(node, (struct cluster_node_command){ .why = why,
						       .run = command.run,
						       .from = (uint16_t)from,
						       .type = CTRL_RUN_COMMAND,
						       .command = command.command }))
		return;
	if (command.command == CTRL_CONFIGURE && node->parameters.cluster.prepared_run != 0)
		configure(node, &command);
	else
		run_command(node, &command);
}

static void exclude(struct cluster_node *node, const struct ctrl_member *member)
{
	node_builders_withdraw(node);
	node->excluded = true;
	node->registered = false;
	if (member->reason == CTRL_REASON_OPERATOR)
		node->operator_excluded = true; // until the operator includes it again
	else
		node_send_register(node);
}

static void take_sources(struct cluster_node *node, unsigned from, enum ctrl_type type,
			 const struct ctrl_member *member)
{
	const bool is_known = member->node < node->cluster->n_nodes;
	unsigned rank = is_known ? node->readouts_of_all.of_node[member->node] : CLUSTER_NONE;

	if (refusal(node, from, member->config_hash) == NULL && rank != CLUSTER_NONE)
		node_builders_set_source(node, rank,
					 type == CTRL_EXCLUDE ? UINT64_MAX : member->event);
}

static void take_member(struct cluster_node *node, unsigned from, const struct ctrl_record *record)
{
	struct ctrl_member member;

	if (ctrl_get_member(record, &member) != WIRE_OK)
		return;
	if (member.subject == CTRL_SUBJECT_SOURCES)
		take_sources(node, from, record->type, &member);
	if (member.subject != CTRL_SUBJECT_NODE || member.node != node_self(node) ||
	    !obey(node,
		  (struct cluster_node_command){ .why = refusal(node, from, member.config_hash),
						 .from = (uint16_t)from,
						 .type = (uint8_t)record->type }))
		return;
	if (record->type == CTRL_EXCLUDE) {
		exclude(node, &member);
		return;
	}
	node->operator_excluded = false;
	node_send_register(node);
}

bool node_command(struct cluster_node *node, unsigned from, const struct ctrl_record *record)
{
	if (record->type == CTRL_RUN_COMMAND)
		take_run_command(node, from, record);
	else if (record->type == CTRL_EXCLUDE || record->type == CTRL_INCLUDE)
		take_member(node, from, record);
	else
		return false;
	return true;
}
