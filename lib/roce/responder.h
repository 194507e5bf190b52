// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The responder handles the requests of the peer of a queue pair: RC and UC SEND and WRITE, with
// and without immediate; UD SEND; RC READ from registered regions. Atomics and SEND with invalidate
// get the NAK "invalid request".
//
// For each request packet whose ICRC is right, in the order of arrival:
//   1. qp_find() finds the queue pair of the destination QPN.
//   2. responder_check() checks the packet. With RESPONDER_DELIVER it reports where in its message
//      the payload belongs, and for WRITE at which address; the state has not changed yet.
//   3. The caller finds memory for the payload and calls responder_accept(), or else
//      responder_refuse(), before it checks the next packet of this queue pair.
//   4. The caller sends the reply if reply.send is set, and a CNP (roce_cnp_encode()) to the
//      peer if reply.cnp is set.
//
// After each burst of packets the caller calls responder_poll() until it returns false or the burst
// of replies is full: it returns owed ACKs and READ responses. After a burst that another one
// follows at once, it may call responder_poll_aged() instead, and in either case responder_age()
// afterwards. Every call does bounded work, allocates nothing and is safe for any input.
//
// Thread: the one that owns the queue pairs, see queue_pair.h.
#pragma once

#include "roce/qp_table.h"
#include "roce/region.h"

struct responder;

struct responder_parameters {
	struct qp_table *table; // outlives the responder
	// The memory for WRITE and READ; outlives the responder. NULL: READs are refused, and the
	// caller checks rkey and address of each WRITE itself and calls responder_refuse() where
	// they are wrong.
	const struct region_table *regions;
	uint64_t cnp_interval;    // ns between two CNPs to one queue pair; 0: none is sent
	uint32_t largest_message; // bytes of a SEND, at most 2^31
	uint16_t ack_every; // requests for an ACK per ACK; responder_poll() acknowledges the rest
	uint8_t rnr_timer;  // code 0..31 of the wait time in RNR NAKs
	uint8_t max_reads;  // READs remembered per queue pair: a power of two, 1..128
	// Behave as Linux's rxe where it differs from the standard: when a READ is requested again
	// from its middle, the responses begin with MIDDLE or LAST, not with FIRST as for a new
	// READ; and packets that follow an RNR NAK get a sequence NAK.
	bool like_rxe;
};

// What IP reports of a packet.
struct responder_arrival {
	struct qp_address source;
	bool congested; // ECN bits of the IP header are CE (3)
};

enum responder_verdict {
	RESPONDER_DROPPED, // counted by cause; the reply may be a NAK or an ACK
	RESPONDER_DELIVER, // *delivery is filled; accept or refuse it
	RESPONDER_SERVED,  // a READ request was accepted; responder_poll() returns its responses
};

struct responder_delivery {
	uint8_t *to;         // WRITE with regions: destination of the payload; else NULL
	uint64_t address;    // WRITE: virtual address of these bytes
	uint32_t rkey;       // WRITE
	uint32_t dma_length; // WRITE: bytes of the whole message
	uint32_t offset;     // of these bytes in the message
	uint32_t size;       // of the payload; may be 0
	uint32_t immediate;  // if has_immediate; only in the last packet of a message
	bool is_write;       // else SEND
	bool begins, ends;   // first, last packet of its message
	bool has_immediate;  // the message needs a receive resource, as every SEND does
	bool ack_request;    // RC
	uint32_t psn;
};

struct responder_reply {
	struct queue_pair *qp;
	const uint8_t *payload; // READ responses: points into the memory of the region; else NULL
	uint32_t payload_size;
	uint32_t psn;
	uint32_t msn;
	uint8_t opcode;   // enum roce_opcode: ACKNOWLEDGE or READ_RESPONSE_*
	uint8_t syndrome; // of the AETH
	bool send;        // this reply must be sent
	bool cnp;         // a CNP must be sent to qp->peer_qpn
};

enum responder_refusal {
	RESPONDER_NO_RESOURCE,    // RNR NAK: the peer waits and sends again
	RESPONDER_NO_ACCESS,      // NAK remote access: the queue pair goes to QP_ERROR
	RESPONDER_INVALID,        // NAK invalid request: likewise
	RESPONDER_NOT_OPERATIONAL // NAK remote operational: likewise
};

// NULL if memory ran out or a parameter is out of its range.
struct responder *responder_create(const struct responder_parameters *parameters);
void responder_destroy(struct responder *responder);
uint64_t responder_memory(uint32_t n_qps, unsigned max_reads);

// Checks a request packet (packet->flags & ROCE_REQUEST; others are dropped). *reply is always
// filled. Each packet is counted once: here if it is dropped or is a READ, else by
// responder_accept() or responder_refuse().
enum responder_verdict responder_check(struct responder *responder, struct queue_pair *qp,
				       const struct roce_packet *packet,
				       const struct responder_arrival *arrival, uint64_t now,
				       struct responder_delivery *delivery,
				       struct responder_reply *reply);

// The caller has memory for the payload. reply->cnp does not change.
void responder_accept(struct responder *responder, struct queue_pair *qp,
		      const struct responder_delivery *delivery, struct responder_reply *reply);

// The caller cannot accept the payload. On UC the rest of the message is dropped, on UD only this
// datagram. reply->cnp does not change.
void responder_refuse(struct responder *responder, struct queue_pair *qp,
		      const struct responder_delivery *delivery, enum responder_refusal reason,
		      struct responder_reply *reply);

// The next owed ACK or READ response of any queue pair; false if there is none.
bool responder_poll(struct responder *responder, struct responder_reply *reply);

// The same, but only of queue pairs that already owed it at the last call of responder_age(): what
// is owed for the last burst waits, so that its ACK also acknowledges packets of the next one.
bool responder_poll_aged(struct responder *responder, struct responder_reply *reply);
// Marks what is owed now as aged.
void responder_age(struct responder *responder);

// The headers of a reply with `send` set: BTH and, if the opcode has it, AETH. The payload follows,
// then padding (-payload_size & 3 zero bytes), then the ICRC.
struct roce_packet responder_reply_header(const struct responder_reply *reply);
// Encodes them, and returns their size.
size_t responder_reply_encode(const struct responder_reply *reply,
			      uint8_t bytes[ROCE_MAX_HEADERS_SIZE]);
