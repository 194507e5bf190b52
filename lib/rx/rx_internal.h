// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// State of an rx role, for the files of this room only. rx_role.c polls the port and fills the
// links; rx_serve.c serves one packet.
//
// Threads: the lcore of the role.
#pragma once

#include "packet/event_index.h"
#include "rx/destination.h"
#include "rx/hold.h"
#include "rx/path.h"
#include "rx/pressure.h"
#include "rx/rx_role.h"
#include "rx/strangers.h"

// What the role has per expected source.
struct rx_source {
	struct rx_source_counters counters;
	struct rx_path path;
} __rte_cache_aligned;

struct rx {
	struct role role;
	struct rx_parameters parameters;
	struct divisor packing;
	struct divisor builders;
	struct rx_destination own;
	uint32_t polls;
	struct rx_pressure pressure; // used if this role owns the port's flow control
	uint64_t last_packet;        // TSC
	uint32_t tick;               // admission_tick() of last_packet
	uint64_t drain_start;        // TSC, 0: not draining
	uint64_t leave_start;        // TSC, 0: handlers do not leave yet
	uint64_t leave_cycles;

	struct rx_handler handlers[RX_MAX_HANDLERS + RX_OWN_HANDLERS];
	unsigned n_handlers;
	bool handlers_send; // one of them has poll()
	bool is_open;       // as the gate says
	struct rx_hold hold;

	// Segments of this burst, by builder; each link is filled once per burst.
	struct rte_mbuf *staged[EVB_MAX_BUILDERS][ROLE_BURST];
	uint16_t n_staged[EVB_MAX_BUILDERS];
	uint16_t touched[ROLE_BURST]; // builders that have staged segments
	unsigned n_touched;

	struct rx_counters counters __rte_cache_aligned;
	struct rx_source *sources;
	struct strangers strangers;
};

// Serves a packet: segments are staged for their builder, other packets go to their handler, and
// what is refused is dropped and counted. Takes the mbuf.
void rx_serve(struct rx *rx, struct rte_mbuf *mbuf);

// Drops a segment and counts it under the cause. Takes the mbuf.
void rx_drop_segment(struct rx *rx, struct rte_mbuf *mbuf, enum segment_cause cause);
