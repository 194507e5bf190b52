// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A cluster: the nodes that together form one event builder. This part is the logic behind the
// control protocol, pure: node.h is what every node does, manager.h what the event manager's node
// does beside. Records come in and go out through a post, time is given; there is no DPDK, no
// socket and no clock in it. The control role (control_role.h) carries it on the data plane, the
// tests over a simulated network.
//
// The way of an event (modes push and pull):
//
//   readout  ANNOUNCE ->  manager   the event is there
//   manager  GRANT    ->  builder   it gets a slot (token) and waits for the data
//   manager  GRANT    ->  readouts  (push) they send;   builder REQUEST -> readouts (pull)
//   builder  DONE     ->  manager   it is built, and held
//   manager  PROGRESS ->  builder   publish it; or withdraw it, it was granted again elsewhere
//   builder  PROGRESS ->  manager   published: consumers have it
//   manager  RELEASE  ->  readouts  they may forget it
//   builder  CREDIT   ->  manager   consumers gave the slot back
//
// Events are indices: event id / packing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/config.h"
#include "control/endpoint.h"

#define CLUSTER_NONE 0xFFFFu

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

// Readouts (nodes with generators) by their rank among the nodes, which is their place in the order
// of sending.
struct cluster_readouts {
	uint16_t of_node[EVB_MAX_NODES]; // rank, or CLUSTER_NONE
	uint16_t nodes[EVB_MAX_NODES];   // by rank
	unsigned n;
};

static inline void cluster_readouts_make(struct cluster_readouts *readouts,
					 const struct config_cluster *cluster)
{
	readouts->n = 0;
	for (unsigned i = 0; i < cluster->n_nodes; i++) {
		bool sends = cluster->nodes[i].n_sources > 0;

		readouts->of_node[i] = sends ? (uint16_t)readouts->n : CLUSTER_NONE;
		if (sends)
			readouts->nodes[readouts->n++] = (uint16_t)i;
	}
}

// Events from the oldest unfinished to the newest granted, at most: a power of two. What sources
// hold bounds how far grants may run ahead of what is finished.
static inline uint32_t cluster_unfinished(const struct config *config)
{
	uint32_t n = 16;

	while (n < 2 * config->event_manager.source_buffer)
		n *= 2;
	return n;
}

// Slots of a builder that it keeps for events whose data is faster than their grant. The others are
// promised to the manager as tokens: whoever holds a token finds a slot.
static inline uint32_t cluster_spare(uint32_t slots)
{
	return slots >= 8 ? slots / 8 : slots > 1;
}

// What a node may send to a builder on another node, of the rate for all that do: as its sources
// are of all that are not the builder's node's own. By the clock it is all, for one sends at a
// time.
static inline uint32_t cluster_share(const struct config *config, unsigned builder, unsigned sender,
				     uint32_t rate_kbps)
{
	const struct config_cluster *cluster = &config->cluster;
	uint64_t all = cluster->n_sources - cluster->nodes[builder].n_sources;
	uint64_t own = cluster->nodes[sender].n_sources, share;

	if (own >= all || config->event_manager.shaping == CONFIG_SHAPING_TIMED_SHIFT)
		return rate_kbps;
	share = rate_kbps * own / all;
	return share > 0 || rate_kbps == 0 ? (uint32_t)share : 1;
}
