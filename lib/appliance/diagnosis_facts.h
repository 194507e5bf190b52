// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The facts of the diagnosis, from counters that exist, and what has to be remembered of the look
// before. Internal to lib/appliance. Control thread.
#pragma once

#include "appliance/account.h"
#include "appliance/appliance.h"
#include "diagnosis/diagnosis.h"
#include "diagnosis/steady.h"

#define FACTS_LINKS       64u // full links, and nodes that are not as they should be
#define FACTS_NODES       64u
#define FACTS_DIFFERENCES 16u
#define FACTS_LOSSES      10u // seconds of the window of losses

// Times are those of CLOCK_MONOTONIC in ns.
struct facts_group {
	uint64_t released; // at the look before
	struct steady_condition idle;
	struct steady_counter rate;
};

struct facts_builder {
	struct steady_condition full;
	struct facts_group groups[EVB_MAX_GROUPS];
};

struct facts_link {
	uint64_t full; // at the look before
	struct steady_condition condition;
};

struct facts_port {
	uint64_t missed[FACTS_LOSSES];
	uint64_t lost; // in the window
	struct steady_counter paused;
};

struct facts_source {
	uint64_t segments, changed_at;
};

struct facts_loss {
	uint64_t at, missed, dropped, incomplete;
	uint64_t causes[PACKET_N_CAUSES + SEGMENT_N_CAUSES];
};

struct facts_watch {
	struct diagnosis_facts facts;
	// Of the facts:
	struct diagnosis_builder builders[EVB_MAX_BUILDERS];
	struct diagnosis_link links[FACTS_LINKS];
	struct diagnosis_writer writers[EVB_MAX_WRITERS];
	struct diagnosis_difference differences[FACTS_DIFFERENCES];
	struct diagnosis_port ports[EVB_MAX_PORTS];
	struct diagnosis_node nodes[FACTS_NODES];
	// Of the looks before:
	struct facts_builder builder_watch[EVB_MAX_BUILDERS];
	struct facts_link link_watch[PLAN_MAX_ROLES * EVB_MAX_BUILDERS];
	struct steady_counter role_busy[PLAN_MAX_ROLES];
	struct steady_counter lcore_busy[EVB_MAX_CPUS], lcore_time[EVB_MAX_CPUS];
	struct steady_condition writer_paused[EVB_MAX_WRITERS];
	struct facts_port port_watch[EVB_MAX_PORTS];
	struct facts_source sources[EVB_MAX_SOURCES];
	uint64_t sources_at; // time of the last look at them
	struct facts_loss losses[FACTS_LOSSES];
	unsigned n_losses; // taken so far
	struct account account;
	struct steady_condition unregistered;
	struct steady_condition node_full[EVB_MAX_SYSTEM_BUILDERS];
	struct steady_condition node_absent[EVB_MAX_NODES];
};

// Takes all facts but those of the drain, which the caller sets.
void facts_take(struct facts_watch *watch, const struct appliance *appliance, uint64_t now);

// Puts all losses since the start of the run in the place of those of the window.
void facts_take_all_losses(struct facts_watch *watch, const struct appliance *appliance);

// diagnosis_system.c: the nodes of the system.
void facts_take_system(struct facts_watch *watch, const struct appliance *appliance, uint64_t now);
