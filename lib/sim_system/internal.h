// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of the room share: system.c (creation, commands), node.c (the control protocol),
// readout.c (sources), wire.c (packets of the fabric), account.c (sums), faults.c.
#pragma once

#include "cluster/node.h"
#include "readout/readout_logic.h"
#include "sim_system/builder.h"
#include "sim_system/frames.h"
#include "sim_system/system.h"

#define SIM_NS_PER_SECOND     UINT64_C(1000000000)
#define SIM_POLL_NS           UINT64_C(20000) // between two polls of a node while nothing arrives
#define SIM_LATE_NS           UINT64_C(20000) // that a sleep lasts longer at most
#define SIM_ETHERNET_OVERHEAD 20u             // bytes: preamble and gap
#define SIM_IS_CONTROL \
	1u // of `user` of a packet: the rest is the number of a frame, else of a segment

// An event of the engine that can be moved to an earlier time.
struct sim_wake {
	uint64_t at;     // ps; SIM_NEVER: none is due
	uint32_t number; // of the event that counts, others are ignored
};

struct sim_node_builder {
	struct sim_builder builder;
	struct sim_node *node;
	unsigned index; // in the node
};

struct sim_readout {
	struct block_store store; // first, as its functions get it
	struct sim_node *node;
	unsigned index;    // in the node
	unsigned number;   // in the system
	uint32_t *sizes;   // [n_cycle][n_sources]: of blocks
	uint16_t *sources; // [n_sources]: index in the system
	unsigned n_cycle;
	struct readout_logic logic;
	struct readout_counters counters;
	unsigned builder; // of the current event
	uint64_t turn;    // ps: when the CPU begins to send; 0: it has not been asked for
	uint32_t held;    // segment for which the host had no room; POOL_NONE: none
	uint64_t announced;
	struct sim_wake wake;
};

// A message from a builder to its node.
struct sim_outgoing {
	struct message message;
	unsigned builder; // in the node
};

struct sim_node {
	struct sim_system *system;
	unsigned number;
	uint32_t host;
	struct cluster_system cluster; // with the node's `self`
	struct control_endpoint *endpoint;
	struct cluster_node *node;
	struct cluster_manager *manager; // NULL: on another node
	struct sim_node_builder *builders;
	unsigned n_builders;
	struct sim_readout *readouts;
	unsigned n_readouts;
	struct sim_outgoing *outbox;
	size_t n_outbox, outbox_size;
	struct sim_wake wake;
	bool has_work;     // of a node that sleeps: it does not sleep yet
	uint64_t *arrived; // [n_arrived]: `user` of packets that have not been handled yet
	size_t n_arrived, arrived_size;
	size_t n_handled;  // of these, that have been
	size_t n_working;  // those that a node that has slept is handling
	uint64_t cpu_free; // ps: the CPU is busy until then
	uint64_t turn;     // ps: when the CPU begins to poll; 0: it has not been asked for
	uint32_t life;     // number of its processes so far
	uint64_t next_beat;
	bool connected_self;
	struct sim_node_view view; // the part that is counted here
};

// When an event was announced.
struct sim_announced {
	uint64_t event;
	uint64_t at; // by the last readout; 0: not by all yet
	unsigned n;  // readouts that have announced it
};

struct sim_system {
	struct sim_system_parameters parameters;
	struct sim_fabric *fabric;
	struct sim_node *nodes;
	struct sim_node_builder *builders; // [n_builders], of all nodes
	struct sim_readout *readouts;      // [n_readouts], of all nodes
	unsigned n_readouts;
	uint32_t *nodes_of_hosts;
	uint32_t n_hosts;
	uint16_t *node_of_source;
	struct sim_builder_rules rules;
	struct pool segments, rows;
	struct frames frames;
	struct sim_announced *announced; // by event
	uint32_t announced_mask;
	struct sim_latency latency;
	struct sim_packets packets;
	unsigned poll_handler, readout_handler, cpu_handler;
	bool has_costs;
	struct random random;
	uint32_t epoch;                        // of the event manager, raised when it begins
	struct cluster_manager_view last_view; // while there is no event manager
	uint32_t headers; // of a segment, from the Ethernet header to that of EJFAT
	bool is_broken;   // memory ran out
};

static inline uint64_t sim_system_ns(const struct sim_system *system)
{
	return sim_now(system->parameters.engine) / SIM_NANOSECOND + 1;
}

// Bytes of a frame on the wire, headers, FCS, preamble and gap counted.
static inline uint32_t sim_wire_bytes(const struct sim_packet *packet)
{
	return packet->bytes + SIM_ETHERNET_OVERHEAD;
}

// Whether nodes sleep when they have nothing to do.
static inline bool sim_sleeps(const struct sim_system *system)
{
	return system->parameters.sleep_ns > 0;
}

// The CPU of a node works for `ns` more, ps. Returns the time at which it has done this.
static inline uint64_t sim_node_work(struct sim_system *system, uint64_t *cpu_free, uint64_t ns)
{
	const uint64_t now = sim_now(system->parameters.engine);

	*cpu_free = (*cpu_free > now ? *cpu_free : now) + ns * SIM_NANOSECOND;
	return *cpu_free;
}

// Whether something has to wait for the CPU until *turn, ps. It waits behind what the CPU had to do
// when it asked first, and not for what has come since.
static inline bool sim_node_queues(const struct sim_system *system, uint64_t cpu_free,
				   uint64_t *turn)
{
	const uint64_t now = sim_now(system->parameters.engine);

	if (*turn == 0 && cpu_free > now)
		*turn = cpu_free;
	if (*turn > now)
		return true;
	*turn = 0;
	return false;
}

// --- system.c ---

// Lets an event happen at `at` ps, unless it is due earlier.
void sim_wake_at(struct sim_system *system, struct sim_wake *wake, unsigned handler, uint32_t index,
		 uint64_t at);

// --- node.c ---

// The process of the node begins and ends. Between them its `node` is NULL.
bool sim_node_begin(struct sim_node *node, char *error);
void sim_node_end(struct sim_node *node);
void sim_node_poll(void *system, uint32_t node, uint32_t number);
// Begins the polls of a node whose process has begun.
void sim_node_start(struct sim_node *node);
// The node has something to do at `at` ps. A node that sleeps does it when it wakes by itself.
void sim_node_wake(struct sim_node *node, uint64_t at);
void sim_node_tell(void *builder, const struct message *message);

// --- readout.c ---

bool sim_readout_make(struct sim_readout *readout, const struct sim_generator *generator,
		      char *error);
void sim_readout_free(struct sim_readout *readout);
void sim_readout_poll(void *system, uint32_t readout, uint32_t number);
// As sim_node_wake().
void sim_readout_wake(struct sim_readout *readout, uint64_t at);
// Sends what may leave now.
void sim_readout_send(struct sim_readout *readout);

// --- wire.c ---

bool sim_wire_frame(void *node, unsigned peer, const uint8_t *bytes, size_t size);
// False: the host has no room.
bool sim_wire_segment(struct sim_node *node, uint32_t segment);
// Handles the first n packets that arrived while the node slept.
void sim_wire_receive(struct sim_node *node, size_t n);
// CPU time of the first n of them, ns.
uint64_t sim_wire_cost(const struct sim_node *node, size_t n);
// The CPU has handled the next packet.
void sim_wire_handled(void *system, uint32_t node, uint32_t life);
// The process of the node is gone, and with it what arrived while it slept.
void sim_wire_forget(struct sim_node *node);

// --- account.c ---

void sim_account_announced(struct sim_readout *readout, uint64_t end);
void sim_account_published(void *builder, uint64_t event, uint64_t now);
