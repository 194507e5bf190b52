// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <stdio.h>

#include "node/control_internal.h"

void control_serve_command(struct control *control)
{
	if (command_step_of(&control->command.step) != COMMAND_REQUESTED)
		return;
	control->command.not_manager = control->manager == NULL;
	if (!control->command.not_manager) {
		control->command.result = cluster_manager_command(
		    control->manager, control->command.command, control->command.node, control->now,
		    control->command.error);
	} else {
		control->command.result = -1;
		snprintf(control->command.error, sizeof(control->command.error),
			 "this node is not the event manager any more");
	}
	control_publish(control);
	command_set_step(&control->command.step, COMMAND_FINISHED);
}

// Says which node is the event manager, where this one is not.
static enum control_role_answer not_manager(const struct role *role, char *error)
{
	const struct control *control = control_of(role);
	struct cluster_node_view view;

	control_role_node_view(role, &view);
	// A node whose term has ended follows itself until another one is elected.
	if (view.manager == CLUSTER_NONE || view.manager == control->system->self)
		snprintf(error, CONTROL_ERROR_SIZE, "no event manager is in office");
	else
		snprintf(error, CONTROL_ERROR_SIZE,
			 "this node is not the event manager: ask node %s",
			 control->system->nodes[view.manager].name);
	return CONTROL_ROLE_NOT_MANAGER;
}

enum control_role_answer control_role_ask(struct role *role, enum cluster_command command,
					  unsigned node, char *error)
{
	struct control *control = control_of(role);

	if (!control_role_manages(role))
		return not_manager(role, error);
	if (command_step_of(&control->command.step) == COMMAND_REQUESTED) {
		snprintf(error, CONTROL_ERROR_SIZE,
			 "the event manager has not answered the last command yet");
		return CONTROL_ROLE_REFUSED;
	}
	control->command.command = command;
	control->command.node = node;
	command_set_step(&control->command.step, COMMAND_REQUESTED);
	return CONTROL_ROLE_WAITS;
}

enum control_role_answer control_role_answer(struct role *role, char *error)
{
	struct control *control = control_of(role);

	if (command_step_of(&control->command.step) != COMMAND_FINISHED)
		return CONTROL_ROLE_WAITS;
	command_set_step(&control->command.step, COMMAND_NONE);
	if (control->command.result == 0)
		return CONTROL_ROLE_DONE;
	snprintf(error, CONTROL_ERROR_SIZE, "%s", control->command.error);
	return control->command.not_manager ? CONTROL_ROLE_NOT_MANAGER : CONTROL_ROLE_REFUSED;
}
