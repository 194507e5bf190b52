// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Definitions shared by the files of the connection manager: connection.c (the table and the
// functions for the caller), connection_receive.c (MADs from peers), connection_send.c (MADs to
// peers, timeouts), connection_room.c (which connections end for others) and connection_board.c
// (messages from and to FERoCE boards).
#pragma once

#include "base/random.h"
#include "roce/connection.h"

#define CM_NONE     UINT32_MAX
#define CM_ID_SIDE  0x80000000u
#define CM_OUT_SIZE 64u // messages that wait to be sent, a power of two

enum cm_stage {
	CM_STAGE_FREE,
	CM_STAGE_REQUESTED,  // passive: waits for cm_accept() or cm_refuse()
	CM_STAGE_ACCEPTED,   // passive: REP sent, waits for the RTU; a board: for READY_TO_SEND
	CM_STAGE_CONNECTING, // active: REQ sent, waits for the REP
	CM_STAGE_ESTABLISHED,
	CM_STAGE_LEAVING, // DREQ or CLOSE_QP sent, waits for the response
	CM_STAGE_ENDED,   // waits for cm_release()
};

struct connection {
	uint32_t id;        // ours; the peer names the connection by it
	uint32_t remote_id; // the peer's
	uint32_t chain;     // next connection of the same bucket of peers, or of the free list
	uint8_t stage;      // enum cm_stage
	uint8_t tries;      // retransmissions left of the message that waits for a response
	uint8_t events;     // not yet reported: bits by enum cm_event_kind
	bool listed;        // in the list of connections with events
	bool active;
	bool is_board;
	bool is_doubtful; // its peer has connected since with another GUID
	uint8_t service;
	uint16_t port;
	uint16_t reason;
	uint64_t deadline; // ns, for the message that the stage waits for
	uint64_t opened;   // ns
	uint64_t heard;    // ns, when packets were last seen to have arrived
	uint64_t packets;  // that had arrived then
	uint32_t half_at;  // index in cm.half, while half open
	uint64_t transaction;
	uint64_t guid; // the peer's
	struct cm_peer peer;
	uint32_t peer_qpn;
	uint32_t peer_psn;  // first PSN of the peer; we chose it, a board its own
	uint32_t local_psn; // our first PSN; the peer chose it, for a board we
	uint32_t path_mtu;
	uint16_t partition_key;
	uint8_t access;
	uint8_t timeout_code, retry_count, rnr_retry;
	uint8_t reads_in, reads_out; // READs that the peer, and that we, may have outstanding
	bool flow_control;
	struct feroce_qp own_board, board; // the two queue pairs as a board's messages name them
	struct queue_pair *qp;
	void *user;
	uint8_t own_size, peer_size;
	uint8_t own_private[CM_PRIVATE_SIZE]; // of our REQ or REP
	uint8_t peer_private[CM_PRIVATE_SIZE];
};

struct cm {
	struct cm_parameters parameters;
	struct random random;
	struct connection *connections;
	uint32_t free;     // first free connection
	uint32_t *buckets; // first connection of each bucket of peers
	uint32_t bucket_mask;
	uint32_t index_mask; // low bits of an id; the bits above change with each use
	uint32_t n_open, n_half_open;
	uint32_t *half;    // [n_half_open] half-open connections
	uint32_t quietest; // established, silent for longest of those seen; CM_NONE: none
	uint32_t scan;     // where the search for timeouts continues
	uint32_t *listed;
	uint32_t list_head, list_tail; // not wrapped
	uint32_t list_mask;
	struct cm_datagram out[CM_OUT_SIZE];
	uint32_t out_head, out_tail; // not wrapped
	uint32_t psn;                // of our datagrams
	struct cm_counters counters;
};

// Our address of the peer's IP version.
static inline const struct qp_address *cm_own_address(const struct cm *cm,
						      const struct qp_address *peer)
{
	const struct cm_parameters *p = &cm->parameters;

	return qp_address_is_ipv4(&p->address) == qp_address_is_ipv4(peer) ? &p->address
									   : &p->address6;
}

static inline bool cm_is_half_open(const struct connection *connection)
{
	return connection->stage >= CM_STAGE_REQUESTED && connection->stage <= CM_STAGE_CONNECTING;
}

// Whether the queue pair has received a packet.
static inline bool cm_is_used(const struct connection *connection)
{
	return connection->qp != NULL && connection->qp->expected_psn != connection->peer_psn;
}

// Whether a packet proves that the peer has received our response. On UC any PSN begins a message:
// only the RTU proves it.
static inline bool cm_has_proof(const struct connection *connection)
{
	return cm_is_used(connection) && (connection->is_board || connection->service == ROCE_RC);
}

// connection.c

// The connection with this id; NULL if there is none.
struct connection *cm_find(struct cm *cm, uint32_t id);
// The first connection of the bucket that a peer belongs to.
uint32_t cm_first_of_peer(const struct cm *cm, const struct qp_address *peer);
// Opens a connection to a peer and gives it an id. NULL if a bound is reached.
struct connection *cm_open_connection(struct cm *cm, const struct cm_peer *peer, uint64_t now);
void cm_set_stage(struct cm *cm, struct connection *connection, enum cm_stage stage);
void cm_report(struct cm *cm, struct connection *connection, enum cm_event_kind event);
// Ends the connection. The event is reported only if the caller knows of the connection.
void cm_end(struct cm *cm, struct connection *connection, enum cm_event_kind event);
// Ends a connection that its peer has ended, or has confirmed the end of.
void cm_end_by_peer(struct cm *cm, struct connection *connection);
// Establishes a connection, and ends those that it replaces.
void cm_establish(struct cm *cm, struct connection *connection);
// Establishes an accepted connection whose peer has sent data, for example because its RTU was
// lost. False if the connection is another one.
bool cm_establish_by_data(struct cm *cm, struct connection *connection);
// Connects the queue pair with the parameters that the peer sent. False if one of them is out of
// range.
bool cm_connect_qp(struct connection *connection);

// connection_room.c

// Ends others, if a peer's new connection would reach a bound: those of cm_parameters.
void cm_make_room(struct cm *cm, const struct qp_address *peer, uint64_t now);
// Counts a peer's connections that have not ended.
void cm_count_of_peer(const struct cm *cm, const struct qp_address *peer, uint32_t *all,
		      uint32_t *half_open);
// Whether an established connection is one that a REQ or OPEN for its queue pair does not replace.
bool cm_is_alive(const struct cm *cm, struct connection *connection, uint64_t now);
// Ends an established connection if it is silent and doubtful; else remembers the quietest.
void cm_judge_silence(struct cm *cm, struct connection *connection, uint64_t now);
// Ends established connections that a new one replaces, and marks as doubtful those of an earlier
// process of the peer.
void cm_replace_others(struct cm *cm, const struct connection *connection);

// connection_send.c

// Sends the message of the current stage (REQ, REP or DREQ; a board: ACK or CLOSE_QP) and starts
// its timer.
void cm_send(struct cm *cm, struct connection *connection, uint64_t now);
// Sends a message that needs no response: RTU or DREP.
void cm_send_short(struct cm *cm, const struct cm_peer *peer, enum roce_cm_attribute attribute,
		   uint64_t transaction, uint32_t local_id, uint32_t remote_id);
// Sends a REJ for a message of a peer.
void cm_send_rej(struct cm *cm, const struct cm_peer *peer, const struct roce_cm *message,
		 uint32_t local_id, enum roce_cm_reason reason);
// Sends a REJ for the message that the peer of a half-open connection waits for.
void cm_refuse_request(struct cm *cm, const struct connection *connection,
		       enum roce_cm_reason reason);
// Sends any message.
void cm_send_message(struct cm *cm, const struct cm_peer *peer, const struct roce_cm *message);
// The place of the next datagram to a peer; cm->out_tail++ sends it. NULL if the queue is full.
struct cm_datagram *cm_next_datagram(struct cm *cm, const struct cm_peer *peer);

// connection_board.c

// cm_send() for a board.
void cm_send_board(struct cm *cm, struct connection *connection, uint64_t now);
// Refuses the OPEN of a board.
void cm_refuse_board(struct cm *cm, const struct connection *connection,
		     enum roce_cm_reason reason);
