// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The source role: stands for readout boards. Sends the blocks of a source set, event by event, as
// segments out of a port, at a rate or as fast as the port takes them, with faults on demand.
// Payloads are not copied: a packet is a buffer with headers and a pointer into the set.
//
// When its events are sent, or the drain is asked for, it finishes the event under way and sends
// an end-of-run block for each source.
#pragma once

#include "config/config.h"
#include "pipeline/role.h"
#include "source/source_set.h"
#include "tx/sender.h"

struct source_parameters {
	const char *name;
	const struct config *config;
	const struct config_generator *generator;
	const struct source_set *set; // outlives the role
	uint16_t port_id;
	uint16_t queue;     // tx queue of this lcore
	const uint8_t *mac; // 6 bytes, of the port
	uint32_t address;   // IPv4 to send from, host order
	uint8_t destination_mac[6];
	uint32_t mtu;
	struct rte_mempool *headers;  // mbufs with block_packets_buffer_size() bytes of room
	struct rte_mempool *payloads; // mbufs without room, for the pointers into the set
	int numa_node;
};

// Written by the role's lcore, read by telemetry.
struct source_counters {
	uint64_t events; // sent by all sources that send in time
	uint64_t blocks; // MFPs sent
	uint64_t segments;
	uint64_t payload_bytes;
	uint64_t no_buffer; // polls that found no mbuf: all are under way
};

// The functions below take the RoCE variant of the role, roce_source_role.h, too.

// Control thread. NULL if memory ran out.
struct role *source_role_create(const struct source_parameters *parameters);

const struct source_counters *source_role_counters(const struct role *role);
const struct sender_counters *source_role_sender_counters(const struct role *role);

// Whether all events and the end of run have been sent. Any thread.
bool source_role_finished(const struct role *role);
