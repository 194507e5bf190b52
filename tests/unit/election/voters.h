// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Simulates the elections of a system (election/election.h): processes with clocks of different
// rates, and a network that delays, loses and cuts. A process may die and be replaced by another
// one, or be stopped and go on.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "election/election.h"

#define VOTERS_MOST     7u
#define VOTERS_MESSAGES 8192u
#define VOTERS_LEASE    UINT64_C(200000000)
#define VOTERS_BEAT     UINT64_C(20000000)
#define VOTERS_STEP     UINT64_C(1000000)

struct voter_clock {
	double rate; // per true time
	uint64_t offset;
};

// What a process knows of the processes of another node: heartbeats of earlier ones are not
// delivered, nor is an older heartbeat than one before.
struct voter_peer {
	uint32_t process; // 0: none yet
	uint64_t number;
};

struct voter_process {
	bool alive;
	uint32_t process; // number of the process, which grows
	unsigned node;
	uint64_t stopped_until; // true time
	uint64_t next_beat, sent;
	struct vote vote;
	// The last request of another node that was granted: its epoch, and who asked
	uint32_t voted_epoch, voted_process;
	struct election election;
	struct voter_peer peers[VOTERS_MOST];
};

struct voter_message {
	uint64_t due; // true time
	unsigned from, to;
	uint32_t process, to_process;
	uint64_t number;
	struct ctrl_lease lease;
};

struct voters {
	struct random random;
	unsigned n, n_ranks; // nodes, of which the first can manage
	uint64_t now;        // true time, ns
	uint32_t last_process;
	struct voter_clock clocks[VOTERS_MOST];
	struct voter_process processes[VOTERS_MOST]; // of each node
	bool cut[VOTERS_MOST][VOTERS_MOST];          // from, to
	unsigned loss;                               // percent
	uint64_t delay;                              // at most
	struct voter_message messages[VOTERS_MESSAGES];
	unsigned n_messages;
	// What has happened
	unsigned holder;         // node in office; VOTERS_MOST: none
	unsigned n_offices;      // times that a process came into office
	uint32_t last_epoch;     // of the last one; so is the next
	uint32_t last_in_office; // process
	unsigned last_holder;    // its node
	bool immortal;           // no process dies
	bool has_forgotten;      // a process with a vote has ended
	char broken[160];        // the first invariant that does not hold; empty: all do
};

void voters_make(struct voters *voters, uint64_t seed, unsigned n, unsigned n_ranks);

// Simulates some time.
void voters_run(struct voters *voters, uint64_t ns);

void voters_kill(struct voters *voters, unsigned node);
void voters_start(struct voters *voters, unsigned node);
void voters_stop(struct voters *voters, unsigned node, uint64_t ns);

// A random history: faults for some time, then none until one has to be in office.
void voters_history(struct voters *voters, uint64_t seed);
