// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The RDMA connection manager (IBA volume 1, chapter 12, and annex A11 for IP addresses). It
// handles the messages that arrive on QP 1, and opens, refuses and ends RC and UC connections. A
// program that uses librdmacm connects to evb unmodified, and evb connects to it.
//
//   passive: event REQUESTED; cm_accept() or cm_refuse(); event ESTABLISHED or FAILED
//   active:  cm_connect(); event ESTABLISHED, REFUSED or FAILED
//   both:    cm_disconnect(), or event DISCONNECTED; then cm_release()
//
// If the RTU of a peer is lost, the connection is established when its queue pair receives the
// first packet. A connection whose queue pair is in state QP_ERROR is ended.
//
// FERoCE readout boards connect by the messages of wire/feroce_cm.h. The board begins:
//
//   OPEN (with the board's queue pair) -> ACK (with ours)
//   SEND_QP_INFO -> ACK                   optional: the board repeats or corrects its numbers
//   READY_TO_SEND -> ACK                  optional: the board is about to send
//   CLOSE_QP -> ACK                       either side ends the connection
//
// The side that sent a request repeats it until the ACK arrives. OPEN is the event REQUESTED;
// READY_TO_SEND or the first packet is ESTABLISHED.
//
// Every connection that an event or cm_connect() has reported ends with one of REFUSED, FAILED and
// DISCONNECTED, followed by cm_release() from the caller. Until then its queue pair stays open, in
// state QP_ERROR.
//
// What a stranger cannot do, whatever addresses it claims, unless it sees the messages to others:
//
//   - end or replace a connection: it would have to know ids and queue pair numbers, which are
//     random. A REQ or OPEN that names the queue pair of an existing connection is ignored until
//     that one has been silent for `silence`; and the old connection ends only when the new one is
//     established. So does an earlier connection whose peer gives another GUID, once it is silent.
//   - keep places: a queue pair counts as used only if its packet proves that the peer received our
//     response (RC: the first PSN, which we chose; a board: our number). Half-open connections time
//     out. When three quarters of `half_open` are taken, or all of `half_open_of_peer`, each REQ
//     takes the place of one chosen at random, so that those whose peers respond fast survive.
//     When all places but one are taken, or all of `of_peer`, the connection that has been silent
//     longest, for `idle_timeout` at least, is ended; if there is none, one of those from which
//     nothing has arrived 4 response_timeouts after they were opened, chosen at random; else one
//     that is half open.
//
// A REQ for which there is no room gets a REJ with the reason "no resources" or "no QP"; an RTU for
// a connection that is not there, one with "invalid id".
//
// Thread: the one that owns the queue pairs.
#pragma once

#include "roce/qp_table.h"
#include "wire/feroce_cm.h"
#include "wire/roce_cm.h"

#define CM_PRIVATE_SIZE 196u // largest private data of an event or an acceptance, bytes
#define CM_PORTS_MOST   16u

struct cm;

// Where messages of a peer come from, and where responses go.
struct cm_peer {
	struct qp_address address;
	uint8_t mac[6];    // for the caller; 0 in what the active side sends before a response
	uint16_t vlan_tci; // for the caller
};

struct cm_parameters {
	struct qp_table *table;     // outlives the manager, which seeds its numbers
	struct qp_address address;  // ours
	struct qp_address address6; // our IPv6 address, if `address` is IPv4; all 0: none, and if
				    // `address` is not IPv4, there is no IPv4 address
	uint64_t guid; // ours: any number that no other node uses, for example the MAC address
	uint64_t seed; // for communication ids and first PSNs; must differ at each start
	uint64_t response_timeout; // ns until a message is sent again
	uint64_t accept_timeout;   // ns within which the caller must respond to REQUESTED
	uint64_t open_timeout;     // ns from the OPEN of a board to READY_TO_SEND or a packet
	uint64_t silence;      // ns without a packet after which a peer may replace its connection
	uint64_t idle_timeout; // ns without a packet after which others may take the place
	uint32_t connections;  // largest number, 1..65537; the last one is for a REQ that takes the
			      // place of another connection
	uint32_t half_open; // largest number that is not established
	uint32_t half_open_of_peer;
	uint32_t of_peer;  // largest number per peer address
	uint32_t path_mtu; // largest that our port supports, bytes; boards use it
	// REQs for `n_ports` ports of the RDMA_PS_TCP space are accepted, beginning with `port`;
	// those for other ports are refused.
	uint16_t port, n_ports;
	uint8_t retries; // retransmissions per message
	// 0 or 1, the highest bit of all ids. Two managers that receive the same messages, at one
	// address, have different ones; each ignores those for the other.
	uint8_t side;
	// Active side and boards: the values of the connection; see struct qp_connection.
	uint8_t timeout_code;
	uint8_t retry_count;
	uint8_t rnr_retry;
	uint8_t max_reads; // largest number of READs outstanding in each direction; at most the
			   // responder's
};

struct cm_counters {
	uint64_t received;  // MADs and messages of boards
	uint64_t malformed; // unknown message types, or fields out of range
	uint64_t sent;
	uint64_t sent_again;
	uint64_t requests; // REQs and OPENs, duplicates not included
	uint64_t duplicates;
	uint64_t strangers; // messages that name no connection of ours, or come from another peer
	uint64_t dropped;   // messages not sent: the queue was full
	uint64_t no_resources; // REQs refused because a bound was reached
	uint64_t refused;      // by us, for any reason; includes refusals by the caller
	uint64_t established;
	uint64_t restarted;   // connections replaced by those of a restarted peer
	uint64_t kept;        // REQs ignored because the connection that they name is not silent
	uint64_t early_drops; // half-open connections dropped to make room
	uint64_t idle;        // silent connections ended to make room
	uint64_t timed_out;
	uint64_t disconnected;
};

enum cm_event_kind {
	CM_REQUESTED,
	CM_ESTABLISHED,
	CM_REFUSED, // by the peer, which gave `reason`
	CM_FAILED,  // timed out, or no queue pair was free
	CM_DISCONNECTED,
};

struct cm_event {
	enum cm_event_kind kind;
	uint32_t id;           // of the connection
	struct queue_pair *qp; // NULL until it is opened
	void *user;            // of cm_accept() or cm_connect()
	struct cm_peer peer;
	uint32_t peer_qpn;
	uint16_t port;        // that the peer requested; a board: the UDP port that it listens to
	uint8_t service;      // enum roce_service: RC or UC
	uint16_t reason;      // enum roce_cm_reason; REFUSED
	uint8_t private_size; // private data of the peer's application
	uint8_t private_data[CM_PRIVATE_SIZE];
};

struct cm_acceptance {
	void *user;       // of the connection and of its queue pair
	uint64_t address; // of the region that a board may write
	uint32_t rkey;    // of the region; 0: the board sends only SENDs
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

// A datagram for QP 1 of a peer: the encoded header (roce_headers_encode()), then the MAD, then the
// ICRC. Or one for a board, from our port FEROCE_CM_UDP_PORT to its `port`.
struct cm_datagram {
	struct cm_peer peer;
	uint16_t port; // 0: a MAD for QP 1
	struct roce_packet header;
	union {
		uint8_t mad[ROCE_CM_MAD_SIZE];
		uint8_t board[FEROCE_CM_SIZE];
	};
};

// NULL if memory ran out or a parameter is out of its range.
struct cm *cm_create(const struct cm_parameters *parameters);
void cm_destroy(struct cm *cm);

// Handles a packet for QP 1 whose ICRC is right. `payload` holds packet->payload_size bytes.
void cm_receive(struct cm *cm, const struct roce_packet *packet, const uint8_t *payload,
		const struct cm_peer *source, uint64_t now);

// Handles a datagram of an IPv4 address to UDP port FEROCE_CM_UDP_PORT.
void cm_receive_board(struct cm *cm, const uint8_t *bytes, size_t size,
		      const struct cm_peer *source, uint64_t now);

// The next datagram to send; false if there is none. Also finds connections that have timed out and
// queue pairs in error: call it several times per response_timeout. Bounded work per call.
bool cm_poll(struct cm *cm, uint64_t now, struct cm_datagram *datagram);

// The next event; false if there is none.
bool cm_next_event(struct cm *cm, struct cm_event *event);

// These two respond to event REQUESTED. cm_accept() opens and connects the queue pair; the peer may
// send before event ESTABLISHED. It returns false if the connection is no longer in that state, or
// if no queue pair is free (the peer is refused then).
bool cm_accept(struct cm *cm, uint32_t id, const struct cm_acceptance *acceptance, uint64_t now);
bool cm_refuse(struct cm *cm, uint32_t id, enum roce_cm_reason reason);

// Opens a queue pair and sends a REQ to the peer. Returns the id of the connection; 0 if a bound is
// reached or a parameter is invalid.
uint32_t cm_connect(struct cm *cm, const struct cm_destination *destination, uint64_t now);

// Ends an established connection: sends DREQ or CLOSE_QP until the response arrives or the retries
// are used up. Event DISCONNECTED follows.
bool cm_disconnect(struct cm *cm, uint32_t id, uint64_t now);

// Closes the queue pair and frees the connection. The caller must not use either afterwards.
void cm_release(struct cm *cm, uint32_t id);

const struct cm_counters *cm_counters(const struct cm *cm);
uint32_t cm_open_connections(const struct cm *cm);
