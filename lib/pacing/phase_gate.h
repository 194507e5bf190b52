// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The barrier between the phases of a shift, at a node that sends. Phases are numbered through all
// rounds: round x positions + phase in the round, modulo 2^32; numbers are compared as signed
// differences. A node begins phase p when all nodes have finished the phases below p + 1 -
// distance: with distance 1 nobody is a phase ahead of another node, with a larger one nobody is as
// many phases ahead. The manager collects what the nodes have reached (sched/phases.h) and tells
// them the least of it: the limit.
//
// A node for which the limit has not changed for longest_wait goes on without barrier, until it
// changes: a manager or node that is dead costs one wait, and not one per phase. The wait ends
// before the events of the phase reach their deadline at builders that have the data of other
// nodes.
//
// The numbers of a manager say nothing about those of the next one. Each registration with a
// manager begins a session; what belongs to an earlier one is not gated.
//
// Pure: the caller passes the time, in ticks. Threads: one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct phase_gate_parameters {
	uint32_t distance; // at least 1
	uint64_t longest_wait_ns;
	uint64_t ticks_per_second;
};

struct phase_gate {
	uint32_t distance;
	uint64_t longest_wait; // ticks
	uint16_t session;
	bool has_limit;   // in this session
	uint32_t limit;   // all nodes have finished the phases below
	bool has_reached; // in this session
	uint32_t reached; // this node has finished the phases below
	bool is_due;      // that has changed: the manager is to know; the caller clears it
	bool waits;
	bool is_free; // has waited for too long
	uint64_t since;
};

enum phase_gate_verdict {
	PHASE_GATE_OPEN,
	PHASE_GATE_WAITS,
	PHASE_GATE_LATE, // has waited for too long: the phase begins all the same
};

// The longest wait, ns: a node that is silent for heartbeat_timeout counts as dead, and half of the
// deadline of an event is left for its data.
static inline uint64_t phase_gate_longest_wait(uint64_t heartbeat_timeout_ns, uint64_t deadline_ns)
{
	return heartbeat_timeout_ns < deadline_ns / 2 ? heartbeat_timeout_ns : deadline_ns / 2;
}

struct phase_gate phase_gate_make(const struct phase_gate_parameters *parameters);

void phase_gate_set_session(struct phase_gate *gate, uint16_t session);
void phase_gate_set_limit(struct phase_gate *gate, uint32_t limit);

// All phases below are finished here.
void phase_gate_reach(struct phase_gate *gate, uint32_t phase);

// Whether this phase, which is reached, may begin.
enum phase_gate_verdict phase_gate_ask(struct phase_gate *gate, uint32_t phase, uint64_t now);
