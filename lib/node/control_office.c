// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The office of the event manager, where several nodes can manage (election/election.h). A standby
// has no manager: it creates one when it comes into office, and destroys it when it leaves. Then it
// begins new sessions with all nodes, so that nothing that the manager has sent is sent again in a
// later epoch.
#include <stdlib.h>

#include "node/control_internal.h"

bool control_make_manager(struct control *control, bool takes_over)
{
	struct cluster_manager_parameters parameters = control->parameters.manager;

	parameters.transport = control->transport;
	parameters.takes_over = takes_over;
	parameters.now = control->now;
	control->manager = cluster_manager_create(&parameters);
	atomic_store_explicit(&control->in_office, control->manager != NULL, memory_order_release);
	return control->manager != NULL;
}

static unsigned rank_of(const struct cluster_system *system, unsigned node)
{
	unsigned rank = 0;

	for (unsigned i = 0; i < node; i++)
		rank += system->nodes[i].manager;
	return rank;
}

bool control_office_make(struct control *control)
{
	const struct cluster_system *system = control->system;
	const struct election_parameters parameters = {
		.self = system->self,
		.n_nodes = system->n_nodes,
		.rank = rank_of(system, system->self),
		.n_ranks = system->n_managers,
		.lease = control->parameters.heartbeat_timeout_ns,
		.heartbeat = control->parameters.heartbeat_ns,
		.now = control->now,
	};

	if (!control_elects(control) || !system->nodes[system->self].manager)
		return true;
	control->election = malloc(sizeof(*control->election));
	if (control->election == NULL)
		return false;
	election_make(control->election, &parameters);
	return true;
}

// The nodes that are silent now will not register with the manager.
static void report_silent(struct control *control)
{
	struct control_state state;

	for (unsigned i = 0; i < control->system->n_nodes; i++)
		if (control_state(control->endpoint, i, control->now, &state) &&
		    (!state.connected || state.lost))
			cluster_manager_event(control->manager, i, CONTROL_LOST, control->now);
}

static void come_into_office(struct control *control)
{
	const uint32_t epoch = control->election->epoch;

	if (!control_make_manager(control, true)) {
		election_give_up(control->election, cluster_node_vote(control->node), control->now);
		return;
	}
	control_set_epoch(control->endpoint, epoch);
	report_silent(control);
	cluster_node_follow(control->node, control->system->self, epoch);
}

static void leave_office(struct control *control)
{
	atomic_store_explicit(&control->in_office, false, memory_order_release);
	cluster_manager_destroy(control->manager);
	control->manager = NULL;
	for (unsigned i = 0; i < control->system->n_nodes; i++)
		control_forget(control->endpoint, i);
}

static void follow_election(struct control *control)
{
	const bool is_held = control->election->state == ELECTION_HELD;

	if (is_held && control->manager == NULL)
		come_into_office(control);
	else if (!is_held && control->manager != NULL)
		leave_office(control);
}

// At the end of a run nobody renews the leases any more: the manager that has stopped it stays.
static bool is_over(const struct control *control)
{
	return control->leaving_since != 0 || cluster_node_ended(control->node, NULL);
}

void control_office_poll(struct control *control)
{
	uint32_t least;
	bool is_due;

	if (control->election == NULL || is_over(control))
		return;
	least = control_epoch(control->endpoint) + 1;
	least = RTE_MAX(least, control_new_epoch());
	is_due =
	    election_poll(control->election, cluster_node_vote(control->node), least, control->now);
	follow_election(control);
	if (is_due)
		control_heartbeat_at_once(control, CLUSTER_NONE);
}

void control_office_fenced(struct control *control)
{
	if (is_over(control))
		return;
	election_give_up(control->election, cluster_node_vote(control->node), control->now);
	follow_election(control);
	control_heartbeat_at_once(control, CLUSTER_NONE);
}

void control_office_received(struct control *control, unsigned peer,
			     const struct ctrl_record *record)
{
	struct ctrl_heartbeat heartbeat;

	if (control->election != NULL && ctrl_get_heartbeat(record, &heartbeat) == WIRE_OK &&
	    heartbeat.has_lease)
		election_received(control->election, peer, &heartbeat.lease, control->now);
}
