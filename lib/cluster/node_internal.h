// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of the node share: node.c (registration, run state), node_builders.c (the way of
// events through its builders), node_report.c (what the manager is told of them), node_requests.c
// (pull), node_readouts.c (announcements, sends).
#pragma once

#include "cluster/node.h"
#include "cluster/tokens.h"

// An event that was built here, and its token's generation at that time.
struct finished {
	uint64_t event;
	uint32_t token;
	uint32_t generation;
	uint16_t attempt;
};

// An event that is ready before its grant has come: data can be faster.
struct early {
	uint64_t event;
	uint64_t bytes;
	uint32_t slot;
};

struct node_builder {
	struct tokens tokens;
	struct finished *finished; // published and not released; first in, first out
	unsigned finished_size, finished_head, n_finished;
	struct early *early;
	unsigned early_size, n_early;
	uint32_t pull_next; // token at which the search for one to ask for goes on
	bool asks;          // a token may
};

struct node_readout {
	uint64_t announced;
	bool ended;
	bool told_start; // MESSAGE_RUN of the run's start has gone
	bool told_run;   // MESSAGE_RUN of the present state has gone
	uint64_t told_release;
	bool told_throttle;
	struct message *sends; // for which its mailbox had no room: first in, first out
	unsigned sends_head, n_sends;
};

// A requested event that readouts are sending: answered when all local ones have sent.
struct sending {
	uint64_t event;
	uint16_t builder; // system-wide
	uint16_t attempt;
	uint16_t left; // local readouts
};

struct cluster_node {
	struct cluster_node_parameters parameters;
	const struct cluster_system *cluster;
	struct cluster_readouts readouts_of_all;
	unsigned n_builders, n_readouts; // local
	struct node_builder *builders;
	struct node_readout *readouts;

	bool registering; // REGISTER has gone, WELCOME has not come
	bool registered, excluded, leaving, left, ended;
	bool operator_excluded; // as the manager has said last
	bool announce_due;
	bool report_due;               // welcomed: BUILDER, ADOPT, DONE of what is built
	char why[CTRL_TEXT_SIZE + 40]; // the manager's refusal; empty: none
	enum ctrl_run_state state;
	uint32_t run;          // 0: none
	uint32_t welcomed_run; // that was going on when the manager accepted this node
	uint64_t start_event;  // first of the run here
	uint64_t known_from;   // events that its builders had before this process: all below
	uint64_t end_event;    // of a run that drains
	uint64_t announced;    // said to the manager
	bool announced_end;
	uint64_t released;
	bool throttled;
	uint64_t lost[TOKEN_ASK_WORDS]; // readouts, by rank, that are not there to be asked

	struct sending *sendings;
	unsigned n_sendings;
	unsigned sends_size; // of sendings, and of each readout's sends

	struct cluster_node_view view;
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

// The placement of a local builder's slots.
static inline const struct placement *node_placement(const struct cluster_node *node,
						     unsigned builder)
{
	static const struct placement none;

	return node->parameters.placements != NULL ? &node->parameters.placements[builder] : &none;
}

void node_tell_manager(struct cluster_node *node, const void *record, size_t size);

// node_builders.c
bool node_builders_make(struct cluster_node *node);
void node_builders_free(struct cluster_node *node);
// A grant to a local builder.
void node_builders_grant(struct cluster_node *node, const struct ctrl_grant *grant);
void node_builders_progress(struct cluster_node *node, unsigned from,
			    const struct ctrl_progress *progress);
// All that is not settled is given up.
void node_builders_withdraw(struct cluster_node *node);
// Whether an event is about to be published.
bool node_builders_are_settled(const struct cluster_node *node);
void node_builders_released(struct cluster_node *node);

// A source says where its blocks of an event lie.
void node_builders_offer(struct cluster_node *node, unsigned from, const struct ctrl_offer *offer);

// node_report.c
void node_say_outcome(struct cluster_node *node, unsigned builder, uint32_t token,
		      enum ctrl_outcome outcome);
// It is built.
void node_say_done(struct cluster_node *node, unsigned builder, uint32_t token);
void node_say_published(struct cluster_node *node, unsigned builder, uint32_t token);
// All that its builders hold, to a manager that has just accepted it.
void node_builders_report(struct cluster_node *node);
void node_builders_poll(struct cluster_node *node);

// node_requests.c
void node_say_requests(struct cluster_node *node, unsigned builder);
// A readout has begun anew, and does not know what it was asked for; or it was cut off, and what it
// has sent since is lost.
void node_builders_ask_again(struct cluster_node *node, unsigned rank);

// node_readouts.c
bool node_readouts_make(struct cluster_node *node);
void node_readouts_free(struct cluster_node *node);
// A grant (push) or a request (pull) for what the local readouts hold.
void node_readouts_send(struct cluster_node *node, const struct ctrl_grant *grant, bool requested);
// Says what the readouts have, behind REGISTER: a manager that restarted begins from there.
void node_readouts_announce(struct cluster_node *node);
// A run begins.
void node_readouts_start(struct cluster_node *node);
// Its state has changed.
void node_readouts_tell_run(struct cluster_node *node);
void node_readouts_poll(struct cluster_node *node);
