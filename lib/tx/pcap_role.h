// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The pcap source role sends the packets of a capture file out of a port unchanged: at the captured
// times, at these times scaled, or as fast as the port accepts them, with the configured faults. It
// reads the file on its lcore, so it is a tool for replaying and not for line rate.
#pragma once

#include "pipeline/role.h"
#include "source/capture.h"
#include "tx/sender.h"

struct pcap_parameters {
	const char *name;
	const char *file;
	double speed; // factor on the captured speed; 0: as fast as possible
	const struct faults *faults;
	uint64_t seed; // of the faults
	uint16_t port_id;
	uint16_t queue;
	uint32_t mtu;                // larger packets are counted and not sent
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
// Why the capture was not read to its end, in one line; NULL: it was, or there was no time for it.
// After the role's lcore has stopped.
const char *pcap_role_problem(const struct role *role);
bool pcap_role_finished(const struct role *role);
