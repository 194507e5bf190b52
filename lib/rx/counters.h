// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What an rx role counts. Each packet counts exactly once (packet/causes.h). Written by the role's
// lcore, read by telemetry.
#pragma once

#include <stdint.h>

#include "packet/causes.h"

struct rx_counters {
	uint64_t packets;
	uint64_t bytes;           // of all packets, without FCS
	uint64_t arp;             // ARP packets, and neighbour solicitations that got a reply
	uint64_t icmp_echo;       // echo requests, over IPv4 and IPv6, that got a reply
	uint64_t control;         // frames for the control role
	uint64_t control_dropped; // of these and of ARP replies: lost because its link was full
	uint64_t pause;           // pause frames of flow control
	uint64_t roce;            // RoCE packets that are not segments
	uint64_t other; // frames of protocols that evb does not speak; of a replayed capture
			// also UDP datagrams for other programs
	uint64_t checksums_unfinished; // of accepted packets (wire/net.h)
	uint64_t packet_drops[PACKET_N_CAUSES];
	uint64_t held; // packets that wait for room in links now (rx/hold.h), not in `packets` yet
	uint64_t segments;
	uint64_t bundled;                         // of these: behind the first one of their packet
	uint64_t segment_drops[SEGMENT_N_CAUSES]; // by the causes that rx counts
};

// Per expected source.
struct rx_source_counters {
	uint64_t segments;
	uint64_t link_full;
};
