// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Connections with FERoCE readout boards, by the messages of wire/feroce_cm.h. The board begins;
// evb is the passive side:
//
//   OPEN (with the board's queue pair) -> ACK (with ours)
//   SEND_QP_INFO -> ACK                   optional: the board repeats or corrects its numbers
//   READY_TO_SEND -> ACK                  optional: the board is about to send
//   CLOSE_QP -> ACK                       either side ends the connection
//
// The side that sent a request repeats it until the ACK arrives. A board that opens the same queue
// pair again after the connection was used has restarted: the old connection is CLOSED. A
// connection whose queue pair is in state QP_ERROR is ended.
//
// A peer cannot take all resources: the number of queue pairs is bounded in total and per address,
// and a queue pair that is not used within open_timeout is closed.
//
// Thread: the one that owns the queue pairs.
#pragma once

#include "roce/qp_table.h"
#include "wire/feroce_cm.h"

struct feroce;

// What a board may write to; rkey 0 if it sends only SENDs.
struct feroce_offer {
	uint64_t base;
	uint32_t rkey;
	uint8_t access;
	void *user; // of the queue pair
};

// Decides whether a board that sends OPEN is accepted (true), and fills its offer. source_ip is in
// host order.
typedef bool (*feroce_judge)(void *context, uint32_t source_ip, const struct feroce_qp *board,
			     struct feroce_offer *offer);

struct feroce_parameters {
	struct qp_table *table; // outlives the manager
	feroce_judge judge;     // NULL: every OPEN is refused
	void *judge_context;
	uint32_t ip; // ours, host order
	uint32_t path_mtu;
	uint32_t boards;           // largest number of queue pairs
	uint32_t boards_of_peer;   // largest number per IP address
	uint64_t open_timeout;     // ns from OPEN to READY_TO_SEND or the first packet
	uint64_t response_timeout; // ns until a request of ours is sent again
	uint64_t seed;             // for first PSNs
	uint8_t retries;           // retransmissions of our requests
	uint8_t timeout_code, retry_count, rnr_retry; // as in struct qp_connection
};

enum feroce_event_kind {
	FEROCE_OPENED, // the queue pair is connected: data may arrive
	FEROCE_READY,  // READY_TO_SEND or the first packet has arrived
	FEROCE_CLOSED, // by either side, by a restart of the board, or by a timeout
};

struct feroce_event {
	enum feroce_event_kind kind;
	struct queue_pair *qp;
	struct feroce_qp board;
};

struct feroce_counters {
	uint64_t received;
	uint64_t malformed; // not a message, or not one of the requests above
	uint64_t sent;
	uint64_t sent_again;
	uint64_t opened;
	uint64_t again;     // repeated requests
	uint64_t no_qp;     // boards refused because a bound was reached
	uint64_t refused;   // by the judge, or because a number was out of range
	uint64_t strangers; // messages that name a queue pair which is not the board's
	uint64_t restarted;
	uint64_t timed_out;
	uint64_t closed;
	uint64_t dropped; // responses not sent because the queue was full
};

struct feroce_datagram {
	uint32_t ip; // host order
	uint16_t port;
	uint8_t bytes[FEROCE_CM_SIZE]; // from our port FEROCE_CM_UDP_PORT
};

// NULL if memory ran out or a parameter is out of its range.
struct feroce *feroce_create(const struct feroce_parameters *parameters);
void feroce_destroy(struct feroce *feroce);

// A datagram that came to port FEROCE_CM_UDP_PORT from source_ip (host order).
void feroce_receive(struct feroce *feroce, const uint8_t *bytes, size_t size, uint32_t source_ip,
		    uint64_t now);

// The next datagram to send; false if there is none. Also finds connections that have timed out.
// Bounded work per call.
bool feroce_poll(struct feroce *feroce, uint64_t now, struct feroce_datagram *datagram);

// The next event; false if there is none. Each connection ends with CLOSED, then feroce_release().
bool feroce_next_event(struct feroce *feroce, struct feroce_event *event);

// Begins the end of a connection: CLOSED follows.
void feroce_hang_up(struct feroce *feroce, struct queue_pair *qp, uint64_t now);

// Closes a CLOSED queue pair. The caller must not use the pointer afterwards.
void feroce_release(struct feroce *feroce, struct queue_pair *qp);

const struct feroce_counters *feroce_counters(const struct feroce *feroce);
