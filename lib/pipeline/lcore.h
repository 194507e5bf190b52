// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The loop that every lcore runs over the array of its roles. The loop, and not the roles, handles
// the stop flag, the intervals of housekeeping, the idle policy and the accounting of time.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pipeline/role.h"

#define LCORE_MAX_ROLES 64
#define LCORE_HOUSEKEEP 256 // loops between two housekeepings, at most

struct lcore {
	// Written by the control thread before the launch.
	struct role *roles[LCORE_MAX_ROLES];
	unsigned n_roles;
	unsigned id;         // DPDK's lcore number
	unsigned cpu;        // on which it runs
	bool adaptive;       // idle policy: yield, then sleep; false: always poll
	uint32_t yields;     // empty loops in a row before the first sleep
	uint64_t longest;    // TSC cycles between two housekeepings: yields make loops long
	uint64_t slow_yield; // TSC cycles: a yield that takes longer shows that the CPU is wanted
	uint64_t sleep_ns;
	atomic_bool stop; // control thread: writes; lcore: reads

	// Writer: the lcore; readers: any thread.
	struct {
		uint64_t loops;
		uint64_t idle_cycles; // loops that did nothing, sleeps included
		uint64_t busy_cycles;
		uint64_t backpressured_cycles;
		uint64_t sleeps;
	} __rte_cache_aligned counters;
	atomic_bool running;
};

// Runs until stop is set. For rte_eal_remote_launch(); argument is a struct lcore. Returns 0.
int lcore_run(void *argument);
