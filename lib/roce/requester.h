// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The requester: sends messages of queue pairs. RC and UC SEND and WRITE, with and without
// immediate; RC READ; UD SEND. It makes headers and says which bytes of which message belong behind
// them; the caller attaches these by reference. What may be sent again is read again: the memory of
// a message stays as it is until its completion is told (of UC and UD: until the caller's own last
// packet of it has left).
//
// Use: requester_post() messages; requester_poll() packets as fast as the port takes them;
// requester_receive() each response packet; requester_completion() what is done. Timeouts are found
// by requester_poll(): call it also when there is nothing to post.
//
// Threads: one, see queue_pair.h.
#pragma once

#include "roce/qp_table.h"

struct requester;

struct requester_parameters {
	struct qp_table *table; // outlives the requester
	uint32_t depth;        // messages posted and not told as completed, a power of two, of each
			       // queue pair; at most 65536
	uint32_t window;       // packets sent and not acknowledged, 2..65536; rxe answers 128
	uint32_t ack_interval; // an ACK is asked for each so many packets inside a message, >= 1
	uint32_t burst;        // packets of one queue pair before another one's turn, >= 1
};

enum requester_operation { REQUESTER_SEND, REQUESTER_WRITE, REQUESTER_READ };

struct requester_message {
	uint64_t user;    // the caller's name for it
	uint64_t address; // WRITE, READ: of the peer's memory
	uint32_t rkey;    // WRITE, READ
	uint32_t length;  // bytes; UD: at most the path MTU
	uint32_t immediate;
	uint32_t peer_qpn, qkey; // UD: whom it is for
	uint8_t operation;       // enum requester_operation
	bool has_immediate;      // SEND, WRITE
	bool solicited;          // asks for the receiver's attention
};

struct requester_packet {
	struct queue_pair *qp;
	uint64_t user;   // of the message
	uint32_t offset; // of the payload in the message
	uint32_t size;   // of the payload; 0 for READ requests
	bool again;      // sent before
	// What roce_headers_encode() needs; payload, header.pad zeros and the ICRC follow.
	struct roce_packet header;
};

// Where the payload of a READ response goes: it is the caller's READ `user`, from `offset` on.
struct requester_data {
	uint64_t user;
	uint32_t offset;
	uint32_t size;
};

struct requester_completion {
	struct queue_pair *qp;
	uint64_t user;
	uint32_t length;
	uint8_t operation;
	uint8_t cause; // enum qp_cause; QP_NO_CAUSE: it got through
};

enum requester_verdict {
	REQUESTER_DROPPED, // counted by cause
	REQUESTER_TAKEN,
	REQUESTER_DATA, // taken, and *data says where the payload goes
};

// NULL if memory ran out or a parameter is out of its range.
struct requester *requester_create(const struct requester_parameters *parameters);
void requester_destroy(struct requester *requester);
uint64_t requester_memory(uint32_t n_qps, uint32_t depth);

// Messages that requester_post() would take now.
uint32_t requester_room(const struct requester *requester, const struct queue_pair *qp);

// False, and nothing posted, if there is no room, the queue pair is not ready, or the message is
// none of its service: READ without RC, UD longer than the path MTU, more than 2^31 bytes or 2^22
// packets, or 2^23 with all that are unfinished.
bool requester_post(struct requester *requester, struct queue_pair *qp,
		    const struct requester_message *message);

// The next packet to send, of any queue pair in turn; false if there is none now. A call looks at a
// bounded number of queue pairs. The pacing is applied here.
bool requester_poll(struct requester *requester, uint64_t now, struct requester_packet *packet);

// The same of one queue pair.
bool requester_next(struct requester *requester, struct queue_pair *qp, uint64_t now,
		    struct requester_packet *packet);

// A response packet (packet->flags & ROCE_RESPONSE; others are dropped) whose ICRC is right.
// `source` is the sender's IP address.
enum requester_verdict requester_receive(struct requester *requester, struct queue_pair *qp,
					 const struct roce_packet *packet,
					 const struct qp_address *source, uint64_t now,
					 struct requester_data *data);

// The next message that is done, of each queue pair in the order posted. Frees its room.
bool requester_completion(struct requester *requester, struct requester_completion *completion);

// Ends all unfinished messages of a queue pair with QP_CLOSED; before qp_close().
void requester_flush(struct requester *requester, struct queue_pair *qp);

// Rate of a queue pair in bytes of payload and headers a second, from the next packet on; 0: no
// limit. What a CNP makes of it is the caller's, which also counts it (counters.cnp_received).
void requester_set_rate(struct queue_pair *qp, uint64_t bytes_per_second);

// Unfinished messages of a queue pair.
static inline uint32_t requester_unfinished(const struct queue_pair *qp)
{
	return qp->posted - qp->done;
}
