// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The office of the event manager on a node that can be elected (election/election.h). A standby
// has no manager. It creates one when it comes into office, and destroys it when it leaves. Then it
// begins new sessions with all nodes, so that nothing that the manager has sent is sent again in a
// later epoch.
//
// Threads: one, that of the control role.
#pragma once

#include "cluster/manager.h"
#include "cluster/node.h"

struct office;

struct office_parameters {
	struct cluster_manager_parameters manager; // takes_over and now are filled in
	struct control_endpoint *endpoint;         // of this node; outlives the office
	struct cluster_node *node;                 // of this process; outlives the office
	uint64_t lease_ns, heartbeat_ns;           // as in struct election_parameters
	uint64_t now;
};

// Values for telemetry. Times are those that the caller passes in.
struct office_view {
	enum election_state state;
	uint32_t epoch;    // that the node asks for or holds, or of its last attempt
	uint32_t n_terms;  // times that this process has come into office
	unsigned votes;    // nodes that have given the manager their lease; 0: it is not in office
	uint64_t from;     // the node has come into office for the last time; 0: never
	uint64_t until;    // in office: the end of the leases; afterwards: of the last term
	uint32_t of_epoch; // of the last term
};

// NULL if memory ran out.
struct office *office_create(const struct office_parameters *parameters);
void office_destroy(struct office *office);

// The manager of this node; NULL: it is not in office.
struct cluster_manager *office_manager(const struct office *office);

// Comes into office and leaves it. To be called often, and before the manager does anything.
// `epoch`: the least one to ask for, by the wall clock. Returns whether a heartbeat is due to all
// nodes. Then the caller renews its content and calls office_end_term().
bool office_poll(struct office *office, uint32_t epoch, uint64_t now);

// This node has received a higher epoch: it leaves. A heartbeat is due to all nodes, as above.
void office_fenced(struct office *office, uint64_t now);

// If the node has just left: sends the heartbeat, which frees the votes of the others, and begins
// the new sessions. In these the others accept nothing from a node that does not receive from them.
void office_end_term(struct office *office, uint64_t now);

// Handles a heartbeat of another node. The caller passes it to the manager and to the node, too.
// Nodes with another configuration neither vote for this node nor compete with it.
void office_received(struct office *office, unsigned peer, const struct ctrl_record *record,
		     uint64_t now);

// Writes the candidate's part of a heartbeat that is sent now.
void office_state(const struct office *office, struct ctrl_lease *lease, uint64_t now);

void office_view(const struct office *office, uint64_t now, struct office_view *view);
