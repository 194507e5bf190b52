// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Declarations that the files of the flow share: decision_flow.c (creation, connections),
// decision_send.c (builder nodes and manager), decision_receive.c (results node).
#pragma once

#include "decision/decision_flow.h"

// A node from the point of view of the results node.
struct flow_peer {
	bool sends;               // it has builders
	bool reports;             // it is the manager
	bool ended;               // it has sent its last decision
	uint64_t arrived;         // decisions since this process started
	uint64_t arrived_before;  // of them before this session
	struct ctrl_results told; // the last RESULTS
	uint64_t told_at;         // 0: none in this session
};

struct flow_stream {
	const struct cluster_system_results *results;
	struct decision_outbox *outbox; // NULL: this node does not send
	struct decision_inbox *inbox;   // NULL: this is not the results node
	// On the results node
	struct flow_peer *peers; // [n_nodes]
	uint64_t share;          // decisions that each node may have in flight
	bool last_event;         // the manager has reported all events
	unsigned next_told;      // node to which the next poll may send first
	// On the other nodes: the last RESULTS of the session
	struct ctrl_results allowed;
	bool has_allowed;
	// On a node with builders
	uint64_t next;       // decision to be sent next
	uint64_t in_session; // decisions sent in this session
	uint64_t most;       // highest `next` so far
	bool last_sent;
	// On the manager's node
	uint64_t reported;                           // first event that is not reported
	uint64_t written;                            // by any process of the results node
	bool served;                                 // a process of the results node has begun
	bool first_sent, confirmed, last_event_sent; // in this session, and by this manager
	bool in_term; // RESULTS has come from a node that follows this manager
	struct decision_flow_view view;
};

struct decision_flow {
	struct decision_flow_parameters parameters;
	unsigned self;
	unsigned leader;                       // node of the event manager, or CLUSTER_NONE
	uint32_t epoch;                        // in which it is in office, 0: it is not elected
	const struct cluster_manager *manager; // NULL: on another node
	bool run_is_over;
	// By node of the system
	bool *up;             // the node is in session, and not silent
	uint64_t *down_since; // 0: it is up
	bool watches;         // there has been a poll at a time above 0
	bool changed;         // `up` has, since the last poll
	uint64_t now;
	struct flow_stream streams[EVB_MAX_RESULTS];
	unsigned n;
};

// Whether nobody waits for the node any more.
static inline bool flow_is_gone(const struct decision_flow *flow, unsigned node)
{
	return flow->down_since[node] != 0 &&
	       flow->now - flow->down_since[node] > DECISION_FLOW_PATIENCE_NS;
}

// Whether the manager tells which events there are. It does not know those of an earlier stage.
static inline bool flow_is_told(const struct decision_flow *flow, const struct flow_stream *stream)
{
	return flow->parameters.granted && stream->results->origin_packing == 0;
}

// decision_send.c
void flow_begin_sending(struct flow_stream *stream);
// Another manager begins, or the same one a new term.
void flow_begin_reporting(struct flow_stream *stream);
void flow_allowed(const struct decision_flow *flow, struct flow_stream *stream,
		  const struct ctrl_results *results);
void flow_send_decisions(struct decision_flow *flow, struct flow_stream *stream);
void flow_send_events(struct decision_flow *flow, struct flow_stream *stream);

// decision_receive.c
bool flow_make_peers(struct decision_flow *flow, struct flow_stream *stream);
void flow_begin_receiving(struct flow_stream *stream, unsigned peer);
// Another node reports the events, or the same one in a new term.
void flow_follow_reporter(const struct decision_flow *flow, struct flow_stream *stream);
void flow_take_decisions(struct decision_flow *flow, struct flow_stream *stream, unsigned from,
			 const struct ctrl_decisions *decisions);
void flow_take_events(struct decision_flow *flow, struct flow_stream *stream, unsigned from,
		      const struct ctrl_events *events);
void flow_send_results(struct decision_flow *flow, struct flow_stream *stream, uint64_t now);
// Whether all nodes that are up have received the final RESULTS.
bool flow_all_told(const struct decision_flow *flow, const struct flow_stream *stream);
