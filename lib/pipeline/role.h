// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A role is a unit of work that polls: rx, builder, source, writer. Nothing in a role knows on
// which lcore it runs or with which others: one lcore runs an array of them to completion
// ("fused"), or each has an lcore of its own.
//
// A role's constructor (rx_role_create(), builder_role_create(), ...) runs on the control thread,
// may allocate and may fail; its `fini` mirrors it, also on the control thread. Everything between
// runs on the role's lcore, and does not lock, allocate, log or make a system call, save where the
// role's own header says so (the writer).
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

	// Does a bounded piece of work and returns how many items it did. If it could not go on
	// because something behind it is full, it sets role->backpressured.
	unsigned (*poll)(struct role *role, uint64_t now);

	// Every 256 loops, or before an idle lcore sleeps: deadlines, credits, statistics. May be
	// NULL.
	void (*housekeep)(struct role *role, uint64_t now);

	// In the place of poll once the control thread asked for the drain: returns true when
	// nothing is left to do. Of the role only `fini` is called then.
	bool (*drain)(struct role *role, uint64_t now);

	void (*fini)(struct role *role);
};

// Time accounting. Written by the role's lcore alone; read by the telemetry thread.
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
	atomic_bool drain_requested;              // control thread: writes; lcore: reads
	atomic_bool drained;                      // lcore: writes; control thread: reads
	struct role_counters counters __rte_cache_aligned;
};
