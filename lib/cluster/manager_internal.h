// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of the manager share: manager.c (its life, who hears which record),
// manager_nodes.c (nodes come, fall silent and go), manager_doubt.c (builders whose
// events wait, and events that may be handed out twice), manager_adopt.c (what builders hold that
// the manager does not know of), manager_events.c (grants and what becomes of them), manager_run.c
// (run control), manager_sched.c (making the scheduler).
#pragma once

#include "cluster/manager.h"
#include "cluster/on_wire.h"
#include "packet/placement.h"

#define GRANTS_MOST 64u // in one poll

enum entry_state {
	ENTRY_NONE,
	ENTRY_GRANTED,
	ENTRY_SETTLED, // told to publish
};

// What the manager thinks of a builder's token.
struct entry {
	uint64_t event;
	uint64_t bytes;
	uint32_t generation;
	uint32_t rate_kbps;
	uint16_t attempt;
	uint16_t n_missing; // sources, once it is settled
	uint8_t state;      // enum entry_state
	uint8_t outcome;    // enum ctrl_outcome
};

struct manager_builder {
	struct entry *entries; // by token
	uint32_t n;
	uint32_t n_settled;
	uint32_t slots; // as it says, as is the next
	struct placement placement;
	bool suspended; // it gets nothing new, and keeps what it has until its node's doubt ends
	bool reporting; // its node has registered, and has not said all that it holds
};

struct manager_node {
	bool registered;
	bool welcome_due; // it registered before there was a scheduler
	bool lost;        // silent
	bool left;        // it said BYE
	bool operator_excluded;
	bool exclude_due;     // by the operator, once it is known who has what
	bool commanded;       // the operator has excluded or included it in this manager's life
	uint64_t doubt_until; // 0: none of its events is in doubt
	uint64_t registrations;
	// Events from here on: whether its builders have published them is known to its process.
	uint64_t known_from;
	enum ctrl_run_state state;
	uint32_t slots_free;
	// What it was told
	uint64_t told_release;
	int told_throttle; // -1: not known
	// As a source
	uint32_t run;      // it was in when it registered
	bool stated;       // it has said in which state
	uint64_t released; // as it knows it
	uint64_t end;      // as announced
	bool ended;        // no event of `end` or above will come
	bool begun;        // it has said, or been told, with which event it begins
	bool source_excluded;
	// Grants of these builders, [from, end), are still to be repeated for it.
	unsigned repeat_from, repeat_end;
	uint32_t repeat_token; // of the first: from here on
};

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
	struct on_wire on_wire; // the scheduler counts its bytes
	struct sched *sched;    // NULL until the nodes are known
	struct manager_node *nodes;
	struct manager_builder *builders; // by system-wide number
	struct adopted *adopted;          // while builders still say what they hold
	unsigned n_adopted, adopted_size;
	uint64_t *suspects; // event + 1, by event modulo their number, a power of two
	uint64_t n_suspects;
	uint64_t first_heard; // time of the first registration
	bool heard;
	bool adopting; // no grants yet
	uint64_t adopting_since;
	bool command_start; // asked for, and not all nodes are there yet
	uint32_t request;
	uint64_t quiet_since; // static mode: all has been sent
	enum ctrl_run_state state;
	uint32_t run; // 0: none
	uint64_t end;
	struct cluster_manager_view view;
};

// manager.c
void manager_send(struct cluster_manager *manager, unsigned node, const void *record, size_t size);
bool manager_is_static(const struct cluster_manager *manager);
// Whether a node takes what is sent to all.
bool manager_is_target(const struct cluster_manager *manager, unsigned node);
// Whether it is known who has what.
bool manager_is_ready(const struct cluster_manager *manager);

// manager_nodes.c
void manager_register(struct cluster_manager *manager, unsigned from,
		      const struct ctrl_record *record, uint64_t now);
void manager_announced(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record, uint64_t now);
void manager_heartbeat(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record, uint64_t now);
void manager_bye(struct cluster_manager *manager, unsigned from, uint64_t now);
// Welcomes a node and tells it what goes on.
void manager_welcome(struct cluster_manager *manager, unsigned node);
// Whether all nodes are there that are not excluded, or about to be.
bool manager_all_registered(const struct cluster_manager *manager, bool or_due);
// Tells the scheduler whether a source takes part.
void manager_sync_source(struct cluster_manager *manager, unsigned node, uint64_t now);
// Whether grants wait for a source to come back, as configured.
bool manager_waits_for_source(const struct cluster_manager *manager);
void manager_say_member(struct cluster_manager *manager, unsigned node, enum ctrl_type type,
			enum ctrl_reason reason);

// manager_doubt.c
bool manager_make_suspects(struct cluster_manager *manager);
// Whether an event that is not finished may have been handed out before.
bool manager_is_suspect(const struct cluster_manager *manager, uint64_t event);
// Suspects what builders may have published that no process which is there knows of: a manager
// before this one knew it.
void manager_suspect_untold(struct cluster_manager *manager);
// Whether a builder of the node has not said all that it holds.
bool manager_is_reporting(const struct cluster_manager *manager, unsigned node);
// The builders of a node get nothing new; what they have goes to others as soon as that is safe.
void manager_suspend(struct cluster_manager *manager, unsigned node, uint64_t now);
// What they have goes to others now. Of events from `known_from` on it is known what they have
// published.
void manager_expel_suspended(struct cluster_manager *manager, unsigned node, uint64_t known_from,
			     uint64_t now);
// The node is heard again in the same session: it goes on where it was.
void manager_end_suspension(struct cluster_manager *manager, unsigned node, uint64_t now);
// A node that registered before it was silent hears that it is out, behind what was said before,
// and registers anew.
void manager_say_silent(struct cluster_manager *manager, unsigned node);
// The scheduler knows a builder.
void manager_enter(struct cluster_manager *manager, unsigned builder, uint64_t now);
// A builder has said what it holds: it takes part.
void manager_readmit(struct cluster_manager *manager, unsigned builder, uint64_t now);
void manager_end_doubts(struct cluster_manager *manager, uint64_t now);

// manager_adopt.c
void manager_adopt(struct cluster_manager *manager, unsigned from, const struct ctrl_record *record,
		   uint64_t now);
// A builder says that an event is ready before it is known who has what.
void manager_keep_done(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_done *done);
// What a builder has said so far to hold is void.
void manager_drop_adopted(struct cluster_manager *manager, unsigned builder, uint64_t now);
// The scheduler's beginning: made once the nodes are there, started once they have said all.
void manager_begin(struct cluster_manager *manager, uint64_t now);
void manager_end_adoption(struct cluster_manager *manager, uint64_t now);

// manager_sched.c
struct sched *manager_make_sched(const struct cluster_manager *manager, uint64_t first_event,
				 char *error);

// manager_events.c
struct entry *manager_entry(struct cluster_manager *manager, unsigned builder, uint32_t token);
void manager_say_step(struct cluster_manager *manager, unsigned builder, uint32_t token,
		      const struct entry *entry, enum ctrl_step step);
void manager_grant(struct cluster_manager *manager, uint64_t now);
// Repeats grants of builders [from, end) for a readout node, which may have missed them, or whose
// data was lost.
void manager_repeat_for(struct cluster_manager *manager, unsigned node, unsigned from,
			unsigned end);
void manager_repeat(struct cluster_manager *manager);
void manager_done(struct cluster_manager *manager, unsigned node, const struct ctrl_done *done,
		  uint64_t now);
void manager_published(struct cluster_manager *manager, unsigned node,
		       const struct ctrl_progress *progress, uint64_t now);
// Tells a node, or all, which events are finished: readouts forget them, builders forget having
// built.
void manager_say_release(struct cluster_manager *manager, unsigned node);
void manager_release(struct cluster_manager *manager);

// manager_run.c
// Tells a node that has registered what goes on.
void manager_bring_into_line(struct cluster_manager *manager, unsigned node);
// A node says in which state the run is that it knows.
void manager_run_state(struct cluster_manager *manager, unsigned from,
		       const struct ctrl_record *record);
// The state that the nodes know becomes that of all.
void manager_take_over(struct cluster_manager *manager);
// Starts the run once all is there, and ends it once all is built.
void manager_lead(struct cluster_manager *manager, uint64_t now);
void manager_throttle(struct cluster_manager *manager);
// The operator's exclusions that had to wait.
void manager_exclude_due(struct cluster_manager *manager, uint64_t now);
