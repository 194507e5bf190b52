// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Declarations that the files of the node share:
//   node.c           registration, records and polls
//   node_commands.c  commands of the manager, and the run state
//   node_builders.c  the steps of an event in the node's builders
//   node_report.c    records to the manager about the builders
//   node_requests.c  requests to readouts, and the blocks that they offer
//   node_vote.c      which manager the node follows, where it is elected
//   node_readouts.c  announcements, and what the node's readouts learn about the run
//   node_orders.c    orders to the node's readouts
//   node_latency.c   how long steps of events take
#pragma once

#include "cluster/node.h"
#include "cluster/tokens.h"

// An event that is complete before its grant arrives, because the data was faster.
struct early {
	uint64_t event;
	uint64_t bytes;
	uint32_t slot;
};

struct node_builder {
	struct tokens tokens;
	struct ctrl_held *finished; // events published and not yet released; FIFO
	unsigned finished_size, finished_head, n_finished;
	struct early *early;
	unsigned early_size, n_early;
	uint32_t pull_next;  // token at which the next search for due requests begins
	bool requests;       // requests may be due
	uint16_t waits_sent; // by MESSAGE_AWAIT
	bool is_open;        // by MESSAGE_OPEN
	// Bit set of the readouts, by rank, for which a MESSAGE_SOURCES is due.
	uint64_t *sources_due;
};

struct node_readout {
	uint64_t announced;
	bool ended;
	bool unsent;           // MESSAGE_UNSENT
	bool start_sent;       // MESSAGE_RUN for the start of the run has been sent
	bool run_sent;         // MESSAGE_RUN with the present state has been sent
	uint64_t release_sent; // value that was sent last; so is throttle_sent
	bool throttle_sent;
	// The phases below are finished, see MESSAGE_PHASE.
	bool has_phase;
	uint32_t phase;
	bool limit_due;        // MESSAGE_PHASE is to be sent
	struct message *sends; // orders that wait for room in the readout's mailbox; FIFO
	unsigned sends_head, n_sends;
	// Orders for events that the readout has not announced yet, in no order, and the first of
	// these events.
	struct message *early;
	unsigned n_early;
	uint64_t early_first;
};

// A requested event that this node's readouts are sending. When all of them have sent it, the
// builder gets PROGRESS (SENT).
struct sending {
	uint64_t event;
	uint32_t run;
	uint16_t builder; // system-wide number
	uint16_t attempt;
	uint16_t left; // readouts of this node that have not sent it yet
};

// A credit whose record the manager has not acknowledged yet.
struct credit_sent {
	uint64_t released; // ns: release of the slot by the consumers
	uint32_t position; // behind the record, see control_queued()
};

// See latency.h. Times are ns.
struct node_latency {
	struct cluster_latency measured;
	// Times of the announcement of events that have not been ordered, 0: none; by event modulo
	// mask + 1. `offered`: where the readout nodes share their source, by number of the event.
	uint64_t *announced, *offered;
	uint64_t mask;
	struct credit_sent *credits; // FIFO
	unsigned credits_size, credits_head, n_credits;
};

#define REPORTS_MOST 64u // events in one report

// What builders of the node have built or published since the last poll.
struct node_reports {
	struct ctrl_built built;
	struct ctrl_built_event built_events[REPORTS_MOST];
	struct ctrl_steps published;
	struct ctrl_step_event published_events[REPORTS_MOST];
};

struct cluster_node {
	struct cluster_node_parameters parameters;
	const struct cluster_system *cluster;
	struct cluster_readouts readouts_of_all;
	unsigned words;                  // of a bit set of the readouts, see tokens_words()
	unsigned n_builders, n_readouts; // of this node
	struct node_builder *builders;
	struct node_readout *readouts;

	bool registering; // REGISTER has been sent, WELCOME has not arrived yet
	bool registered, excluded, leaving, left, ended;
	bool operator_excluded; // as the manager reported last
	bool announce_due;
	bool report_due;               // BUILDER, ADOPT and DONE are due after WELCOME
	char why[CTRL_TEXT_SIZE + 40]; // reason of the manager's refusal; empty: not refused
	enum ctrl_run_state state;
	bool accepts_data;
	bool opening;          // the response to CTRL_CONFIGURE is not sent yet
	uint32_t configured;   // its request
	uint32_t renumbered;   // the run that the manager prepares instead; 0: the same one
	uint32_t run;          // 0: no run
	uint32_t welcomed_run; // the manager's run when it accepted this node
	uint64_t start_event;  // the first event of the run for this node
	uint64_t known_from;   // all events that earlier processes of this node built are below
	uint64_t end_event;    // end of a draining run
	uint64_t announced;    // as sent to the manager; so is announced_end
	bool announced_end;
	// Where the readout nodes share their source: the number of announced events that have an
	// index, and the end of these indices. `announced` is a number of events then.
	uint64_t assigned, assigned_end;
	uint64_t released;
	bool throttled;
	uint16_t waits; // as the manager reports: odd while it waits for a silent source
	// By rank of a readout: the first event in which its sources take part; UINT64_MAX: in
	// none.
	uint64_t *source_from;
	// Bit set of the readouts, by rank, that are not connected.
	uint64_t *lost;

	// By system-wide number of a builder: its position in each round.
	uint16_t positions[EVB_MAX_SYSTEM_BUILDERS];
	bool manager_takes_lists; // it has CTRL_LISTS
	struct node_reports reports;
	unsigned manager;       // node, or CLUSTER_NONE
	uint32_t manager_epoch; // where it is elected
	struct vote vote;
	uint16_t voted_for; // node that is due a heartbeat, or CLUSTER_NONE
	uint64_t
	    permit_until; // ns: permissions to publish can be used until then; renewed by polls

	uint16_t session; // incremented by each registration
	// In this session: the readouts of this node have finished the phases below, as the manager
	// knows.
	bool has_phase;
	uint32_t phase;
	uint32_t limit; // all nodes have finished the phases below, as the manager has reported

	struct sending *sendings;
	unsigned n_sendings;
	unsigned sends_size; // capacity of sendings, and of each readout's sends and early orders

	struct cluster_node_view view;
	struct node_latency latency;
	uint64_t now; // ns: time of the last record or poll
};

static inline unsigned node_self(const struct cluster_node *node)
{
	return node->cluster->self;
}

static inline const struct cluster_system_builder *node_builder_of(const struct cluster_node *node,
								   unsigned builder)
{
	unsigned first = node->cluster->nodes[node_self(node)].first_builder;

	return &node->cluster->builders[first + builder];
}

// The placement of the slots of a builder of this node.
static inline const struct placement *node_placement(const struct cluster_node *node,
						     unsigned builder)
{
	static const struct placement none;

	return node->parameters.placements != NULL ? &node->parameters.placements[builder] : &none;
}

// Whether a record of a run is for the run of this node. A node that has just started learns the
// run from the records behind the response to its registration, unless it is prepared for one.
static inline bool node_is_in_run(const struct cluster_node *node, uint32_t run)
{
	const uint32_t prepared = node->parameters.cluster.prepared_run;

	if (node->run != 0)
		return run == node->run;
	return prepared == 0 || run == 0 || run == prepared;
}

// False if the readout's mailbox is full.
static inline bool node_send_to_readout(const struct cluster_node *node, unsigned readout,
					const struct message *message)
{
	return node->parameters.to_readout(node->parameters.context, readout, message);
}

// Sends a record behind the reports that wait.
void node_send_to_manager(struct cluster_node *node, const void *record, size_t size);
void node_send_now(struct cluster_node *node, const void *record, size_t size);
// Sends REGISTER and, behind it, the records from which a restarted manager learns the run.
void node_send_register(struct cluster_node *node);

// node_vote.c
void node_vote_make(struct cluster_node *node);
// Handles what a heartbeat says about leases.
void node_take_lease(struct cluster_node *node, unsigned from, const struct ctrl_lease *lease,
		     uint64_t now);

// node_commands.c
// Handles the record if it is a command: RUN_COMMAND, EXCLUDE or INCLUDE. False: it is none. A
// command is refused unless it comes from the manager, with the node's configuration, and for the
// node's run or, if the node has none, any.
bool node_command(struct cluster_node *node, unsigned from, const struct ctrl_record *record);
// Reports the run state: as the response to a command, or without one (NULL).
void node_send_state(struct cluster_node *node, const struct ctrl_run_command *command);

// node_builders.c
bool node_builders_make(struct cluster_node *node);
void node_builders_free(struct cluster_node *node);
// Handles a grant to a builder of this node.
void node_builders_grant(struct cluster_node *node, const struct ctrl_grant *grant);
// The generation of a grant to a token, of which only the low 16 bits are known.
uint32_t node_builders_generation(const struct cluster_node *node, unsigned builder, uint32_t slot,
				  uint16_t low);
void node_builders_progress(struct cluster_node *node, unsigned from,
			    const struct ctrl_progress *progress);
// Gives up all events that are not about to be published.
void node_builders_withdraw(struct cluster_node *node);
// Ends the permissions to publish (cluster/manager.h): all events that are not about to be
// published need PUBLISH.
void node_builders_end_permissions(struct cluster_node *node);
// Whether an event is about to be published: PUBLISH has been received for it, or a permission has
// been used.
bool node_builders_are_settled(const struct cluster_node *node);
void node_builders_released(struct cluster_node *node);

// Tells the builders whether a silent source is waited for.
void node_builders_await(struct cluster_node *node);

// Notes since which event the sources of a readout take part, and reports it to the builders.
void node_builders_set_source(struct cluster_node *node, unsigned rank, uint64_t from);
// Sends the builders what is due of this, and then the events that waited for it.
void node_builders_send_sources(struct cluster_node *node);

// Handles an OFFER: a source reports the addresses of its blocks of an event.
void node_builders_offer(struct cluster_node *node, unsigned from, const struct ctrl_offer *offer);

// node_report.c
void node_send_outcome(struct cluster_node *node, unsigned builder, uint32_t token,
		       enum ctrl_outcome outcome);
// Sends DONE for an event that is built.
void node_send_done(struct cluster_node *node, unsigned builder, uint32_t token);
// Sends PUBLISHED, or, if PUBLISH was not needed, BUILT with CTRL_ALREADY_PUBLISHED.
void node_send_published(struct cluster_node *node, unsigned builder, uint32_t token);
// Send or drop the reports that wait: node_send_done() and node_send_published() collect them.
void node_reports_flush(struct cluster_node *node);
void node_reports_drop(struct cluster_node *node);
// Reports all events that the builders hold to a manager that has just accepted this node.
void node_builders_report(struct cluster_node *node);
void node_builders_poll(struct cluster_node *node);

// node_requests.c
void node_send_requests(struct cluster_node *node, unsigned builder);
// The events that were requested from a readout and not sent by it are requested again: it has
// restarted and does not know the requests, or it was disconnected and its data is lost.
void node_builders_request_again(struct cluster_node *node, unsigned rank);

// node_readouts.c
bool node_readouts_make(struct cluster_node *node);
void node_readouts_free(struct cluster_node *node);
// Announces the readouts' events behind REGISTER: a restarted manager begins with them.
void node_readouts_announce(struct cluster_node *node);
// Passes on the indices that the manager gives to the events of a source that nodes share.
void node_readouts_assigned(struct cluster_node *node, const struct ctrl_record *record);
// A session with a manager begins.
void node_readouts_begin_session(struct cluster_node *node);
// The manager reports which phases all nodes have finished.
void node_readouts_phase(struct cluster_node *node, const struct ctrl_record *record);
// A run begins.
void node_readouts_start(struct cluster_node *node);
// The state of the run has changed.
void node_readouts_send_run(struct cluster_node *node);
void node_readouts_poll(struct cluster_node *node);

// node_orders.c
bool node_orders_make(struct cluster_node *node); // when the readouts are allocated
void node_orders_free(struct cluster_node *node);
// Orders the node's readouts to send the data of an event: for a grant (push) or a request (pull).
void node_orders_send(struct cluster_node *node, const struct ctrl_grant *grant, bool requested);
// Tells the readouts that nobody publishes an event.
void node_orders_unpublished(struct cluster_node *node, const struct ctrl_progress *progress);
// Sends a message to a readout; if the mailbox is full, the message waits. They stay in sequence.
void node_orders_put(struct cluster_node *node, unsigned readout, const struct message *message);
// Sends what waits and can be sent now.
void node_orders_flush(struct cluster_node *node, unsigned readout);
// A readout has sent an event that a builder requested.
void node_orders_sent(struct cluster_node *node, const struct message *message);
// The run is over.
void node_orders_drop(struct cluster_node *node);

// node_latency.c
bool node_latency_make(struct cluster_node *node); // after the builders
void node_latency_free(struct cluster_node *node);
// The events from `begin` to before `end` are announced; where the readout nodes share their
// source, these are numbers of events.
void node_latency_announced(struct cluster_node *node, uint64_t begin, uint64_t end);
// Event `begin` is the one that was announced with this number, and so on.
void node_latency_assigned(struct cluster_node *node, uint64_t number, uint64_t begin,
			   uint64_t end);
// The readouts are ordered to send an event. Only the first order counts.
void node_latency_ordered(struct cluster_node *node, uint64_t event);
// The last record to the manager has n credits for slots that were released at these times.
void node_latency_credited(struct cluster_node *node, const uint64_t *released, unsigned n);
// Counts the credits that the manager has acknowledged.
void node_latency_poll(struct cluster_node *node);
// A session with the manager has ended, and its records with it.
void node_latency_forget_credits(struct cluster_node *node);
