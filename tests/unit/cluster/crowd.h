// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A system of many nodes in one process: the logic of lib/cluster alone, over a network that loses
// nothing. Node 0 is the manager; each other node has one builder and one readout. Data arrives as
// soon as a readout has its order, and consumers return each event at once. What farm.h tests with
// faults and few nodes, this shows with up to EVB_MAX_NODES: sums that must hold, and what an event
// costs.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/manager.h"
#include "cluster/node.h"

#define CROWD_SLOTS 16u

struct crowd_options {
	unsigned n_nodes;   // 2 to EVB_MAX_NODES
	unsigned n_sources; // of all nodes, at least one each
	enum sched_mode mode;
	uint32_t source_buffer;
	uint64_t events;
	// Events from this one on are not built before the manager's process is replaced, which
	// happens when no further event is granted; 0: it stays.
	uint64_t restart;
};

// Records on their way, one behind the other.
struct crowd_wire {
	uint8_t *bytes;
	size_t used, size;
};

struct crowd_message {
	uint16_t node;
	struct message message; // from its builder, or, MESSAGE_SENT and _ANNOUNCE, its readout
};

struct crowd_node {
	struct crowd *crowd;
	struct cluster_system system;
	struct cluster_node *node;
	uint32_t free[CROWD_SLOTS]; // slots of its builder
	unsigned n_free;
	uint32_t run;
	uint64_t announced, released, n_sent, n_published;
	bool ended;
};

// An event between its grant and its publication, at index event modulo the events that may be
// unfinished.
struct crowd_event {
	uint64_t event; // + 1; 0: none
	unsigned arrived;
	uint32_t slot;
	unsigned node; // of its builder
	bool expected, built;
};

struct crowd {
	struct crowd_options options;
	uint64_t now;
	struct cluster_system system; // its arrays are shared by those of the nodes
	struct cluster_manager *manager;
	struct crowd_node *nodes;
	struct crowd_event *open;
	uint64_t open_mask;
	uint8_t *published; // by event: times
	struct crowd_wire to_manager, to_nodes, delivered;
	struct crowd_message *messages; // from builders and readouts
	size_t n_messages, messages_size;
	// What it cost
	uint64_t n_records, n_bytes;        // of the control protocol
	uint64_t manager_ns, nodes_ns;      // CPU, all nodes together
	uint64_t manager_bytes, node_bytes; // allocated by the manager, and by the last node
	uint64_t start_ns;                  // until the run began
	uint64_t restart_ns;                // CPU of the new manager until events are granted
	uint64_t before_restart_ns;
	bool restarted;
	uint64_t outstanding; // at the last poll
	char broken[160];     // the first thing that does not hold
};

// Returns false if memory ran out.
bool crowd_open(struct crowd *crowd, const struct crowd_options *options);
void crowd_close(struct crowd *crowd);

// Runs until the run has stopped, at most for `polls` polls of each node. crowd->broken is empty if
// everything was as it must be: each event was published once, and all sums agree.
void crowd_run(struct crowd *crowd, uint64_t polls);
