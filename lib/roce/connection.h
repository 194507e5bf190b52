// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The RDMA connection manager (IBA volume 1, chapter 12, and annex A11 for IP addresses): what
// arrives on QP 1 and makes, refuses and ends RC and UC connections, so that a program that uses
// librdmacm connects to us unmodified, and we to it.
//
//   passive: listen; event REQUESTED; cm_accept() or cm_refuse(); event ESTABLISHED or FAILED
//   active:  cm_connect(); event ESTABLISHED, REFUSED or FAILED
//   both:    cm_disconnect(), or event DISCONNECTED; then cm_release()
//
// A peer whose RTU is lost is established once its queue pair has taken a packet; a connection
// whose queue pair has come into error is ended.
//
// Every connection that an event or cm_connect() has told of ends with one of REFUSED, FAILED,
// DISCONNECTED and with cm_release() by the caller; until then its queue pair stays, in error.
//
// What a peer can do to us is bounded: half-open connections are bounded in number, in all and of
// each peer, and time out; beyond that a REQ is answered by REJ "no resources". A REQ that uses the
// QPN of an existing connection of the same peer comes from a peer that has restarted: the old
// connection is DISCONNECTED, the new one goes its way.
//
// Threads: one, that of the queue pairs.
#pragma once

#include "roce/qp_table.h"
#include "wire/roce_cm.h"

#define CM_PRIVATE_SIZE 196u // bytes of private data that an event or an acceptance can have
#define CM_PORTS_MOST   16u

struct cm;

struct cm_parameters {
	struct qp_table *table;     // outlives the manager
	struct qp_address address;  // ours
	struct qp_address address6; // ours of IPv6 beside one of IPv4; all 0: none
	uint64_t guid;              // ours: any number that is ours alone, the MAC for one
	uint64_t seed;              // of communication ids and first PSNs: differs at each start
	uint64_t response_timeout;  // ns until a message is sent again
	uint64_t accept_timeout;    // ns until the caller has answered REQUESTED
	uint32_t connections;       // at most, 1..65536
	uint32_t half_open;         // at most of them not established
	uint32_t half_open_of_peer;
	uint32_t of_peer;  // at most of one peer's address
	uint32_t path_mtu; // largest that our port takes
	uint8_t retries;   // of each message
	// Active: what the REQ proposes for ACK timeouts and retries, as for qp_connection.
	uint8_t timeout_code;
	uint8_t retry_count;
	uint8_t rnr_retry;
	uint8_t max_reads; // outstanding towards us (at most the responder's), and by us
};

struct cm_counters {
	uint64_t received;  // MADs
	uint64_t malformed; // no CM message that we know, or fields out of range
	uint64_t sent;
	uint64_t sent_again;
	uint64_t requests; // REQs, duplicates not included
	uint64_t duplicates;
	uint64_t strangers;    // messages to no connection of ours, or not from its peer
	uint64_t dropped;      // messages that there was no room for: they are asked for again
	uint64_t no_resources; // REQs refused for a bound
	uint64_t refused;      // by us for all reasons, by the caller included
	uint64_t established;
	uint64_t restarted; // connections replaced by a REQ of a restarted peer
	uint64_t timed_out;
	uint64_t disconnected;
};

enum cm_event_kind {
	CM_REQUESTED,
	CM_ESTABLISHED,
	CM_REFUSED, // by the peer; `reason` is its
	CM_FAILED,  // timed out, or no queue pair left
	CM_DISCONNECTED,
};

struct cm_event {
	enum cm_event_kind kind;
	uint32_t id;           // of the connection
	struct queue_pair *qp; // NULL as long as there is none
	void *user;            // of cm_accept() or cm_connect()
	struct qp_address peer;
	uint32_t peer_qpn;
	uint16_t port;        // that the peer asked for
	uint8_t service;      // enum roce_service: RC or UC
	uint16_t reason;      // enum roce_cm_reason; REFUSED
	uint8_t private_size; // what the application of the peer said
	uint8_t private_data[CM_PRIVATE_SIZE];
};

struct cm_acceptance {
	void *user; // of the connection and of its queue pair
	uint8_t access;
	uint8_t private_size;
	const uint8_t *private_data;
};

struct cm_destination {
	struct qp_address peer;
	uint16_t port;
	uint8_t service; // ROCE_RC or ROCE_UC
	uint32_t path_mtu;
	void *user;
	uint8_t access;
	uint8_t private_size; // at most 56
	const uint8_t *private_data;
};

// A datagram for QP 1 of a peer: roce_headers_encode() of the header, the MAD, ICRC.
struct cm_datagram {
	struct qp_address peer;
	struct roce_packet header;
	uint8_t mad[ROCE_CM_MAD_SIZE];
};

// NULL if memory ran out or a parameter is out of its range.
struct cm *cm_create(const struct cm_parameters *parameters);
void cm_destroy(struct cm *cm);

// A port (of the RDMA_PS_TCP space) at which REQs are not refused. False if there are
// CM_PORTS_MOST already.
bool cm_listen(struct cm *cm, uint16_t port);

// What came to QP 1 with a right ICRC: `payload` holds packet->payload_size bytes.
void cm_receive(struct cm *cm, const struct roce_packet *packet, const uint8_t *payload,
		const struct qp_address *source, uint64_t now);

// The next datagram to send; false if there is none. Finds what has timed out or come into error:
// call it some times in each response_timeout. Bounded work.
bool cm_poll(struct cm *cm, uint64_t now, struct cm_datagram *datagram);

// The next event; false if there is none.
bool cm_next_event(struct cm *cm, struct cm_event *event);

// Answers REQUESTED. cm_accept() opens and connects the queue pair: the peer may send before we
// hear ESTABLISHED. False if the connection is not in that state any more, or there is no queue
// pair (the REJ is sent then).
bool cm_accept(struct cm *cm, uint32_t id, const struct cm_acceptance *acceptance, uint64_t now);
bool cm_refuse(struct cm *cm, uint32_t id, enum roce_cm_reason reason, const uint8_t *private_data,
	       uint8_t private_size);

// Opens a queue pair and asks the peer. 0 if there is no room, else the connection's id.
uint32_t cm_connect(struct cm *cm, const struct cm_destination *destination, uint64_t now);

// Ends an established connection: DREQ, until DREP or timeout. Event DISCONNECTED follows.
bool cm_disconnect(struct cm *cm, uint32_t id, uint64_t now);

// The caller has nothing more to do with it: closes the queue pair, forgets the connection.
void cm_release(struct cm *cm, uint32_t id);

const struct cm_counters *cm_counters(const struct cm *cm);
uint32_t cm_open_connections(const struct cm *cm);
