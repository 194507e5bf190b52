// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The source role where segments travel by RoCE: stands for readout boards with a queue pair each.
// It connects a queue pair for every source of its set, as queue_pairs says or by RDMA CM, and
// sends each block, an MFP, as one message: SEND or WRITE, with or without immediate (the low 32
// bits of the event id). Event by event, at a rate or as fast as windows and the port allow. RC
// messages are sent again until they are acknowledged.
//
// What comes for its queue pairs it gets from the rx role of the port.
//
// When its events are sent, or the drain is asked for, it sends an end-of-run message for each
// source, waits for the acknowledgements and disconnects.
#pragma once

#include "config/config.h"
#include "pipeline/link.h"
#include "pipeline/role.h"
#include "port/flow_control.h"
#include "roce/connection.h"
#include "source/source_set.h"
#include "tx/sender.h"
#include "tx/source_role.h"

#define ROCE_SOURCE_ERROR_SIZE 256

struct roce_source_parameters {
	const char *name;
	const struct config *config;
	const struct config_generator *generator;
	struct block_packets_parameters packets;
	uint8_t destination_mac[6];
	uint16_t port_id;
	uint16_t queue;                    // tx queue of this lcore
	struct link *responses;            // from the rx role
	struct flow_control *flow_control; // of the port; NULL: none
	int numa_node;
};

// Written by the role's lcore, read by telemetry.
struct roce_source_counters {
	uint64_t connected; // queue pairs, now
	uint64_t failed;    // connections that ended otherwise than by us
	uint64_t completed; // messages acknowledged, or sent where nobody acknowledges
	uint64_t failed_messages;
	uint64_t icrc_errors; // of responses
	uint64_t unknown_qp;
	uint64_t cnps;
	uint64_t held_pause; // polls that a pause of the priority held back
};

// Tells such a role from an ordinary source role, whose functions (source_role.h) take both.
bool roce_source_role_is(const struct role *role);

// Control thread. NULL with one line in error[ROCE_SOURCE_ERROR_SIZE].
struct role *roce_source_role_create(const struct roce_source_parameters *parameters, char *error);

const struct source_counters *roce_source_role_source_counters(const struct role *role);
const struct roce_source_counters *roce_source_role_counters(const struct role *role);
const struct sender_counters *roce_source_role_sender_counters(const struct role *role);
bool roce_source_role_finished(const struct role *role);

// The queue pair of the set's source `index`, for telemetry.
const struct queue_pair *roce_source_role_qp(const struct role *role, unsigned index);
