// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// A protocol handler of the rx role. The role itself recognises segments over UDP and over an
// EtherType; every other packet goes to the handlers, in the order of a table: first those that
// were passed in rx_parameters (RoCE, the control protocol), then rx's own (rx/own_handlers.c). The
// first handler that accepts the packet decides what becomes of it.
//
// Threads: the lcore of the rx role calls all functions of a handler.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "packet/causes.h"
#include "rx/counters.h"
#include "wire/net.h"

// Bytes of a packet that are contiguous at rx_packet.bytes, or the whole packet if it is shorter:
// room for Ethernet with two VLAN tags, IPv4 with options or IPv6, UDP, and the largest headers
// behind them, which are RoCE's: BTH, RETH, immediate data and the MFP header.
#define RX_HEADER_BYTES 142u

// A received packet, for the duration of one call.
struct rx_packet {
	struct rte_mbuf *mbuf;
	const uint8_t *bytes;  // the packet's first bytes; a copy where the mbuf has several parts
	uint32_t header_bytes; // contiguous at `bytes`: min(packet length, RX_HEADER_BYTES) or more
	bool is_partial;       // fewer are contiguous; only where the handler has takes_parts
	struct net_frame frame;
	uint64_t now;             // TSC
	enum segment_cause cause; // the handler sets it where it returns RX_DROP_SEGMENT
};

// What a handler did with a packet.
enum rx_verdict {
	RX_NOT_MINE,    // nothing; the packet is unchanged: the next handler is tried
	RX_MORE_BYTES,  // nothing; it is called again when is_partial is false
	RX_FREE,        // it is finished with the packet: rx frees the mbuf
	RX_PASSED_ON,   // it passed the mbuf on, or freed it
	RX_NO_ROOM,     // the role behind it has no room: rx frees the mbuf and counts the loss
	RX_REPLY,       // it turned the packet into a reply, in place: rx sends the mbuf
	RX_SEGMENT,     // it filled the segment of the mbuf (packet/segment_mbuf.h), except for the
			// event index and the arrival: rx passes the mbuf to segment->builder
	RX_DROP_SEGMENT // the packet is a segment that cannot be placed: rx frees and counts it
};

struct rx_handler {
	void *context;

	// The kinds of packets that the handler gets: one bit per enum net_kind, RX_ACCEPTS(). It
	// gets UDP datagrams only to these two ports, which may be equal.
	uint32_t kinds;
	uint16_t udp_ports[2];
	// For UDP datagrams: the protocol has a checksum of its own, so rx does not check those of
	// IP and UDP.
	bool has_own_checksum;
	// receive() is called for UDP datagrams although fewer than RX_HEADER_BYTES are contiguous,
	// and may return RX_MORE_BYTES. So bytes behind the first buffer of a packet are not read.
	bool takes_parts;
	// receive() may return RX_SEGMENT, so packets wait for room in the links (rx/hold.h). Only
	// such a handler may return it.
	bool brings_segments;
	// The offset in struct rx_counters of the counter for packets whose verdict is none of
	// RX_NOT_MINE, RX_MORE_BYTES, RX_SEGMENT and RX_DROP_SEGMENT.
	size_t counter;

	enum rx_verdict (*receive)(void *context, struct rx_packet *packet);

	// The rest is optional: NULL if the handler sends only replies.

	// Fills at most `max` packets that are due and returns how many. Called after each burst,
	// and in polls that receive nothing. rx sends them on its reply queue. `more`: the burst
	// was as large as a burst can be, so the next one is probably waiting; what may be sent
	// once for both can wait for it.
	unsigned (*poll)(void *context, uint64_t now, bool more, struct rte_mbuf **mbufs,
			 unsigned max);
	// Reports how many packets of the last poll() the port accepted; rx frees the others.
	void (*sent)(void *context, unsigned sent, unsigned not_sent);
	// Closes the connections with peers; poll() is still called. When the role drains, leave()
	// is called until it returns true, for at most 0.5 s.
	bool (*leave)(void *context, uint64_t now);
};

#define RX_ACCEPTS(kind) (1u << (kind))

#define RX_OWN_HANDLERS 5
extern const struct rx_handler rx_own_handlers[RX_OWN_HANDLERS];

// The bytes of a packet that a handler may turn into a reply: the mbuf's own. NULL if the packet is
// in several parts.
static inline uint8_t *rx_packet_in_place(const struct rx_packet *packet)
{
	return packet->mbuf->nb_segs == 1 ? rte_pktmbuf_mtod(packet->mbuf, uint8_t *) : NULL;
}
