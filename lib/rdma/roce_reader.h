// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Pull by RDMA READ: the port of a builder reads each offered block from the memory of its source,
// over the connection that the node of the source has opened. Each response is a segment and is
// placed in the slot as any other segment. The reader stores only the list of blocks to read.
//
// The READs of a connection are requested in the order of the offers. If a connection is lost, its
// unfinished blocks are read again, from their start, on the next connection. If the source refuses
// a READ (its process has restarted), all offers with the same rkey are forgotten.
//
// Thread: the one that owns the queue pairs. Other threads may read the counters at any time.
#pragma once

#include "packet/message.h"
#include "packet/placement.h"
#include "packet/segment.h"
#include "packet/source_table.h"
#include "roce/requester.h"
#include "roce/settings.h"

struct roce_reader;

struct roce_reader_parameters {
	const struct roce_settings *settings;
	struct qp_table *table; // outlives the reader
	const struct source_table *sources;
	const struct placement *placements; // one per builder of this node; outlive the reader
	unsigned n_builders;
	unsigned n_nodes;   // of the system
	unsigned n_sources; // of the system
	uint32_t packing;   // consecutive events in an MFP
};

struct roce_reader_counters {
	uint64_t offers;    // accepted
	uint64_t no_room;   // refused offers: too many blocks to read, or not a block of a source
	uint64_t blocks;    // read completely
	uint64_t segments;  // of these blocks
	uint64_t forgotten; // offers that the source did not accept
	uint64_t malformed; // segments of blocks that differ from their offer
};

// NULL if memory ran out.
struct roce_reader *roce_reader_create(const struct roce_reader_parameters *parameters);
void roce_reader_destroy(struct roce_reader *reader);

// Uses a new connection of a node to a local builder.
void roce_reader_connected(struct roce_reader *reader, unsigned node, unsigned builder,
			   struct queue_pair *qp);
// Stops using a connection; no effect if the node has connected again since. Call it before the
// queue pair is closed.
void roce_reader_gone(struct roce_reader *reader, unsigned node, unsigned builder,
		      const struct queue_pair *qp);

// Adds a block to read, from a message of type MESSAGE_READ.
void roce_reader_offer(struct roce_reader *reader, const struct message *message);

// The next request to send; false if there is none.
bool roce_reader_poll(struct roce_reader *reader, uint64_t now, struct requester_packet *packet);

// Handles a response packet; the first at_hand bytes of its payload are contiguous at `payload`.
// True: it has data, and *segment is filled except arrival, event_index and payload.
bool roce_reader_receive(struct roce_reader *reader, struct queue_pair *qp,
			 const struct roce_packet *packet, const struct qp_address *peer,
			 uint64_t now, const uint8_t *payload, uint32_t at_hand,
			 struct segment *segment);

const struct roce_reader_counters *roce_reader_counters(const struct roce_reader *reader);
