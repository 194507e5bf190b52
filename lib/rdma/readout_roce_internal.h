// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of a readout's RoCE share: readout_roce.c (messages and packets),
// readout_roce_queue.c (which events wait for which builder) and readout_roce_connect.c (how its
// queue pairs are connected).
#pragma once

#include "pacing/dcqcn.h"
#include "rdma/readout_roce.h"
#include "rdma/roce_frame.h"
#include "roce/connection.h"
#include "roce/requester.h"
#include "roce/responder.h"

#define READOUT_ALIVE UINT64_MAX // user of a message without bytes: is the builder there?
#define READOUT_READS 16u        // of a builder, outstanding
#define READOUT_KEYS  1024u      // of which one is in use

// An event that waits for a builder, or is under way to it.
struct lane_event {
	uint64_t event;
	uint64_t address; // as granted; rkey 0: as the connection says
	uint32_t rkey;
	uint16_t attempt;
	uint16_t posted, done; // sources whose message was posted, is acknowledged
};

// The way to a builder. Its events by serial number, place in the ring by the low bits:
// head <= next <= tail.
struct readout_lane {
	struct lane_event *events;
	uint32_t mask;
	uint32_t head;         // oldest that is not acknowledged
	uint32_t next;         // of which not all is posted
	uint32_t tail;         // next free number
	uint16_t builder;      // system-wide number
	bool local;            // of this node: not by RoCE
	struct queue_pair *qp; // NULL: not connected
	uint32_t connection;   // of RDMA CM, 0: not asked for
	uint64_t retry_at;     // ns: not asked for again before
	uint64_t alive_at;     // ns: then the builder is asked whether it is there
	uint32_t rkey;         // the connection's, as is the next
	uint64_t address;
	uint64_t left_at; // TSC: a packet left last for the first time
	struct roce_way way;
	struct dcqcn_flow flow;
};

// What an event was granted last.
struct latest_grant {
	uint64_t event;
	uint16_t builder, attempt;
	bool valid;
	bool waits; // for that builder, or is under way to it
};

struct readout_roce {
	struct readout_roce_parameters parameters;
	const struct config_roce *config;
	struct qp_table table;
	struct requester *requester;
	struct responder *responder; // NULL: builders do not read
	struct region_table regions;
	uint32_t rkey;
	unsigned source_shift, block_shift; // of addresses
	struct cm *cm;
	struct dcqcn dcqcn;
	struct readout_lane *lanes; // by builder of the system
	unsigned n_lanes, n_connecting, first_to_connect;
	unsigned n_sources;
	struct latest_grant *latest; // by the low bits of the event
	uint64_t latest_mask;
	uint64_t released;
	bool held; // events count until they are released
	bool leaving;
	uint64_t leave_since; // ns
	uint64_t next_look;   // ns: connections are left alone before
	double ns_per_tick;
	uint64_t hold_ticks; // that an event is waited for without a packet leaving
	uint32_t path_mtu;
	struct readout_roce_counters counters __rte_cache_aligned;
};

static inline struct readout_lane *readout_lane_of(const struct queue_pair *qp)
{
	return qp->user;
}

static inline struct lane_event *lane_event_at(const struct readout_lane *lane, uint32_t serial)
{
	return &lane->events[serial & lane->mask];
}

// readout_roce_queue.c

bool readout_queue_make(struct readout_roce *roce);
void readout_queue_free(struct readout_roce *roce);
// Posts what waits, as far as its queue pair has room.
void readout_queue_post(struct readout_roce *roce, struct readout_lane *lane);
// A message of the oldest event of a lane is acknowledged.
void readout_queue_done(struct readout_roce *roce, struct readout_lane *lane);
// The connection is gone: what was posted and not acknowledged waits again.
void readout_queue_rewind(struct readout_roce *roce, struct readout_lane *lane);

// readout_roce_connect.c

bool readout_connect_make(struct readout_roce *roce);
// Asks for connections, answers, takes what has become of them. now: ns.
void readout_connect_poll(struct readout_roce *roce, uint64_t now);
// What has come to QP 1.
void readout_connect_receive(struct readout_roce *roce, const struct roce_packet *packet,
			     const uint8_t *mad, const struct qp_address *peer, uint64_t now);
void readout_connect_leave(struct readout_roce *roce, uint64_t now);

// readout_roce_serve.c

bool readout_serve_make(struct readout_roce *roce);
// A request of a builder.
void readout_serve(struct readout_roce *roce, struct queue_pair *qp,
		   const struct roce_packet *packet, const struct qp_address *peer, uint64_t now);
// The next response, of so many bytes of payload; NULL if there is none, or mbufs are short.
struct rte_mbuf *readout_serve_next(struct readout_roce *roce, uint32_t *payload);

// readout_roce.c

// Takes what messages have become.
void readout_take_completions(struct readout_roce *roce);
