// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Definitions shared by the files of a port's RoCE endpoint: roce_port.c (creation, frames to send,
// telemetry), roce_receive.c (packets of queue pairs) and roce_connect.c (opening and closing queue
// pairs).
#pragma once

#include "base/seqlock.h"
#include "packet/event_index.h"
#include "rdma/roce_port.h"

#define ROCE_PENDING_MOST 64u
#define ROCE_READS        16u // largest number of READs outstanding per peer

// The data of a queue pair outside lib/roce: its `user`.
struct roce_peer {
	// First cache line: what few packets need.
	struct roce_peer *next;                // next free peer
	const struct roce_static_pair *config; // NULL: not in `roce.queue_pairs`
	uint16_t builder;    // index of the connection's builder, in a system of nodes
	uint32_t connection; // id in the connection manager; 0: none
	// The end of the handle, which begins the second line, is compared with each packet.
	struct roce_address_handle handle; // source_port 0: unknown

	// Second cache line, what each packet needs: the message in progress
	uint16_t source; // index, or SOURCE_UNKNOWN, SOURCE_UNEXPECTED
	uint16_t to;     // builder
	bool is_mfp;
	bool is_passed; // and without a slot, see roce_slots.h
	uint64_t event_id;
	uint32_t length;
	// and the region that the peer may write
	uint32_t rkey;      // 0: no region
	uint64_t address;   // of the region
	uint64_t size;      // of the region
	uint64_t slot_size; // bytes per slot of the region
	uint64_t slot_mask; // mask of the offset in a slot
} __attribute__((aligned(QP_CACHE_LINE)));

_Static_assert(offsetof(struct roce_peer, handle.peer_mac) == QP_CACHE_LINE &&
		   sizeof(struct roce_peer) == 2 * QP_CACHE_LINE,
	       "the lines of a peer are as they say");

struct roce_port {
	struct roce_port_parameters parameters;
	const struct roce_settings *config;
	struct qp_table table;
	struct responder *responder;
	struct roce_reader *reader; // NULL: builders do not read
	struct cm *cm;              // NULL: not used
	struct roce_peer *peers, *free_peers;
	struct divisor packing, builders;
	struct qp_address own4;
	uint64_t largest_message;
	uint32_t path_mtu;
	uint32_t n_peers;
	uint32_t sample;    // packets until the next ICRC is verified
	uint64_t next_look; // ns; the manager is not polled before
	bool leaving;
	struct seqlock closing;    // while counters move from a queue pair to `closed`
	struct qp_counters closed; // sums of closed queue pairs
	struct rte_mbuf *pending[ROCE_PENDING_MOST]; // frames to send
	unsigned n_pending;
	struct roce_port_counters counters;
};

static inline struct roce_peer *roce_peer_of(const struct queue_pair *qp)
{
	return qp->user;
}

// roce_port.c

// Stores a frame until the next poll. NULL, because no mbuf was free or the peer's address is
// unknown, is counted as not sent.
void roce_enqueue(struct roce_port *port, struct rte_mbuf *mbuf);
void roce_enqueue_reply(struct roce_port *port, const struct responder_reply *reply);
void roce_enqueue_cnp(struct roce_port *port, const struct queue_pair *qp);

// Fills an address handle for responses to a packet with the addresses of the packet. A packet
// whose source MAC is a group address is ignored. `number` chooses the UDP source port.
void roce_learn_handle(const struct roce_port *port, struct roce_address_handle *handle,
		       const struct rx_packet *in, const struct qp_address *source,
		       uint32_t number);

// roce_connect.c

// Creates the manager and opens the static queue pairs. False with one line in error.
bool roce_connect_create(struct roce_port *port, char *error);

// Handles a packet to QP 1; only if connections are made by RDMA CM. False if it comes from a group
// address.
bool roce_connect_receive(struct roce_port *port, const struct rx_packet *in,
			  const struct roce_packet *packet, const struct qp_address *source,
			  uint64_t now);
// Handles a datagram to the UDP port of the messages of FERoCE boards.
void roce_connect_board(struct roce_port *port, const struct rx_packet *in,
			const struct qp_address *source, uint64_t now);
// Sends connection messages that are due, and handles timeouts and events.
void roce_connect_poll(struct roce_port *port, uint64_t now);
// Begins the end of all connections that the manager opened.
void roce_connect_leave(struct roce_port *port, uint64_t now);
