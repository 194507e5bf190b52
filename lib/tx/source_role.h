// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The source role stands for readout boards. It sends the blocks of a block store, event by event,
// as segments out of a port, at a configured rate or as fast as the port accepts them, with the
// configured faults. Payloads are not copied (block_packets.h).
//
// After its last event, or when it is drained, it completes the current event and sends an
// end-of-run block for each source.
#pragma once

#include "base/production.h"
#include "pipeline/role.h"
#include "tx/block_packets.h"
#include "tx/sender.h"

struct source_parameters {
	const char *name;
	struct block_packets_parameters packets;
	struct packet_destination to;
	uint16_t port_id;
	uint16_t queue;                // tx queue of this lcore
	uint64_t events;               // to send; 0: no end
	double rate;                   // events/s; 0: as fast as possible
	struct production_spill spill; // instead of the rate
	const struct faults *faults;
	uint64_t seed; // of the faults
	int numa_node;
};

// Written by the role's lcore, read by telemetry.
struct source_counters {
	uint64_t events; // sent by all sources except the late one
	uint64_t tick;   // block_packets_tick() of the event that is sent now or next
	uint64_t blocks; // sent
	uint64_t segments;
	uint64_t payload_bytes;
	uint64_t no_buffer; // polls that found no free mbuf
};

// Control thread. NULL if memory ran out.
struct role *source_role_create(const struct source_parameters *parameters);

const struct source_counters *source_role_counters(const struct role *role);
const struct sender_counters *source_role_sender_counters(const struct role *role);

// Whether all events and the end of run have been sent. Any thread.
bool source_role_finished(const struct role *role);
