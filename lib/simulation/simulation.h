// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Simulates the network of a configuration, with one of the models of lib/sim_traffic, and takes
// its results. The result depends on the configuration alone: the same on every machine, and
// however many simulations run at the same time in other processes.
//
// Threads: one for each simulation.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cjson/cJSON.h>

#include "config/fabric.h"
#include "fabric_files/graph.h"
#include "sim_system/system.h"
#include "sim_traffic/messages.h"

#define SIMULATION_MAX_WAITS  16u
#define SIMULATION_MAX_POINTS 200u    // of the time series
#define SIMULATION_MAX_TRACE  200000u // messages, events, pauses, losses of a time line

// A file of what one host sends and receives, as libpcap writes it, with the times of the
// simulation in nanoseconds. Payload of data does not exist: packets are cut behind their headers.
struct simulation_capture {
	const char *path;
	// The name of a host of the graph file, else the number of a host; empty: `host` is given.
	char name[FABRIC_GRAPH_NAME_SIZE];
	uint32_t host; // its number in the results
};

struct simulation_parameters {
	const struct config_fabric *fabric;
	const char
	    *path; // of the configuration: files that it names are in its folder; NULL: in "."
	uint32_t n_nodes; // of the system; 0: none
	// Traffic kind `system`: sim_system_configured(), and its generators. Otherwise NULL.
	const struct sim_system_parameters *system;
	const struct simulation_capture *capture; // NULL: none
	FILE *trace; // receives a time line as JSON of Chrome and Perfetto; NULL: none
	// Called several times per second with the share of the time that was simulated. False:
	// stop, and give what there is.
	bool (*go_on)(void *context, double share);
	void *context;
};

// A port: one direction of a link, and the queue in front of it. Times, bytes and packets are those
// after the warm-up; peaks are those of the whole simulation.
struct simulation_port {
	struct sim_port view;
	uint32_t peer;       // node at the other end
	uint64_t queue_mean; // bytes, of samples
	uint64_t queue_p99;  // a little too high: histogram.h
};

// Of traffic kind `system`, after the warm-up.
struct simulation_system {
	struct sim_node_view total;          // of all nodes
	struct sim_latency latency;          // of events
	struct cluster_manager_view manager; // at the end
	uint64_t lost_data, lost_control;    // packets
};

// What happened since the point before it; the first one begins at the end of the warm-up. In this
// time a host can receive 32 frames or more.
struct simulation_point {
	uint64_t time_ns; // of the simulation, at the end
	// bits/s of data that a host has received from the network; kind `system`: with headers, of
	// all events.
	double mean, least, most;
	uint64_t queue_most; // bytes for one port, of samples
	double paused; // mean share of the time that a port was paused, without credits, or refused
	uint64_t lost; // packets
};

struct simulation_series {
	unsigned n;
	struct simulation_point points[SIMULATION_MAX_POINTS];
};

struct simulation_result {
	struct config_fabric fabric;
	uint32_t n_hosts, n_switches, n_links, n_ports;
	struct fabric_graph_name *names;          // of hosts, then of switches; NULL: not a graph
	uint64_t link_rate_least, link_rate_most; // bits/s
	uint64_t simulated_ns;                    // with the warm-up
	uint64_t measured_ns;                     // without
	uint64_t *received; // bytes of data per host; kind `system`: of complete events
	struct simulation_port *ports;
	struct sim_totals totals; // of the whole simulation
	struct sim_messages_account messages;
	struct sim_traffic_account traffic;
	struct simulation_system system;
	struct simulation_series series;
	struct sim_wait deadlock[SIMULATION_MAX_WAITS];
	uint32_t n_deadlock; // 0: none was found
	// Buffers that can wait for each other by the routes; looked for if these are of a file, or
	// the topology is, and links lose nothing.
	struct sim_wait cycle[SIMULATION_MAX_WAITS];
	uint32_t n_cycle;
	struct sim_storm storms[SIMULATION_MAX_WAITS];
	uint32_t n_storms;    // at the end
	uint64_t shared_peak; // bytes of the shared buffer of one switch; 0: there is none
	uint64_t trace_cut;   // elements that the time line had no room for
	uint64_t n_events;    // that the engine has handled
	size_t memory;        // bytes of the engine and the fabric
};

// NULL: one line in error[SIM_ERROR_SIZE]; it begins with a key if that is wrong. The caller frees
// the result with simulation_free().
struct simulation_result *simulation_run(const struct simulation_parameters *parameters,
					 char *error);
void simulation_free(struct simulation_result *result);

// The path of a file that a configuration names, from the path of the configuration; NULL: ".".
void simulation_find_file(const char *configuration, const char *name, char path[PATH_MAX]);

// The keys whose values are such names, ended by NULL.
extern const char *const simulation_files[];

// Whether the network can be made: reads the files that the section names, and simulates nothing.
// False: one line in error[SIM_ERROR_SIZE].
bool simulation_check(const struct simulation_parameters *parameters, char *error);

// bits/s of data that hosts have received, after the warm-up.
struct simulation_throughput {
	double mean, least, most;
	uint32_t least_host, most_host;
};
struct simulation_throughput simulation_throughput(const struct simulation_result *result);

// The result as JSON; NULL: no memory. `is_short` leaves out the lists of hosts and ports.
cJSON *simulation_json(const struct simulation_result *result, bool is_short);

// The section `fabric` as JSON, with the values of absent keys, written as people write them; NULL:
// no memory.
cJSON *simulation_settings(const struct config_fabric *fabric);

// Writes a page that shows `data` and needs nothing else. False: no memory, or an error of the
// file. data: {"file": configuration, "version": of evb, "set": [overrides], and either "result":
// simulation_json(), or "points": those of a sweep}.
bool simulation_report(const cJSON *data, FILE *out);

// The result for people.
void simulation_print(const struct simulation_result *result, FILE *out);
