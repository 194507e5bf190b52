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
//   manager_lists.c   records about several events
//   manager_publishers.c  which builder has published an event
//   manager_run.c     run control
//   manager_sched.c   creation of the scheduler
#pragma once

#include "cluster/manager.h"
#include "packet/placement.h"
#include "sched/phases.h"
#include "system/on_wire.h"

#define GRANTS_MOST        256u // grants in one poll
#define MANAGER_STEPS_MOST 128u // events in one record that orders to publish them

// In the states from ENTRY_PERMITTED on the builder may publish the event.
enum entry_state {
	ENTRY_NONE,
	ENTRY_GRANTED,
	ENTRY_PERMITTED, // granted with the permission to publish, which the builder has not used
			 // or given up, as the manager knows
	ENTRY_RECALLED,  // permitted, and WITHDRAW has been sent: the builder's response is awaited
	ENTRY_SETTLED,   // the manager has sent PUBLISH
};

// The manager's record of one token of a builder.
struct entry {
	uint64_t event;
	uint64_t bytes;
	uint64_t granted_ns; // 0: adopted
	uint32_t generation;
	uint32_t rate_kbps;
	uint16_t attempt;
	uint16_t n_missing; // sources without data; valid once the event is built
	uint8_t state;      // enum entry_state
	uint8_t outcome;    // enum ctrl_outcome
};

// An event that a builder reported in ADOPT.
struct adopted {
	struct ctrl_held held;
	uint16_t builder; // system-wide
	bool has_done;
	struct ctrl_done done;
};

struct manager_builder {
	uint64_t newest_done;    // latest grant of an event that it has built with all sources
	struct entry *entries;   // indexed by token
	uint32_t n;              // number of entries
	uint32_t n_publishable;  // entries whose events the builder may publish
	uint32_t slots;          // as the builder reports
	uint32_t link_mbps;      // of its port, as the builder reports; 0: unknown
	uint32_t n_reported;     // events that it has reported since its node has registered
	struct adopted *adopted; // those of them that are stored until all builders have reported
	unsigned n_adopted, adopted_size;
	struct placement placement;        // as the builder reports
	uint64_t last_bytes, last_on_wire; // on_wire_bytes() of the size of its last event
	bool suspended; // it gets no new grants; it retains its events while its node is in doubt
	bool reporting; // its node has registered; the builder has not yet reported all its events
};

// Grants of open events that are to be sent to a readout node again.
struct repeat {
	uint64_t since, until; // times of the grants
	// They are sent from the time `latest` on; before that, those of a builder once it has
	// completed an event that was granted after `ordered`, or all once no event of these grants
	// has been built for the time `quiet`. All 0: at once.
	uint64_t ordered, latest, quiet;
	// Those of the builders `from` to before `end`, and for builder `from` those of the tokens
	// from `token` on.
	unsigned from, end;
	uint32_t token;
};

struct manager_node {
	bool registered;
	bool welcome_due;   // it registered before the scheduler existed
	bool lost;          // it is silent
	bool left;          // it sent BYE
	bool process_ended; // without BYE, and no other process has registered
	bool operator_excluded;
	bool exclude_due;        // the operator's exclusion waits until manager_is_ready()
	bool commanded;          // this manager has executed an exclude or include of it
	uint64_t in_doubt_until; // end of the time in doubt; 0: the node is not in doubt
	bool takes_lists;        // it has CTRL_LISTS
	bool obeys_permission;   // it has CTRL_OBEYS_PERMISSION, too
	bool takes_shared;       // it has CTRL_MULTICAST
	uint16_t last_grant;     // scratch of manager_lists.c, 0 outside: 1 + that of this poll
	uint64_t registrations;
	// For events from this one on, the node's process knows whether its builders have published
	// them. Earlier events were built by an earlier process of the node.
	uint64_t known_from;
	enum ctrl_run_state state;
	uint32_t opened; // the last request to accept data that it has obeyed
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
	// Grants from this time on were not sent to the node, which was lost or not registered.
	// 0: its session may have received none. UINT64_MAX: all were sent.
	uint64_t missed_from;
	struct repeat missed; // grants that were not sent to it
	struct repeat lacked; // grants that were sent to it before it was silent
	// Of its builders: they lack data if they are not built when these repeats are due, and are
	// then granted to another builder.
	struct repeat retained;
};

struct cluster_manager {
	struct cluster_manager_parameters parameters;
	const struct cluster_system *cluster;
	struct cluster_readouts readouts;
	struct on_wire on_wire; // the bytes on the link, which the scheduler counts
	struct sched *sched;    // NULL until the nodes are known
	struct manager_node *nodes;
	struct manager_builder *builders; // indexed by system-wide number
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
	bool command_start; // the run is to start once all nodes are registered
	// Where processes serve several runs:
	uint64_t last_registered; // time of the last registration
	uint32_t configured;      // request that ordered to accept data; 0: none since then
	uint32_t renumbered;      // cluster_manager_renumbered()
	uint32_t request;         // number of the latest run command
	// Of the grants before built_until, which silent nodes may have received, the last one was
	// built at built_at.
	uint64_t built_until, built_at;
	uint64_t quiet_since; // static mode: time at which all sources had ended; 0: not yet
	enum ctrl_run_state state;
	uint32_t run; // 0: none
	uint64_t end;
	uint16_t waits;      // for silent sources: begun + ended
	uint64_t next_index; // of an event, where the readout nodes share their source
	// A poll visits all nodes only where something may have changed.
	uint32_t changes;  // incremented when a node comes, goes, or begins as a source
	bool any_in_doubt; // of a node in_doubt_until may be set; so may absent_at, and a repeat
	bool any_absent, any_repeat;
	bool lacks_source;     // as of lack_changes; so are the next for theirs
	uint64_t release_sent; // to all targets
	bool throttle_sent;    // to all targets
	uint32_t lack_changes, release_changes, throttle_changes; // `changes` when they were noted
	struct sched_phases phases;                               // by rank of the readout node
	bool has_phase; // PHASE has been sent to all targets, with this value
	uint32_t phase;
	unsigned not_ended;   // rank of a readout that had not ended when it was looked at
	unsigned repeat_next; // the node with which the next poll begins to repeat
	struct cluster_manager_view view;
	uint16_t *targets; // scratch of manager_send_readouts()
	// By system-wide number of the builder: its position in each round, see ctrl_grants.
	uint16_t positions[EVB_MAX_SYSTEM_BUILDERS];
};

// The grants of a poll.
struct manager_grants {
	struct sched_grant grants[GRANTS_MOST];
	const struct entry *entries[GRANTS_MOST];
	unsigned n;
	uint16_t next[GRANTS_MOST]; // the next grant to the same node, for manager_lists.c
};

// Events of a builder that wait to be ordered to be published with one record. n is 0: none.
struct manager_steps {
	unsigned builder; // system-wide number
	struct ctrl_steps record;
	struct ctrl_step_event entries[MANAGER_STEPS_MOST];
};

// manager.c
void manager_send(struct cluster_manager *manager, unsigned node, const void *record, size_t size);
// Sends a record to the readout nodes for which `wants` is true: to those that take shared frames
// together.
void manager_send_readouts(struct cluster_manager *manager,
			   bool (*wants)(const struct cluster_manager *manager, unsigned node),
			   const void *record, size_t size);
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
void manager_bye(struct cluster_manager *manager, unsigned from, const struct ctrl_record *record,
		 uint64_t now);
// Sends WELCOME and the present state of the run.
void manager_welcome(struct cluster_manager *manager, unsigned node, uint64_t now);
// Whether all nodes are registered, except those that the operator has excluded and, with `or_due`,
// those whose exclusion is due, and those for which a manager that takes over does not wait.
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
// The granted events of a node's builders.
uint32_t manager_count_events(const struct cluster_manager *manager, unsigned node);
// The builders of a silent node get no new grants, and retain their events until the time in doubt
// ends.
void manager_set_aside(struct cluster_manager *manager, unsigned node, uint64_t now);
// The builders of a node get no new grants. Their events are granted to other builders: at once,
// except those in doubt, which wait until the time in doubt ends.
void manager_suspend(struct cluster_manager *manager, unsigned node, uint64_t now);
// Orders the builders of a suspended node to give up the events that they are permitted to publish.
// Each is granted to another builder when its builder has responded.
void manager_recall(struct cluster_manager *manager, unsigned node, uint64_t now);
// Grants the events of the node's suspended builders to other builders. Events below `known_from`
// that builders may have published are marked as possibly published; for the others it is known.
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
// Adopts the events that a node knows as released and that this manager does not. Their builders do
// not report them any more.
void manager_adopt_released(struct cluster_manager *manager, uint64_t now);

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
// Bytes/s of what a builder reports as link_mbps.
static inline uint64_t manager_link_rate(uint32_t mbps)
{
	return (uint64_t)mbps * (1000000 / 8);
}

struct sched *manager_make_sched(const struct cluster_manager *manager, uint64_t first_event);

// manager_publishers.c
bool manager_make_publishers(struct cluster_manager *manager);
// An event is finished: `builder` has published it, or, CTRL_UNPUBLISHED, nobody will.
void manager_remember(struct cluster_manager *manager, uint64_t event, unsigned builder);

// manager_events.c
// The entry of a builder's token; NULL if the builder has no such token.
static inline struct entry *manager_entry(struct cluster_manager *manager, unsigned builder,
					  uint32_t token)
{
	struct manager_builder *at = &manager->builders[builder];

	return token < at->n ? &at->entries[token] : NULL;
}
void manager_send_step(struct cluster_manager *manager, unsigned builder, uint32_t token,
		       const struct entry *entry, enum ctrl_step step);
void manager_grant(struct cluster_manager *manager, uint64_t now);
// Changes the state of an entry of a builder, also to ENTRY_NONE.
void manager_set_state(struct cluster_manager *manager, unsigned builder, struct entry *entry,
		       enum entry_state state);
// Whether the event of an entry is granted, and not reported as built.
static inline bool manager_is_open(const struct entry *entry)
{
	return entry->state == ENTRY_GRANTED || entry->state == ENTRY_PERMITTED;
}
// Takes an open event away from its builder; the event will be granted again: at once, or, if the
// builder is permitted to publish it, when the builder has responded.
void manager_take_back(struct cluster_manager *manager, unsigned builder, uint32_t token,
		       uint64_t now);
// Orders that the grants which were not sent to a readout node are sent now. It takes part again.
void manager_repeat_missed(struct cluster_manager *manager, unsigned node, uint64_t now);
// Frames arrive from a silent node again. Orders that grants which it had before are repeated if
// their events are not built: data that it sent for them, or that was sent to it, may be lost. To
// be called before manager_repeat_missed().
void manager_repeat_lacked(struct cluster_manager *manager, unsigned node, uint64_t now);
void manager_repeat(struct cluster_manager *manager, uint64_t now);
// Whether a readout node gets the grants to all builders.
bool manager_gets_all(const struct cluster_manager *manager, unsigned node);
// Sends a grant to its builder's node and to the readouts. `in_list`: except to nodes that take
// lists.
void manager_send_grant(struct cluster_manager *manager, const struct sched_grant *grant,
			const struct entry *entry, bool in_list);
// `steps`: the caller sends what waits there.
void manager_done(struct cluster_manager *manager, unsigned node, const struct ctrl_done *done,
		  struct manager_steps *steps, uint64_t now);
void manager_published(struct cluster_manager *manager, unsigned node,
		       const struct ctrl_progress *progress, uint64_t now);
// An event that its builder was permitted to publish is built and published.
void manager_published_unasked(struct cluster_manager *manager, unsigned node,
			       const struct ctrl_done *done, uint64_t now);
// Send RELEASE to a node, or to all: events below are finished. Readouts free their data, builders
// drop their records of them.
void manager_send_release(struct cluster_manager *manager, unsigned node);
void manager_release(struct cluster_manager *manager);

// manager_lists.c
void manager_send_grants(struct cluster_manager *manager, struct manager_grants *grants);
// Orders a builder to publish an event: at once, or by what waits in `steps`.
void manager_publish(struct cluster_manager *manager, unsigned builder, uint32_t token,
		     const struct entry *entry, struct manager_steps *steps);
// manager_done() of one event.
void manager_take_done(struct cluster_manager *manager, unsigned node, const struct ctrl_done *done,
		       uint64_t now);
// Handle BUILT and STEPS.
void manager_built(struct cluster_manager *manager, unsigned from, const struct ctrl_record *record,
		   uint64_t now);
void manager_steps(struct cluster_manager *manager, unsigned from, const struct ctrl_record *record,
		   uint64_t now);

// manager_run.c
// Sends the state of the run to a node that has registered.
void manager_bring_into_line(struct cluster_manager *manager, unsigned node);
// Whether a node that is prepared for this run can take part now. If not, the manager sends the
// run for which it is to prepare, or prepares again itself, or the manager's run is over: the
// node registers again with the manager's next session.
bool manager_takes_prepared(struct cluster_manager *manager, unsigned node, uint32_t run);
// Whether a node that is in this run, 0: in none, takes part in that of this manager. If not, the
// manager's process prepares for the run, or the run is over, which is reported to the node.
bool manager_is_of_run(struct cluster_manager *manager, unsigned node, uint32_t run);
// Handles a node's report of its run state.
void manager_run_state(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record, uint64_t now);
// Brings all nodes into the run state that the manager has learned from the nodes' reports.
void manager_take_over(struct cluster_manager *manager);
// Starts the run once all nodes are registered, and ends it once all events are built.
void manager_lead(struct cluster_manager *manager, uint64_t now);
void manager_throttle(struct cluster_manager *manager);
// Executes the operator's exclusions that had to wait until manager_is_ready().
void manager_exclude_due(struct cluster_manager *manager, uint64_t now);
