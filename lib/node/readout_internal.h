// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The state that the files of the readout role share: readout_role.c (life and polls),
// readout_send.c (segments in packets) and readout_messages.c (RoCE).
//
// Threads: one, the role's lcore.
#pragma once

#include "node/readout_role.h"
#include "tx/bundles.h"

struct readout_role {
	struct role role;
	struct readout_logic logic;
	struct readout_output output; // of the logic
	struct readout_parameters parameters;
	struct readout_builder *builders; // [n_builders]
	struct block_packets packets;
	struct bundles bundles;
	struct sender sender;
	struct readout_roce *roce; // NULL: not by RoCE
	uint16_t *indices;         // by source of the set: index among the run's expected sources
	uint32_t frame_overhead;   // bytes that a frame takes on the link beside those of its mbuf

	// The current event
	struct packet_destination to;
	unsigned builder;   // of it
	struct link *local; // of its builder; NULL: on another node
	bool posted;        // to RoCE

	struct rte_mbuf *staged[ROLE_BURST]; // for the local builder
	unsigned n_staged;
	struct readout_counters counters __rte_cache_aligned;
};

// --- readout_send.c ---

// The output of the logic; its context is the role.
extern const struct readout_output readout_packets;

// Whether one more packet may leave the port now, apart from the granted rate.
bool readout_may_leave(struct readout_role *readout, uint64_t now);

// Passes the open bundles on. Those stay open whose link is full.
void readout_close_bundles(struct readout_role *readout);

// Passes segments that wait to the link of the local builder; false if some remain.
bool readout_flush_staged(struct readout_role *readout);

// --- readout_messages.c ---

// The messages of an output whose role sends by RoCE.
extern const struct readout_messages readout_roce_messages;

// Sends one packet of RoCE messages, of any event; false if none may leave now.
bool readout_send_roce_packet(struct readout_role *readout, uint64_t now);
