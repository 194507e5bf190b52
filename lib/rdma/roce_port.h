// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The RoCE v2 endpoint of a port: the engines of lib/roce on mbufs. The rx role of the port owns
// it, and gives it every datagram to UDP port 4791 (and, for FERoCE boards, to theirs). Data
// becomes segments for the builders; ACKs, NAKs, CNPs and connection messages leave from the same
// lcore.
//
// A message, SEND or WRITE, is one MFP: its header, in the first packet, says event, length and
// source, so that each further packet is a segment without another look at the payload. A WRITE
// names rkey and address of its connection's region, in a system of nodes of a slot of its
// builder's, which are checked on every packet; where the bytes lie in the slot is the builder's
// business, so nothing on the wire can write elsewhere.
//
// Where a builder has no slot for the event that an RC message would begin, its first packet gets
// an RNR NAK: its source waits, others need not (roce_slots.h).
//
// Threads: the rx role's lcore; the counters may be read by others at any time.
#pragma once

#include "cluster/system.h"
#include "packet/mailbox.h"
#include "packet/placement.h"
#include "packet/segment.h"
#include "packet/source_table.h"
#include "port/settings.h"
#include "rdma/roce_frame.h"
#include "rdma/roce_reader.h"
#include "rdma/roce_slots.h"
#include "roce/connection.h"
#include "roce/feroce.h"
#include "roce/responder.h"
#include "wire/net.h"

#define ROCE_PORT_ERROR_SIZE 256

struct roce_port;

struct roce_port_parameters {
	const struct roce_settings *settings;
	const struct cluster_system *system; // whose nodes connect; without nodes: no system
	const struct port_settings *port;
	const uint8_t *mac; // 6 bytes, of the port
	const struct source_table *sources;
	struct roce_slots *slots; // of the builders
	unsigned n_builders;
	uint64_t smallest_slot; // bytes, of the builder with the smallest slots
	uint32_t packing;       // consecutive events in an MFP
	// In a system of nodes: where the builders' slots lie; a connection is for one builder, the
	// one whose number was added to cm_service. Else NULL: the event says which builder it is
	// for.
	const struct placement *placements;
	struct mailbox *offers;   // from the control role: blocks that are to be read; NULL: none
	struct rte_mempool *pool; // mbufs with room for ROCE_PORT_BUFFER bytes
	int numa_node;
};

#define ROCE_PORT_BUFFER 512u

// Of a datagram at most: Ethernet with two VLAN tags, IPv4 with options, UDP, BTH, RETH, immediate,
// MFP header.
#define ROCE_PORT_HEADERS 142u

// What becomes of a packet.
enum roce_result {
	ROCE_TAKEN,     // it was answered, or dropped and counted: the caller frees it
	ROCE_SEGMENT,   // *segment is filled
	ROCE_MALFORMED, // data that is no MFP: the caller counts a malformed segment
	ROCE_UNKNOWN,   // a source id that the configuration does not have
	ROCE_UNEXPECTED // a configured source that is not part of this run
};

// Every packet given to roce_port_receive() is one of: malformed, icrc_errors, unknown_qp, taken,
// data.
struct roce_port_counters {
	uint64_t packets;
	uint64_t malformed;   // no RoCE packet
	uint64_t icrc_errors; // not the CRC of its bytes
	uint64_t unknown_qp;
	uint64_t taken; // connection messages, answers, drops that the queue pair counts
	uint64_t data;  // handed on
	uint64_t rnr;   // messages put off for want of a slot
	uint64_t sent;
	uint64_t not_sent; // no mbuf, no way to the peer, or the port was full: asked for again
};

// A queue pair, for telemetry; a relaxed snapshot.
struct roce_port_qp {
	uint32_t qpn, peer_qpn;
	uint8_t state, service, cause;
	uint32_t expected_psn; // that the peer is to send
	uint32_t next_psn;     // that we send next, where we send
	uint32_t msn;
	uint16_t path_mtu;
	struct qp_address peer;
	struct qp_counters counters;
};

// Control thread. NULL with one line in error[ROCE_PORT_ERROR_SIZE].
struct roce_port *roce_port_create(const struct roce_port_parameters *parameters, char *error);
void roce_port_destroy(struct roce_port *port);

// Takes a datagram, of which header_bytes are contiguous at `bytes`, the whole is in the mbuf; now:
// ns. header_bytes: all, or at least those of all headers, of the MFP too (ROCE_PORT_HEADERS). The
// source of *segment and its event are filled, arrival and event_index are not.
enum roce_result roce_port_receive(struct roce_port *port, struct rte_mbuf *mbuf,
				   const uint8_t *bytes, uint32_t header_bytes,
				   const struct net_frame *frame, uint64_t now,
				   struct segment *segment);

// Fills at most max frames that are due: answers, connection messages; returns how many. To be
// called after each burst, and now and then.
unsigned roce_port_poll(struct roce_port *port, uint64_t now, struct rte_mbuf **mbufs,
			unsigned max);

// Says how many of them left, and how many did not.
void roce_port_sent(struct roce_port *port, unsigned sent, unsigned not_sent);

// Takes leave of all peers that connected: none is taken any more. False as long as one has not
// answered; to be called, between polls, until it is true or patience ends.
bool roce_port_leave(struct roce_port *port, uint64_t now);

// NULL where nothing is read.
const struct roce_reader_counters *roce_port_reader_counters(const struct roce_port *port);
const struct roce_port_counters *roce_port_counters(const struct roce_port *port);
// NULL where connections are not made by RDMA CM.
const struct cm_counters *roce_port_cm_counters(const struct roce_port *port);
// Connections of RDMA CM or of FERoCE boards, and static queue pairs.
unsigned roce_port_open_qps(const struct roce_port *port);
// Sums over all queue pairs, of those that are gone, too.
void roce_port_totals(const struct roce_port *port, struct qp_counters *sums);
// The queue pair at place `index`; false if there is none, index < roce_port_qps().
bool roce_port_qp(const struct roce_port *port, unsigned index, struct roce_port_qp *qp);
unsigned roce_port_qps(const struct roce_port *port);
// The same of any queue pair; false if it is free.
bool roce_qp_read(const struct queue_pair *qp, struct roce_port_qp *out);
