// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A node that sends the blocks of one block store, without DPDK: the logic of a readout
// (readout/readout_logic.h), and in a system of nodes also the logic of a node (cluster/node.h) and
// its control endpoint. It is pure: the caller passes in the time and the datagrams that arrive,
// and the node sends by an injected wire.
//
// Without a system there is no event manager: event e is sent to receiver (e mod receivers). The
// run begins with the event of the first block, and ends when the store ends; then each receiver
// gets an end-of-run block of each source.
//
// Threads: one. Times are nanoseconds of a steady clock.
#pragma once

#include "cluster/cluster.h"
#include "cluster/node.h"
#include "control/keys.h"
#include "readout/readout_logic.h"

#define SENDER_SEGMENTS 64u // that wait for the wire

// A datagram of data. The payload is in the block store, behind the bytes of the head.
struct sender_segment {
	unsigned receiver;
	unsigned source; // index into the store
	uint32_t head_size;
	uint32_t payload_size;
	const uint8_t *head; // EJFAT headers, and bytes of the block that were copied
	const uint8_t *payload;
	struct block_hold *hold; // of the payload; NULL: none
};

struct sender_wire {
	void *context;
	// Sends a frame of the control protocol. False if it cannot be sent now.
	bool (*send_frame)(void *context, unsigned node, const uint8_t *bytes, size_t size);
	// Sends segments in their order; returns how many are sent, or given up by the wire.
	unsigned (*send)(void *context, const struct sender_segment *segments, unsigned n);
};

struct sender_core_parameters {
	struct sender_wire wire;
	// store (a ring store), n_builders (the receivers), n_nodes, rank, is_static,
	// source_buffer, is_random, seed, windows, pace (without mtu), events and rate; the core
	// fills in the rest.
	struct readout_logic_parameters readout;
	uint64_t first_event; // event id of event index 0
	bool mfps;            // blocks are MFPs: each gets the id of its event
	bool load_balancer;   // EJFAT LB header in front of each segment
	bool tagged;          // frames have a VLAN tag
	uint32_t mtu;         // bytes
	uint64_t rate;        // bytes/s on the link, at most; 0: no limit

	bool is_node; // of a system; the next four are used only then
	struct cluster_parameters cluster;
	const struct control_keys *keys; // copied; without a key: frames are not authenticated
	uint64_t heartbeat_ns, heartbeat_timeout_ns;
};

struct sender_core;

// NULL with one constant line in *reason.
struct sender_core *sender_core_create(const struct sender_core_parameters *parameters,
				       uint64_t now, const char **reason);
void sender_core_destroy(struct sender_core *core);

// Handles a datagram that came to the control port from this IPv4 address (host order).
void sender_core_receive(struct sender_core *core, uint32_t address, const void *datagram,
			 size_t size, uint64_t now);

// Does what is due; returns the number of steps, 0 if there was nothing to do.
unsigned sender_core_poll(struct sender_core *core, uint64_t now);

// Whether the run is over: everything is sent, or the event manager stopped the run or refused this
// node. *why is then one line with the reason of a refusal, or NULL.
bool sender_core_ended(const struct sender_core *core, const char **why);

// Begins to leave the system; without one, sends what is ready. Events that are not released stay
// in the store. The caller goes on polling until sender_core_left() returns true.
void sender_core_leave(struct sender_core *core);
bool sender_core_left(const struct sender_core *core, uint64_t now);

struct sender_core_view {
	struct readout_counters readout;
	uint64_t foreign;   // control datagrams from an address that no node, or another one, has
	uint64_t malformed; // control datagrams
	uint64_t announced, released; // event indices
	uint32_t run;                 // 0: none
	enum ctrl_run_state state;
	bool registered; // the event manager has accepted this node
	bool occupied;   // a node is in session with another process of this node's name
};

void sender_core_view(const struct sender_core *core, struct sender_core_view *view);
