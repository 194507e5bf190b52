// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Connections with FERoCE readout boards, by the messages of wire/feroce_cm.h. Either side begins:
//
//   a board calls:  OPEN (its queue pair) -> ACK (ours); it may tell of its queue pair again by
//                   SEND_QP_INFO -> ACK, and that it starts by READY_TO_SEND -> ACK
//   we call:        feroce_call(): OPEN (ours) -> ACK (its); READY_TO_SEND -> ACK
//   the end:        CLOSE_QP -> ACK, either way
//
// Answers that are lost are asked for again by repeating the request. A board that opens its queue
// pair anew after its connection has been used has restarted: the old connection is CLOSED.
//
// A connection whose queue pair has come into error is ended.
//
// What can be done to us is bounded: the number of queue pairs in all and of each address, and the
// time until one is used.
//
// Threads: one, that of the queue pairs.
#pragma once

#include "roce/qp_table.h"
#include "wire/feroce_cm.h"

struct feroce;

// What a board may write to; rkey 0 if it sends only SENDs.
struct feroce_offer {
	uint64_t base;
	uint32_t rkey;
	uint32_t domain; // as for qp_connection
	uint8_t access;
	void *user; // of the queue pair
};

// Says whether a board that calls is taken, and what it gets. source_ip in host order.
typedef bool (*feroce_judge)(void *context, uint32_t source_ip, const struct feroce_qp *board,
			     struct feroce_offer *offer);

struct feroce_parameters {
	struct qp_table *table; // outlives the manager
	feroce_judge judge;     // NULL: boards that call are refused
	void *judge_context;
	uint32_t ip; // ours, host order
	uint32_t path_mtu;
	uint32_t boards;           // queue pairs at most
	uint32_t boards_of_peer;   // of one IP address at most
	uint64_t open_timeout;     // ns from OPEN to READY_TO_SEND or the first packet
	uint64_t response_timeout; // ns until a request of ours is sent again
	uint64_t seed;             // of first PSNs
	uint8_t retries;           // of requests of ours
	uint8_t timeout_code, retry_count, rnr_retry; // as for qp_connection
};

enum feroce_event_kind {
	FEROCE_OPENED, // by the board: connected, data may come
	FEROCE_READY,  // it has said that data will come, or it came
	FEROCE_CLOSED, // by either side, by a restart of the board or by timeout
};

struct feroce_event {
	enum feroce_event_kind kind;
	struct queue_pair *qp;
	struct feroce_qp board;
	bool refused; // CLOSED: by the board, that we had called
};

struct feroce_counters {
	uint64_t received;
	uint64_t malformed; // no message, or one that is none of these
	uint64_t sent;
	uint64_t sent_again;
	uint64_t opened;
	uint64_t again;     // requests that had been answered
	uint64_t no_qp;     // boards refused for a bound
	uint64_t refused;   // by the judge, or with numbers out of range
	uint64_t strangers; // messages about queue pairs that are not the board's
	uint64_t restarted;
	uint64_t timed_out;
	uint64_t closed;
	uint64_t dropped; // answers that there was no room for
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

// The next datagram to send; false if there is none. Finds what has timed out. Bounded work.
bool feroce_poll(struct feroce *feroce, uint64_t now, struct feroce_datagram *datagram);

// The next event; false if there is none. Each connection ends with CLOSED, then feroce_release().
bool feroce_next_event(struct feroce *feroce, struct feroce_event *event);

// Calls a board that listens at ip and port. NULL if there is no room.
struct queue_pair *feroce_call(struct feroce *feroce, uint32_t ip, uint16_t port,
			       const struct feroce_offer *offer, uint64_t now);

// Ends a connection: CLOSED follows.
void feroce_hang_up(struct feroce *feroce, struct queue_pair *qp, uint64_t now);

// The caller has nothing more to do with a CLOSED queue pair: its place is free again.
void feroce_release(struct feroce *feroce, struct queue_pair *qp);

const struct feroce_counters *feroce_counters(const struct feroce *feroce);
