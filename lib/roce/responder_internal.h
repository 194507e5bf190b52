// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Definitions shared by the files of the responder: responder.c (requests and their responses) and
// responder_read.c (READs).
#pragma once

#include "roce/responder.h"

// A READ that was accepted, remembered in case it is requested again. The queue pair remembers
// READs read_head .. read_tail - 1; those from read_next on may have responses to send.
struct remembered_read {
	uint64_t address;
	uint32_t length;
	uint32_t rkey;
	uint32_t first_psn;
	uint32_t packets; // of its responses
	uint32_t msn;
	// The part that is not sent: bytes [done, end), beginning with response `packet`.
	uint32_t done, end;
	uint32_t packet;
	bool pending;
	bool responded; // all responses were sent once; if pending, for a repeated request
	bool begun;     // the next response is MIDDLE or LAST
};

struct responder {
	struct responder_parameters parameters;
	struct remembered_read *reads; // [queue pair's index][max_reads]
	uint32_t *listed;              // indices of queue pairs that have something to send, a ring
	uint32_t list_mask;
	uint32_t list_head, list_tail; // not wrapped
	uint32_t list_aged;            // list_tail at the last call of responder_age()
};

static inline bool has_pending_reads(const struct queue_pair *qp)
{
	return qp->read_next != qp->read_tail;
}

// Adds the queue pair to the list that responder_poll() works on.
void responder_list(struct responder *responder, struct queue_pair *qp);

// Makes the reply an ACK, NAK or RNR NAK, depending on the syndrome.
void responder_acknowledge(struct queue_pair *qp, uint8_t syndrome, uint32_t psn,
			   struct responder_reply *reply);

// Counts a packet as dropped.
static inline enum responder_verdict responder_drop(struct queue_pair *qp, enum qp_drop cause)
{
	qp_count(&qp->counters.drops[cause], 1);
	return RESPONDER_DROPPED;
}

// Sends a fatal NAK; the queue pair goes to QP_ERROR.
void responder_fail(struct queue_pair *qp, enum qp_cause cause, uint32_t psn,
		    struct responder_reply *reply);

// Ends an RC connection because of an invalid packet.
enum responder_verdict responder_end(struct queue_pair *qp, enum qp_drop drop, uint32_t psn,
				     struct responder_reply *reply);

// responder_read.c

// Handles a READ request with the expected PSN.
enum responder_verdict responder_read(struct responder *responder, struct queue_pair *qp,
				      const struct roce_packet *packet,
				      struct responder_reply *reply);

// Handles a repeated READ request: sends the READ, or the requested part of it, again.
enum responder_verdict responder_read_again(struct responder *responder, struct queue_pair *qp,
					    const struct roce_packet *packet);

// The next response to the oldest READ that has responses to send, or a NAK if its region no longer
// exists. False if there is none.
bool responder_read_response(struct responder *responder, struct queue_pair *qp,
			     struct responder_reply *reply);
