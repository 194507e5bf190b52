// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The requester sends the messages of queue pairs: RC and UC SEND and WRITE, with and without
// immediate; RC READ; UD SEND. It makes the headers and reports which bytes of which message follow
// them; the caller attaches these by reference. A retransmission reads the bytes again: the memory
// of a message must not change until its completion is reported (UC and UD: until the caller has
// sent its last packet).
//
// Use: requester_post() for each message; requester_poll() for packets, as fast as the port accepts
// them; requester_receive() for each response packet; requester_completion() for completed
// messages. requester_poll() also finds timeouts: call it even if there is nothing to send.
//
// Thread: the one that owns the queue pairs, see queue_pair.h.
#pragma once

#include "roce/qp_table.h"

struct requester;

struct requester_parameters {
	struct qp_table *table; // outlives the requester
	uint32_t depth;  // messages per queue pair posted and not reported as completed: a power of
			 // two, at most 65536
	uint32_t window; // packets sent and not acknowledged, 2..65536; 128 in Linux's rxe
	uint32_t ack_interval; // packets inside a message per requested ACK, >= 1
	uint32_t burst;        // packets of one queue pair before the turn of the next, >= 1
};

enum requester_operation { REQUESTER_SEND, REQUESTER_WRITE, REQUESTER_READ };

struct requester_message {
	uint64_t user;    // identifies the message for the caller
	uint64_t address; // WRITE, READ: virtual address in the peer's memory
	uint32_t rkey;    // WRITE, READ
	uint32_t length;  // bytes; UD: at most the path MTU
	uint32_t immediate;
	uint32_t peer_qpn, qkey; // UD: the destination
	uint8_t operation;       // enum requester_operation
	bool has_immediate;      // SEND, WRITE
	bool solicited;          // sets the Solicited Event bit in the last packet
};

struct requester_packet {
	struct queue_pair *qp;
	uint64_t user;   // of the message
	uint32_t offset; // of the payload in the message
	uint32_t size;   // of the payload; 0 for READ requests
	bool again;      // retransmission
	// Input of roce_headers_encode(). The payload follows the headers, then header.pad zero
	// bytes, then the ICRC.
	struct roce_packet header;
};

// Where the payload of a READ response belongs: in the READ `user` of the caller, from `offset` on.
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
	uint8_t cause; // enum qp_cause; QP_NO_CAUSE: success
};

enum requester_verdict {
	REQUESTER_DROPPED, // counted by cause
	REQUESTER_TAKEN,
	REQUESTER_DATA, // accepted; the payload belongs where *data states
};

// NULL if memory ran out or a parameter is out of its range.
struct requester *requester_create(const struct requester_parameters *parameters);
void requester_destroy(struct requester *requester);
uint64_t requester_memory(uint32_t n_qps, uint32_t depth);

// The number of messages that requester_post() would accept now.
uint32_t requester_room(const struct requester *requester, const struct queue_pair *qp);

// Posts a message. Returns false, and posts nothing, if there is no room, the queue pair is not
// ready, or the service does not support the message: READ without RC, UD longer than the path MTU,
// more than 2^31 bytes or 2^22 packets, or more than 2^23 packets in all unfinished messages.
bool requester_post(struct requester *requester, struct queue_pair *qp,
		    const struct requester_message *message);

// The next packet to send, from the queue pairs in turn; false if there is none now. Checks a
// bounded number of queue pairs per call. Applies the pacing.
bool requester_poll(struct requester *requester, uint64_t now, struct requester_packet *packet);

// The same for one queue pair.
bool requester_next(struct requester *requester, struct queue_pair *qp, uint64_t now,
		    struct requester_packet *packet);

// Handles a response packet (packet->flags & ROCE_RESPONSE; others are dropped) whose ICRC is
// right. `source` is the IP address of the sender.
enum requester_verdict requester_receive(struct requester *requester, struct queue_pair *qp,
					 const struct roce_packet *packet,
					 const struct qp_address *source, uint64_t now,
					 struct requester_data *data);

// The next completed message; false if there is none. Each queue pair reports its messages in the
// order posted. Frees the room of the message.
bool requester_completion(struct requester *requester, struct requester_completion *completion);

// Completes all unfinished messages of a queue pair with QP_CLOSED. Call it before qp_close().
void requester_flush(struct requester *requester, struct queue_pair *qp);

// Sets the rate of a queue pair in bytes/s of payload and headers, from the next packet on; 0: no
// limit. The caller decides how a CNP changes the rate, and counts it (counters.cnp_received).
void requester_set_rate(struct queue_pair *qp, uint64_t bytes_per_second);

// The number of unfinished messages of a queue pair.
static inline uint32_t requester_unfinished(const struct queue_pair *qp)
{
	return qp->posted - qp->done;
}
