// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The appliance: one running evb process, built from a plan. The control thread starts, watches,
// drains and stops it; in between the lcores run its roles.
//
// Telemetry threads read this structure and the counters of its roles between appliance_start() and
// appliance_stop(). All pointers that they follow are written before appliance_start() returns.
// Each counter has one writer.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "evring/evring.h"
#include "node/control_role.h"
#include "packet/admission.h"
#include "packet/decision_queue.h"
#include "packet/source_table.h"
#include "pipeline/lcore.h"
#include "pipeline/link.h"
#include "pipeline/role.h"
#include "plan/plan.h"
#include "port/eal.h"
#include "port/port.h"
#include "rdma/roce_handler.h"
#include "source/source_set.h"
#include "store/block_store.h"

#define APPLIANCE_ERROR_SIZE 2048

enum appliance_state {
	APPLIANCE_STARTING,
	APPLIANCE_RUNNING,
	APPLIANCE_DRAINING,
	APPLIANCE_STOPPED,
};

#define REFUSALS 4u // sent without a key, with one, with another; of another version

// What shows that a file has changed; 0: it is not there.
struct key_file_state {
	uint64_t inode, size;
	int64_t seconds, nanoseconds;
};

struct key_told {
	uint64_t n;     // refused frames when the log was written last
	uint64_t again; // tsc from which it may be written again
};

// The key file of a node, and what the log has about refused frames (keys.c).
struct key_watch {
	uint64_t next; // tsc of the next look
	struct key_file_state file;
	bool due;                          // the file has changed and was not taken yet
	struct key_told (*told)[REFUSALS]; // [n_nodes]
};

struct appliance {
	const struct config *config;
	const struct plan *plan;
	uint32_t run;   // number of the run that the process is in, or is prepared for
	bool run_begun; // it has begun: the account is that of this run
	struct eal_state eal;
	_Atomic enum appliance_state state;
	// Of an elected manager, as reported: take-overs, and terms of this node that have ended.
	// Written by the control thread.
	uint64_t take_overs;
	uint32_t terms_ended;
	_Atomic uint64_t start_tsc;                    // when the run began; 0: not yet
	_Atomic uint64_t missed_before[EVB_MAX_PORTS]; // packets missed before the run began
	_Atomic uint64_t stop_tsc; // when builders and all roles before them had drained; else 0
	struct source_table sources;
	uint16_t nodes_of_sources[EVB_MAX_SOURCES]; // in a system: of each expected source
	struct admission admission;                 // of senders; entries NULL: all are admitted
	struct port ports[EVB_MAX_PORTS];
	unsigned n_ports;                            // number of open ports
	struct source_set *sets[EVB_MAX_GENERATORS]; // NULL: the blocks are not made before the run
	struct block_store *stores[EVB_MAX_GENERATORS];             // NULL: kind pcap
	struct rte_mempool *generator_pools[EVB_MAX_GENERATORS][3]; // headers, payloads, bundles
	struct evring *rings[EVB_MAX_BUILDERS];
	// Links to builders, those of each role in the order of the builders, and links of rx roles
	// to readouts: plan_role.link.
	struct link *links[PLAN_MAX_ROLES * EVB_MAX_BUILDERS];
	unsigned n_links;
	struct flow_control flow_controls[EVB_MAX_PORTS]; // see appliance_flow_control()

	// Transport RoCE, and ports for RoCE boards, only:
	struct rte_mempool *roce_pools[EVB_MAX_PORTS];
	struct roce_port *roce_ports[EVB_MAX_PORTS];
	struct roce_handler roce_handlers[EVB_MAX_PORTS]; // of the rx roles
	struct roce_slots *roce_slots;
	struct roce_slots *boards_slots[EVB_MAX_PORTS]; // of ports for RoCE boards; NULL: others
	struct link *roce_responses[EVB_MAX_PORTS];     // from the rx role to the port's generator
	struct placement placements[EVB_MAX_BUILDERS];  // in a node of a cluster

	// Where the process serves several runs only:
	struct run_gate gates[CONTROL_MAX_LINKS]; // of rx roles that receive segments
	unsigned n_gates;
	unsigned n_runs;              // runs of the system that are known to have ended
	uint64_t control_session;     // of the control role; 0: a new process
	bool excluded[EVB_MAX_NODES]; // by the operator, as of the last run
	uint32_t asked_run; // the operator has asked to start this run, of another number; 0: none
	bool is_asked_for;  // the run for which the process prepares is that one
	// Another configuration (configure.c). The owner of the appliance sets the first three: the
	// object of `config`, and the function that reads another file as that was read; its error
	// has APPLIANCE_ERROR_SIZE. NULL: there is no file.
	struct config *replaceable;
	int (*load)(void *context, const char *path, struct config **config, char *error);
	void *load_context;
	struct config *agreed; // this node can use it in the next run; NULL: none
	bool adopts;           // the process prepares for the next run with it

	// In a node of a cluster only:
	struct rte_mempool *control_pool;
	struct link *control_links[CONTROL_MAX_LINKS]; // from each rx role to the control role
	unsigned n_control_links;
	struct mailbox builder_mail[EVB_MAX_BUILDERS][2];   // to, from
	struct mailbox readout_mail[EVB_MAX_GENERATORS][2]; // to, from
	struct mailbox offers; // blocks that builders read by RDMA, to the rx role of their port;
			       // ring NULL: none
	// By index of the system's results; NULL: they do not concern this node so.
	struct decision_outbox *outboxes[EVB_MAX_RESULTS];
	struct decision_inbox *inboxes[EVB_MAX_RESULTS];
	struct neighbours neighbours;
	struct last_will *last_will;                // sent if the process ends; NULL: there is none
	uint64_t commands_obeyed, commands_refused; // that the log has
	struct key_watch key_watch;
	struct diagnosis_watch *diagnosis; // diagnosis_watch.h

	struct role *roles[PLAN_MAX_ROLES]; // as in plan->roles
	struct lcore lcores[EVB_MAX_CPUS];
	bool failed;             // the event manager refused this node, or an event ring was cut
	bool decisions_are_over; // drain: events without a decision are decided as configured
	bool checksums_reported; // that some are unfinished
	uint32_t differences_seen[EVB_MAX_BUILDERS]; // of sources; those that were taken
	bool source_reported[EVB_MAX_SOURCES];       // by index: that it differs
	unsigned n_sources_reported;
	bool problem_reported[EVB_MAX_GENERATORS];  // that its file ended before its time
	uint32_t producers[EVB_MAX_GENERATORS];     // processes that fill their rings; 0: none
	uint64_t waiting_since[EVB_MAX_GENERATORS]; // TSC, for a RoCE connection; 0: not waiting
	bool waiting_reported[EVB_MAX_GENERATORS];
	// Set by the owner before the start: what arrives is a capture of a network, in which
	// packets for other programs are no loss.
	bool input_is_mixed;
	struct run_control *run_control;                 // NULL: there is no control socket
	void (*notice)(void *context, const char *line); // writes a line to the log; or NULL
	void *notice_context;
	void (*alive)(void *context); // called while the control thread serves or waits; or NULL
	void *alive_context;
};

// Starts the appliance. The caller zeroes the structure, which is large, and sets `notice` to
// receive notices, for example of recovered files and dead consumers. Returns 0, or -1 with one
// line in error[APPLIANCE_ERROR_SIZE]. The caller calls appliance_stop() in both cases.
int appliance_start(struct appliance *appliance, const struct plan *plan, char *error);

// Whether the run of this node is over, so that appliance_watch() will return true. Costs nothing.
bool appliance_is_over(const struct appliance *appliance);

// The run for which the process is to prepare when appliance_watch() has returned true; 0: for
// none.
uint32_t appliance_next_run(const struct appliance *appliance);

// Prepares for another run: creates new roles, stores and connections, and retains ports, memory
// and event rings, to which consumers stay attached. After appliance_drain(), or before the run
// began. Returns 0, or -1 with one line in error[APPLIANCE_ERROR_SIZE].
int appliance_prepare(struct appliance *appliance, uint32_t run, char *error);

// To be called about ten times per second while the appliance runs. Returns the events of dead
// consumers to the event ring. Returns true when the run has ended by itself: by end-of-run blocks,
// by the event manager, by a command, or, without builders, when all generators have finished.
bool appliance_watch(struct appliance *appliance);

// Ends the run in order: sources stop and send end-of-run blocks; rx roles continue until their
// ports are quiet; builders close open events; writers finish their files; consumers release the
// remaining events. Then the lcores are stopped. Counters keep their values. Returns false if a
// step did not end in its time (a consumer holds events, a disk is full), after a notice that names
// this step. is_last: the process serves no further run.
bool appliance_drain(struct appliance *appliance, bool is_last);

// Reports what the captures of generators lack: packets of which they have only the first bytes,
// and all behind a place that cannot be read. True if anything. After appliance_drain().
bool appliance_captures_lack(struct appliance *appliance);

// Frees everything, including the counters. To be called after appliance_drain() or a failed start.
void appliance_stop(struct appliance *appliance);

// Seconds from the start until now, or until appliance.stop_tsc. 0 if the lcores never started.
double appliance_seconds(const struct appliance *appliance);

// Whether an event manager grants the events of this configuration.
bool cluster_grants(const struct config *config);

// The role of this kind for object number `object` of the configuration; NULL if there is none.
struct role *appliance_role(const struct appliance *appliance, enum config_role_kind kind,
			    unsigned object);

// The appliance's control role; NULL where there is no cluster.
struct role *appliance_control(const struct appliance *appliance);
