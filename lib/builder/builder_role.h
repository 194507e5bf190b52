// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The builder role takes segments from its links, copies each payload once, to its place in a slot,
// and frees the mbuf at once. It drains by emptying the links and closing the events that are open.
//
// Where an event manager grants events, the role opens an event when the control role sends
// MESSAGE_EXPECT, holds the built event until MESSAGE_PUBLISH, and reports which slots consumers
// have released (packet/message.h).
//
// If no slot is free and on_no_slot is NO_SLOT_WAIT, the role takes nothing from a link whose next
// segment needs a slot, while consumers hold slots or other links may deliver what the open events
// miss. This holds back the rx role that feeds the link.
#pragma once

#include "builder/assembly.h"
#include "builder/window_watch.h"
#include "packet/mailbox.h"
#include "pipeline/link.h"
#include "pipeline/role.h"

struct builder_parameters {
	const char *name;
	struct evring *ring;                // outlives the role
	bool is_one_of_many_runs;           // the ring may outlive the run
	const struct source_table *sources; // outlives the role
	const uint16_t *nodes_of_sources;   // of each expected source; NULL: there are no nodes
	struct link **links;                // from each rx role
	unsigned n_links;                   // 1 to BUILDER_MAX_LINKS
	uint32_t packing;                   // consecutive events per MFP
	enum payload_kind payload;
	enum on_incomplete on_incomplete;
	enum on_no_slot on_no_slot;
	uint64_t deadline_ns; // of an event, from its first segment
	bool guarded;         // sources may be forged or broken: each one gets its share only
	bool held_back;       // with it: senders are held back when no slot is free
	struct mailbox *from_control; // messages of the control role of a node; else NULL
	struct mailbox *to_control;   // where an event manager grants events; else NULL
	struct mailbox *states;       // mode static of a system: gets MESSAGE_OPEN; else NULL
	// Of a timed shift: send_ns 0: none; the rates of clocks are filled in.
	struct shift_windows_parameters windows;
	uint16_t node;  // with it: this one
	uint32_t spare; // with it: slots for events whose data arrives before their grant
	// With it: longest wait of data that has no slot for its grant; less than the heartbeat
	// timeout.
	uint32_t grant_wait_ms;
	int numa_node;
};

#define BUILDER_MAX_LINKS 64

// Control thread. NULL if memory ran out, or if n_links is out of range.
struct role *builder_role_create(const struct builder_parameters *parameters);

const struct assembly *builder_role_assembly(const struct role *role);

// Of a timed shift; otherwise all 0.
const struct window_watch_counters *builder_role_windows(const struct role *role);

// Whether the run has ended by end-of-run blocks. Any thread.
bool builder_role_end_of_run(const struct role *role);
