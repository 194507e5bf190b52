// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A system of nodes in simulated time. What decides is the code that runs: each node has a control
// endpoint (lib/control) whose frames cross the fabric as packets of their true size, the logic of
// a node (lib/cluster), on the manager's node the event manager with its scheduler, and for each
// generator the logic of a readout (lib/readout) with its pacing and order of sending (lib/pacing).
//
// Modelled are:
// - the network: lib/sim;
// - blocks: their sizes are those that the generator would send, there is no payload;
// - builders: bytes are counted per block, see builder.h;
// - consumers: a law for the time that they need per event;
// - the CPU: it takes no time, or a time per packet (struct sim_costs). A node handles what arrives
// at once, and otherwise polls its logic
//   every 20 us. If nodes sleep (idle.policy adaptive), a node handles what has arrived when it
//   wakes, does all that there is to do, and sleeps again, for sleep_ns and up to 20 us more, so
//   that nodes do not remain in step.
// Small blocks are not put into bundles: each segment is a packet, as with libevb-sender.
//
// Not simulated, and refused: RoCE, mode static, an elected event manager, readout nodes that share
// a source, results of the system.
//
// Times of the logic are nanoseconds from the beginning of the simulation; those of the engine are
// picoseconds. A run depends on nothing but its parameters.
//
// Threads: one, that of the engine.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/production.h"
#include "cluster/manager.h"
#include "pacing/readout_pace.h"
#include "pacing/shift_windows.h"
#include "packet/causes.h"
#include "packet/event_rules.h"
#include "sim/fabric.h"
#include "sim_traffic/traffic.h"
#include "source/source_set.h"

#define SIM_SYSTEM_ERROR_SIZE 512

// The consumers of a builder serve its events in the order of their publication.
struct sim_consumer {
	struct sim_law law; // fixed with mean 0: events are returned at once
	unsigned n_workers; // events served at the same time, 1 to 1024
};

// CPU time of a node, ns. A node has one CPU, which does one thing after the other.
struct sim_costs {
	uint64_t receive, send; // per packet of data from and to the network
	uint64_t control;       // per frame of the control protocol, sent or received
};

// What a node has in addition to its entry in the cluster_system.
struct sim_generator {
	unsigned node;
	struct source_sizes sizes; // of its blocks; the system copies them
	double rate;               // events per second; 0: no limit
	uint64_t events;           // 0: no end
	struct production_spill spill;
};

struct sim_system_parameters {
	struct sim_engine *engine;
	// Its arrays outlive the system; `self` is not used.
	const struct cluster_system *system;
	struct cluster_manager_parameters manager; // without transport and now
	uint64_t heartbeat_ns, heartbeat_timeout_ns;
	uint64_t sleep_ns; // of nodes that have nothing to do; 0: they poll all the time
	struct shift_windows_parameters windows; // as for readout_logic
	// Of all readouts: n_at_once, paced, timed and sleep_ns.
	struct readout_pace_parameters pace;
	const struct sim_generator *generators; // used at the creation only
	unsigned n_generators;
	struct sim_consumer consumer;
	struct sim_costs costs;
	enum on_incomplete on_incomplete;
	uint32_t packing;
	bool ethernet; // segments follow the Ethernet header: transport eth
	uint16_t ether_type, udp_port, control_port; // of frames, for sim_system_frame() only
	uint8_t data_priority, control_priority;     // of the fabric
	const uint32_t *hosts; // [n_nodes]: host of the fabric of each node; NULL: its own number
	uint64_t seed;
	const struct sim_tracer *tracer; // NULL: none
};

struct sim_system;

// What the fabric calls; its context is the system.
extern const struct sim_host_operations sim_system_operations;

// NULL with one line in error[SIM_SYSTEM_ERROR_SIZE].
struct sim_system *sim_system_create(const struct sim_system_parameters *parameters, char *error);
void sim_system_destroy(struct sim_system *system);

// The nodes start now. The fabric has at least as many hosts as the system has nodes, and the
// operations above. Once.
void sim_system_start(struct sim_system *system, struct sim_fabric *fabric);

// While there is no event manager: what it had when it ended.
void sim_system_manager(const struct sim_system *system, struct cluster_manager_view *view);

// Faults. Each takes effect at once.

// The builders of a node stop, or go on. Its control protocol goes on all the time.
void sim_system_pause_builders(struct sim_system *system, unsigned node, bool is_paused);
// The consumers of a node need another mean time per event from now on.
void sim_system_set_consumers(struct sim_system *system, unsigned node, uint64_t mean_ns);
// The process of the event manager ends; what arrives for it is lost. Later it restarts, without
// knowledge, and continues the run. Its node has neither builders nor generators.
void sim_system_end_manager(struct sim_system *system);
void sim_system_begin_manager(struct sim_system *system);

// Sums since the start. Bytes on the wire count headers, preamble, FCS and gap.
struct sim_node_view {
	uint64_t complete, incomplete;     // events that builders of the node have published
	uint64_t discarded;                // events that they discarded
	uint64_t payload;                  // bytes of the blocks of complete events
	uint64_t event_wire;               // bytes that these took on the wire to the builder
	uint64_t sent_segments, sent_wire; // data over the fabric
	uint64_t received_segments, received_wire;
	uint64_t control_sent, control_sent_wire; // frames of the control protocol
	uint64_t control_received, control_received_wire;
	uint64_t local_segments; // to builders of the node itself
	uint64_t refused[SEGMENT_N_CAUSES];
	uint64_t placed;  // segments of these and of local_segments that became part of an event
	uint64_t open;    // events in its builders that are not published
	uint64_t waiting; // segments that wait for a grant
};

void sim_system_node(const struct sim_system *system, unsigned node, struct sim_node_view *view);
void sim_system_total(const struct sim_system *system, struct sim_node_view *total);

// Packets of the system that are in the fabric, and those that it lost: data and control.
struct sim_packets {
	uint64_t data_underway, control_underway;
	uint64_t data_lost, control_lost;
	uint64_t by_cause[SIM_N_CAUSES];
	uint64_t to_ended; // of control_lost: they arrived while the node's process was gone
};

void sim_system_packets(const struct sim_system *system, struct sim_packets *packets);

// Writes the frame of a packet that is in the fabric: all of it for control, the headers of a
// segment, whose payload does not exist. Returns the number of bytes; 0: `room` is too small.
size_t sim_system_frame(const struct sim_system *system, const struct sim_packet *packet,
			uint8_t *bytes, size_t room);

// Latencies of the events, ns.
struct sim_latency {
	struct histogram built;     // first segment at the builder to the last
	struct histogram published; // announced by all readouts to published
};

const struct sim_latency *sim_system_latency(const struct sim_system *system);
// Forgets the latencies up to now.
void sim_system_begin(struct sim_system *system);

// Whether all sums agree: each event that is announced is published, discarded or in flight, and
// each packet that was sent is received, lost or in the fabric. False with one line in
// error[SIM_SYSTEM_ERROR_SIZE].
bool sim_system_check(const struct sim_system *system, char *error);
