// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Definitions shared by the files of the requester: requester.c (messages, turns, completions),
// requester_send.c (packets), requester_receive.c (responses, timeouts).
#pragma once

#include "roce/requester.h"

// A posted message. It has `packets` PSNs from first_psn on; the PSNs of a READ are those of its
// responses.
struct work_request {
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
	struct work_request *requests; // [queue pair's index][depth]
	struct ring active;            // queue pairs with unfinished messages
	struct ring completions;       // queue pairs with completions not reported
	uint32_t turn; // packets that the first active queue pair has sent in its turn
};

static inline struct work_request *request_at(const struct requester *requester,
					      const struct queue_pair *qp, uint32_t serial)
{
	uint32_t depth = requester->parameters.depth;

	return &requester->requests[(size_t)qp->index * depth + (serial & (depth - 1))];
}

static inline bool request_has(const struct work_request *request, uint32_t psn)
{
	return ((psn - request->first_psn) & ROCE_24_BITS) < request->packets;
}

// requester.c

// Completes the oldest unfinished message.
void requester_finish(struct requester *requester, struct queue_pair *qp, enum qp_cause cause);

// Ends the connection. The message with this PSN completes with the cause, the others with
// QP_CLOSED.
void requester_fail(struct requester *requester, struct queue_pair *qp, uint32_t psn,
		    enum qp_cause cause);

// requester_receive.c

// Handles an ACK timeout: sends again, or fails the queue pair if no retry is left.
void requester_time_out(struct requester *requester, struct queue_pair *qp);
