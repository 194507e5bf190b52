// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The source role that sends by RoCE. It simulates readout boards with one queue pair each: every
// source of its set is one flow (roce_sender.h), connected by RDMA CM or with the numbers of the
// configuration. Each block, an MFP, is one message: SEND or WRITE, with or without immediate (the
// low 32 bits of the event index). The role sends event by event, at a rate or as fast as the
// windows and the port allow. RC messages are repeated until they are acknowledged.
//
// When all events are sent, or the drain begins, the role sends one end-of-run message per source,
// waits for the acknowledgements, and disconnects. A drain does not wait for sources that are not
// connected: their messages count as failed, and those that were not posted as unsent.
//
// With a script (a capture of RoCE, source/roce_capture.h) the role sends the messages of the
// script.
#pragma once

#include "pipeline/link.h"
#include "pipeline/role.h"
#include "port/flow_control.h"
#include "roce/queue_pair.h"
#include "roce/settings.h"
#include "source/source_set.h"
#include "tx/block_packets.h"
#include "tx/sender.h"
#include "tx/source_role.h"

#define ROCE_SOURCE_ERROR_SIZE 256

struct roce_source_parameters {
	const char *name;
	const struct roce_settings *settings;
	const struct source_set *set;            // of the script, and all blocks
	struct block_packets_parameters packets; // parameters of the blocks, and the port
	uint8_t destination_mac[6];
	uint32_t destination; // IPv4, host order
	uint16_t port_id;
	uint16_t queue;                          // tx queue of this lcore
	uint64_t link_rate;                      // bit/s; 0: unknown
	struct link *responses;                  // from the rx role of the port
	const struct flow_control *flow_control; // of the port; NULL: none
	unsigned data_priority;                  // priority whose pause frames stop the role
	uint64_t events;                         // number to send; 0: without limit
	double rate;                             // events/s; 0: as fast as possible
	double speed; // speed of a script; 1: as captured; 0: as fast as possible
	const struct faults *faults;
	uint64_t seed; // for the faults
	int numa_node;
};

// Whether the role is a RoCE source role, and not an ordinary source role (tx/source_role.h).
bool roce_source_role_is(const struct role *role);

// Control thread. NULL with one line in error[ROCE_SOURCE_ERROR_SIZE].
struct role *roce_source_role_create(const struct roce_source_parameters *parameters, char *error);

const struct source_counters *roce_source_role_source_counters(const struct role *role);
const struct sender_counters *roce_source_role_sender_counters(const struct role *role);
const struct roce_sender_counters *roce_source_role_counters(const struct role *role);
bool roce_source_role_finished(const struct role *role);

// Whether it waits for a connection to be made, or made again. Any thread.
bool roce_source_role_waits(const struct role *role);

// The queue pair of source `index` of the set, for telemetry.
const struct queue_pair *roce_source_role_qp(const struct role *role, unsigned index);
