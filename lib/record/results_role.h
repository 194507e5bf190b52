// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The results role: writes the decisions of all members of a deciding group, of all builders of the
// node, in the order of events to a file, to a UDP stream, or to an event ring.
//
// It is a member of a group of its own that comes after the deciding group and gets rejected
// events, too. It releases an event as soon as it has read the decision. Like the writer it makes
// system calls, and while the file or the ring cannot be written it holds the events back, which
// stops the builders.
//
// The decisions may also be those of another evb, as of a stage behind this one, from the event
// ring of its results. Then the role's own events only tell which there are, and it is a member of
// a group that gets all events at once.
//
// In a system of nodes the role of the results node also takes the decisions of the other nodes
// from its inbox. There the event manager tells which events exist, unless the mode is static or
// the event ids are those of an earlier stage.
#pragma once

#include "evring/evb_reader.h"
#include "packet/decision_queue.h"
#include "pipeline/role.h"
#include "record/decision_input.h"
#include "record/decision_order.h"
#include "record/decision_stream.h"

#define RESULTS_ERROR_SIZE DECISION_STREAM_ERROR_SIZE

struct results_parameters {
	const char *name;      // of the role
	const char *appliance; // of the event rings; NULL: the node has no builders
	struct evb_reader_options reader;
	uint16_t first_builder;       // system-wide number of the node's first builder
	struct decision_inbox *inbox; // outlives the role; NULL: results of this node alone
	bool granted;                 // with an inbox: the manager tells the events
	bool origins;                 // event ids are those of the first stage (record/origin.h)
	struct decision_input_parameters input; // ring NULL: decisions of this system
	struct decision_order_parameters order;
	struct decision_stream_parameters stream;
};

// Called by the control thread; the event rings must exist and be empty. Returns NULL with one line
// in error[RESULTS_ERROR_SIZE].
struct role *results_role_create(const struct results_parameters *parameters, char *error);

// Written by the role's lcore, for any thread.
const struct decision_order_counters *results_role_order(const struct role *role);
const struct decision_stream_counters *results_role_stream(const struct role *role);
uint32_t results_role_held(const struct role *role);
const char *results_role_path(const struct role *role);
const struct evring *results_role_ring(const struct role *role); // NULL: it writes to no ring
bool results_role_reads(const struct role *role); // whether the ring of another evb is open

// Control thread, when the role's lcore has stopped: writes what is left. Returns the blocks that
// groups of its ring have not released.
uint64_t results_role_finish(struct role *role);
