// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// The RoCE v2 endpoint of a port: it connects the protocol code of lib/roce with mbufs. The rx role
// of the port owns it, and passes every datagram for UDP port 4791 to it, and those for the UDP
// port of FERoCE boards. Data becomes segments for the builders. The same lcore sends ACKs, NAKs,
// CNPs and connection messages.
//
// A message, SEND or WRITE, is one MFP. The MFP header in the first packet contains event, length
// and source, so that each further packet becomes a segment without a look at its payload. A WRITE
// names the rkey of its connection's region and an address in it; in a system of nodes the address
// lies in a slot of the builder. Both are checked for every packet. The builder alone decides where
// the bytes are stored in the slot, so a peer cannot write elsewhere.
//
// If a builder has no slot for the event of an RC message that begins, the first packet gets an RNR
// NAK: only this source waits, other sources continue (roce_slots.h).
//
// Thread: the lcore of the rx role. Other threads may read the counters at any time.
#pragma once

#include "packet/mailbox.h"
#include "packet/placement.h"
#include "packet/segment.h"
#include "packet/source_table.h"
#include "port/settings.h"
#include "rdma/roce_frame.h"
#include "rdma/roce_reader.h"
#include "rdma/roce_slots.h"
#include "roce/connection.h"
#include "roce/responder.h"
#include "rx/handler.h"
#include "system/system.h"

#define ROCE_PORT_ERROR_SIZE 256

struct roce_port;

struct roce_port_parameters {
	const struct roce_settings *settings;
	const struct cluster_system *system; // the nodes that connect; may be empty
	const struct port_settings *port;
	const uint8_t *mac; // 6 bytes, of the port
	const struct source_table *sources;
	struct roce_slots *slots; // of the builders
	unsigned n_builders;
	uint64_t smallest_slot; // bytes, of the builder with the smallest slots
	uint32_t packing;       // consecutive events in an MFP
	// In a system of nodes: the memory of the builders' slots, one entry per builder. A
	// connection is for one builder, whose index was added to cm_service. NULL without a
	// system: the event id determines the builder.
	const struct placement *placements;
	struct mailbox *offers;   // from the control role: blocks to read; NULL: none
	struct rte_mempool *pool; // mbufs with room for ROCE_PORT_BUFFER bytes
	int numa_node;
};

#define ROCE_PORT_BUFFER 512u

// Work requests posted to a queue pair at most, by readers and generators. A readout posts two per
// source, and these are the bounds.
#define ROCE_DEPTH      64u
#define ROCE_DEPTH_MOST 4096u

// roce_port_receive() counts every packet under exactly one of: malformed, icrc_errors, unknown_qp,
// taken, data.
struct roce_port_counters {
	uint64_t packets;
	uint64_t malformed;   // not a RoCE packet
	uint64_t icrc_errors; // the ICRC is wrong
	uint64_t unknown_qp;
	uint64_t taken; // connection messages, responses, drops that the queue pair counts
	uint64_t data;  // passed on to the rx role as data
	uint64_t rnr;   // messages delayed because no slot was free
	uint64_t sent;
	uint64_t not_sent; // no mbuf, unknown address, or port full; the peer repeats
};

// Control thread. NULL with one line in error[ROCE_PORT_ERROR_SIZE].
struct roce_port *roce_port_create(const struct roce_port_parameters *parameters, char *error);
void roce_port_destroy(struct roce_port *port);

// Handles a datagram; `now` is in ns. RX_FREE: it is handled, or dropped and counted.
// RX_MORE_BYTES: of a partial one, which is not counted yet.
enum rx_verdict roce_port_receive(struct roce_port *port, struct rx_packet *packet, uint64_t now);

// Fills at most `max` frames to send: responses and connection messages. Returns how many. Call it
// after each burst, and regularly without one. `more`: the next burst is probably waiting, so
// that an ACK may be left to the poll after it, and then acknowledges the packets of both bursts.
unsigned roce_port_poll(struct roce_port *port, uint64_t now, bool more, struct rte_mbuf **mbufs,
			unsigned max);

// Reports how many of these frames were sent, and how many were not.
void roce_port_sent(struct roce_port *port, unsigned sent, unsigned not_sent);

// Ends all connections, and accepts no new ones. Returns false until all peers have responded: call
// it between polls until it returns true or a time limit has passed.
bool roce_port_leave(struct roce_port *port, uint64_t now);

// NULL if no blocks are read.
const struct roce_reader_counters *roce_port_reader_counters(const struct roce_port *port);
const struct roce_port_counters *roce_port_counters(const struct roce_port *port);
// NULL if all connections are static.
const struct cm_counters *roce_port_cm_counters(const struct roce_port *port);
// The number of open queue pairs, static ones included.
unsigned roce_port_open_qps(const struct roce_port *port);
// Sums the counters of all queue pairs, including closed ones.
void roce_port_totals(const struct roce_port *port, struct qp_counters *sums);
// The queue pair at `index` < roce_port_qps(), in any state.
const struct queue_pair *roce_port_qp(const struct roce_port *port, unsigned index);
unsigned roce_port_qps(const struct roce_port *port);
