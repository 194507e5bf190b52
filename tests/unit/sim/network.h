// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A fabric under test, and hosts that send by simple rules and count what arrives.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "sim/fabric.h"

#define NETWORK_HOSTS   128u
#define NETWORK_FOREVER UINT64_MAX

#define GBIT UINT64_C(1000000000)

// What a host sends: packets of one size, to one destination or to all at random.
struct network_host {
	uint64_t left;        // packets to send
	uint32_t destination; // SIM_MAX_HOSTS: drawn for each packet
	uint32_t bytes;
	double interval; // ps, mean of a Poisson process; 0: as fast as the link takes them
	uint8_t priority;
	bool may_mark;
};

struct network {
	struct sim_engine *engine;
	struct sim_topology topology;
	struct sim_fabric_parameters parameters;
	struct sim_fabric *fabric;
	struct random random;
	unsigned arrival; // event: a host sends its next packet
	struct network_host hosts[NETWORK_HOSTS];

	// What arrived, per destination and per priority.
	uint64_t packets[NETWORK_HOSTS];
	uint64_t from[NETWORK_HOSTS];                        // by source
	uint64_t sent[NETWORK_HOSTS], newest[NETWORK_HOSTS]; // numbers of packets, by source
	uint64_t overtaken; // packets that arrived behind a later one of their source
	uint64_t packets_of[SIM_MAX_PRIORITIES];
	double time_of[SIM_MAX_PRIORITIES]; // ps from sim_send() to delivery, added
	uint64_t last;                      // time of the last delivery
	uint64_t hops;                      // of the last packet
	uint64_t links;                     // that all packets have passed
	uint64_t dropped, marked;
	uint64_t digest; // of all deliveries
	bool is_deadlocked;
	char error[SIM_ERROR_SIZE];
};

// A network with default parameters, without topology.
void network_init(struct network *network);
// Makes the fabric of the topology and the parameters as they are.
bool network_begin(struct network *network);
// The same with one switch, links of 100 Gb/s, and cables of so many ps.
bool network_begin_switch(struct network *network, uint32_t n_hosts, uint64_t cable);
void network_end(struct network *network);

// The host begins to send, now.
void network_send(struct network *network, uint32_t host, struct network_host what);
// One packet, now.
bool network_send_one(struct network *network, uint32_t source, uint32_t destination,
		      uint32_t bytes);

// Mean time of a priority from sim_send() to delivery, ps.
double network_mean_time(const struct network *network, unsigned priority);

// Sum over the ports of all switches.
struct sim_port network_switches(const struct network *network);
