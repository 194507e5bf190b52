// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// How hosts react to ECN. The receiver of a marked packet notifies its sender, at most once per
// interval and flow (the notification point of DCQCN); the sender reduces the rate of the flow and
// recovers it: the reaction point of lib/pacing/dcqcn.h, with its default parameters, as network
// cards for RoCE do. A flow is all that a host sends to another one.
//
// Memory: flows are remembered from their first mark on.
//
// Threads: one. Times are ps.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct congestion_parameters {
	uint64_t line_rate; // bytes/s of packets that the link of a host carries; at least 125 000
	uint64_t interval;  // between two notifications of a flow
};

struct congestion;

// NULL: no memory.
struct congestion *congestion_create(const struct congestion_parameters *parameters);
void congestion_destroy(struct congestion *congestion);

// A marked packet has arrived. True: the receiver notifies the sender now.
bool congestion_marked(struct congestion *congestion, uint32_t from, uint32_t to, uint64_t now);

// The notification has arrived at the sender.
void congestion_notified(struct congestion *congestion, uint32_t from, uint32_t to, uint64_t now);

// When the flow may send its next packet; 0: it is not limited.
uint64_t congestion_ready_at(struct congestion *congestion, uint32_t from, uint32_t to);

// The flow sends a packet.
void congestion_sent(struct congestion *congestion, uint32_t from, uint32_t to, uint32_t bytes,
		     uint64_t now);
