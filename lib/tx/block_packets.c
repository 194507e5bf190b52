// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "tx/block_packets.h"

#include <string.h>

#include "readout/segment_head.h"
#include "wire/net.h"

static uint32_t headers_size(const struct block_packets_parameters *parameters)
{
	return NET_ETH_SIZE + segment_head_size(parameters->load_balancer_header) +
	       (parameters->ethernet ? 0 : NET_IPV4_SIZE + NET_UDP_SIZE);
}

uint32_t block_packets_buffer_size(const struct faults *faults, bool has_temporary, uint32_t mtu)
{
	bool copies = faults->corrupt > 0 || faults->duplicate > 0 || has_temporary;

	return copies ? mtu + NET_ETH_SIZE : 128;
}

static void make_prototype(struct block_packets *packets)
{
	const struct block_packets_parameters *p = &packets->parameters;
	struct net_mac from, to = { { 0 } };

	memcpy(from.bytes, p->mac, sizeof(from.bytes));
	net_eth_encode(packets->prototype, &to, &from, 0, p->ether_type);
	packets->headers_size = headers_size(p);
	packets->head_offset = packets->headers_size - segment_head_size(p->load_balancer_header);
	packets->segment_size = p->mtu + NET_ETH_SIZE - packets->headers_size;
}

void block_packets_init(struct block_packets *packets,
			const struct block_packets_parameters *parameters)
{
	packets->parameters = *parameters;
	packets->udp_ports = divisor_make(parameters->udp_ports);
	packets->first_tick = parameters->first_event / parameters->store->packing;
	make_prototype(packets);
}

static void write_udp(const struct block_packets *packets, uint8_t *bytes, unsigned source,
		      uint32_t size, const struct packet_destination *to)
{
	const struct block_packets_parameters *p = &packets->parameters;
	struct net_udp4 udp = {
		.source_ip = p->address,
		.destination_ip = to->address,
		.source_port = (uint16_t)(SEGMENT_SOURCE_PORT + source % SEGMENT_SOURCE_PORTS),
		.destination_port =
		    (uint16_t)(to->udp_port + remainder_of(source, &packets->udp_ports)),
		.dscp_ecn = (uint8_t)(p->dscp << 2),
	};

	memcpy(udp.source_mac.bytes, p->mac, sizeof(udp.source_mac.bytes));
	memcpy(udp.destination_mac.bytes, to->mac, sizeof(udp.destination_mac.bytes));
	net_udp4_encode(bytes, &udp, (uint16_t)(packets->headers_size - NET_HEADERS_SIZE + size));
}

void block_packets_head(const struct block_packets *packets, uint8_t *bytes, unsigned source,
			uint32_t size, const struct packet_destination *to)
{
	memcpy(bytes, packets->prototype, packets->head_offset);
	if (packets->parameters.ethernet)
		memcpy(bytes, to->mac, sizeof(to->mac));
	else
		write_udp(packets, bytes, source, size, to);
}

// The header mbuf of a packet.
static struct rte_mbuf *make_headers(const struct block_packets *packets, unsigned source,
				     uint64_t tick, const struct ejfat_re *re, uint32_t size,
				     const struct packet_destination *to)
{
	const struct block_packets_parameters *p = &packets->parameters;
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(p->headers);
	uint8_t *bytes;

	if (mbuf == NULL)
		return NULL;
	bytes = rte_pktmbuf_mtod(mbuf, uint8_t *);
	block_packets_head(packets, bytes, source, size, to);
	segment_head_write(bytes + packets->head_offset, p->load_balancer_header, tick, source,
			   *re);
	mbuf->data_len = (uint16_t)packets->headers_size;
	mbuf->pkt_len = packets->headers_size;
	return mbuf;
}

static void nothing_to_free(void *address, void *context)
{
	(void)address;
	(void)context;
}

static void return_hold(void *address, void *context)
{
	(void)address;
	block_hold_return(context);
}

// DPDK requires a reference counter. It lies in the private area of the mbuf: lcores that free
// mbufs would contend for a counter shared by several.
struct rte_mbuf *block_packets_payload(struct rte_mempool *pool, const struct store_block *block,
				       const uint8_t *bytes, uint32_t size)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	struct rte_mbuf_ext_shared_info *shared;
	union {
		const uint8_t *read_only;
		void *address;
	} memory = { .read_only = bytes };

	if (mbuf == NULL)
		return NULL;
	shared = rte_mbuf_to_priv(mbuf);
	shared->free_cb = block->hold != NULL ? return_hold : nothing_to_free;
	shared->fcb_opaque = block->hold;
	if (block->hold != NULL)
		block_hold_take(block->hold);
	rte_mbuf_ext_refcnt_set(shared, 1);
	rte_pktmbuf_attach_extbuf(mbuf, memory.address, (rte_iova_t)(uintptr_t)bytes,
				  (uint16_t)size, shared);
	mbuf->data_len = (uint16_t)size;
	mbuf->pkt_len = size;
	return mbuf;
}

// Chains an mbuf that points to bytes of the block behind the headers.
static bool attach_payload(const struct block_packets *packets, struct rte_mbuf *mbuf,
			   const struct store_block *block, const uint8_t *bytes, uint32_t size)
{
	struct rte_mbuf *tail =
	    block_packets_payload(packets->parameters.payloads, block, bytes, size);

	if (tail == NULL)
		return false;
	mbuf->next = tail;
	mbuf->nb_segs = 2;
	mbuf->pkt_len += size;
	return true;
}

static bool append_bytes(struct rte_mbuf *mbuf, const uint8_t *bytes, uint32_t size)
{
	char *to = rte_pktmbuf_append(mbuf, (uint16_t)size);

	if (to == NULL)
		return false;
	memcpy(to, bytes, size);
	return true;
}

struct rte_mbuf *block_packets_make(struct block_packets *packets, const struct packet_segment *at,
				    const struct store_block *block, uint32_t size,
				    const struct packet_destination *to)
{
	const struct block_packets_parameters *p = &packets->parameters;
	uint64_t id = block_packets_event_id(packets, at->event);
	const struct ejfat_re re = segment_re(block, at->offset, id, p->store->ids[at->source]);
	struct rte_mbuf *mbuf = make_headers(packets, at->source,
					     block_packets_tick(packets, at->event), &re, size, to);
	const uint8_t *bytes = block->bytes + at->offset;
	const uint32_t copied = segment_copied(block, at->offset, size, p->mfps);
	bool made = true;

	if (mbuf == NULL)
		return NULL;
	if (copied > 0) {
		made = append_bytes(mbuf, bytes, copied);
		if (made && at->offset == 0)
			mfp_patch_event_id(
			    rte_pktmbuf_mtod_offset(mbuf, uint8_t *, packets->headers_size), id);
	}
	if (made && copied < size)
		made = attach_payload(packets, mbuf, block, bytes + copied, size - copied);
	if (!made) {
		rte_pktmbuf_free(mbuf);
		return NULL;
	}
	return mbuf;
}

struct rte_mbuf *block_packets_make_end(struct block_packets *packets, unsigned source,
					const struct packet_destination *to)
{
	uint8_t block[MFP_HEADER_SIZE];
	const struct ejfat_re re =
	    segment_end_of_run(block, packets->parameters.store->ids[source]);
	struct rte_mbuf *mbuf;

	mbuf = make_headers(packets, source, MFP_END_OF_RUN, &re, sizeof(block), to);
	if (mbuf != NULL)
		(void)append_bytes(mbuf, block, sizeof(block)); // the header pool has room for it
	return mbuf;
}
