// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The results role of a node with builders whose system writes its results on another node: passes
// the decisions of a deciding group on to the control role, which sends them there. It is a member
// of a group of its own, as the role in results_role.h. While the results node lags behind, it
// holds the events, which stops the builders.
#pragma once

#include "evring/evb_reader.h"
#include "packet/decision_queue.h"
#include "pipeline/role.h"

#define RESULTS_SENDER_ERROR_SIZE 320

struct results_sender_parameters {
	const char *name;      // of the role
	const char *appliance; // of the event rings
	struct evb_reader_options reader;
	uint16_t first_builder;         // system-wide number of the node's first builder
	bool origins;                   // event ids are those of the first stage (record/origin.h)
	struct decision_outbox *outbox; // outlives the role
};

struct results_sender_counters {
	uint64_t passed_on; // decisions
	uint64_t lost;      // of them, when the node ended: they were not written
	// Not passed on: the id was overwritten in shared memory, or the event has no origin.
	uint64_t invalid;
};

// Called by the control thread; the event rings must exist and be empty. Returns NULL with one line
// in error[RESULTS_SENDER_ERROR_SIZE].
struct role *results_sender_role_create(const struct results_sender_parameters *parameters,
					char *error);

const struct results_sender_counters *results_sender_role_counters(const struct role *role);

// Decisions that the results node has not written yet. Any thread.
uint64_t results_sender_role_waiting(const struct role *role);
