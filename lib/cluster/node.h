// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What every node of a cluster does in the control protocol: it registers with the manager, keeps
// the tokens of its builders, says what its readouts have, and passes grants on. See cluster.h.
//
// Threads: one, the control role's. cluster_node_view() may be called by others at any time.
#pragma once

#include "cluster/cluster.h"
#include "packet/message.h"
#include "packet/placement.h"

struct cluster_node;

struct cluster_node_parameters {
	struct cluster_parameters cluster;
	unsigned n_readouts;                // local
	const struct placement *placements; // of its builders; NULL: none by RDMA
	struct cluster_transport transport;
	void *context;
	// Messages to a local builder or readout; false if it has no room: the node comes again. A
	// builder's mailbox has room for 4 messages a slot.
	bool (*to_builder)(void *context, unsigned builder, const struct message *message);
	bool (*to_readout)(void *context, unsigned readout, const struct message *message);
	// To the builders' port, which reads what is offered; NULL: nothing is read. What it has no
	// room for is not read.
	bool (*to_port)(void *context, const struct message *message);
};

// For telemetry; each a relaxed snapshot.
struct cluster_node_view {
	enum ctrl_run_state state;
	uint32_t run;
	bool registered;
	bool excluded;
	uint64_t announced; // events below: there
	uint64_t released;  // events below: finished
	uint64_t grants;    // received, for own builders
	uint64_t sends;     // grants and requests for own readouts
	uint64_t requests;  // sent (pull)
	uint64_t built;     // DONE said
	uint64_t published;
	uint64_t withdrawn; // events that were built or begun here and given up
	uint64_t unknown;   // records and messages that name what is not, or no longer, here
	uint64_t throttled; // times that the manager said stop
	uint32_t tokens_free;
	uint32_t tokens_used;
};

// NULL if memory ran out.
struct cluster_node *cluster_node_create(const struct cluster_node_parameters *parameters);
void cluster_node_destroy(struct cluster_node *node);

// A record from a node; from oneself too.
void cluster_node_record(struct cluster_node *node, unsigned from, const struct ctrl_record *record,
			 uint64_t now);

// Something happened to a peer. For oneself: CONTROL_CONNECTED, once, before anything else.
void cluster_node_event(struct cluster_node *node, unsigned peer, enum control_event event);

// A message of a local builder or readout.
void cluster_node_builder_message(struct cluster_node *node, unsigned builder,
				  const struct message *message);
void cluster_node_readout_message(struct cluster_node *node, unsigned readout,
				  const struct message *message);

// To be called often: sends credits, announcements and requests.
void cluster_node_poll(struct cluster_node *node, uint64_t now);

// This node goes: what its builders hold unpublished is given up, what they were told to publish is
// published, and then the manager is told. It is to be polled until that has been done.
void cluster_node_leave(struct cluster_node *node);
bool cluster_node_left(const struct cluster_node *node);

// Whether the run has been stopped by the manager, or refused this node: *why (may be NULL) is then
// one line, NULL after a stop in order.
bool cluster_node_ended(const struct cluster_node *node, const char **why);

void cluster_node_view(const struct cluster_node *node, struct cluster_node_view *view);
