// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Definitions shared by readout_roce.c (flows and packets), readout_roce_queue.c (events that wait
// for builders) and readout_roce_serve.c (blocks that builders read).
#pragma once

#include "rdma/readout_roce.h"
#include "roce/responder.h"

#define READOUT_READS 16u // largest number of READs outstanding per builder

// An event that waits for a builder, or is being sent to it.
struct queued_event {
	uint64_t event;
	uint64_t address; // from the grant; only if rkey is not 0
	uint32_t rkey;    // 0: the region that the builder offered
	uint16_t attempt;
	uint16_t posted, done; // number of messages posted, and acknowledged; one per source
};

// The events for one builder, by serial number. The low bits are the index in the ring: head <=
// next <= tail.
struct readout_queue {
	struct queued_event *events;
	uint32_t mask;
	uint32_t head; // oldest event that is not acknowledged
	uint32_t next; // oldest event with messages to post
	uint32_t tail; // serial number of the next event added
	uint16_t builder, node;
	bool is_local;    // on this node: nothing is sent to it by RoCE
	uint64_t left_at; // TSC when the last packet that is no retransmission was sent
	struct roce_flow *flow;
};

// The last grant of an event.
struct latest_grant {
	uint64_t event;
	uint16_t builder, attempt;
	bool valid;
	bool waits; // the event is in the queue of that builder
};

struct readout_roce {
	struct roce_sender sender;
	struct readout_roce_parameters parameters;
	struct responder *responder;        // NULL: builders do not read
	struct region region;               // of all blocks
	struct region_table regions;        // has this region alone
	unsigned source_shift, block_shift; // of addresses
	struct readout_queue *queues;       // [n_builders] of the system
	unsigned n_builders, n_sources;
	struct latest_grant *latest; // by the low bits of the event
	uint64_t latest_mask;
	uint16_t *queued; // by the low bits of the event: its entries in queues
	uint64_t n_queued;
	uint64_t released;
	uint64_t leave_since; // ns
	uint64_t hold_ticks;  // TSC cycles; see HOLD_NS
	struct readout_roce_counters counters __rte_cache_aligned;
};

static inline struct readout_queue *readout_queue_of(const struct readout_roce *roce,
						     const struct roce_flow *flow)
{
	return &roce->queues[flow - roce->sender.flows];
}

static inline struct queued_event *queued_event_at(const struct readout_queue *queue,
						   uint32_t serial)
{
	return &queue->events[serial & queue->mask];
}

// readout_roce.c

// The block of an event and source, as a message.
struct roce_block readout_block(const struct readout_roce *roce, const struct packet_segment *at);

// readout_roce_queue.c

bool readout_queues_make(struct readout_roce *roce);
void readout_queues_free(struct readout_roce *roce);
// Posts waiting messages until the flow has no room.
void readout_queue_post(struct readout_roce *roce, struct readout_queue *queue);
// Counts an acknowledged message of the oldest event of the queue.
void readout_queue_done(struct readout_roce *roce, struct readout_queue *queue);
// Handles a lost connection: messages that were not acknowledged wait again.
void readout_queue_rewind(struct readout_roce *roce, struct readout_queue *queue);

// readout_roce_serve.c

bool readout_serve_make(struct readout_roce *roce);
// Handles a request packet of a builder.
void readout_serve(void *context, struct queue_pair *qp, const struct roce_packet *packet,
		   const struct qp_address *peer, uint64_t now);
// The next response; *payload is its size without headers. NULL if none is due, or no mbuf is free.
struct rte_mbuf *readout_serve_next(struct readout_roce *roce, uint32_t *payload);
