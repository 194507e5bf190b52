// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "cluster/office.h"

#include <stdlib.h>

struct office {
	struct office_parameters parameters;
	const struct cluster_system *system;
	struct election election;
	struct cluster_manager *manager; // NULL: not in office
	bool has_left;                   // its sessions go on
	uint32_t n_terms, of_epoch;
	uint64_t from, until;
};

static unsigned rank_of(const struct cluster_system *system, unsigned node)
{
	unsigned rank = 0;

	for (unsigned i = 0; i < node; i++)
		rank += system->nodes[i].manager;
	return rank;
}

struct office *office_create(const struct office_parameters *parameters)
{
	const struct cluster_system *system = parameters->manager.cluster.system;
	const struct election_parameters election = {
		.self = system->self,
		.n_nodes = system->n_nodes,
		.rank = rank_of(system, system->self),
		.n_ranks = system->n_managers,
		.lease = parameters->lease_ns,
		.heartbeat = parameters->heartbeat_ns,
		.now = parameters->now,
	};
	struct office *office = calloc(1, sizeof(*office));

	if (office == NULL)
		return NULL;
	office->parameters = *parameters;
	office->system = system;
	election_make(&office->election, &election);
	return office;
}

void office_destroy(struct office *office)
{
	if (office == NULL)
		return;
	cluster_manager_destroy(office->manager);
	free(office);
}

struct cluster_manager *office_manager(const struct office *office)
{
	return office->manager;
}

// --- terms ---

// The nodes that are silent now will not register with the manager.
static void report_silent(struct office *office, uint64_t now)
{
	struct control_state state;

	for (unsigned i = 0; i < office->system->n_nodes; i++)
		if (control_state(office->parameters.endpoint, i, now, &state) &&
		    (!state.connected || state.lost))
			cluster_manager_event(office->manager, i, CONTROL_LOST, now);
}

static void come_into_office(struct office *office, uint64_t now)
{
	struct cluster_manager_parameters manager = office->parameters.manager;
	struct cluster_node *node = office->parameters.node;

	manager.takes_over = true;
	manager.now = now;
	office->manager = cluster_manager_create(&manager);
	if (office->manager == NULL) {
		election_give_up(&office->election, cluster_node_vote(node), now);
		return;
	}
	office->n_terms++;
	office->of_epoch = office->election.epoch;
	office->from = now;
	control_set_epoch(office->parameters.endpoint, office->of_epoch);
	report_silent(office, now);
	cluster_node_follow(node, office->system->self, office->of_epoch);
}

static void leave_office(struct office *office, uint64_t now)
{
	office->until = office->until < now ? office->until : now;
	cluster_manager_destroy(office->manager);
	office->manager = NULL;
	office->has_left = true;
}

void office_end_term(struct office *office, uint64_t now)
{
	for (unsigned i = 0; office->has_left && i < office->system->n_nodes; i++) {
		control_send_heartbeat(office->parameters.endpoint, i, now);
		control_forget(office->parameters.endpoint, i);
	}
	office->has_left = false;
}

static void follow_election(struct office *office, uint64_t now)
{
	const bool is_held = office->election.state == ELECTION_HELD;

	if (is_held && office->manager == NULL)
		come_into_office(office, now);
	else if (!is_held && office->manager != NULL)
		leave_office(office, now);
	if (office->manager != NULL)
		office->until = office->election.held_until;
}

bool office_poll(struct office *office, uint32_t epoch, uint64_t now)
{
	const uint32_t known = control_epoch(office->parameters.endpoint) + 1;
	const bool is_due =
	    election_poll(&office->election, cluster_node_vote(office->parameters.node),
			  known > epoch ? known : epoch, now);

	follow_election(office, now);
	return is_due;
}

void office_fenced(struct office *office, uint64_t now)
{
	election_give_up(&office->election, cluster_node_vote(office->parameters.node), now);
	follow_election(office, now);
}

void office_received(struct office *office, unsigned peer, const struct ctrl_record *record,
		     uint64_t now)
{
	struct ctrl_heartbeat heartbeat;

	if (ctrl_get_heartbeat(record, &heartbeat) == WIRE_OK && heartbeat.has_lease &&
	    heartbeat.lease.config_hash == office->system->hash)
		election_received(&office->election, peer, &heartbeat.lease, now);
}

void office_state(const struct office *office, struct ctrl_lease *lease, uint64_t now)
{
	election_state(&office->election, lease, now);
}

void office_view(const struct office *office, uint64_t now, struct office_view *view)
{
	const bool is_held = office->manager != NULL;

	*view = (struct office_view){
		.state = office->election.state,
		.epoch = office->election.epoch,
		.n_terms = office->n_terms,
		.votes = is_held ? election_votes(&office->election, now) : 0,
		.from = office->from,
		.until = office->until,
		.of_epoch = office->of_epoch,
	};
}
