// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <stdio.h>

#include "base/error_line.h"
#include "node/control_internal.h"

void control_serve_command(struct control *control)
{
	if (command_step_of(&control->command.step) != COMMAND_REQUESTED)
		return;
	if (control->manager != NULL) {
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

int control_role_ask(struct role *role, enum cluster_command command, unsigned node, char *error)
{
	struct control *control = control_of(role);
	struct cluster_node_view view;

	if (!control_role_manages(role)) {
		control_role_node_view(role, &view);
		// A node whose term has ended follows itself until another one is elected.
		if (view.manager == CLUSTER_NONE || view.manager == control->system->self)
			return error_line(error, CONTROL_ERROR_SIZE,
					  "no event manager is in office");
		return error_line(error, CONTROL_ERROR_SIZE,
				  "this node is not the event manager: ask node %s",
				  control->system->nodes[view.manager].name);
	}
	if (command_step_of(&control->command.step) == COMMAND_REQUESTED)
		return error_line(error, CONTROL_ERROR_SIZE,
				  "the event manager has not answered the last command yet");
	control->command.command = command;
	control->command.node = node;
	command_set_step(&control->command.step, COMMAND_REQUESTED);
	return 0;
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
	return CONTROL_ROLE_REFUSED;
}
