// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of the requester share: requester.c (messages, turns, completions),
// requester_send.c (packets), requester_answer.c (responses, timeouts).
#pragma once

#include "roce/requester.h"

// A message that was posted. It has the PSNs from first_psn on, `packets` of them; a READ has those
// of its responses.
struct work {
	uint64_t user;
	uint64_t address;
	uint32_t length;
	uint32_t packets;
	uint32_t first_psn;
	uint32_t rkey;
	uint32_t immediate;
	uint32_t peer_qpn, qkey;
	uint8_t operation;
	uint8_t cause; // enum qp_cause
	bool has_immediate, solicited;
};

#define MOST_WINDOW 65536u

struct ring {
	uint32_t *indices; // of queue pairs
	uint32_t head, tail;
};

struct requester {
	struct requester_parameters parameters;
	uint32_t mask; // of the rings
	uint32_t ack_interval;
	struct work *works;      // [queue pair's index][depth]
	struct ring active;      // queue pairs with unfinished messages
	struct ring completions; // queue pairs with messages that are done and not told
	uint32_t turn;           // packets that the first active one has sent in a row
};

static inline struct work *work_of(const struct requester *requester, const struct queue_pair *qp,
				   uint32_t serial)
{
	uint32_t depth = requester->parameters.depth;

	return &requester->works[(size_t)qp->index * depth + (serial & (depth - 1))];
}

static inline bool work_has(const struct work *work, uint32_t psn)
{
	return ((psn - work->first_psn) & ROCE_24_BITS) < work->packets;
}

// requester.c

// The oldest unfinished message is done.
void requester_finish(struct requester *requester, struct queue_pair *qp, enum qp_cause cause);

// Ends the connection: the message with this PSN for a cause, the others because of it.
void requester_fail(struct requester *requester, struct queue_pair *qp, uint32_t psn,
		    enum qp_cause cause);

// requester_answer.c

// The ACK timeout has passed: goes back, or gives up.
void requester_time_out(struct requester *requester, struct queue_pair *qp);
