// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The rx role: takes packets from one queue of a port, tells segments from everything else, and
// hands each segment to the builder that builds its event: number (event index mod builders).
// Answers ARP and ICMP echo, so that a kernel host can send to the port.
//
// In a node of a cluster the builder is the one whose UDP port a segment was sent to, frames of the
// control protocol and answers to ARP requests go to the control role, and pause frames to the
// port's flow control.
//
// It drains by polling on until its port has been quiet for a while.
#pragma once

#include <stdint.h>

#include "config/config.h"
#include "packet/causes.h"
#include "packet/source_table.h"
#include "pipeline/link.h"
#include "pipeline/role.h"
#include "port/flow_control.h"
#include "rdma/roce_port.h"

struct rx_parameters {
	const char *name;
	const struct config *config;
	const struct config_port *port;
	uint16_t port_id;
	uint16_t queue;
	int32_t reply_queue;        // tx queue of this lcore for ARP and ICMP answers, -1: none
	bool checksums_in_hardware; // the port's offloads verify IP and UDP checksums
	bool partial_checksums;     // a sender on this host may leave UDP checksums unfinished
	const uint8_t *mac;         // 6 bytes, of the port
	const struct source_table *sources;
	struct link **links; // one a builder
	unsigned n_builders;
	struct link *control;              // to the control role; NULL: no cluster
	struct flow_control *flow_control; // of the port, whose owner the role is; NULL: none
	const struct evring *const *rings; // of the builders, for the flow control
	struct roce_port *roce;            // of the port, whose owner the role is; NULL: no RoCE
	struct link *roce_responses;       // to the source that sends by RoCE; NULL: none
	uint64_t quiet_cycles;             // without packets before a drain ends
	uint64_t drain_cycles;             // longest drain
	int numa_node;
};

// Written by the role's lcore, read by telemetry.
struct rx_counters {
	uint64_t packets;
	uint64_t bytes;           // of packets, without FCS
	uint64_t arp;             // and neighbour solicitations that were answered
	uint64_t icmp_echo;       // answered
	uint64_t control;         // handed to the control role
	uint64_t control_dropped; // that it had no room for; they are sent again
	uint64_t pause;           // frames of flow control
	uint64_t roce;            // datagrams that RoCE took and that are no segments
	uint64_t other;           // frames that evb does not speak
	uint64_t packet_drops[PACKET_N_CAUSES];
	uint64_t segments;
	uint64_t segment_drops[SEGMENT_N_CAUSES]; // the causes that rx counts
};

// Of one expected source.
struct rx_source_counters {
	uint64_t segments;
	uint64_t link_full;
};

// Control thread. NULL if memory ran out.
struct role *rx_role_create(const struct rx_parameters *parameters);

const struct rx_counters *rx_role_counters(const struct role *role);
// One entry an expected source.
const struct rx_source_counters *rx_role_source_counters(const struct role *role);
