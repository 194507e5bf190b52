// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The readout role: a generator's sources in a node of a cluster. It announces which events are
// there, at most source_buffer ahead of what has been released, and sends them where the event
// manager grants them, in the order of the linear shift and not faster than granted. A block is
// held until its event is released; it lies in the source set, so holding costs nothing here.
//
// Within a round, in phase n this node sends the event at position (n + rank) mod n_positions: no
// two nodes send to one builder in the same phase, as long as they are in step.
//
// In static mode it sends event e to builder (e mod builders) without being granted, node x
// beginning x events further within each round of as many events as builders.
//
// Segments for a builder of the same process go to it over a link, without a port. To others they
// go by UDP, behind an EtherType, or as RoCE messages (readout_roce.h), by the same order and pace.
#pragma once

#include "config/config.h"
#include "packet/mailbox.h"
#include "packet/neighbours.h"
#include "packet/source_table.h"
#include "pipeline/link.h"
#include "pipeline/role.h"
#include "port/flow_control.h"
#include "rdma/readout_roce.h"
#include "source/source_set.h"
#include "tx/sender.h"

struct readout_parameters {
	const char *name;
	const struct config *config;
	const struct config_generator *generator;
	const struct source_set *set; // outlives the role
	const struct source_table *sources;
	uint16_t port_id;
	uint16_t queue;     // tx queue of this lcore
	const uint8_t *mac; // 6 bytes, of the port
	uint32_t mtu;
	struct rte_mempool *headers, *payloads; // as for block_packets
	struct link **links;                    // one a local builder
	const struct neighbours *neighbours;
	struct flow_control *flow_control; // of the port; NULL: none
	unsigned port;                     // index
	struct link *roce_responses;       // from the rx role of the port; NULL: not by RoCE
	struct mailbox *from_control, *to_control;
	int numa_node;
};

// Written by the role's lcore, read by telemetry.
struct readout_counters {
	uint64_t events; // sent, each time that they were granted
	uint64_t blocks;
	uint64_t segments;
	uint64_t payload_bytes;
	uint64_t local_segments; // of them: to builders of this process
	uint64_t no_buffer;      // polls that found no mbuf
	uint64_t link_full;      // polls that found no room in a local builder's link
	uint64_t held_pause;     // polls that a pause of the priority held back
	uint64_t held_pace;      // polls that the granted rate held back
	uint64_t unreachable;    // segments not sent: the node's MAC address is not known
	uint64_t gone;           // grants of events that were released, or were never there
	uint64_t full;           // times that the buffer became full: nothing more is announced
	uint64_t throttled;      // polls in which the manager wanted nothing more announced
};

// Control thread. NULL if memory ran out.
struct role *readout_role_create(const struct readout_parameters *parameters);

// NULL where it does not send by RoCE.
const struct readout_roce *readout_role_roce(const struct role *role);

const struct readout_counters *readout_role_counters(const struct role *role);
const struct sender_counters *readout_role_sender_counters(const struct role *role);
