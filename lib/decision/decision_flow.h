// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Carries the decisions of consumers from the nodes with builders to the node that writes the
// results of the system:
//
//   results node  RESULTS   ->  builder nodes, manager   what is written, and what may be sent
//   builder node  DECISIONS ->  results node             each decision until it is written
//   manager       EVENTS    ->  results node             which builder has published which event
//
// A sender has at most as many decisions in flight as RESULTS allows, so that the results node
// always has room for them. It sends again from the oldest decision that is not written when a new
// session with the results node begins: one of the two processes was replaced, or was cut off for
// too long. The results node recognises what it has by the event id. Records of the flow are sent
// only if the endpoint can send them at once, so that other records never wait behind them in its
// queue.
//
// Where the manager is elected, another node may take over. The results node accepts EVENTS from
// the manager that it follows only, and names its epoch in RESULTS. A manager begins with the first
// RESULTS of its own epoch, so that it continues behind the last event that the one before it has
// reported.
//
// The manager reports each event once its fate is final (sched_released()), in the order of events
// and without gaps, so that the results node knows for which events it has to wait, and which do
// not exist. In mode static nobody knows that, nor for results by the events of an earlier stage.
//
// Pure logic, as that of node.h. Threads: that of the control role; queues as in
// packet/decision_queue.h.
#pragma once

#include "cluster/cluster.h"
#include "cluster/manager.h"
#include "packet/decision_queue.h"

// Time for which a node that ends waits for a results node that is not there.
#define DECISION_FLOW_PATIENCE_NS 5000000000ull

struct decision_flow;

struct decision_flow_parameters {
	const struct cluster_system *system; // outlives the flow
	struct cluster_transport transport;
	bool granted; // mode push or pull
	uint32_t run; // number of the only run of this process, not 0
	// By index of the results; NULL: this node sends none; it is not the results node.
	struct decision_outbox *outboxes[EVB_MAX_RESULTS];
	struct decision_inbox *inboxes[EVB_MAX_RESULTS];
};

// Of one of the system's results, for telemetry.
struct decision_flow_view {
	uint64_t sent;       // decisions, each time that they were sent
	uint64_t sent_again; // of them
	uint64_t refused;    // that RESULTS did not allow, or of a builder that does not exist
};

// NULL if memory ran out.
struct decision_flow *decision_flow_create(const struct decision_flow_parameters *parameters);
void decision_flow_destroy(struct decision_flow *flow);

// Which node is the event manager, CLUSTER_NONE: none is in office yet, and in which epoch, 0: it
// is not elected. `here`: the manager itself, if it is on this node; else NULL. To be called before
// each poll.
void decision_flow_follow(struct decision_flow *flow, unsigned manager, uint32_t epoch,
			  const struct cluster_manager *here);

// Handles a record, which may be this node's own. False: it is of another type.
bool decision_flow_record(struct decision_flow *flow, unsigned from,
			  const struct ctrl_record *record);

// Handles an event of the connection to a node.
void decision_flow_event(struct decision_flow *flow, unsigned peer, enum control_event event);

// Sends what is due. `is_over`: the manager has stopped the run.
void decision_flow_poll(struct decision_flow *flow, bool is_over, uint64_t now);

// Whether this node has nothing more to send, or nobody to send it to. To be asked when the results
// roles of the node have drained.
bool decision_flow_is_done(const struct decision_flow *flow);

void decision_flow_view(const struct decision_flow *flow, unsigned results,
			struct decision_flow_view *view);
