// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
//
// Pull by RDMA READ: builders read the blocks that the readout retains. One region of virtual
// addresses contains all blocks of all retained events, each at its own offset; the bytes come from
// the block store.
#include <stdlib.h>

#include <rte_random.h>

#include "rdma/readout_roce_internal.h"
#include "rdma/roce_packets.h"

#define FIRST_ADDRESS (UINT64_C(1) << 40)

// An address consists of byte, source and event, from the lowest bits on.
void readout_roce_place(const struct readout_roce *roce, uint64_t event, unsigned source,
			struct message *message)
{
	const struct packet_segment at = { .event = event, .source = source };
	uint64_t place = (event & roce->latest_mask) << roce->source_shift | source;

	message->address = FIRST_ADDRESS + (place << roce->block_shift);
	message->size = block_packets_find(roce->parameters.packets, &at).size;
	message->rkey = roce->region.rkey;
}

// The block at an address of the region. The address has the low bits of the event; exactly one
// retained event has these bits.
static struct packet_segment block_at(const struct readout_roce *roce, uint64_t address)
{
	uint64_t at = address - FIRST_ADDRESS;
	uint64_t place = at >> roce->block_shift;
	uint64_t bits = place >> roce->source_shift;
	unsigned source = (unsigned)(place & ((UINT64_C(1) << roce->source_shift) - 1));

	return (struct packet_segment){
		.event = roce->released + ((bits - roce->released) & roce->latest_mask),
		.source = RTE_MIN(source, roce->n_sources - 1),
		.offset = (uint32_t)(at & ((UINT64_C(1) << roce->block_shift) - 1)),
	};
}

static struct rte_mbuf *make_data(const struct readout_roce *roce,
				  const struct responder_reply *reply)
{
	// The region has no memory behind it: its pointers equal its virtual addresses.
	struct packet_segment at = block_at(roce, (uint64_t)(uintptr_t)reply->payload);
	struct roce_block block = readout_block(roce, &at);
	uint32_t rest = block.block.size > at.offset ? block.block.size - at.offset : 0;
	const struct requester_packet packet = {
		.qp = reply->qp,
		.offset = at.offset,
		.size = reply->payload_size,
		.header = responder_reply_header(reply),
	};

	if (reply->payload_size > rest)
		return NULL; // beyond the end of the block; the reader may not know its length
	return roce_packets_make(&roce->sender.parameters.pools, &roce_flow_of(reply->qp)->handle,
				 &packet, &block);
}

static struct rte_mbuf *make_acknowledgement(const struct readout_roce *roce,
					     const struct responder_reply *reply)
{
	uint8_t headers[ROCE_MAX_HEADERS_SIZE];
	size_t size = responder_reply_encode(reply, headers);

	return roce_frame_make(roce->sender.parameters.pools.headers,
			       &roce_flow_of(reply->qp)->handle, headers, size, NULL, 0);
}

void readout_serve(void *context, struct queue_pair *qp, const struct roce_packet *packet,
		   const struct qp_address *peer, uint64_t now)
{
	const struct responder_arrival arrival = { .source = *peer };
	struct readout_roce *roce = context;
	struct responder_delivery delivery;
	struct responder_reply reply, refusal;
	struct rte_mbuf *mbuf = NULL;

	if (responder_check(roce->responder, qp, packet, &arrival, now, &delivery, &reply) ==
	    RESPONDER_DELIVER) {
		// A builder may read, but must not send.
		refusal = reply;
		responder_refuse(roce->responder, qp, &delivery, RESPONDER_INVALID, &refusal);
		reply = refusal;
	}
	if (reply.send && sender_room(roce->parameters.sender, 1))
		mbuf = make_acknowledgement(roce, &reply);
	if (mbuf != NULL)
		sender_put(roce->parameters.sender, mbuf, 0, true);
}

struct rte_mbuf *readout_serve_next(struct readout_roce *roce, uint32_t *payload)
{
	struct responder_reply reply;

	while (responder_poll(roce->responder, &reply)) {
		*payload = reply.payload_size;
		if (reply.send)
			return reply.payload != NULL ? make_data(roce, &reply)
						     : make_acknowledgement(roce, &reply);
	}
	return NULL;
}

bool readout_serve_make(struct readout_roce *roce)
{
	const struct responder_parameters parameters = {
		.table = &roce->sender.table,
		.regions = &roce->regions,
		.largest_message = 1,
		.ack_every = 1,
		.max_reads = READOUT_READS,
	};

	roce->block_shift = (unsigned)__builtin_ctz(
	    rte_align32pow2(roce->parameters.packets->parameters.store->largest));
	roce->source_shift = (unsigned)__builtin_ctz(rte_align32pow2(roce->n_sources));
	roce->region = (struct region){
		.memory = (uint8_t *)(uintptr_t)FIRST_ADDRESS,
		.address = FIRST_ADDRESS,
		.length = (roce->latest_mask + 1) << (roce->source_shift + roce->block_shift),
		.rkey = (uint32_t)rte_rand(), // differs from that of the previous process
		.access = REGION_READ,
	};
	roce->regions = (struct region_table){ .regions = &roce->region, .n = 1 };
	roce->responder = responder_create(&parameters);
	return roce->responder != NULL;
}
