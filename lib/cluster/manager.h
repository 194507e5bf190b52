// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the event manager's node does: it admits nodes, feeds the scheduler (lib/sched) with what
// they say, hands out its grants, settles what is built, and leads the run. See cluster.h.
//
// A node that falls silent, or begins anew, gets nothing new. The unfinished events of its builders
// are granted to others, except while one of them is in doubt: told to publish, and no answer yet.
// Then all wait until the node is heard again, or has said what it holds, or IN_DOUBT_NS have
// passed. A node that was silent registers anew, and says what it holds. What is granted again
// though its builder may have published it is told to consumers (EVB_EVENT_REPEATED).
//
// A manager that starts lets nodes register until all are there, or, where a run goes on that
// another has led, until SETTLE_NS after the first: only then it makes its scheduler, from what
// they hold and know as released. So a restarted manager goes on where the last one was. Nodes that
// the operator has excluded say so.
//
// Threads: one, the control role's. cluster_manager_view() and the scheduler's views may be read
// by others at any time.
#pragma once

#include "cluster/cluster.h"
#include "cluster/on_wire.h"

#define CLUSTER_IN_DOUBT_NS 5000000000ull
#define CLUSTER_SETTLE_NS   5000000000ull
#define CLUSTER_ERROR_SIZE  256

struct cluster_manager;

struct cluster_manager_parameters {
	struct cluster_parameters cluster;
	struct on_wire_parameters wire; // for the bytes that the scheduler counts
	// Without what the manager itself fills in: mode, shaping, parallel_sends, builders,
	// numbers of builders and sources, first event, unfinished.
	struct sched_parameters sched;
	uint64_t window;        // bytes in flight to one builder's port, 0: not limited
	uint64_t deadline_ns;   // longest wait of a builder for the data of an event
	uint32_t run_number;    // 0: 1 is used
	unsigned data_priority; // 802.1p, of the data
	bool waits_for_sources; // no grants while a source is silent; else events go on without it
	struct cluster_transport transport;
	bool autostart; // the run starts when all nodes are there
	uint64_t now;
};

struct cluster_manager_view {
	enum ctrl_run_state state;
	uint32_t run;
	unsigned n_nodes, n_registered; // and are heard of
	uint64_t released;
	uint64_t announced;
	uint64_t outstanding;
	uint64_t waiting;
	uint64_t end;                             // of the run, once it drains; UINT64_MAX before
	uint64_t complete, incomplete, discarded; // events, as builders say
	uint64_t missing;                         // sources, of incomplete events
	uint64_t repeated;    // of complete and incomplete: may have been handed out before
	uint64_t in_doubt;    // builders whose events wait
	uint64_t excluded;    // times that a node was
	uint64_t stale;       // records of attempts that no longer count
	uint64_t grants_held; // polls that could grant nothing because a node takes no records
	uint32_t level;       // sched_level()
	bool throttled;
};

struct cluster_node_state {
	bool registered;
	bool lost;
	bool excluded; // by the operator
	uint64_t slots_free;
	enum ctrl_run_state state;
};

// NULL if memory ran out, or the scheduler cannot be made: one line in error[CLUSTER_ERROR_SIZE].
struct cluster_manager *cluster_manager_create(const struct cluster_manager_parameters *parameters,
					       char *error);
void cluster_manager_destroy(struct cluster_manager *manager);

// A record from a node, oneself included, and what happened to a peer.
void cluster_manager_record(struct cluster_manager *manager, unsigned from,
			    const struct ctrl_record *record, uint64_t now);
void cluster_manager_event(struct cluster_manager *manager, unsigned peer, enum control_event event,
			   uint64_t now);

// To be called often.
void cluster_manager_poll(struct cluster_manager *manager, uint64_t now);

enum cluster_command {
	CLUSTER_START,
	CLUSTER_PAUSE,
	CLUSTER_RESUME,
	CLUSTER_DRAIN, // builds what the sources have, then stops
	CLUSTER_STOP,  // at once
	CLUSTER_EXCLUDE,
	CLUSTER_INCLUDE,
};

// Run control. `node` is for exclude and include. Returns 0, or -1 with one line in
// error[CLUSTER_ERROR_SIZE] that says why not.
int cluster_manager_command(struct cluster_manager *manager, enum cluster_command command,
			    unsigned node, uint64_t now, char *error);

void cluster_manager_view(const struct cluster_manager *manager, struct cluster_manager_view *view);
void cluster_manager_node(const struct cluster_manager *manager, unsigned node,
			  struct cluster_node_state *state);
// NULL until nodes have registered.
const struct sched *cluster_manager_sched(const struct cluster_manager *manager);
