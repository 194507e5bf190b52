// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Packets of blocks: what the roles that stand for readout boards share. A packet is a buffer with
// headers and a pointer into the source set, whose bytes are not copied.
//
// Threads: one, the role's lcore.
#pragma once

#include <rte_mbuf.h>

#include "config/config.h"
#include "packet/event_index.h"
#include "source/source_set.h"

// Where a packet goes.
struct packet_destination {
	uint8_t mac[6];
	uint32_t address;  // IPv4, host order
	uint16_t udp_port; // first of `udp_ports`, over which sources are spread
};

struct block_packets_parameters {
	const struct config *config;
	const struct config_generator *generator;
	const struct source_set *set; // outlives the packets
	const uint8_t *mac;           // 6 bytes, of the port
	uint32_t address;             // IPv4 to send from, host order
	uint32_t mtu;
	uint16_t udp_ports; // that sources are spread over, >= 1
	uint8_t dscp;
	struct rte_mempool *headers;  // mbufs with block_packets_buffer_size() bytes of room
	struct rte_mempool *payloads; // mbufs without room, for the pointers into the set
};

struct block_packets {
	struct block_packets_parameters parameters;
	struct divisor cycle;
	struct divisor udp_ports;
	uint32_t segment_size;  // bytes of payload
	uint8_t prototype[128]; // the headers of a packet but for the fields that vary
	uint32_t headers_size, re_offset;
	bool odin_valid;
	uint64_t odin_event; // that odin_block holds
	uint8_t *odin_block;
};

// A segment of a block.
struct packet_segment {
	uint64_t event;  // index
	unsigned source; // index into the set
	uint32_t offset; // in the block
};

// Room that the header mbufs need: the headers alone, or a whole packet where bytes must be
// copied (faults, ODIN).
uint32_t block_packets_buffer_size(const struct faults *faults, const struct source_set *set,
				   uint32_t mtu);

// Control thread. False if memory ran out.
bool block_packets_init(struct block_packets *packets,
			const struct block_packets_parameters *parameters);
void block_packets_fini(struct block_packets *packets);

static inline uint64_t block_packets_event_id(const struct block_packets *packets, uint64_t event)
{
	return packets->parameters.generator->first_event +
	       event * packets->parameters.set->packing;
}

// The block of a source in an event. ODIN names its events itself, so its block is made afresh: it
// is good until that of another event is asked for.
struct source_block block_packets_find(struct block_packets *packets,
				       const struct packet_segment *at);

// An mbuf that points to bytes which outlive it. NULL if the pool, of mbufs without room, is empty.
struct rte_mbuf *block_packets_payload(struct rte_mempool *pool, const uint8_t *bytes,
				       uint32_t size);

// The packet of a segment, `size` bytes of payload. NULL if mbufs are short.
struct rte_mbuf *block_packets_make(struct block_packets *packets, const struct packet_segment *at,
				    const struct source_block *block, uint32_t size,
				    const struct packet_destination *to);

// The packet of a source's end-of-run block: an MFP without fragments. NULL if mbufs are short.
struct rte_mbuf *block_packets_make_end(struct block_packets *packets, unsigned source,
					const struct packet_destination *to);
