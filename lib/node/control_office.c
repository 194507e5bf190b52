// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The manager of this node: from the start, or while it is in office (cluster/office.h).
#include "node/control_internal.h"

static void set_manager(struct control *control, struct cluster_manager *manager)
{
	control->manager = manager;
	atomic_store_explicit(&control->in_office, manager != NULL, memory_order_release);
}

bool control_make_manager(struct control *control)
{
	struct cluster_manager_parameters parameters = control->parameters.manager;

	parameters.transport = control->transport;
	parameters.now = control->now;
	set_manager(control, cluster_manager_create(&parameters));
	return control->manager != NULL;
}

bool control_office_make(struct control *control)
{
	struct office_parameters parameters = {
		.manager = control->parameters.manager,
		.endpoint = control->endpoint,
		.node = control->node,
		.lease_ns = control->parameters.heartbeat_timeout_ns,
		.heartbeat_ns = control->parameters.heartbeat_ns,
		.now = control->now,
	};

	if (!control_elects(control) || !control->system->nodes[control->system->self].manager)
		return true;
	parameters.manager.transport = control->transport;
	control->office = office_create(&parameters);
	return control->office != NULL;
}

void control_office_free(struct control *control)
{
	if (control->office != NULL)
		office_destroy(control->office);
	else
		cluster_manager_destroy(control->manager);
}

// At the end of a run nobody renews the leases any more: the manager that has stopped it stays.
static bool is_over(const struct control *control)
{
	return control->leaving_since != 0 || cluster_node_ended(control->node, NULL);
}

static void follow_office(struct control *control, bool is_due)
{
	if (office_manager(control->office) != control->manager)
		set_manager(control, office_manager(control->office));
	if (!is_due)
		return;
	control_heartbeat_at_once(control, CLUSTER_NONE);
	office_end_term(control->office, control->now);
}

void control_office_poll(struct control *control)
{
	if (control->office == NULL || is_over(control))
		return;
	follow_office(control, office_poll(control->office, control_new_epoch(), control->now));
}

void control_office_fenced(struct control *control)
{
	if (is_over(control))
		return;
	office_fenced(control->office, control->now);
	follow_office(control, true);
}
