// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The control role of a cluster's node: carries the logic of lib/cluster on the data plane. It
// takes control frames from the rx roles, sends its own out of the node's port, finds the MAC
// addresses of the other nodes, and passes notes between that logic and the local builders and
// readouts.
//
// It ends by itself when the manager stops the run. Asked to drain before that it leaves: what its
// builders hold is given back; the manager's own node lets the whole run drain first.
#pragma once

#include "cluster/manager.h"
#include "cluster/node.h"
#include "packet/mailbox.h"
#include "packet/neighbours.h"
#include "pipeline/link.h"
#include "pipeline/role.h"
#include "port/flow_control.h"
#include "rdma/roce_slots.h"

#define CONTROL_ERROR_SIZE 256
#define CONTROL_MAX_LINKS  64

struct control_role_parameters {
	const char *name;
	const struct config *config;
	uint16_t port_id;
	uint16_t queue;           // tx queue of this lcore
	const uint8_t *mac;       // 6 bytes, of the port
	struct rte_mempool *pool; // mbufs with room for a frame of control_role_frame_size()
	struct link **links;      // from each rx role
	unsigned n_links;
	struct mailbox (*builder_mail)[2];  // one a builder: to it, from it
	struct mailbox (*readout_mail)[2];  // one a generator: to it, from it
	struct neighbours *neighbours;      // outlives the role
	const struct placement *placements; // of the builders; NULL: none by RDMA
	struct mailbox *offers;             // to their port; NULL: nothing is read by RDMA
	struct roce_slots *slots;           // of the builders; NULL: no RoCE
	struct flow_control *flow_control;  // of the port; NULL: none
	uint64_t drain_ns;                  // longest drain of the run
	int numa_node;
};

// Written by the role's lcore, read by telemetry.
struct control_role_counters {
	uint64_t frames;     // control datagrams taken
	uint64_t malformed;  // frames that are no control datagram of this system
	uint64_t foreign;    // from an address that no node has
	uint64_t sent;       // frames handed to the port
	uint64_t not_sent;   // no mbuf, or the port was full: sent again
	uint64_t no_address; // frames for a node whose MAC address is not known yet
	uint64_t arp_requests;
};

// Bytes of Ethernet frame that its mbufs must have room for.
uint32_t control_role_frame_size(const struct config *config);

// Control thread. NULL with one line in error[CONTROL_ERROR_SIZE].
struct role *control_role_create(const struct control_role_parameters *parameters, char *error);

const struct control_role_counters *control_role_counters(const struct role *role);

// Whether the run was stopped by the manager, or the manager refused this node: *why is one line
// then, else NULL. Any thread.
bool control_role_ended(const struct role *role, const char **why);

// Hands a command to the manager, which must be on this node and is not waited for. Control thread.
// Returns 0, or -1 with one line in error[CONTROL_ERROR_SIZE].
int control_role_ask(struct role *role, enum cluster_command command, unsigned node, char *error);

enum control_role_answer {
	CONTROL_ROLE_WAITS, // no answer yet
	CONTROL_ROLE_DONE,
	CONTROL_ROLE_REFUSED, // one line in error[CONTROL_ERROR_SIZE] says why
};

// The answer to the last command, once. Who no longer wants it need not fetch it. Control thread.
enum control_role_answer control_role_answer(struct role *role, char *error);

// Its clock, ns, which times in the views below are of. Any thread.
uint64_t control_role_now(const struct role *role);

// For telemetry, any thread; the manager is NULL on other nodes.
const struct cluster_node *control_role_node(const struct role *role);
const struct cluster_manager *control_role_manager(const struct role *role);
const struct control_endpoint *control_role_endpoint(const struct role *role);
