// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The wire of a sender_core: UDP sockets of the kernel.
//
// Segments for a receiver wait until its MAC address is known, or are counted as not_sent:
// sender_reach.h.
//
// Threads: one, except that the counters may be read by any.
#pragma once

#include "sender/sender_core.h"

#define SENDER_SOCKETS_ERROR 256

struct sender_receiver {
	uint32_t address; // IPv4, host order
	uint16_t udp_port;
};

struct sender_sockets_parameters {
	const struct cluster_system *system; // NULL: no control socket
	const struct sender_receiver *receivers;
	unsigned n_receivers;
	uint32_t address; // own, host order; 0: the kernel chooses
	unsigned n_sources;
	uint16_t control_port;
	uint8_t control_dscp, data_dscp;
};

struct sender_sockets_counters {
	uint64_t datagrams; // of data
	uint64_t bytes;     // of UDP payload
	uint64_t not_sent;  // datagrams of data that the kernel refused, or whose receiver is away
};

struct sender_sockets;

// NULL with one line in error[SENDER_SOCKETS_ERROR].
struct sender_sockets *sender_sockets_open(const struct sender_sockets_parameters *parameters,
					   char *error);
void sender_sockets_close(struct sender_sockets *sockets); // NULL is allowed

struct sender_wire sender_sockets_wire(struct sender_sockets *sockets);

// Passes the control datagrams that have arrived to the core; returns their number.
unsigned sender_sockets_receive(struct sender_sockets *sockets, struct sender_core *core);

// Sleeps until a control datagram arrives, at most so long.
void sender_sockets_sleep(const struct sender_sockets *sockets, uint64_t ns);

const struct sender_sockets_counters *sender_sockets_counters(const struct sender_sockets *sockets);
