// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The state that the files of the core share: sender_core.c (life and polls), sender_core_node.c
// (the control protocol) and sender_core_output.c (segments).
#pragma once

#include "base/counter.h"
#include "pacing/pacer.h"
#include "sender/sender_core.h"

struct sender_core {
	struct sender_core_parameters parameters;
	struct readout_logic logic;
	struct readout_counters counters;

	// Segments: those from `first` on wait. The array is filled again when all are sent.
	struct sender_segment segments[SENDER_SEGMENTS];
	unsigned first, n;
	uint8_t *heads;     // [SENDER_SEGMENTS][head_room]
	uint32_t head_room; // bytes
	struct pacer pacer; // of the whole rate
	uint64_t first_tick;
	unsigned receiver; // of the current event

	// Without a system
	bool has_begun;
	uint64_t ends; // end-of-run blocks that are queued
	bool finished;

	// In a system
	struct control_endpoint *endpoint;
	struct cluster_node *node;
	uint64_t next_poll, next_beat;
	uint64_t leaving_since; // 0: not
	uint64_t foreign, malformed;
	bool occupied;
	uint64_t now;
};

// --- sender_core_node.c ---

// False with a reason if the endpoint or the node cannot be made.
bool sender_node_make(struct sender_core *core, const char **reason);
void sender_node_free(struct sender_core *core);
void sender_node_poll(struct sender_core *core);

// --- sender_core_output.c ---

extern const struct readout_output sender_output; // its context is the core

bool sender_output_make(struct sender_core *core);
void sender_output_free(struct sender_core *core);

// Sends what waits; returns the number of segments.
unsigned sender_output_flush(struct sender_core *core);

// Queues the end-of-run block of a source for a receiver; false if there is no room.
bool sender_output_end(struct sender_core *core, unsigned receiver, unsigned source);
