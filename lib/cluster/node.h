// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The logic of one node in the control protocol: it registers with the manager, manages the tokens
// of its builders, announces the events that its readouts have, and passes grants to its builders
// and readouts. Every node of a cluster runs it. See cluster.h.
//
// Threads: one, that of the control role.
#pragma once

#include "cluster/cluster.h"
#include "cluster/latency.h"
#include "election/election.h"
#include "packet/message.h"
#include "packet/placement.h"

struct cluster_node;

struct cluster_node_parameters {
	struct cluster_parameters cluster;
	unsigned n_readouts; // readouts of this node
	bool takes_shared;   // shared frames of the endpoint reach the node
	bool resumes; // the readouts have what an earlier process announced: block_store.resumes
	const struct placement *placements; // of the node's builders; NULL: no RDMA WRITE
	uint64_t
	    link_rate; // of the builders' port, bits/s, to be reported to the manager; 0: unknown
	struct cluster_transport transport;
	bool excluded; // by the operator, as an order in the run before said
	// The heartbeat timeout: lease of the node's vote, where the event manager is elected, and,
	// less 6 %, time after a frame that the manager has received for which permissions to
	// publish can be used.
	uint64_t lease_ns;
	uint64_t now;
	void *context;
	// Send a message to a builder or readout of this node. They return false if its mailbox is
	// full. The node then tries again for a readout; a builder's mailbox must have room for 4
	// messages per slot and one per node, which is enough for all messages. MESSAGE_AWAIT and
	// MESSAGE_SOURCES are tried again.
	bool (*to_builder)(void *context, unsigned builder, const struct message *message);
	bool (*to_readout)(void *context, unsigned readout, const struct message *message);
	// Orders the builders' port to read (RDMA READ) a block that a source offers. It returns
	// false if the port's mailbox is full; the block is then not read. NULL: no RDMA READ.
	bool (*to_port)(void *context, const struct message *message);
};

// The last of some commands to this node: RUN_COMMAND, EXCLUDE and INCLUDE.
struct cluster_node_command {
	uint64_t n;      // commands so far
	const char *why; // the reason of a refusal, a constant; NULL: obeyed
	uint32_t run;    // that it names; 0: none
	uint16_t from;   // node
	uint8_t type;    // enum ctrl_type
	uint8_t command; // enum ctrl_command; 0: the type is not RUN_COMMAND
};

// Values for telemetry.
struct cluster_node_view {
	enum ctrl_run_state state;
	uint32_t run;
	bool registered;
	bool excluded;
	uint64_t announced; // the node's readouts have all events below this one
	uint64_t released;  // all events below this one are finished
	uint64_t grants;    // grants received for the node's builders
	uint64_t sends;     // grants and requests passed to the node's readouts
	uint64_t requests;  // requests sent to readouts
	uint64_t built;     // events that builders of the node have built
	uint64_t published; // events that builders of the node have published
	uint64_t withdrawn; // granted or built events that were given up
	uint64_t unknown; // records and messages that name an event or slot not, or no longer, here
	uint64_t other_run;   // records of another run than the node's, which had no effect
	uint64_t throttled;   // THROTTLE records that stopped the sources
	uint64_t take_overs;  // times that the node has begun to follow a manager in a new epoch
	uint64_t followed_at; // ns: time from which it follows that manager, 0: none yet
	uint32_t epoch;       // of the manager, where it is elected
	uint16_t manager;     // node; CLUSTER_NONE: none has been elected yet
	uint32_t tokens_free;
	uint32_t tokens_used;
	struct cluster_node_command obeyed, refused;
};

// Returns NULL if memory ran out.
struct cluster_node *cluster_node_create(const struct cluster_node_parameters *parameters);
void cluster_node_destroy(struct cluster_node *node);

// Handles a record from a node, which may be this node itself.
void cluster_node_record(struct cluster_node *node, unsigned from, const struct ctrl_record *record,
			 uint64_t now);

// Handles an event of the connection to a node. For this node itself the caller reports
// CONTROL_CONNECTED once, before it calls any other of these functions.
void cluster_node_event(struct cluster_node *node, unsigned peer, enum control_event event);

// Handle a message from a builder or readout of this node.
void cluster_node_builder_message(struct cluster_node *node, unsigned builder,
				  const struct message *message, uint64_t now);
void cluster_node_readout_message(struct cluster_node *node, unsigned readout,
				  const struct message *message, uint64_t now);

// Sends credits, announcements and requests. The caller calls this in every turn of its loop.
void cluster_node_poll(struct cluster_node *node, uint64_t now);

// The node that this one follows as event manager, or CLUSTER_NONE.
unsigned cluster_node_manager(const struct cluster_node *node);
// Its epoch, where it is elected; else 0.
uint32_t cluster_node_epoch(const struct cluster_node *node);

// Where the event manager is elected. Follows a manager in office, unless this node has followed
// one of the same or a higher epoch.
void cluster_node_follow(struct cluster_node *node, unsigned manager, uint32_t epoch);
// The vote of this node.
struct vote *cluster_node_vote(struct cluster_node *node);
// Whether the node has granted a request for its vote since the last call: *to is due a heartbeat.
bool cluster_node_has_voted(struct cluster_node *node, unsigned *to);

// Begins to leave the cluster. Events that are about to be published still are, all other events of
// the builders are given up; then BYE is sent. The caller goes on polling until cluster_node_left()
// returns true.
void cluster_node_leave(struct cluster_node *node);
bool cluster_node_left(const struct cluster_node *node);

// Whether the manager has stopped the run or refused this node. *why (`why` may be NULL) is then
// the reason of the refusal as one line, or NULL after a stop.
bool cluster_node_ended(const struct cluster_node *node, const char **why);

// The run for which the process is to prepare next. Only after cluster_node_ended(). 0: for none,
// the process ends.
uint32_t cluster_node_next_run(const struct cluster_node *node);

// Where a process serves several runs, data is accepted only in a run. Whether it is accepted now:
// the manager has ordered to configure the run or to start it, and has not stopped it.
bool cluster_node_accepts_data(const struct cluster_node *node);
// What arrived before that order is dropped, and what arrives from now on is accepted. The manager
// starts the run when all nodes have reported this.
void cluster_node_opened(struct cluster_node *node);

void cluster_node_view(const struct cluster_node *node, struct cluster_node_view *view);

// What the node measures. Any thread.
const struct cluster_latency *cluster_node_latency(const struct cluster_node *node);

// The state of the node as its heartbeats report it, without the time and the ports.
struct ctrl_heartbeat cluster_node_heartbeat(const struct cluster_node *node);
