// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Declarations that the files of lib/simulation share. Internal to lib/simulation.
#pragma once

#include <pcap/pcap.h>

#include "simulation/simulation.h"

// What is simulated: the topology, and what files say of it.
struct simulation_network {
	struct sim_topology topology;
	struct fabric_graph graph; // names and ports; its topology has been moved to the one above
	struct sim_route_table routes;
	bool has_routes;
	struct sim_times host_times, consumer_times; // of laws that are histograms
};

// False: one line in error[SIM_ERROR_SIZE]. Free the network in both cases.
bool simulation_network_make(struct simulation_network *network,
			     const struct simulation_parameters *parameters, char *error);
void simulation_network_free(struct simulation_network *network);

// The network must outlive the fabric.
struct sim_fabric_parameters simulation_fabric(const struct config_fabric *fabric,
					       const struct simulation_network *network);

// The places of the hosts in the topology, n_hosts numbers to be freed; NULL: no memory.
uint32_t *simulation_places(const struct config_fabric *fabric, uint32_t n_hosts);

// Lets happen what is configured under `faults`. `faults` must outlive the run; the last members
// are filled in here. False: one line in error[SIM_ERROR_SIZE].
struct simulation_faults {
	const struct config_fabric *configuration;
	struct sim_engine *engine;
	struct sim_fabric *fabric;
	struct sim_system *system; // NULL: another traffic kind
	const struct sim_topology *topology;
	const uint32_t *places;
	uint32_t n_hosts; // of a system, its nodes
	unsigned handler;
	bool is_on[CONFIG_MAX_FAULTS];
	uint64_t begun[CONFIG_MAX_FAULTS]; // ps, when it began last
};
bool simulation_faults_begin(struct simulation_faults *faults, char *error);

// --- system.c: traffic kind `system` ---

struct simulated_system {
	struct sim_system *system;
	struct sim_fabric *fabric;
	unsigned n_nodes;
	struct sim_node_view *before; // [n_nodes], at the end of the warm-up
	struct sim_packets lost_before;
};

// False: one line in error[SIM_ERROR_SIZE]; call simulated_system_free() even then.
bool simulated_system_make(struct simulated_system *simulated, struct sim_engine *engine,
			   const struct simulation_network *network,
			   const struct sim_fabric_parameters *fabric,
			   const struct simulation_parameters *parameters, const uint32_t *places,
			   char *error);
void simulated_system_free(struct simulated_system *simulated);
// The end of the warm-up.
void simulated_system_begin(struct simulated_system *simulated);
// Bytes of data that each host has received from the network, with all headers.
void simulated_system_received(const struct simulated_system *simulated, uint64_t *received);
// False: the sums of the simulation are wrong, one line in error[SIM_ERROR_SIZE].
bool simulated_system_result(const struct simulated_system *simulated,
			     struct simulation_result *result, char *error);

// Samples of the queues of all ports.
struct simulation_samples;
struct simulation_samples *simulation_samples_create(const struct sim_fabric *fabric);
void simulation_samples_destroy(struct simulation_samples *samples);
// Forgets the samples, and subtracts the present counters from later results.
void simulation_samples_begin(struct simulation_samples *samples);
void simulation_sample(struct simulation_samples *samples);
// The largest number of bytes queued for one port in the samples since the last call.
uint64_t simulation_samples_queue(struct simulation_samples *samples);
struct simulation_port simulation_samples_port(const struct simulation_samples *samples,
					       uint32_t port);

// --- series.c: throughput, queues, pauses and losses against time ---

struct series {
	const struct sim_fabric *fabric;
	uint32_t n_hosts;
	uint64_t *received; // [2][n_hosts]: bytes at the last point, and now
	uint64_t time;      // ps, of the last point
	uint64_t paused;    // ps, of all ports, until the last point
	uint64_t lost;      // packets, until the last point
};

// False: no memory.
bool series_make(struct series *series, const struct sim_fabric *fabric, uint32_t n_hosts);
void series_free(struct series *series);
// Where the bytes that each host has received until now are to be written before the next call.
uint64_t *series_received(struct series *series);
// Forgets what has happened until now, the time in ps.
void series_begin(struct series *series, uint64_t now);
// Adds a point for the time since the last one. A series that is full is left as it is.
void series_add(struct series *series, uint64_t now, uint64_t queue_most,
		struct simulation_series *out);

// --- capture.c ---

struct capture {
	const struct simulation_capture *parameters;
	uint32_t host; // its number in the results
	const struct sim_engine *engine;
	const struct sim_messages *messages; // NULL: traffic kind `system`
	const struct sim_system *system;
	pcap_t *pcap;
	pcap_dumper_t *file;
};

// The number of the host that is to be captured. False: there is no such host, one line in
// error[SIM_ERROR_SIZE].
bool capture_find_host(const struct simulation_capture *parameters,
		       const struct simulation_network *network, const uint32_t *places,
		       uint32_t *host, char *error);
// Begins the file. The capture stays where it is. False: one line in error[SIM_ERROR_SIZE].
bool capture_begin(struct capture *capture, struct sim_fabric *fabric, uint32_t place, char *error);
// Ends the file, if there is one. False: not all was written, one line in error[SIM_ERROR_SIZE].
bool capture_end(struct capture *capture, char *error);

// --- trace.c ---

struct trace {
	FILE *file; // NULL: there is no time line
	bool is_system;
	const struct sim_engine *engine;
	const struct sim_fabric *fabric;
	const struct fabric_graph_name *names; // of the nodes of the topology; NULL: not a graph
	const uint32_t *places;                // of the hosts
	uint32_t n_hosts;
	bool *is_named;           // [ports]
	uint64_t n, cut;          // elements that were written, and those that were not
	uint64_t n_events;        // of these
	struct sim_tracer tracer; // for the fabric and what sends over it
};

// Begins the file. The trace stays where it is.
void trace_make(struct trace *trace, FILE *file, bool is_system, struct sim_engine *engine);
// The fabric exists, and lasts until the end of the time line, as network and places do; without a
// file nothing is done. False: no memory.
bool trace_begin(struct trace *trace, const struct sim_fabric *fabric,
		 const struct simulation_network *network, const uint32_t *places);
// Ends the time line, if there is one; the file stays open. False: not all was written, one line in
// error[SIM_ERROR_SIZE].
bool trace_end(struct trace *trace, const struct config_fabric *fabric, char *error);

// "host 3" or "switch 2"; of a graph "host 3 (NAME)".
struct simulation_name {
	char text[32 + FABRIC_GRAPH_NAME_SIZE];
};
struct simulation_name simulation_name_of(const struct fabric_graph_name *names, uint32_t n_hosts,
					  uint32_t node);
struct simulation_name simulation_node_name(const struct simulation_result *result, uint32_t node);

extern const char *const simulation_causes[SIM_N_CAUSES];
