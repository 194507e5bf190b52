// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A cluster is the set of nodes that together form one event builder. This room holds the logic
// behind the control protocol: node.h for every node, manager.h for the event manager, which one
// of the nodes has in addition. The logic is pure: the caller passes in records and the time, and
// records leave by a transport. There is no DPDK, no socket and no clock in it. The control role
// (node/control_role.h) runs it on the data plane, the tests run it over a simulated network.
//
// The steps of an event (modes push and pull):
//
//   readout  ANNOUNCE ->  manager   the readouts have the event
//   manager  GRANT    ->  builder   it reserves a slot (token) and waits for the data
//   manager  GRANT    ->  readouts  (push) they send;   builder REQUEST -> readouts (pull)
//   builder  DONE     ->  manager   the event is built; the builder holds it
//   manager  PROGRESS ->  builder   publish it; or withdraw it, another builder was granted it
//   builder  PROGRESS ->  manager   published: consumers have it
//   manager  RELEASE  ->  readouts  they may discard it
//   builder  CREDIT   ->  manager   consumers returned the slot
//
// Events are indices: event id / packing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cluster/system.h"
#include "control/endpoint.h"
#include "sched/sched.h"

#define CLUSTER_NONE 0xFFFFu

// What node and manager share of the configuration.
struct cluster_parameters {
	const struct cluster_system *system; // outlives both
	enum sched_mode mode;
	enum sched_shaping shaping;
	uint32_t source_buffer;  // events that a source holds until they are released
	uint32_t parallel_sends; // sources that send for one event at once
};

// How the logic sends records: by an endpoint, see cluster_transport_of(), or by a test.
struct cluster_transport {
	void *context;

	// Sends a record to a node, or to the node itself. The record arrives once and in order as
	// long as both nodes live. A node that accepts nothing for too long, or has too much to
	// accept, is given up: what waits for it is dropped, and CONTROL_LOST is reported.
	void (*send)(void *context, unsigned node, const void *record, size_t size);

	// Bytes of records, of at most `largest` each, that can be sent to a node at once.
	size_t (*room)(void *context, unsigned node, size_t largest);
};

struct cluster_transport cluster_transport_of(struct control_endpoint *endpoint);

// Readout nodes (nodes with generators) by their rank, which is their place in the order of
// sending: their order among the nodes.
struct cluster_readouts {
	uint16_t of_node[EVB_MAX_NODES]; // rank, or CLUSTER_NONE
	uint16_t nodes[EVB_MAX_NODES];   // by rank
	unsigned n;
};

static inline void cluster_readouts_make(struct cluster_readouts *readouts,
					 const struct cluster_system *system)
{
	readouts->n = 0;
	for (unsigned i = 0; i < system->n_nodes; i++) {
		bool sends = system->nodes[i].n_sources > 0;

		readouts->of_node[i] = sends ? (uint16_t)readouts->n : CLUSTER_NONE;
		if (sends)
			readouts->nodes[readouts->n++] = (uint16_t)i;
	}
}

// The most events from the oldest unfinished to the newest granted: a power of two. Grants may run
// ahead of what is finished by as many events as sources hold.
static inline uint32_t cluster_unfinished(uint32_t source_buffer)
{
	uint32_t n = 16;

	while (n < 2 * source_buffer)
		n *= 2;
	return n;
}

// Slots of a builder that it reserves for events whose data arrives before their grant. The others
// are promised to the manager as tokens, so that the holder of a token finds a slot.
static inline uint32_t cluster_spare(uint32_t slots)
{
	return slots >= 8 ? slots / 8 : slots > 1;
}

// The rate at which node `sender` may send to a builder on node `to`, of the rate for all senders
// together: the share of its sources in those of all nodes but `to`. With timed shift one node
// sends at a time, at the whole rate.
static inline uint32_t cluster_share(const struct cluster_parameters *parameters, unsigned to,
				     unsigned sender, uint32_t rate_kbps)
{
	const struct cluster_system *system = parameters->system;
	uint64_t all = system->n_sources - system->nodes[to].n_sources;
	uint64_t own = system->nodes[sender].n_sources, share;

	if (own >= all || parameters->shaping == SCHED_TIMED_SHIFT)
		return rate_kbps;
	share = rate_kbps * own / all;
	return share > 0 || rate_kbps == 0 ? (uint32_t)share : 1;
}
