// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A cluster is the set of nodes that together form one event builder. This directory holds the
// logic of the control protocol: node.h for every node, and manager.h for the event manager, which
// runs on one of the nodes in addition. The logic is pure: the caller passes in records and the
// time, and the logic sends records by a transport. It uses no DPDK, no socket and no clock. The
// control role (node/control_role.h) runs it on the data plane; the tests run it over a simulated
// network.
//
// The steps of an event (modes push and pull):
//
//   readout  ANNOUNCE ->  manager   the readout has the event
//   manager  GRANT    ->  builder   the builder reserves a slot (token) and waits for the data
//   manager  GRANT    ->  readouts  (push) the readouts send the data
//   builder  REQUEST  ->  readouts  (pull) the readouts send the data
//   builder  BUILT    ->  manager   the event is built, and consumers have it
//   manager  RELEASE  ->  readouts  the readouts may discard the data
//   builder  CREDIT   ->  manager   consumers have returned the slot
//
// A builder that is not permitted to publish the event (manager.h) holds it when it is built:
//
//   builder  DONE     ->  manager   the event is built; the builder holds it
//   manager  PROGRESS ->  builder   PUBLISH; or WITHDRAW, if another builder has the grant now
//   builder  PROGRESS ->  manager   PUBLISHED: consumers have the event
//
// An event is named by its index, which is event id / packing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/endpoint.h"
#include "sched/sched.h"
#include "system/system.h"

// The part of the configuration that the node and the manager both use.
struct cluster_parameters {
	const struct cluster_system *system; // the caller's; outlives node and manager
	enum sched_mode mode;
	enum sched_shaping shaping;
	uint32_t source_buffer;  // events that a source holds until they are released
	uint32_t parallel_sends; // sources that send for one event at once
	// No grants and no deadlines while a source is silent; false: it is left out.
	bool waits_for_sources;
	// Where a process serves several runs: the number of the run that this one is prepared for.
	// It takes part in no other one. 0: the process serves one run, of any number.
	uint32_t prepared_run;
};

// How the logic sends records. cluster_transport_of() returns a transport over an endpoint; tests
// have their own.
struct cluster_transport {
	void *context;

	// Sends a record to a node, which may be the sender's own. The record arrives once and in
	// order as long as neither node restarts. A node that accepts nothing for too long, or
	// whose queue is full, is given up: its queue is dropped, and CONTROL_LOST is reported.
	void (*send)(void *context, unsigned node, const void *record, size_t size);

	// As send() to each of n nodes: in one frame by multicast, where there is multicast. NULL:
	// records are sent to each.
	void (*send_all)(void *context, const uint16_t *nodes, unsigned n, const void *record,
			 size_t size);

	// Bytes of records that can be sent to a node now; no record is larger than `largest`.
	size_t (*room)(void *context, unsigned node, size_t largest);

	// By which the records are sent: it knows what has arrived. NULL: nothing is ever lost, and
	// the latency of credits (latency.h) is not measured.
	const struct control_endpoint *endpoint;
};

struct cluster_transport cluster_transport_of(struct control_endpoint *endpoint);

static inline void cluster_send(const struct cluster_transport *transport, unsigned node,
				const void *record, size_t size)
{
	transport->send(transport->context, node, record, size);
}

static inline size_t cluster_room(const struct cluster_transport *transport, unsigned node,
				  size_t largest)
{
	return transport->room(transport->context, node, largest);
}

#define CLUSTER_MTU_MOST 9000u // bytes: frames of the control protocol fit in packets of this size

// The sizes and times of the endpoint of one of n_nodes nodes, with the MTU of its port. The caller
// sets the handlers, the nodes, the session, the epoch, the key, the heartbeats and the time.
struct control_parameters cluster_endpoint_parameters(unsigned n_nodes, uint32_t mtu);

// The node that has an IPv4 address, host order; CLUSTER_NONE if that is this node or none.
unsigned cluster_node_at(const struct cluster_system *system, uint32_t address);

// The node that sent a datagram from an address, which names the node `named`; CTRL_MAX_NODES or
// above: none. CLUSTER_NONE: it is not the node that it names.
unsigned cluster_sender_of(const struct cluster_system *system, uint32_t address, unsigned named);

// The largest number of events from the oldest unfinished to the newest granted, a power of two. It
// is at least 2 * source_buffer: grants run ahead of the finished events by at most the number of
// events that sources hold.
static inline uint32_t cluster_unfinished(uint32_t source_buffer)
{
	uint32_t n = 16;

	while (n < 2 * source_buffer)
		n *= 2;
	return n;
}

// The largest number of finished events that a builder remembers for its report. They are released
// nearly in their order; an event out of order leaves the list a little later, which the factor
// allows for.
static inline uint32_t cluster_finished(uint32_t source_buffer)
{
	return 2 * cluster_unfinished(source_buffer);
}

// Slots that a builder reserves for events whose data arrives before their grant. It offers all
// other slots to the manager as tokens, so there is a free slot for each granted event.
static inline uint32_t cluster_spare(uint32_t slots)
{
	return slots >= 8 ? slots / 8 : slots > 1;
}

// The rate, kbit/s, at which node `sender` may send to a builder on node `to`, if all senders
// together may send at rate_kbps: its share is the number of its sources, divided by the number of
// sources of all nodes except `to`. With timed shift, and where the nodes share their source, one
// node sends at a time, at the whole rate.
static inline uint32_t cluster_share(const struct cluster_parameters *parameters, unsigned to,
				     unsigned sender, uint32_t rate_kbps)
{
	const struct cluster_system *system = parameters->system;
	uint64_t all = system->n_sources - system->nodes[to].n_sources;
	uint64_t own = system->nodes[sender].n_sources, share;

	if (own >= all || parameters->shaping == SCHED_TIMED_SHIFT || system->shares_source)
		return rate_kbps;
	share = rate_kbps * own / all;
	return share > 0 || rate_kbps == 0 ? (uint32_t)share : 1;
}
