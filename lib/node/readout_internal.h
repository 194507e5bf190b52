// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The state that the files of the readout role share: readout_role.c (life and polls),
// readout_announce.c (the run, announcing, grants) and readout_send.c (sending).
//
// Threads: one, the role's lcore.
#pragma once

#include "node/readout_role.h"
#include "pacing/send_queue.h"
#include "wire/ctrl.h"

struct readout {
	struct role role;
	struct readout_parameters parameters;
	struct readout_builder *builders; // [n_builders]
	struct block_packets packets;
	struct sender sender;
	struct send_queue queue;
	struct readout_pace pace;
	struct readout_roce *roce; // NULL: not by RoCE
	uint16_t *indices;         // by source of the set: index among the run's expected sources
	uint32_t frame_overhead;   // bytes that a frame takes on the link beside those of its mbuf
	uint64_t hz;               // ticks per second

	// The run
	enum ctrl_run_state state;
	uint32_t run;
	uint64_t first;       // event with which this node began
	uint64_t run_end;     // first event behind the run once it drains; UINT64_MAX before
	uint64_t own_end;     // first event that the generator does not produce
	uint64_t released;    // events below are finished
	uint64_t freed;       // events below are released to the store
	bool begins;          // the store has not begun the run yet
	uint64_t announced;   // events below are announced
	uint64_t static_next; // static mode: first event that is not queued
	bool ended;           // the last event was announced as such
	bool throttled;       // by the manager
	bool was_full;
	bool is_up; // connections to the builders are made, or have been waited for
	bool draining;
	uint64_t start; // TSC of the run's start
	double cycles_per_event;

	// The current event
	bool sending;
	struct message grant;
	struct packet_segment cursor; // next segment; its source is n_sources when all are sent
	struct store_block block;     // at the cursor, behind its first segment
	struct packet_destination to;
	struct link *local;    // of its builder; NULL: on another node
	bool found;            // `to` and `local` are set
	bool posted;           // to RoCE
	uint64_t sought_since; // TSC

	struct rte_mbuf *staged[ROLE_BURST]; // for the local builder
	unsigned n_staged;
	struct readout_counters counters __rte_cache_aligned;
};

// --- readout_announce.c ---

// Handles a message of the control role.
void readout_handle_message(struct readout *readout, const struct message *message, uint64_t now);

// Drops all grants that wait.
void readout_forget_grants(struct readout *readout);

// Announces the events that are new, and the end of the run.
void readout_announce(struct readout *readout, uint64_t now);

// Begins a run in the store, and releases events to it that nothing sent refers to.
void readout_tend_store(struct readout *readout, uint64_t now);

// Static mode: queues the next round of events.
void readout_grant_statically(struct readout *readout);

// --- readout_send.c ---

// Sends one packet of RoCE messages, of any event; false if none may leave now.
bool readout_send_roce_packet(struct readout *readout, uint64_t now);

// One step of the events in the order of their grants; false if nothing can be done now.
bool readout_step(struct readout *readout, uint64_t now);

// Passes segments that wait to the link of the local builder; false if some remain.
bool readout_flush_staged(struct readout *readout);
