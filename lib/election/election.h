// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Which of the nodes that can manage is in office as event manager, where several can. Pure logic:
// the caller passes in what arrives and the time; there is no clock and no socket.
//
// Every node has one vote (struct vote), and every node that can manage is a candidate (struct
// election). A vote is a lease (Gray and Cheriton, "Leases", SOSP 1989): the voter promises a
// candidate to vote for no other one until a time of the voter's own clock. A candidate is in
// office while it holds the votes of a majority of all configured nodes; it renews them with each
// heartbeat. Epochs are the terms of Raft (Ongaro and Ousterhout, USENIX ATC 2014), but each epoch
// belongs to one candidate, as a ballot number of Paxos does, so that no two candidates can win the
// same one, whatever the voters remember. Two processes of one candidate, one after the other, can
// ask in the same epoch. Therefore a voter renews only a promise to the present process, and a
// candidate counts only votes for requests of its own attempt.
//
// Messages. All travel in heartbeats (struct ctrl_lease), of which a node delivers the newest of
// each peer. `office`, `epoch` and `stamp` ask for a vote, or for its renewal, at the time `stamp`
// of the candidate's clock. `voted_for`, `voted_epoch` and `voted_stamp` name the request that the
// voter granted last. `given_up` is the highest epoch for which the candidate uses no votes any
// more. A new request, and each response, are sent at once.
//
// States of a candidate:
//   standby  it asks for nothing
//            -> asks, in a new epoch, when its own vote has been free for the time of its rank
//   asks     it has voted for itself and asks the others; in a higher epoch at once when it learns
//            that a candidate of a higher rank has asked in a higher one
//            -> held, with the votes of a majority
//            -> standby, if a candidate of a lower rank asks, another one is in office, or it has
//               no majority after ASK_BEATS heartbeats; it gives up the epoch, and does not ask
//               for a while: shortly where it has yielded
//   held     it is in office and renews the votes
//            -> standby, when fewer than a majority of the leases last, or the node has received a
//               higher epoch; it gives up the epoch and can only come back with a new one: votes
//               that arrive after the end do not count, as another one may have been in office
//
// Rules of a voter. It grants or renews a request
//   1. not before one lease has passed since its process started: what an earlier process of the
//      node has promised has ended then, and need not be stored;
//   2. not while a promise to another candidate lasts, unless that one has given up its epoch;
//   3. of a candidate that asks: only in a higher epoch than all that it has granted, unless it
//      has granted this epoch to the same process; of one in office: not in a lower epoch than one
//      in which it knows another in office.
//
// Timers. The promise of a voter lasts `lease` from the receipt of the request. The candidate
// counts it from the sending of the request, and MARGIN less. So the candidate's count ends before
// the voter's promise if the rates of their clocks differ by less than 1 in MARGIN (6 %; quartz
// oscillators differ by less than 0.02 %), without any assumption about the time that messages
// take. The clocks have to run on while a process is stopped; they need not agree. A node has one
// process: control endpoints refuse a second one while the first lives.
//
// Invariants (tests/unit/election, over random crashes, restarts, stops, losses, partitions and
// clock drift):
//   - at most one candidate is in office at any time: two majorities share a voter, and the leases
//     of this voter do not overlap;
//   - no voter elects two processes in one epoch. So a candidate in office has a higher epoch
//     than all before it, as long as one of its voters remembers: after all of them have restarted,
//     epochs grow with the wall clock only. If a candidate then comes into the epoch of its own
//     earlier process, nodes distinguish the two by their sessions (control/endpoint.h);
//   - if a majority of the nodes, with a candidate, can talk to each other, one of them is in
//     office after at most one lease, the times of ranks, and the attempts of two candidates.
// An old manager's messages that are late are fenced by the epoch (control/endpoint.h); see
// cluster/manager.h for what the nodes report to a new one.
//
// Threads: one, that of the control role.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "wire/ctrl.h"

struct vote {
	uint64_t lease; // ns
	uint64_t from;  // time of the first vote
	uint64_t until; // the promise lasts until then
	uint64_t stamp;
	uint32_t epoch;    // of the promise; so are `to` and `stamp`
	uint32_t highest;  // epoch granted
	uint32_t held;     // highest epoch in which a candidate is known to be in office
	uint16_t to;       // node; CTRL_NO_VOTE: none yet
	bool is_of_before; // the promise is to an earlier process of `to`, and is not renewed
};

// The node's process starts.
void vote_begin(struct vote *vote, uint64_t lease, uint64_t now);

// Considers what a candidate says. True if the vote is granted or renewed: the response is due.
bool vote_take(struct vote *vote, unsigned candidate, const struct ctrl_lease *lease, uint64_t now);

// A process of a candidate has begun a session. It may be another process than the one before.
void vote_session_began(struct vote *vote, unsigned candidate);

// Writes the voter's part of a heartbeat.
void vote_state(const struct vote *vote, struct ctrl_lease *lease);

enum election_state { ELECTION_STANDBY, ELECTION_ASKS, ELECTION_HELD };

struct election_parameters {
	unsigned self;          // node
	unsigned n_nodes;       // voters, 1 to EVB_MAX_NODES
	unsigned rank, n_ranks; // position of the node among those that can manage
	uint64_t lease;         // ns, that of the votes; at least 4 heartbeats
	uint64_t heartbeat;     // ns
	uint64_t now;
};

struct election {
	struct election_parameters parameters;
	enum election_state state;
	uint32_t epoch;      // that it asks for or holds
	uint32_t given_up;   // highest epoch given up
	uint32_t seen;       // highest epoch that any node has named
	uint64_t began_at;   // the present attempt
	uint64_t asked_at;   // the last request to all nodes at once
	uint64_t not_before; // of the next attempt
	uint64_t held_until; // valid in ELECTION_HELD
	uint64_t counted_at;
	bool is_renewed;              // a vote has been renewed since then
	bool yields;                  // to a candidate of a lower rank, or to one in office
	uint64_t ends[EVB_MAX_NODES]; // of the leases of the present epoch
};

void election_make(struct election *election, const struct election_parameters *parameters);

// Handles the lease in a heartbeat of another node. The order of ranks is that of node numbers.
void election_received(struct election *election, unsigned from, const struct ctrl_lease *lease,
		       uint64_t now);

// To be called often, and before anything is done as the manager: the state is valid for `now`.
// `vote` is that of this node; `least` is the least epoch to ask for: from the wall clock, and
// above those that the control endpoint knows. Returns whether a heartbeat is due to all nodes.
bool election_poll(struct election *election, struct vote *vote, uint32_t least, uint64_t now);

// This node has received a higher epoch, or must not manage: gives up the present one.
void election_give_up(struct election *election, struct vote *vote, uint64_t now);

// Nodes whose votes the candidate has now.
unsigned election_votes(const struct election *election, uint64_t now);

// Writes the candidate's part of a heartbeat that is sent now.
void election_state(const struct election *election, struct ctrl_lease *lease, uint64_t now);
