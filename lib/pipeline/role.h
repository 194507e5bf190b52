// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A role is a unit of work that polls: rx, builder, source, writer. A role does not know on which
// lcore it runs, or which other roles run there: one lcore may run an array of roles ("fused"), or
// each role may have its own lcore.
//
// A role's constructor (rx_role_create(), builder_role_create(), ...) runs on the control thread,
// may allocate and may fail; its `fini` mirrors it, also on the control thread. All other functions
// run on the role's lcore, and do not lock, allocate, log or make a system call, except where the
// role's own header states it (the writer).
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "base/counter.h"

#define ROLE_NAME_SIZE 72
#define ROLE_BURST     32 // most packets that a role takes from one input in one poll

struct role;

struct role_operations {
	const char *kind; // "rx", "builder", "source", "writer"

	// Does a bounded piece of work and returns the number of items that it processed. Sets
	// role->backpressured if it had to stop because the next link or ring is full.
	unsigned (*poll)(struct role *role, uint64_t now);

	// Called every 256 loops, and before an idle lcore sleeps: for deadlines, credits and
	// statistics. May be NULL.
	void (*housekeep)(struct role *role, uint64_t now);

	// Called instead of poll after the control thread has requested the drain. Returns true
	// when nothing is left to do; after that, only `linger` and `fini` of the role are called.
	bool (*drain)(struct role *role, uint64_t now);

	// Called instead of poll after the role has drained, until its lcore stops, if `lingers` of
	// the role is set: it serves the roles that drain later. May be NULL.
	void (*linger)(struct role *role, uint64_t now);

	void (*fini)(struct role *role);
};

// Time accounting. Writer: the role's lcore; readers: any thread.
struct role_counters {
	uint64_t idle_cycles;          // polls that found nothing to do
	uint64_t busy_cycles;          // polls that did something
	uint64_t backpressured_cycles; // polls that could not go on
	uint64_t polls;
	uint64_t empty_polls;
	uint64_t items;
};

struct role {
	const struct role_operations *operations; // control thread: writes once; lcore: reads
	char name[ROLE_NAME_SIZE];                // "KIND.OBJECT", unique
	bool backpressured;                       // lcore only
	bool lingers;                             // control thread: writes once, before the start
	atomic_bool drain_requested;              // control thread: writes; lcore: reads
	atomic_bool drained;                      // lcore: writes; control thread: reads
	struct role_counters counters __rte_cache_aligned;
};
