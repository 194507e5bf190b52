// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of a readout's RoCE share: readout_roce.c (its flows and packets),
// readout_roce_queue.c (which events wait for which builder) and readout_roce_serve.c (blocks that
// builders read).
#pragma once

#include "rdma/readout_roce.h"
#include "roce/responder.h"

#define READOUT_READS 16u   // that a builder may have outstanding
#define READOUT_KEYS  1024u // rkeys that a process chooses its one from

// An event that waits for a builder, or is being sent to it.
struct queued_event {
	uint64_t event;
	uint64_t address; // as granted; only if rkey is not 0
	uint32_t rkey;    // 0: the region that the builder offered
	uint16_t attempt;
	uint16_t posted, done; // sources whose message was posted, was acknowledged
};

// The events for one builder by serial number; the low bits are the place in the ring:
// head <= next <= tail.
struct readout_queue {
	struct queued_event *events;
	uint32_t mask;
	uint32_t head; // oldest that is not acknowledged
	uint32_t next; // oldest of which not all messages are posted
	uint32_t tail; // next free number
	uint16_t builder, node;
	bool is_local;    // of this node: not by RoCE
	uint64_t left_at; // TSC when a packet left for the first time, of the last one
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
	struct responder *responder; // NULL: builders do not read
	struct region_table regions;
	uint32_t rkey;
	unsigned source_shift, block_shift; // of addresses
	struct readout_queue *queues;       // [n_builders] of the system
	unsigned n_builders, n_sources;
	struct latest_grant *latest; // by the low bits of the event
	uint64_t latest_mask;
	uint64_t released;
	uint64_t leave_since; // ns
	uint64_t hold_ticks;  // readout_roce_is_sent() waits so long without a packet
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

// The block of an event, as a message.
struct roce_block readout_block(const struct readout_roce *roce, const struct packet_segment *at);

// readout_roce_queue.c

bool readout_queues_make(struct readout_roce *roce);
void readout_queues_free(struct readout_roce *roce);
// Posts the messages that wait, until the flow has no room.
void readout_queue_post(struct readout_roce *roce, struct readout_queue *queue);
// A message of the oldest event of the queue was acknowledged.
void readout_queue_done(struct readout_roce *roce, struct readout_queue *queue);
// The connection is gone: messages that were not acknowledged wait again.
void readout_queue_rewind(struct readout_roce *roce, struct readout_queue *queue);

// readout_roce_serve.c

bool readout_serve_make(struct readout_roce *roce);
// A request of a builder.
void readout_serve(void *context, struct queue_pair *qp, const struct roce_packet *packet,
		   const struct qp_address *peer, uint64_t now);
// The next response, and its bytes of payload; NULL if none is due, or mbufs are short.
struct rte_mbuf *readout_serve_next(struct readout_roce *roce, uint32_t *payload);
