// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of the RoCE source role share: roce_source_role.c (messages and packets),
// roce_source_connect.c (how its queue pairs are connected) and roce_source_script.c (the messages
// of a capture).
#pragma once

#include "pacing/dcqcn.h"
#include "rdma/roce_client.h"
#include "rdma/roce_frame.h"
#include "rdma/roce_source_role.h"
#include "roce/requester.h"
#include "source/roce_capture.h"
#include "tx/block_packets.h"
#include "wire/mfp.h"

#define END_MESSAGE   UINT64_MAX // user of an end-of-run message
#define DEPTH         64u        // messages posted to a queue pair
#define REFUSALS_MOST 3u         // of one connection, for a capture's messages

#define FIRST_PORT   49152u
#define SOURCE_PORTS 16384u
#define LEAVE_NS     1000000000u  // to disconnect
#define DEFAULT_RATE 12500000000u // bytes/s of a link whose rate is not known: 100 Gb/s

// One source of the set.
struct lane {
	struct queue_pair *qp; // NULL: not connected yet
	uint32_t connection;   // of RDMA CM
	bool asked, ready;
	uint32_t rkey;
	uint64_t address, room; // of the peer's region
	struct roce_way way;
	struct dcqcn_flow flow;
	uint8_t end[MFP_HEADER_SIZE]; // the end-of-run block
	// Kind roce
	uint64_t next; // message of its stream
	unsigned refusals;
	bool given_up; // it is not asked for any more
};

enum roce_source_state {
	STATE_CONNECT,
	STATE_EVENTS,
	STATE_END_OF_RUN,
	STATE_SETTLE, // all is posted, not all acknowledged
	STATE_LEAVE,  // disconnecting
	STATE_FINISHED,
};

struct roce_source {
	struct role role;
	struct roce_source_parameters parameters;
	const struct config_roce *config;
	struct link *responses;
	struct flow_control *flow_control;
	struct block_packets packets;
	struct sender sender;
	struct qp_table table;
	struct requester *requester;
	struct cm *cm; // NULL: static
	struct dcqcn dcqcn;
	struct lane *lanes;                // by source of the set
	const struct roce_capture *script; // kind roce; else NULL
	unsigned n_lanes, n_asked, n_connecting, n_given_up;
	enum roce_source_state state;
	bool stopping;
	uint64_t event;  // index; kind roce: messages posted or skipped
	unsigned source; // whose turn it is
	uint64_t last_event;
	uint64_t start; // TSC
	double cycles_per_event, ns_per_tick;
	uint64_t outstanding; // messages
	uint64_t left_at;     // ns
	uint32_t path_mtu;
	unsigned port; // index
	atomic_bool finished;
	struct source_counters source_counters __rte_cache_aligned;
	struct roce_source_counters counters;
};

static inline struct lane *lane_of(const struct queue_pair *qp)
{
	return qp->user;
}

// roce_source_connect.c

// All lanes as queue_pairs says. False with one line in error[ROCE_SOURCE_ERROR_SIZE].
bool roce_source_connect_statically(struct roce_source *source, char *error);
// Asks for connections, answers, takes what has become of them.
void roce_source_poll_cm(struct roce_source *source, uint64_t now);
enum roce_service roce_source_service(enum config_service service);

// roce_source_role.c

// Posts one message, called `user`; false if its queue pair has no room or is not there.
bool roce_source_post(struct roce_source *source, struct lane *lane,
		      struct requester_message *message);

// roce_source_script.c

// The bytes of a message by its name, the index in the capture.
struct source_block roce_source_script_block(const struct roce_source *source, uint64_t message);
// Posts what is due, each connection's messages in their order; returns how many.
unsigned roce_source_post_script(struct roce_source *source, uint64_t tsc);
// Whether all have been posted.
bool roce_source_script_is_sent(const struct roce_source *source);
