// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Packets of blocks, for the roles that stand for readout boards. A packet is an mbuf with the
// headers and a chained mbuf that points into the block store, whose bytes are not copied.
//
// Threads: one, the role's lcore.
#pragma once

#include <rte_mbuf.h>

#include "packet/event_index.h"
#include "source/generator.h"
#include "store/block_store.h"

// Where a packet is sent.
struct packet_destination {
	uint8_t mac[6];
	uint32_t address;  // IPv4, host order
	uint16_t udp_port; // first of `udp_ports`
};

struct block_packets_parameters {
	struct block_store *store; // outlives the packets
	uint64_t first_event;      // event id of event index 0
	const uint8_t *mac;        // 6 bytes, of the port
	uint32_t address;          // IPv4 source address, host order
	uint32_t mtu;
	bool ethernet;             // segments follow ether_type; else UDP over IPv4
	uint16_t ether_type;       // of `ethernet`
	bool load_balancer_header; // EJFAT LB header in front of each segment
	bool mfps;                 // blocks are MFPs: each gets the id of its event
	uint16_t udp_ports;        // destination ports that the sources are spread over, >= 1
	uint8_t dscp;
	struct rte_mempool *headers;  // mbufs with block_packets_buffer_size() bytes of room
	struct rte_mempool *payloads; // mbufs without room, for the pointers into blocks
};

struct block_packets {
	struct block_packets_parameters parameters;
	struct divisor udp_ports;
	uint32_t segment_size;  // bytes of payload
	uint8_t prototype[128]; // the headers of a packet except the fields that vary
	uint32_t headers_size, head_offset;
	uint64_t first_tick; // of event index 0
};

// Bytes of room that the header mbufs need: the headers alone, or a whole packet where payload is
// copied (faults; temporary blocks, such as those of ODIN).
uint32_t block_packets_buffer_size(const struct faults *faults, bool has_temporary, uint32_t mtu);

// Control thread.
void block_packets_init(struct block_packets *packets,
			const struct block_packets_parameters *parameters);

static inline uint64_t block_packets_event_id(const struct block_packets *packets, uint64_t event)
{
	return packets->parameters.first_event + event * packets->parameters.store->packing;
}

// Tick of the LB header: event number / packing. A load balancer chooses the worker by its lowest
// bits, so they must differ from event to event, whatever the packing.
static inline uint64_t block_packets_tick(const struct block_packets *packets, uint64_t event)
{
	return packets->first_tick + event;
}

static inline struct store_block block_packets_find(const struct block_packets *packets,
						    const struct packet_segment *at)
{
	return block_store_find(packets->parameters.store, at->event, at->source);
}

// An mbuf that points to bytes of a block that is not temporary. NULL if the pool is empty; its
// mbufs have no room.
struct rte_mbuf *block_packets_payload(struct rte_mempool *pool, const struct store_block *block,
				       const uint8_t *bytes, uint32_t size);

// Writes the headers in front of those of EJFAT, of a packet with `size` bytes behind the latter.
void block_packets_head(const struct block_packets *packets, uint8_t *bytes, unsigned source,
			uint32_t size, const struct packet_destination *to);

// The packet of a segment with `size` bytes of payload. NULL if a pool is empty.
struct rte_mbuf *block_packets_make(struct block_packets *packets, const struct packet_segment *at,
				    const struct store_block *block, uint32_t size,
				    const struct packet_destination *to);

// The packet of a source's end-of-run block, an MFP without fragments, whose tick is its event
// number, 2^64 - 1. NULL if the pool is empty.
struct rte_mbuf *block_packets_make_end(struct block_packets *packets, unsigned source,
					const struct packet_destination *to);
