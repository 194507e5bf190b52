// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The rx role: receives packets from one queue of a port, decodes segments, and passes each segment
// to the builder that builds its event, which is number (event index mod builders), or, in a node
// of a cluster, the builder to whose UDP port the segment was sent. All other packets go to
// protocol handlers (rx/handler.h).
//
// It drains by polling on until its port has been quiet for a while.
#pragma once

#include <stdint.h>

#include "packet/admission.h"
#include "packet/run_gate.h"
#include "packet/source_table.h"
#include "pipeline/link.h"
#include "pipeline/role.h"
#include "port/flow_control.h"
#include "rx/counters.h"
#include "rx/handler.h"

#define RX_MAX_HANDLERS 4 // of those that are passed in

struct evring;
struct strangers;

// The addresses for which a port replies.
struct rx_addresses {
	struct net_mac mac;
	bool has_ip4, has_ip6;
	uint32_t ip4; // host order
	uint8_t ip6[16];
	uint32_t group4; // of datagrams by multicast that handlers receive, host order; 0: none
};

struct rx_parameters {
	const char *name;
	uint16_t port_id;
	uint16_t queue;
	int32_t reply_queue; // tx queue of this lcore for replies and for handlers; -1: none
	bool verify_checksums;
	bool checksums_in_hardware;    // the port verifies IP and UDP checksums
	struct rx_addresses addresses; // of the port
	// UDP datagrams and segments to other addresses than these are dropped: to another Ethernet
	// address, multicast and broadcast included, or to another IP address where the port has
	// one of that version.
	bool own_only;

	// Where segments are found: in UDP datagrams to `udp_ports` ports from `udp_port` on, or
	// (ether_type is not 0) behind an EtherType. Neither: handlers alone bring segments.
	uint16_t ether_type;
	uint16_t udp_port, udp_ports;
	bool others_are_expected; // datagrams to other ports count as `other`, and are no drops
	bool takes_bundles;       // packets may be bundles (packet/bundle.h), for builders
	bool builder_by_udp_port; // destination port - udp_port is the builder's number
	uint32_t packing;         // events per block, >= 1
	const struct source_table *sources; // outlives the role

	// Whether a source may send from where a segment comes from; NULL: it may. Outlives the
	// role.
	const struct admission *admission;
	enum source_moves source_moves;

	struct link **links; // one per builder, or the one to the readout of boards
	unsigned n_builders;
	// Packets that wait while lossless links are full, so that control frames do not
	// (rx/hold.h); 0: nothing is received then.
	uint32_t hold;
	uint64_t hold_patience; // TSC cycles; UINT64_MAX: nothing that waits is dropped
	struct run_gate *gate;  // outlives the role; NULL: segments are accepted at all times
	const struct rx_handler *handlers; // tried in this order, before rx's own
	unsigned n_handlers;               // at most RX_MAX_HANDLERS

	struct flow_control *flow_control; // of the port, if this role is its owner; else NULL
	// Only where flow_control is set:
	uint8_t data_priority;             // 802.1p priority that the flow control pauses
	const struct evring *const *rings; // of the builders; NULL: the link is not to a builder
	bool events_are_granted;           // an event manager grants the events
	const struct rte_mempool *pool;    // receive buffers of the port

	uint64_t quiet_cycles; // time without packets after which a drain ends
	uint64_t drain_cycles; // longest time of a drain
	int numa_node;
};

// Control thread. NULL if memory ran out.
struct role *rx_role_create(const struct rx_parameters *parameters);

const struct rx_counters *rx_role_counters(const struct role *role);
// `source`: the index of an expected source.
const struct rx_source_counters *rx_role_source_counters(const struct role *role, unsigned source);
// The senders that were refused lately.
const struct strangers *rx_role_strangers(const struct role *role);
