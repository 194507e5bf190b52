// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The barrier between the phases of a shift, at the manager: the least of what the nodes that send
// have reached. pacing/phase_gate.h says how phases are numbered, and what nodes do with the least.
//
// All nodes that take part have to report before there is a least one. Afterwards a node counts
// from its first report on: one that has just come does not hold the others up.
//
// Threads: one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sched_phases_node {
	uint32_t reached;
	bool has_reached;
	bool is_out;
};

struct sched_phases {
	struct sched_phases_node *nodes;
	uint32_t n;
	bool has_begun; // all have reported once
	bool is_due;    // something has changed since the last call of sched_phases_least()
};

// All n nodes take part. False if memory ran out.
bool sched_phases_make(struct sched_phases *phases, uint32_t n);
void sched_phases_free(struct sched_phases *phases);

// A node takes part, or not, from now on. What it has reached is forgotten.
void sched_phases_set_part(struct sched_phases *phases, uint32_t node, bool takes_part);

// A node has finished all phases below.
void sched_phases_reach(struct sched_phases *phases, uint32_t node, uint32_t phase);

// All nodes that count have finished the phases below *least. False: it is not known. Visits all
// nodes.
bool sched_phases_least(struct sched_phases *phases, uint32_t *least);
