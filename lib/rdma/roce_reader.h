// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Pull by RDMA READ: a builder's port reads each offered block out of its source's memory, over
// the connection that the source's node has made. Each response is a segment, which goes to its
// place in the slot as any other; nothing is kept here but which blocks are to be read.
//
// READs of a connection are asked for in the order of the offers. What a connection takes with it
// is asked for again, as a whole, on the next; but what the source does not give (its process is
// another one) is forgotten, with all that was offered by the same key.
//
// Threads: one, that of the queue pairs; the counters may be read by others at any time.
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
	uint64_t offers;  // taken
	uint64_t no_room; // not taken: too many are to be read, or it cannot be a block of a source
	uint64_t blocks;  // read
	uint64_t segments;  // of them
	uint64_t forgotten; // offers that the source does not stand by
	uint64_t malformed; // segments of what is not the block that was offered
};

enum roce_reader_verdict {
	ROCE_READER_TAKEN,  // or dropped, and counted by the queue pair
	ROCE_READER_SEGMENT // *segment is filled but for arrival, event_index and payload
};

// NULL if memory ran out.
struct roce_reader *roce_reader_create(const struct roce_reader_parameters *parameters);
void roce_reader_destroy(struct roce_reader *reader);

// A node has connected to a local builder.
void roce_reader_connected(struct roce_reader *reader, unsigned node, unsigned builder,
			   struct queue_pair *qp);
// That is over, unless it has connected anew since; before the queue pair is closed.
void roce_reader_gone(struct roce_reader *reader, unsigned node, unsigned builder,
		      const struct queue_pair *qp);

// A block is to be read: MESSAGE_READ.
void roce_reader_offer(struct roce_reader *reader, const struct message *message);

// The next request to send; false if there is none.
bool roce_reader_poll(struct roce_reader *reader, uint64_t now, struct requester_packet *packet);

// A response, of which at_hand bytes of payload are contiguous at `payload`.
enum roce_reader_verdict roce_reader_receive(struct roce_reader *reader, struct queue_pair *qp,
					     const struct roce_packet *packet,
					     const struct qp_address *peer, uint64_t now,
					     const uint8_t *payload, uint32_t at_hand,
					     struct segment *segment);

const struct roce_reader_counters *roce_reader_counters(const struct roce_reader *reader);
