// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The pcap source role: sends the packets of a capture file out of a port as they are, at captured
// speed, scaled, or as fast as the port takes them, with faults on demand. It reads the file on
// its lcore: it is a tool for replaying, not for line rate.
#pragma once

#include "config/config.h"
#include "pipeline/role.h"
#include "source/capture.h"
#include "tx/sender.h"

struct pcap_parameters {
	const char *name;
	const struct config_generator *generator;
	uint16_t port_id;
	uint16_t queue;
	uint32_t mtu;                // larger packets are not sent, and counted
	struct rte_mempool *buffers; // mbufs with room for a packet
	int numa_node;
};

// Written by the role's lcore, read by telemetry.
struct pcap_counters {
	uint64_t packets;   // read
	uint64_t oversized; // not sent: above the port's MTU
	uint64_t truncated; // not sent: the capture holds only their beginning
};

// Control thread. NULL with one line in error[SOURCE_ERROR_SIZE].
struct role *pcap_role_create(const struct pcap_parameters *parameters, char *error);

const struct pcap_counters *pcap_role_counters(const struct role *role);
const struct sender_counters *pcap_role_sender_counters(const struct role *role);
bool pcap_role_finished(const struct role *role);
