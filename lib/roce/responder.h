// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The responder: what a queue pair does with the requests of its peer. RC and UC SEND and WRITE,
// with and without immediate; UD SEND; RC READ from registered regions. Atomics and SEND with
// invalidate are answered as unsupported.
//
// For each request packet whose ICRC is right, in the order of arrival:
//   1. qp_find() the queue pair of its destination QPN;
//   2. responder_check(): RESPONDER_DELIVER says where in its message the payload belongs, and for
//      WRITE at which address; nothing has changed yet;
//   3. the caller makes sure of a place for it, and says responder_accept(), or responder_refuse(),
//      before the next packet of this queue pair is checked;
//   4. if reply.send, the reply is sent; if reply.cnp, a CNP (roce_cnp_encode) to the peer.
// After each burst of packets, responder_poll() until it returns false or the burst is full: owed
// ACKs and READ responses. All of it is bounded, allocates nothing, and takes any input.
//
// Threads: one, see queue_pair.h.
#pragma once

#include "roce/qp_table.h"
#include "roce/region.h"

struct responder;

struct responder_parameters {
	struct qp_table *table; // outlives the responder
	// Where WRITE and READ go; outlives the responder. NULL: READs are refused, and the caller
	// judges rkey and address of each WRITE delivery itself, by responder_refuse().
	const struct region_table *regions;
	uint64_t cnp_interval;    // ns between two CNPs to one queue pair; 0: none are sent
	uint32_t largest_message; // bytes of a SEND, at most 2^31
	uint16_t ack_every; // AckReq packets to one ACK, the rest are sent by responder_poll()
	uint8_t rnr_timer;  // code 0..31 of the wait that RNR NAKs ask for
	uint8_t max_reads;  // READs of a queue pair that are remembered: a power of two, 1..128
	// Where Linux's rxe differs from the standard, do as it does: a READ that is asked for anew
	// from its middle is answered with MIDDLE and LAST, not from FIRST as another READ; and
	// what follows a packet that got an RNR NAK gets a sequence NAK.
	bool like_rxe;
};

// What the network says of a packet.
struct responder_arrival {
	struct qp_address source;
	bool congested; // ECN bits of the IP header are CE (3)
};

enum responder_verdict {
	RESPONDER_DROPPED, // counted by cause; the reply may be a NAK or an ACK
	RESPONDER_DELIVER, // *delivery is filled; accept or refuse it
	RESPONDER_SERVED,  // a READ request was taken; responder_poll() will give its responses
};

struct responder_delivery {
	uint8_t *to;          // WRITE with regions: where the payload goes; else NULL
	uint64_t address;     // WRITE: virtual address of these bytes
	uint32_t rkey;        // WRITE
	uint32_t dma_length;  // WRITE: bytes of the whole message
	uint32_t offset;      // of these bytes in the message
	uint32_t size;        // of the payload; may be 0
	uint32_t immediate;   // if has_immediate; only where the message ends
	uint32_t source_qpn;  // UD
	bool is_write;        // else SEND
	bool begins, ends;    // first, last packet of its message
	bool has_immediate;   // needs a receive resource, as every SEND does
	bool solicited;       // the peer asks for the receiver's attention
	bool ack_request;     // RC
	bool aborts_previous; // UC: the message that had begun is incomplete and will stay so
	uint32_t psn;
};

struct responder_reply {
	struct queue_pair *qp;
	const uint8_t *payload; // READ responses: in the region's memory; else NULL
	uint32_t payload_size;
	uint32_t psn;
	uint32_t msn;
	uint8_t opcode;   // enum roce_opcode: ACKNOWLEDGE or READ_RESPONSE_*
	uint8_t syndrome; // of the AETH
	bool send;        // there is a packet to send
	bool cnp;         // there is a CNP to send to qp->peer_qpn
};

enum responder_refusal {
	RESPONDER_NO_RESOURCE,    // RNR NAK: the peer waits and sends again
	RESPONDER_NO_ACCESS,      // NAK remote access: the queue pair is in error
	RESPONDER_INVALID,        // NAK invalid request: the same
	RESPONDER_NOT_OPERATIONAL // NAK remote operational: the same
};

// NULL if memory ran out or a parameter is out of its range.
struct responder *responder_create(const struct responder_parameters *parameters);
void responder_destroy(struct responder *responder);
uint64_t responder_memory(uint32_t n_qps, unsigned max_reads);

// Judges a request packet (packet->flags & ROCE_REQUEST; others are dropped). *reply is always
// filled. The counters of the queue pair count each packet once: here if it is dropped or a READ,
// else by accept or refuse.
enum responder_verdict responder_check(struct responder *responder, struct queue_pair *qp,
				       const struct roce_packet *packet,
				       const struct responder_arrival *arrival, uint64_t now,
				       struct responder_delivery *delivery,
				       struct responder_reply *reply);

// The payload has its place. The cnp of the reply of responder_check() stays as it was.
void responder_accept(struct responder *responder, struct queue_pair *qp,
		      const struct responder_delivery *delivery, struct responder_reply *reply);

// The payload has none. On UC the rest of the message will be dropped, on UD this datagram is. The
// cnp stays as it was.
void responder_refuse(struct responder *responder, struct queue_pair *qp,
		      const struct responder_delivery *delivery, enum responder_refusal reason,
		      struct responder_reply *reply);

// A response to a request of ours came with a congestion mark: true if a CNP is to be sent to
// qp->peer_qpn. (Of requests responder_check() says so.)
bool responder_wants_cnp(const struct responder *responder, struct queue_pair *qp, uint64_t now);

// The next owed ACK or READ response of any queue pair; false if there is none.
bool responder_poll(struct responder *responder, struct responder_reply *reply);

// BTH and AETH, if the opcode has one, of a reply with send set; returns their size. The payload
// follows, then padding (-payload_size & 3 bytes, zeros), then the ICRC.
size_t responder_reply_encode(const struct responder_reply *reply,
			      uint8_t bytes[ROCE_MAX_HEADERS_SIZE]);
