// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A simulated system behind one call: a configuration of N equal nodes, a fabric, and the system.
// Node 0 is the event manager and has no other duty.
#pragma once

#include "config/config.h"
#include "sim_system/from_config.h"

struct bench_options {
	unsigned n_readouts, n_builders; // nodes; with `folded`, n_readouts nodes are both
	bool folded;
	const char *mode;             // NULL: push
	const char *shaping;          // NULL: linear-shift
	double utilisation;           // 0: 0.9
	double rate;                  // events per second of each source; 0: no limit
	uint64_t events;              // 0: no end
	unsigned fragment;            // bytes
	unsigned packing;             // 0: 1
	unsigned mtu;                 // 0: 9000
	unsigned slots;               // 0: 16
	unsigned source_buffer;       // 0: 256
	unsigned parallel_sends;      // 0: as many as readouts
	unsigned credits;             // of a builder in mode pull; 0: all slots
	const char *deadline;         // NULL: 500ms
	uint64_t link;                // bit/s of the builders' links; 0: 10 Gb/s
	uint64_t other_link;          // of the others; 0: as `link`
	bool untold;                  // the configuration does not tell the links' rates
	uint64_t queue;               // bytes per output port of a switch; 0: no limit
	bool pfc;                     // of the data
	unsigned down;                // hosts per leaf of a folded Clos; 0: one switch
	double loss;                  // on links, of packets
	unsigned sleep_us;            // of nodes without work; 0: they poll
	struct sim_consumer consumer; // n_workers 0: one that needs no time
	struct sim_costs costs;
	uint64_t seed;
};

struct bench {
	struct bench_options options;
	struct config *config;
	struct sim_generators generators;
	struct sim_engine *engine;
	struct sim_topology topology;
	struct sim_fabric *fabric;
	struct sim_system *system;
	char error[SIM_SYSTEM_ERROR_SIZE];
};

// False with the reason in bench->error.
bool bench_open(struct bench *bench, const struct bench_options *options);
void bench_close(struct bench *bench);

// Runs for a time, ns. False if a sum does not hold or the engine failed.
bool bench_run(struct bench *bench, uint64_t ns);

// Runs until the manager has this state; false if that takes longer than `limit` ns.
bool bench_await(struct bench *bench, enum ctrl_run_state state, uint64_t limit);

// What happened in a time after a warm-up, ns, per second.
struct bench_rates {
	double complete, incomplete; // events
	double goodput;              // bytes of the blocks of complete events
	double event_wire;           // bytes on the wire of complete events
	double control_wire;         // bytes of control frames received by all nodes
	double builder_control;      // of these, by the nodes of builders
	double lost;                 // packets of data
};
bool bench_measure(struct bench *bench, uint64_t warmup, uint64_t time, struct bench_rates *rates);
