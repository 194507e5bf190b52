// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The plan: all decisions that follow from a configuration before anything is started. It assigns
// roles to lcores, links and queues to roles, and computes the sizes of pools and of all memory.
// `evb check` prints the plan, and the appliance is built from it alone.
//
// plan_make() validates the topology: every role has an lcore, every queue has one user, every link
// has one producer and one consumer, every slot has room for an event of all sources. Control
// thread; the EAL need not be started.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error_line.h"
#include "config/config.h"
#include "pipeline/role.h"
#include "port/profile.h"

#define PLAN_ERROR_SIZE    512
#define PLAN_MAX_ROLES     256
#define PLAN_MAX_NODES     8
#define PLAN_NONE          UINT32_MAX
#define PLAN_POOL_CACHE    256   // mbufs of each pool that an lcore may cache
#define PLAN_ROCE_MBUFS    1024u // mbufs of the pool of RoCE responses
#define PLAN_CONTROL_DEPTH 1024u // control frames in a link from an rx role to the control role
#define PLAN_MAILBOX_DEPTH 8192u // messages in a mailbox of a readout

struct plan_role {
	char name[ROLE_NAME_SIZE]; // name, kind, object and queue: as in struct config_role
	enum config_role_kind kind;
	unsigned object;
	unsigned queue;
	unsigned port;  // rx, source, readout, control: index of the port; else PLAN_NONE
	unsigned lcore; // index into lcores
	unsigned link;  // rx, readout: number of its first link in appliance.links
	int tx_queue;   // queue of `port` on which the role sends; -1: the role sends nothing
};

struct plan_lcore {
	uint32_t cpu;
	unsigned numa_node;            // of the CPU; 0 if the machine does not report it
	unsigned roles[EVB_MAX_ROLES]; // indices into plan.roles, in the order of polling
	unsigned n_roles;
};

struct plan_port {
	struct profile profile;
	uint16_t n_rx_queues, n_tx_queues;
	uint32_t buffer;     // packet bytes for which an mbuf has room
	uint32_t hold;       // packets that each rx role holds back for full links (rx/hold.h)
	uint32_t pool_mbufs; // mbufs of the receive pool
	uint32_t roce_mbufs; // mbufs of the pool of RoCE responses; 0: no RoCE
	uint64_t pool_bytes; // size of both pools
};

// A store that other processes or boards fill (plan_stores.c). Bytes are of the store's memory.
struct plan_store {
	uint64_t size;   // bytes; 0: the generator has no such store
	uint64_t events; // for which there is room in any case: all blocks are of the largest size
	uint64_t max_events; // for which there is room at most
	// What a spill, as configured, does; spill_highest 0: none is configured.
	uint64_t spill_highest; // bytes that are in use at the end of the spill, at most
	double spill_empty;     // seconds from the beginning of a spill until the store is empty
	double mean_rate;       // bytes/s of blocks that spills bring
	double link_rate;       // bytes/s of blocks that the links carry
};

struct plan_generator {
	uint32_t pool_mbufs; // mbufs of each of the two pools (headers, payloads)
	uint32_t buffer;     // packet bytes for which a header mbuf has room
	uint32_t n_bundles;  // mbufs of the pool of bundles; 0: there is none
	uint32_t bundle;     // bytes for which each of these has room
	uint64_t pool_bytes; // size of all these pools
	uint64_t ring_bytes; // size of the producer ring of kind producer
	uint64_t set_bytes;  // size of the pre-filled blocks, of the window of a file, or of the
			     // memory of kind port
	struct plan_store store;
};

// The memory that a NUMA node must have, and its free hugepages.
struct plan_node {
	uint64_t packet_bytes;        // DPDK's memory: pools, links, pre-filled blocks
	uint64_t ring_bytes;          // event rings of the builders on the node
	uint64_t hugepage_bytes;      // hugepages for both, with room for the allocator
	uint64_t free_hugepage_bytes; // when the plan was made
};

struct plan {
	const struct config *config;
	struct plan_role roles[PLAN_MAX_ROLES];
	unsigned n_roles;
	struct plan_lcore lcores[EVB_MAX_CPUS];
	unsigned n_lcores;
	struct plan_port ports[EVB_MAX_PORTS];
	struct plan_generator generators[EVB_MAX_GENERATORS];
	unsigned n_rx; // number of rx roles
	// Roles that pass segments to builders: rx roles but those of ports to which boards send,
	// and readouts; each has one link per builder.
	unsigned n_producers;

	// DPDK's memory.
	uint32_t control_mbufs;  // in a node of a cluster: mbufs of the pool of control frames
	uint32_t control_buffer; // bytes for which each of these mbufs has room
	uint64_t control_bytes;  // size of this pool and of the control links and mailboxes
	uint64_t packet_bytes;   // size of all pools, links, pre-filled blocks and roles

	uint64_t ring_bytes;     // size of the event rings
	uint64_t producer_bytes; // size of the producer rings

	// Ordinary memory, in bytes.
	uint64_t assembly_bytes; // state of the builders besides the slots
	uint64_t store_bytes;    // state of stores besides the memory of their blocks
	uint64_t readout_bytes;  // in a node of a cluster: grants that wait
	uint64_t writer_bytes;   // buffers of writers
	uint64_t endpoint_bytes; // in a node of a cluster: state of the control protocol
	uint64_t sched_bytes;    // in the node of the event manager: the scheduler
	uint64_t decision_bytes; // decisions that wait in results, or to be sent; their event rings
	uint64_t roce_bytes;     // queue pairs and their work requests

	struct plan_node nodes[PLAN_MAX_NODES];
	unsigned n_nodes;       // highest number of a NUMA node in use + 1
	bool hugepages_suffice; // on every NUMA node
};

// Makes the plan. Returns 0, or -1 with one line in error[PLAN_ERROR_SIZE]. *plan is large: do not
// put it on the stack.
int plan_make(struct plan *plan, const struct config *config, char *error);

// Bytes of memory of all kinds that the appliance takes.
uint64_t plan_bytes(const struct plan *plan);

// Checks that this machine now has the resources that the configuration requires. Returns 0, or -1
// with one line in error[PLAN_ERROR_SIZE].
int plan_check_machine(const struct plan *plan, char *error);

// plan_make() calls it: plans the store of generator `index` of kind producer or port. Refuses a
// ring that is too small for mode static, and a spill that the links or the store cannot take.
// Returns 0, or -1 with one line, which begins with the key, in error[PLAN_ERROR_SIZE].
int plan_store_make(struct plan_store *store, const struct config *config, unsigned index,
		    char *error);

// plan_make() calls it when the roles are known: places them on CPUs. Returns 0, or -1 with one
// line in error[PLAN_ERROR_SIZE].
int plan_place(struct plan *plan, char *error);

// Writes one line, which begins with the configuration's path, to error[PLAN_ERROR_SIZE]; returns
// -1.
#define plan_fail(error, plan, format, ...) \
	error_line(error, PLAN_ERROR_SIZE, "%s: " format, (plan)->config->path, ##__VA_ARGS__)

// plan_make() calls it when the ports are planned: plans the ordinary memory.
void plan_ordinary(struct plan *plan);

uint64_t plan_ordinary_bytes(const struct plan *plan);

// Prints the nodes of a system, and its event manager.
void plan_print_system(const struct plan *plan, FILE *out);

// Prints the whole plan as text for people.
void plan_print(const struct plan *plan, FILE *out);

// The role of this name, or PLAN_NONE.
unsigned plan_find_role(const struct plan *plan, const char *name);

// The role of this kind for this object (and queue 0), or PLAN_NONE.
unsigned plan_role_of(const struct plan *plan, enum config_role_kind kind, unsigned object);

// The generator whose boards send to the port of an rx role; n_generators: none.
unsigned plan_listener(const struct plan *plan, const struct plan_role *role);

// The role that sends for a generator, a source or a readout.
unsigned plan_role_of_generator(const struct plan *plan, unsigned generator);

// Depth of the mailbox of blocks that builders read by RDMA; 0: builders do not read.
uint32_t plan_offers(const struct config *config);

// The NUMA node of a role's lcore.
unsigned plan_node_of(const struct plan *plan, unsigned role);
