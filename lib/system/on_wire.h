// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The number of bytes that an event uses on the link of its builder. The scheduler and the rates in
// grants count these bytes, not the size of the built event: at an MTU of 1500 bytes the headers of
// each segment and the gap between frames use 1/20 of the link; for events of 20 kB the control
// messages to the builder use 1/30. The functions are pure.
#pragma once

#include "sched/sched.h"
#include "system/system.h"

enum on_wire_transport { ON_WIRE_ETH, ON_WIRE_UDP, ON_WIRE_ROCE };

struct on_wire_parameters {
	const struct cluster_system *system;
	enum on_wire_transport transport;
	uint32_t path_mtu;   // RoCE, bytes; 0: the largest that the MTU allows
	uint32_t n_expected; // number of sources if no node has a generator
	enum sched_mode mode;
	bool keyed; // control messages are authenticated
};

struct on_wire {
	uint32_t n_sources;
	uint32_t payload;  // payload of a full segment, bytes
	uint32_t overhead; // headers and gap of each segment, bytes
	uint32_t control;  // upper bound for the control messages about one event, bytes
};

// If the MTUs of the nodes that send differ, the smallest is used.
void on_wire_make(struct on_wire *wire, const struct on_wire_parameters *parameters);

// Bytes on the wire to a builder for a MEP of `bytes` bytes. The `n_local` sources on the builder's
// own node send nothing over its link. All blocks are assumed to have the same size.
uint64_t on_wire_bytes(const struct on_wire *wire, uint64_t bytes, uint32_t n_local);

// The share of data in the bytes on the wire, 0 to 1, for full segments.
double on_wire_efficiency(const struct on_wire *wire);
