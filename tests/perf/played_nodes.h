// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The nodes that play the system of a real event manager: each has the real logic of a node
// (cluster/node.h) and a real control endpoint, except that nodes without builders only check their
// grants. Readouts have events as long as what they hold is released; builders complete an event at
// once when it is granted to them, publish it when told, and free its slot. They check that each
// event is granted to each readout once and in order, and that each event is published once before
// it is released.
#pragma once

#include "cluster/cluster.h"
#include "frame_ring.h"

#define PLAYED_ALL CTRL_MAX_NODES

struct played_nodes;

struct played_parameters {
	struct cluster_parameters cluster; // of any node; `self` is replaced
	struct frame_ring *in, *out;       // from and to the manager
	uint32_t mtu;
	double rate;    // events per second of each source; 0: no limit
	bool multicast; // frames in `in` to the node PLAYED_ALL are for all readouts
	uint64_t now;
};

struct played_counts {
	uint64_t published; // events
	uint64_t granted;   // events, by the first readout
	bool over;          // the run is over on all nodes
};

// Ends the program with a line if memory runs out.
struct played_nodes *played_create(const struct played_parameters *parameters);
void played_destroy(struct played_nodes *played);

// One turn of all nodes; false: nothing was to do. A check that fails ends the program with a line.
bool played_turn(struct played_nodes *played, uint64_t now);

struct played_counts played_counts(const struct played_nodes *played);
