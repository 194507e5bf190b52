// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Messages of any size over a fabric of packets. A host sends its messages in the order in which
// they were given to it, one after the other; control messages overtake data, between two packets.
// A message that loses a packet is lost: nothing is repeated.
//
// Threads: those of the fabric's engine.
#pragma once

#include <stdint.h>

#include "base/histogram.h"
#include "sim/fabric.h"
#include "sim_traffic/traffic.h"

struct sim_messages_parameters {
	struct sim_engine *engine;
	const struct sim_topology *topology;
	const struct sim_fabric_parameters *fabric; // host_queue is set here
	uint32_t packet;                            // bytes of a full packet
	const uint32_t *place; // of each host: its number in the topology; NULL: the same
	struct sim_traffic_settings traffic;
	uint64_t seed; // of the traffic
	// Hosts react to ECN: flows that are marked send with a reduced rate (congestion.h), behind
	// which messages to others need not wait. 0: they do not.
	uint64_t notification_interval; // ps, between two notifications of a flow
	// A deadlock was found; NULL: not interesting.
	void (*deadlock)(void *context);
	void *context;
};

struct sim_messages_account {
	uint64_t sent;            // data messages that were given to hosts
	uint64_t delivered;       // of these, complete
	uint64_t lost;            // all messages that lost a packet
	uint64_t control;         // bytes of control messages that arrived
	uint64_t notifications;   // of congestion that were sent
	struct histogram latency; // ns, of data messages from sending until complete
};

struct sim_messages;

// Makes the fabric and the traffic on it. NULL: one line in error[SIM_ERROR_SIZE].
struct sim_messages *sim_messages_create(const struct sim_messages_parameters *parameters,
					 char *error);
void sim_messages_destroy(struct sim_messages *messages);

// What a packet that is underway carries.
struct sim_message_part {
	uint64_t number; // of the message, in the order in which they were sent
	struct sim_message message;
	bool is_notification; // a CNP for a packet of `message`, of which only the hosts are known
};

struct sim_message_part sim_messages_part(const struct sim_messages *messages,
					  const struct sim_packet *packet);

struct sim_fabric *sim_messages_fabric(struct sim_messages *messages);
const struct sim_traffic_account *sim_messages_traffic(const struct sim_messages *messages);
const struct sim_messages_account *sim_messages_account(const struct sim_messages *messages);

// Bytes of data that have arrived at each host, of lost messages, too.
const uint64_t *sim_messages_received(const struct sim_messages *messages);

// Sets all accounts to 0: those of messages and traffic, and the received bytes.
void sim_messages_begin(struct sim_messages *messages);

// What is wrong, in one line; NULL: nothing. Then the simulation cannot go on.
const char *sim_messages_error(const struct sim_messages *messages);
