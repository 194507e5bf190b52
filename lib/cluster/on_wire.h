// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What events take of the links of their builders. The scheduler and the rates in grants count
// these bytes, and not those of the built event: the headers of each segment, and what Ethernet
// needs for each frame beside, are a twentieth of the link at an MTU of 1500; control messages to
// the builder, of events of 20 kB, are a thirtieth. Pure.
#pragma once

#include "config/config.h"

struct on_wire {
	uint32_t n_sources;
	uint32_t payload;  // of a full segment, bytes
	uint32_t overhead; // of each segment, bytes
	uint32_t control;  // messages of an event to its builder, bytes, at most
};

// Of a system. Where MTUs differ the smallest among the nodes that send counts.
void on_wire_make(struct on_wire *wire, const struct config *config);

// Bytes on the wire to a builder, of an event of `bytes` of MEP. Those sources that are on the
// builder's own node, `n_local`, send nothing over its link. Blocks are taken to be equally large.
uint64_t on_wire_bytes(const struct on_wire *wire, uint64_t bytes, uint32_t n_local);

// Bytes of data, of as many on the wire, in full segments.
double on_wire_efficiency(const struct on_wire *wire);
