// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The appliance: one running evb, built from a plan. The control thread starts it, watches it,
// drains it and takes it apart; the lcores do the work in between.
//
// Telemetry threads read this structure and the counters of its roles between
// appliance_start() and appliance_stop(); everything that they follow is written before the former
// returns, and counters have one writer each.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "appliance/plan.h"
#include "evring/evring.h"
#include "node/control_role.h"
#include "packet/source_table.h"
#include "pipeline/lcore.h"
#include "pipeline/link.h"
#include "pipeline/role.h"
#include "port/eal.h"
#include "port/port.h"
#include "rdma/roce_handler.h"
#include "source/source_set.h"

#define APPLIANCE_ERROR_SIZE 2048

enum appliance_state {
	APPLIANCE_STARTING,
	APPLIANCE_RUNNING,
	APPLIANCE_DRAINING,
	APPLIANCE_STOPPED,
};

struct appliance {
	const struct config *config;
	const struct plan *plan;
	struct eal_state eal;
	_Atomic enum appliance_state state;
	uint64_t start_tsc; // when the lcores were launched
	_Atomic uint64_t stop_tsc; // when the last role had drained; 0 before
	struct source_table sources;
	struct port ports[EVB_MAX_PORTS];
	unsigned n_ports; // that are open
	struct source_set *sets[EVB_MAX_GENERATORS];
	struct rte_mempool *generator_pools[EVB_MAX_GENERATORS][2]; // headers, payloads
	struct evring *rings[EVB_MAX_BUILDERS];
	// [rx role, then readout][builder]
	struct link *links[PLAN_MAX_ROLES * EVB_MAX_BUILDERS];
	unsigned n_links;
	struct flow_control flow_controls[EVB_MAX_PORTS]; // where a port has some

	// Where segments come by RoCE
	struct rte_mempool *roce_pools[EVB_MAX_PORTS];
	struct roce_port *roce_ports[EVB_MAX_PORTS];
	struct roce_handler roce_handlers[EVB_MAX_PORTS]; // of the rx roles
	struct roce_slots *roce_slots;
	struct link *roce_responses[EVB_MAX_PORTS];    // to what sends on the port
	struct placement placements[EVB_MAX_BUILDERS]; // of a node of a cluster

	// Of a node of a cluster
	struct rte_mempool *control_pool;
	struct link *control_links[CONTROL_MAX_LINKS]; // from each rx role
	unsigned n_control_links;
	struct mailbox builder_mail[EVB_MAX_BUILDERS][2];   // to, from
	struct mailbox readout_mail[EVB_MAX_GENERATORS][2]; // to, from
	struct mailbox offers; // to the port of the builders, which reads; ring NULL: none
	struct neighbours neighbours;
	struct role *roles[PLAN_MAX_ROLES]; // as in plan->roles
	struct lcore lcores[EVB_MAX_CPUS];
	bool refused;                                    // by the event manager
	struct run_control *run_control;                 // NULL: nobody serves the control socket
	void (*notice)(void *context, const char *line); // something worth a line of log
	void *notice_context;
};

// Starts everything. The structure is large and is to be zeroed by the caller, who also sets
// `notice` if it wants to be told of recovered files, dead consumers and the like. Returns 0, or -1
// with one line in error[APPLIANCE_ERROR_SIZE]; appliance_stop() is to be called in both cases.
int appliance_start(struct appliance *appliance, const struct plan *plan, char *error);

// To be called about 10 times a second while running: dead consumers' events go back. Returns true
// when the run has come to its end by itself: by end-of-run blocks, or, without builders, when all
// generators have finished.
bool appliance_watch(struct appliance *appliance);

// Ends the run in order: sources stop and send end of run; rx goes on until the ports are quiet;
// builders close what is open; writers finish their files; consumers take what is left. Then the
// lcores are stopped; counters stay. Returns false if a step did not end in its time (a consumer
// holds events, a disk is full), after a notice that says which.
bool appliance_drain(struct appliance *appliance);

// Frees everything, after appliance_drain(), or after a failed start. Counters are gone afterwards.
void appliance_stop(struct appliance *appliance);

// Time since the start, up to the end of the drain.
double appliance_seconds(const struct appliance *appliance);
