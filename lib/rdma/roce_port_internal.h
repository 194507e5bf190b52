// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// What the files of a port's RoCE endpoint share: roce_port.c (its making, what leaves, telemetry),
// roce_receive.c (packets of queue pairs) and roce_connect.c (how queue pairs come and go).
#pragma once

#include <stdatomic.h>

#include "packet/event_index.h"
#include "rdma/roce_port.h"

#define ROCE_PENDING_MOST 64u
#define ROCE_READS        16u  // of a peer, outstanding
#define ROCE_HANDLES      256u // of peers that sent connection messages, a power of two

// What belongs to a queue pair beside the engines' state: its `user`.
struct roce_peer {
	struct roce_address_handle handle; // source_port 0: not known
	uint32_t rkey;                     // of its region; 0: none
	uint64_t address;                  // of the region
	uint64_t size;                     // of the region
	uint64_t slot_size;                // it consists of slots of so many bytes
	uint64_t slot_mask;                // of the address within a slot
	uint16_t builder;                  // that the connection is for, in a system of nodes
	uint32_t connection;               // of RDMA CM, 0: none
	// As queue_pairs says
	const struct roce_static_pair *config; // NULL: it is not of there
	// The message under way
	bool is_mfp;
	uint64_t event_id;
	uint32_t length;
	uint16_t source;        // index, or SOURCE_UNKNOWN, SOURCE_UNEXPECTED
	uint16_t to;            // builder
	struct roce_peer *next; // free one
};

struct roce_port {
	struct roce_port_parameters parameters;
	const struct roce_settings *config;
	struct qp_table table;
	struct responder *responder;
	struct roce_reader *reader; // NULL: nothing is read
	struct cm *cm;              // NULL: not used
	struct feroce *feroce;      // the same
	struct roce_peer *peers, *free_peers;
	struct roce_peer *offered; // to the next FERoCE board
	struct roce_address_handle
	    handles[ROCE_HANDLES]; // by the address of the peer, who was heard last
	struct divisor packing, builders;
	struct qp_address own4;
	uint64_t largest_message;
	uint32_t path_mtu;
	uint32_t n_peers;
	uint32_t sample;    // packets until the next ICRC is verified
	uint64_t next_look; // ns: the managers are left alone before
	bool leaving;
	atomic_uint changes;       // odd while counters move from a queue pair to `closed`
	struct qp_counters closed; // of queue pairs that are gone
	struct rte_mbuf *pending[ROCE_PENDING_MOST]; // frames that are to leave
	unsigned n_pending;
	struct roce_port_counters counters;
};

static inline struct roce_peer *roce_peer_of(const struct queue_pair *qp)
{
	return qp->user;
}

// roce_port.c

// Keeps a frame until the next poll; NULL: there was no mbuf for it.
void roce_keep(struct roce_port *port, struct rte_mbuf *mbuf);
void roce_keep_reply(struct roce_port *port, const struct responder_reply *reply);
void roce_keep_cnp(struct roce_port *port, const struct queue_pair *qp);

// Answers go back the way that a packet came, unless it says that it came from a group.
// `number` chooses the UDP port.
void roce_learn_handle(const struct roce_port *port, struct roce_address_handle *handle,
		       const uint8_t *bytes, const struct net_frame *frame,
		       const struct qp_address *source, uint32_t number);

// roce_connect.c

// Makes the managers, opens static queue pairs. False with one line in error.
bool roce_connect_create(struct roce_port *port, char *error);
void roce_connect_destroy(struct roce_port *port);

// A packet to QP 1, where there is a manager behind it.
void roce_connect_receive(struct roce_port *port, const struct rte_mbuf *mbuf,
			  const struct roce_packet *packet, const uint8_t *bytes,
			  const struct net_frame *frame, const struct qp_address *source,
			  uint64_t now);
// A datagram to the UDP port of FERoCE boards' messages.
void roce_connect_board(struct roce_port *port, const struct rte_mbuf *mbuf, const uint8_t *bytes,
			const struct net_frame *frame, const struct qp_address *source,
			uint64_t now);
// What is due: messages to be sent, timeouts, events.
void roce_connect_poll(struct roce_port *port, uint64_t now);
// Asks for the end of all connections that the managers made.
void roce_connect_leave(struct roce_port *port, uint64_t now);
// Whether there is any left.
bool roce_connect_any(const struct roce_port *port);
