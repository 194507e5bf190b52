// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The plan: everything that follows from a configuration before anything is started: which role
// runs on which lcore, which links and queues join them, how large pools, slots and memory are.
// `evb check` prints it; the appliance is built from it, so nothing else decides.
//
// plan_make() validates the topology: every role has an lcore, every queue one user, every link one
// producer and one consumer, slots hold an event of all sources. Control thread; no DPDK is
// started for it.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config/config.h"
#include "pipeline/role.h"
#include "port/profile.h"

#define PLAN_ERROR_SIZE    512
#define PLAN_MAX_ROLES     256
#define PLAN_MAX_NODES     8
#define PLAN_NONE          UINT32_MAX
#define PLAN_POOL_CACHE    256   // mbufs that each lcore keeps of each pool
#define PLAN_ROCE_MBUFS    1024u // RoCE answers under way
#define PLAN_CONTROL_DEPTH 1024u // control frames on the way from an rx role
#define PLAN_MAILBOX_DEPTH 8192u // notes to and from a readout

struct plan_role {
	char name[ROLE_NAME_SIZE]; // these four as in struct config_role
	enum config_role_kind kind;
	unsigned object;
	unsigned queue;
	unsigned port;  // rx, source, readout, control: index of the port; else PLAN_NONE
	unsigned lcore; // index into lcores
	int tx_queue;   // rx (answers) and source: on the port, -1: none
};

struct plan_lcore {
	uint32_t cpu;
	unsigned numa_node;            // of the CPU; 0 where the machine does not say
	unsigned roles[EVB_MAX_ROLES]; // indices into roles, in the order in which they run
	unsigned n_roles;
};

struct plan_port {
	struct profile profile;
	uint16_t n_rx_queues, n_tx_queues;
	uint32_t buffer; // bytes of packet in an mbuf
	uint32_t pool_mbufs;
	uint32_t roce_mbufs; // of its pool of answers; 0: no RoCE
	uint64_t pool_bytes; // of both pools
};

struct plan_generator {
	uint32_t pool_mbufs; // of each of its two pools
	uint32_t buffer;     // bytes of packet in a header mbuf
	uint64_t pool_bytes; // of both
	uint64_t set_bytes;  // of its pre-filled blocks
};

// What is wanted of a NUMA node, and what it has now.
struct plan_node {
	uint64_t packet_bytes;   // pools, links, pre-filled blocks: DPDK's memory
	uint64_t ring_bytes;     // event rings of the builders on the node
	uint64_t hugepage_bytes; // for both, with room for the allocator
	uint64_t free_hugepage_bytes;
};

struct plan {
	const struct config *config;
	struct plan_role roles[PLAN_MAX_ROLES];
	unsigned n_roles;
	struct plan_lcore lcores[EVB_MAX_CPUS];
	unsigned n_lcores;
	struct plan_port ports[EVB_MAX_PORTS];
	struct plan_generator generators[EVB_MAX_GENERATORS];
	unsigned n_rx;           // rx roles
	unsigned n_producers;    // of segments: rx roles and readouts; each has a link a builder
	uint32_t control_mbufs;  // of a node of a cluster: its pool of control frames
	uint32_t control_buffer; // bytes of room of each
	uint64_t control_bytes;  // of it, its links and mailboxes
	uint64_t packet_bytes;   // DPDK's memory: pools, links, pre-filled blocks, roles
	uint64_t ring_bytes;     // event rings
	// Ordinary memory, in bytes.
	uint64_t assembly_bytes; // state of the builders beside the slots
	uint64_t endpoint_bytes; // of a node of a cluster: the control protocol
	uint64_t sched_bytes;    // of the node of the event manager: its scheduler
	uint64_t roce_bytes;     // queue pairs, with what they send, receive and repeat
	struct plan_node nodes[PLAN_MAX_NODES];
	unsigned n_nodes;       // highest node in use + 1
	bool hugepages_suffice; // on every node
};

// Returns 0, or -1 with one line in error[PLAN_ERROR_SIZE]. *plan is large: not for the stack.
int plan_make(struct plan *plan, const struct config *config, char *error);

// Whether this machine, now, has what the configuration insists on. Returns 0, or -1 with one line
// in error[PLAN_ERROR_SIZE].
int plan_check_machine(const struct plan *plan, char *error);

// Writes the whole plan for people.
void plan_print(const struct plan *plan, FILE *out);

// The role of this name, or PLAN_NONE.
unsigned plan_find_role(const struct plan *plan, const char *name);

// The role of this kind for this object (and queue 0), or PLAN_NONE.
unsigned plan_role_of(const struct plan *plan, enum config_role_kind kind, unsigned object);

// The role that sends for a generator.
unsigned plan_role_of_generator(const struct plan *plan, unsigned generator);

// Depth of the mailbox for blocks that builders are to read by RDMA; 0: they do not.
uint32_t plan_offers(const struct config *config);

// NUMA node of the lcore of a role.
unsigned plan_node_of(const struct plan *plan, unsigned role);
