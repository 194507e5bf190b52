// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The event manager. It admits nodes to the run, passes their reports to the scheduler (lib/sched),
// sends the scheduler's grants to the nodes, decides for each built event whether it is published,
// and controls the run. See cluster.h.
//
// A node that falls silent gets no new grants. Its builders' unfinished events wait for it, for
// in_doubt_ns, and are then granted to other builders. When its process restarts or leaves, they
// are granted to other builders at once, except those that are in doubt: a builder of the node is
// permitted to publish the event, or the manager has ordered it (PUBLISH), and the builder has not
// reported that it has. These wait until the node reports the events that it holds, or in_doubt_ns
// pass. Meanwhile the other builders go on, as long as sources have room. A node that was silent
// for longer registers again and reports the events that it holds. If an event is granted again
// although a builder may have published it, consumers see EVB_EVENT_REPEATED.
//
// Permission to publish. With its grant a builder gets the permission to publish an event without
// asking (CTRL_PERMITTED), unless another builder may have published the event. It publishes the
// event when it is built, and reports both with one record (BUILT with CTRL_ALREADY_PUBLISHED).
// Invariant: at most one builder at a time may publish an event without EVB_EVENT_REPEATED.
//   - A permission ends when the manager receives one of these from the builder: it has published
//     the event, cannot build it, or holds it and asks (BUILT, DONE); it has obeyed WITHDRAW (DONE
//     with CTRL_UNBUILT); it reports all that it holds (ADOPT), since a node ends its permissions
//     when it registers; it leaves (BYE). Until then the event is not granted again.
//   - If in_doubt_ns pass first, or the process of the builder is gone, the event is marked as
//     possibly published. It then needs PUBLISH, which carries CTRL_REPEATED, in all later grants,
//     and under a later manager, too (manager_mark_unreported()).
//   - Events that a manager adopts have no permission.
// The invariant does not depend on time. A lease limits what is published twice with the flag: a
// node uses permissions only for as long after a frame which the manager has received as the
// manager cannot regard it as silent. After that it asks. So a builder that the manager does not
// hear publishes no event that others build.
//
// A source that falls silent is left out of new events, unless waits_for_sources is set. After
// in_doubt_ns builders do not wait for its data any more, and at once if the node has left, was
// excluded by the operator or restarts. Events that lack only such sources do not wait.
//
// When a manager starts, it lets the nodes register until all are registered. If a run of an
// earlier manager process continues, it waits at most CLUSTER_SETTLE_NS after the first
// registration; a standby that takes over knows which nodes are silent, and waits only for the
// others. Then it creates its scheduler from the events that the nodes hold and the events that
// they know as released. So a restarted manager continues the run of its predecessor. A node that
// the operator has excluded reports this when it registers.
//
// Threads: one, that of the control role, which publishes the views for other threads
// (node/control_role.h).
#pragma once

#include "cluster/cluster.h"
#include "system/on_wire.h"

#define CLUSTER_SETTLE_NS 5000000000ull
// Where processes serve several runs: the time from the registration of the last node to the order
// to accept data. A node registers when its sources have stopped and what they sent has left, so
// that packets of the run before that are still in the network arrive in this time.
#define CLUSTER_FENCE_NS   50000000ull
#define CLUSTER_ERROR_SIZE 256

struct cluster_manager;

struct cluster_manager_parameters {
	struct cluster_parameters cluster;
	struct on_wire_parameters wire; // for the bytes that the scheduler counts
	// The manager itself sets mode, shaping, burst_ns, builders, n_builders,
	// n_sources, first_event and unfinished.
	struct sched_parameters sched;
	uint64_t window;        // bytes in flight to one builder's port; 0: no limit
	uint64_t deadline_ns;   // longest time that a builder waits for the data of an event
	uint64_t in_doubt_ns;   // longest time that events wait for a silent node
	uint32_t run_number;    // 0 means run 1
	unsigned data_priority; // 802.1p priority of the data, 0 to 7
	struct cluster_transport transport;
	bool autostart; // the run starts when all nodes are registered
	// Finished events of which the manager remembers the builder, for results; 0: none. It
	// remembers at least as many unfinished ones beside them.
	uint32_t remembered;
	// Where processes serve several runs: the nodes that the operator excluded in the run
	// before, [n_nodes]; NULL: none. Read at the creation only.
	const bool *excluded;
	// The manager takes over from another one: if a run continues, it does not wait for nodes
	// that are silent. They are reported by CONTROL_LOST.
	bool takes_over;
	uint64_t now;
};

struct cluster_manager_view {
	enum ctrl_run_state state;
	uint32_t run;
	unsigned n_nodes, n_registered; // n_registered: registered and not lost
	uint64_t released;
	uint64_t announced;
	uint64_t outstanding;
	uint64_t waiting;
	uint64_t end;        // the run ends before this event; UINT64_MAX until it drains
	uint64_t complete;   // events that builders published with the data of all sources
	uint64_t incomplete; // events that builders published without the data of some source
	uint64_t discarded;  // events that builders discarded
	uint64_t missing;    // sources that were missing in incomplete events, summed
	uint64_t repeated;   // events of complete and incomplete that were possibly published twice
	uint64_t in_doubt;   // nodes now whose events wait for them
	uint64_t excluded;   // times that a silent node was excluded
	uint64_t stale;      // records about attempts that are no longer valid
	uint64_t grants_held; // polls without grants because the queue to a node was full
	uint32_t level;       // sched_level()
	bool throttled;
};

struct cluster_node_state {
	bool registered;
	bool lost;
	bool process_ended; // it has sent its last will, and no BYE before
	bool excluded;      // the operator has excluded it
	// Of a silent node: events that its builders have, until the time when they are granted to
	// others; 0: none wait.
	uint32_t in_doubt;
	uint64_t in_doubt_until;
	uint64_t heard_at; // its last frame; filled in by the control role
	uint64_t slots_free;
	enum ctrl_run_state state;
};

// Checks the parameters, except `transport`. Returns 0, or -1 with one line in
// error[SCHED_ERROR_SIZE].
int cluster_manager_check(const struct cluster_manager_parameters *parameters, char *error);

// Bytes that the scheduler takes.
uint64_t cluster_manager_sched_memory(const struct cluster_manager_parameters *parameters);

// The parameters have passed cluster_manager_check(). Returns NULL if memory ran out.
struct cluster_manager *cluster_manager_create(const struct cluster_manager_parameters *parameters);
void cluster_manager_destroy(struct cluster_manager *manager);

// Handles a record from a node (also from the manager's own node), or an event of a connection.
void cluster_manager_record(struct cluster_manager *manager, unsigned from,
			    const struct ctrl_record *record, uint64_t now);
void cluster_manager_event(struct cluster_manager *manager, unsigned peer, enum control_event event,
			   uint64_t now);

// Where processes serve several runs: the run for which the manager's process is to prepare,
// because a node is prepared for a later one; 0: it is prepared for the right one.
uint32_t cluster_manager_renumbered(const struct cluster_manager *manager);

// The field `waits` of the heartbeats of the manager's node.
uint16_t cluster_manager_waits(const struct cluster_manager *manager);

// Whether another node than the manager's own has registered since the manager was created.
bool cluster_manager_in_office(const struct cluster_manager *manager);

// The caller calls this in every turn of its loop.
void cluster_manager_poll(struct cluster_manager *manager, uint64_t now);

enum cluster_command {
	CLUSTER_START,
	CLUSTER_PAUSE,
	CLUSTER_RESUME,
	CLUSTER_DRAIN, // builds all events that the sources have announced, then stops
	CLUSTER_STOP,  // stops at once
	CLUSTER_EXCLUDE,
	CLUSTER_INCLUDE,
};

// Executes a command of the operator. Only CLUSTER_EXCLUDE and CLUSTER_INCLUDE use `node`. Returns
// 0, or -1 and the reason as one line in error[CLUSTER_ERROR_SIZE].
int cluster_manager_command(struct cluster_manager *manager, enum cluster_command command,
			    unsigned node, uint64_t now, char *error);

void cluster_manager_view(const struct cluster_manager *manager, struct cluster_manager_view *view);
void cluster_manager_node(const struct cluster_manager *manager, unsigned node,
			  struct cluster_node_state *state);
// For the results of the system (decision_flow.h). Whether events are known: the nodes have
// registered, and builders have reported what they hold. The functions below require it.
bool cluster_manager_knows_events(const struct cluster_manager *manager);
// Whether the run is that of an earlier manager.
bool cluster_manager_resumed(const struct cluster_manager *manager);
// The first event that this manager may grant: 0, or what the nodes know as released; and the one
// below which all are finished.
uint64_t cluster_manager_first(const struct cluster_manager *manager);
uint64_t cluster_manager_released(const struct cluster_manager *manager);
// The builder (system-wide number) that has published a finished event, or CTRL_UNPUBLISHED, or
// CTRL_NOT_KNOWN.
uint16_t cluster_manager_publisher(const struct cluster_manager *manager, uint64_t event);

// NULL until the nodes have registered.
const struct sched *cluster_manager_sched(const struct cluster_manager *manager);
