// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Declarations that the files of the manager share:
//   manager.c         creation, dispatch of records, poll, views
//   manager_nodes.c   registration, silence and departure of nodes
//   manager_doubt.c   nodes that are in doubt, and events that are possibly published twice
//   manager_adopt.c   events that builders hold and that this manager did not grant
//   manager_assign.c  the indices of events, where readout nodes share their source
//   manager_events.c  the steps of an event from its grant to its release
//   manager_publishers.c  which builder has published an event
//   manager_run.c     run control
//   manager_sched.c   creation of the scheduler
#pragma once

#include "cluster/manager.h"
#include "cluster/on_wire.h"
#include "packet/placement.h"

#define GRANTS_MOST 64u // grants in one poll

enum entry_state {
	ENTRY_NONE,
	ENTRY_GRANTED,
	ENTRY_SETTLED, // the manager has sent PUBLISH
};

// The manager's record of one token of a builder.
struct entry {
	uint64_t event;
	uint64_t bytes;
	uint64_t granted_ns; // 0: adopted
	uint32_t generation;
	uint32_t rate_kbps;
	uint16_t attempt;
	uint16_t n_missing; // sources without data; valid in ENTRY_SETTLED
	uint8_t state;      // enum entry_state
	uint8_t outcome;    // enum ctrl_outcome
};

struct manager_builder {
	struct entry *entries;      // indexed by token
	uint32_t n;                 // number of entries
	uint32_t n_settled;         // entries in ENTRY_SETTLED
	uint32_t slots;             // as the builder reports
	uint32_t n_reported;        // events that it has reported since its node has registered
	struct placement placement; // as the builder reports
	bool suspended; // it gets no new grants; it retains its events while its node is in doubt
	bool reporting; // its node has registered; the builder has not yet reported all its events
};

struct manager_node {
	bool registered;
	bool welcome_due; // it registered before the scheduler existed
	bool lost;        // it is silent
	bool left;        // it sent BYE
	bool operator_excluded;
	bool exclude_due;        // the operator's exclusion waits until manager_is_ready()
	bool commanded;          // this manager has executed an exclude or include of it
	uint64_t in_doubt_until; // end of the time in doubt; 0: the node is not in doubt
	uint64_t registrations;
	// For events from this one on, the node's process knows whether its builders have published
	// them. Earlier events were built by an earlier process of the node.
	uint64_t known_from;
	enum ctrl_run_state state;
	uint32_t slots_free;
	// Static mode: its last heartbeats, since all sources have ended, that reported no event.
	uint32_t idle_beats;
	// The values that were sent to the node last
	uint64_t release_sent;
	int throttle_sent; // -1: not known
	// The node as a source
	uint32_t run;      // its run when it registered
	bool stated;       // it has reported its run state
	uint64_t released; // as it reported when it registered
	uint64_t end;      // as announced
	bool ended;        // the source ends before event `end`
	// Where the readout nodes share their source: the number of events that the node's process
	// has announced, and of those that have an index.
	uint64_t offered, assigned;
	bool begun;   // the first event that it sends is fixed
	bool resumes; // it still has the events that its process before announced
	bool source_excluded;
	uint64_t source_from; // the first event that its sources have
	uint64_t absent_at;   // time from which builders do not wait for it; 0: none is set
	// From the time repeat_at on, the grants up to the time repeat_until are repeated for this
	// node: those of the builders from repeat_from to before repeat_end, and for builder
	// repeat_from those of the tokens from repeat_token on.
	uint64_t repeat_at, repeat_until;
	unsigned repeat_from, repeat_end;
	uint32_t repeat_token;
};

// An event that a builder reported in ADOPT.
struct adopted {
	struct ctrl_held held;
	uint16_t builder; // system-wide
	bool has_done;
	struct ctrl_done done;
};

struct cluster_manager {
	struct cluster_manager_parameters parameters;
	const struct cluster_system *cluster;
	struct cluster_readouts readouts;
	struct on_wire on_wire; // the bytes on the link, which the scheduler counts
	struct sched *sched;    // NULL until the nodes are known
	struct manager_node *nodes;
	struct manager_builder *builders; // indexed by system-wide number
	struct adopted *adopted;          // stored until all builders have reported
	unsigned n_adopted, adopted_size;
	// Events that are possibly published, each as event + 1 at index event modulo
	// n_maybe_published, which is a power of two.
	uint64_t *maybe_published;
	uint64_t n_maybe_published;
	// The builders of finished events: (event + 1) << 16 | builder or CTRL_UNPUBLISHED, at
	// index event modulo n_publishers, a power of two; 0: none. NULL: nobody wants to know.
	uint64_t *publishers;
	uint64_t n_publishers;
	uint64_t first_event;      // of the scheduler
	bool resumed;              // the run is that of an earlier manager
	uint64_t first_registered; // time of the first registration
	bool any_registered;       // a node has registered
	bool adopting;             // the builders still report; there are no grants yet
	uint64_t adopting_since;
	bool command_start;   // the run is to start once all nodes are registered
	uint32_t request;     // number of the latest run command
	uint64_t quiet_since; // static mode: time at which all sources had ended; 0: not yet
	enum ctrl_run_state state;
	uint32_t run; // 0: none
	uint64_t end;
	uint16_t waits;      // for silent sources: begun + ended
	uint64_t next_index; // of an event, where the readout nodes share their source
	struct cluster_manager_view view;
};

// manager.c
void manager_send(struct cluster_manager *manager, unsigned node, const void *record, size_t size);
bool manager_is_static(const struct cluster_manager *manager);
// Whether a record for all nodes is sent to this node: it is registered and not lost.
bool manager_is_target(const struct cluster_manager *manager, unsigned node);
// Whether the scheduler exists and all builders have reported the events that they hold.
bool manager_is_ready(const struct cluster_manager *manager);

// manager_nodes.c
void manager_register(struct cluster_manager *manager, unsigned from,
		      const struct ctrl_record *record, uint64_t now);
void manager_announced(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record, uint64_t now);
void manager_heartbeat(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record, uint64_t now);
void manager_bye(struct cluster_manager *manager, unsigned from, uint64_t now);
// Sends WELCOME and the present state of the run.
void manager_welcome(struct cluster_manager *manager, unsigned node, uint64_t now);
// Whether all nodes are registered, except those that the operator has excluded and, with `or_due`,
// those whose exclusion is due.
bool manager_all_registered(const struct cluster_manager *manager, bool or_due);
// Includes the node's source in the scheduler, or excludes it.
void manager_sync_source(struct cluster_manager *manager, unsigned node, uint64_t now);
// Reports to a node with builders in which events the sources of which nodes do not take part.
void manager_send_sources(struct cluster_manager *manager, unsigned to);
// Reports the sources that have been silent for in_doubt_ns to the nodes with builders.
void manager_end_silence(struct cluster_manager *manager, uint64_t now);
// Notes whether grants wait for a silent source; false unless waits_for_sources is set.
bool manager_waits_for_source(struct cluster_manager *manager);
void manager_send_member(struct cluster_manager *manager, unsigned node, enum ctrl_type type,
			 enum ctrl_reason reason);

// manager_doubt.c
bool manager_make_maybe_published(struct cluster_manager *manager);
// Whether a builder may have published an unfinished event before.
bool manager_maybe_published(const struct cluster_manager *manager, uint64_t event);
// Marks the events that builders may have published under an earlier manager although no running
// process can report it: they are possibly published.
void manager_mark_unreported(struct cluster_manager *manager);
// Whether a builder of the node has not yet reported all events that it holds.
bool manager_is_reporting(const struct cluster_manager *manager, unsigned node);
// The builders of a node get no new grants. Their events are granted to other builders: at once,
// except those in doubt, which wait until the time in doubt ends.
void manager_suspend(struct cluster_manager *manager, unsigned node, uint64_t now);
// Grants the events of the node's suspended builders to other builders. Events below `known_from`
// that were ordered to be published are marked as possibly published; for the others it is known.
void manager_expel_suspended(struct cluster_manager *manager, unsigned node, uint64_t known_from,
			     uint64_t now);
// Frames arrive from the node again in the same session: its builders continue with their events.
void manager_end_suspension(struct cluster_manager *manager, unsigned node, uint64_t now);
// Sends EXCLUDE with the reason SILENT to a node that was registered, behind the records that wait
// for it. The node then registers again.
void manager_exclude_silent(struct cluster_manager *manager, unsigned node);
// Includes a builder in the scheduler and registers it there.
void manager_enter(struct cluster_manager *manager, unsigned builder, uint64_t now);
// A builder has reported all events that it holds: it may get grants.
void manager_readmit(struct cluster_manager *manager, unsigned builder, uint64_t now);
// Ends the time in doubt of each node for which it is over.
void manager_end_in_doubt(struct cluster_manager *manager, uint64_t now);

// manager_adopt.c
void manager_adopt(struct cluster_manager *manager, unsigned from, const struct ctrl_record *record,
		   uint64_t now);
// Stores a DONE that arrives before all builders have reported the events that they hold.
void manager_store_done(struct cluster_manager *manager, unsigned from,
			const struct ctrl_done *done);
// Drops the events that a builder has reported so far, except the published ones, which count.
void manager_drop_adopted(struct cluster_manager *manager, unsigned builder, uint64_t now);
// Creates the scheduler once the nodes have registered.
void manager_begin(struct cluster_manager *manager, uint64_t now);
// Starts the scheduler once the builders have reported the events that they hold.
void manager_end_adoption(struct cluster_manager *manager, uint64_t now);

// manager_assign.c
// Handles an ANNOUNCE where the readout nodes share their source.
void manager_offered(struct cluster_manager *manager, unsigned from,
		     const struct ctrl_announce *announce, uint64_t now);
// Whether a node that shares its source has events without an index, or may have them when it is
// back: what its dead process did not send waits for the next one.
bool manager_may_have_more(const struct cluster_manager *manager, unsigned node);
// A manager that has just started announces the events that an earlier one has given an index.
void manager_adopt_indices(struct cluster_manager *manager, uint64_t now);
// Gives the events of all nodes their indices.
void manager_assign(struct cluster_manager *manager, uint64_t now);

// manager_sched.c
// NULL if memory ran out.
struct sched *manager_make_sched(const struct cluster_manager *manager, uint64_t first_event);

// manager_publishers.c
bool manager_make_publishers(struct cluster_manager *manager);
// An event is finished: `builder` has published it, or, CTRL_UNPUBLISHED, nobody will.
void manager_remember(struct cluster_manager *manager, uint64_t event, unsigned builder);

// manager_events.c
struct entry *manager_entry(struct cluster_manager *manager, unsigned builder, uint32_t token);
void manager_send_step(struct cluster_manager *manager, unsigned builder, uint32_t token,
		       const struct entry *entry, enum ctrl_step step);
void manager_grant(struct cluster_manager *manager, uint64_t now);
// Takes an event away from its builder, unless the builder has been ordered to publish it; the
// event will be granted again.
void manager_take_back(struct cluster_manager *manager, unsigned builder, uint32_t token,
		       uint64_t now);
// Orders that the present grants are sent to a readout node again after `delay_ns`, unless their
// events are built by then: the node may not have received them, or the data that it sent for them
// is lost.
void manager_repeat_for(struct cluster_manager *manager, unsigned node, uint64_t now,
			uint64_t delay_ns);
void manager_repeat(struct cluster_manager *manager, uint64_t now);
void manager_done(struct cluster_manager *manager, unsigned node, const struct ctrl_done *done,
		  uint64_t now);
void manager_published(struct cluster_manager *manager, unsigned node,
		       const struct ctrl_progress *progress, uint64_t now);
// Send RELEASE to a node, or to all: events below are finished. Readouts free their data, builders
// drop their records of them.
void manager_send_release(struct cluster_manager *manager, unsigned node);
void manager_release(struct cluster_manager *manager);

// manager_run.c
// Sends the state of the run to a node that has registered.
void manager_bring_into_line(struct cluster_manager *manager, unsigned node);
// Handles a node's report of its run state.
void manager_run_state(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record);
// Brings all nodes into the run state that the manager has learned from the nodes' reports.
void manager_take_over(struct cluster_manager *manager);
// Starts the run once all nodes are registered, and ends it once all events are built.
void manager_lead(struct cluster_manager *manager, uint64_t now);
void manager_throttle(struct cluster_manager *manager);
// Executes the operator's exclusions that had to wait until manager_is_ready().
void manager_exclude_due(struct cluster_manager *manager, uint64_t now);
