// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of the responder share: responder.c (requests and their answers) and
// responder_read.c (READs).
#pragma once

#include "roce/responder.h"

// A READ that was taken, remembered to be served again. The queue pair's read_head .. read_tail - 1
// are remembered, of which those from read_next on may be unanswered.
struct remembered_read {
	uint64_t address;
	uint32_t length;
	uint32_t rkey;
	uint32_t first_psn;
	uint32_t packets; // of its responses
	uint32_t msn;
	// What is still to be sent: bytes [done, end) from response `packet` on.
	uint32_t done, end;
	uint32_t packet;
	bool pending;
	bool answered; // in full, once: what is pending is for a request that came again
	bool begun;    // the next one is MIDDLE or LAST
};

struct responder {
	struct responder_parameters parameters;
	struct remembered_read *reads; // [queue pair's index][max_reads]
	uint32_t *listed;              // indices of queue pairs that have something to send, a ring
	uint32_t list_mask;
	uint32_t list_head, list_tail; // not wrapped
};

static inline bool has_pending_reads(const struct queue_pair *qp)
{
	return qp->read_next != qp->read_tail;
}

// Has responder_poll() look at the queue pair.
void responder_list(struct responder *responder, struct queue_pair *qp);

// Makes the reply an ACK, NAK or RNR NAK, by the syndrome.
void responder_acknowledge(struct queue_pair *qp, uint8_t syndrome, uint32_t psn,
			   struct responder_reply *reply);

// Counts a packet as dropped.
static inline enum responder_verdict responder_drop(struct queue_pair *qp, enum qp_drop cause)
{
	qp_count(&qp->counters.drops[cause], 1);
	return RESPONDER_DROPPED;
}

// Answers with a fatal NAK: the queue pair is in error.
void responder_fail(struct queue_pair *qp, enum qp_cause cause, uint32_t psn,
		    struct responder_reply *reply);

// responder_read.c

// A READ request with the expected PSN.
enum responder_verdict responder_read(struct responder *responder, struct queue_pair *qp,
				      const struct roce_packet *packet,
				      struct responder_reply *reply);

// A READ request that was taken before: has it, or the part that is asked for, served again.
enum responder_verdict responder_read_again(struct responder *responder, struct queue_pair *qp,
					    const struct roce_packet *packet);

// The next response to the oldest unanswered READ, or the NAK if its region is gone. False if none
// is unanswered.
bool responder_read_response(struct responder *responder, struct queue_pair *qp,
			     struct responder_reply *reply);
