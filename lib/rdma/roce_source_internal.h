// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Definitions shared by roce_source_role.c (events and states) and roce_source_script.c (the
// messages of a capture).
#pragma once

#include "rdma/roce_sender.h"
#include "rdma/roce_source_role.h"
#include "source/roce_capture.h"
#include "wire/mfp.h"

#define END_MESSAGE   UINT64_MAX // identifies an end-of-run message
#define REFUSALS_MOST 3u // refused connection attempts of a script's stream until it is given up

// The data of a source of the set; its flow has the same index.
struct source_flow {
	uint8_t end[MFP_HEADER_SIZE]; // the end-of-run block
	// Only with a script
	uint64_t next; // index of the next message of its stream
	unsigned refusals;
	bool is_given_up; // it is not connected again
};

enum roce_source_state {
	STATE_CONNECT,
	STATE_EVENTS,
	STATE_END_OF_RUN,
	STATE_SETTLE, // all messages are posted, some are not acknowledged
	STATE_LEAVE,  // disconnecting
	STATE_FINISHED,
};

struct roce_source {
	struct role role;
	struct roce_source_parameters parameters;
	struct roce_sender roce;
	struct sender sender;
	struct block_packets packets;
	const struct roce_capture *script; // NULL: events of the set
	struct source_flow *sources;       // [n_sources], by index in the set
	unsigned n_sources, n_given_up;
	enum roce_source_state state;
	bool stopping;
	uint64_t event;  // index; with a script: messages posted or skipped
	unsigned source; // index of the next source to post
	uint64_t last_event;
	uint64_t start; // TSC
	double cycles_per_event;
	uint64_t outstanding; // messages
	uint64_t left_at;     // ns
	bool waits;           // last value of `waiting`
	atomic_bool waiting;  // for connections
	atomic_bool finished;
	struct source_counters counters __rte_cache_aligned;
	struct roce_sender_counters roce_counters;
};

// Posts a message of a source; false if its flow has no room or is not connected.
bool roce_source_post(struct roce_source *source, unsigned index,
		      struct requester_message *message);

// roce_source_script.c

// The bytes of a message; `message` is its index in the capture.
struct store_block roce_source_script_block(const struct roce_source *source, uint64_t message);
// Posts the messages that are due, in the order of each connection. Returns how many.
unsigned roce_source_post_script(struct roce_source *source, uint64_t tsc);
// Whether all messages have been posted.
bool roce_source_script_is_sent(const struct roce_source *source);
// Whether the queue pairs of the configuration can carry the captured streams: each stream must
// have exactly one source. False with one line in error[ROCE_SOURCE_ERROR_SIZE].
bool roce_source_script_check(const struct roce_source *source, char *error);
