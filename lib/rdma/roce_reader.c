// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "rdma/roce_reader.h"

#include <stdlib.h>

#include "packet/event_index.h"
#include "pipeline/role.h"
#include "rdma/roce_port.h"
#include "wire/mfp.h"

#define READS_MOST (1u << 20)
#define NONE       UINT32_MAX

// A block to read.
struct block {
	uint64_t event;    // index
	uint64_t event_id; // from its MFP header
	uint64_t address;
	uint32_t rkey;
	uint32_t length;
	uint32_t next;   // next block of the same `flow`, or of the free list
	uint16_t source; // index
	uint16_t flow;
	uint16_t id; // of the source
	bool is_mfp; // its header matches the offer
};

// The blocks of one node for one builder, first in, first out. The blocks before `next` are posted.
struct flow {
	struct queue_pair *qp; // NULL: not connected
	uint32_t head, tail;   // blocks; NONE: empty
	uint32_t next;         // first block that is not posted, or NONE
};

struct roce_reader {
	struct roce_reader_parameters parameters;
	struct requester *requester;
	struct block *blocks;
	uint32_t n_blocks, free;
	struct flow *flows; // [node][builder]
	unsigned n_flows, n_builders;
	struct divisor packing;
	struct roce_reader_counters counters;
};

static struct flow *flow_of(const struct roce_reader *reader, unsigned node, unsigned builder)
{
	return &reader->flows[node * reader->n_builders + builder];
}

static void give_back(struct roce_reader *reader, uint32_t index)
{
	reader->blocks[index].next = reader->free;
	reader->free = index;
}

static void drop_head(struct roce_reader *reader, struct flow *flow)
{
	uint32_t head = flow->head;

	flow->head = reader->blocks[head].next;
	if (flow->head == NONE)
		flow->tail = NONE;
	give_back(reader, head);
}

static void post(struct roce_reader *reader, struct flow *flow)
{
	while (flow->qp != NULL && flow->next != NONE) {
		const struct block *block = &reader->blocks[flow->next];
		const struct requester_message message = {
			.user = flow->next,
			.address = block->address,
			.rkey = block->rkey,
			.length = block->length,
			.operation = REQUESTER_READ,
		};

		if (!requester_post(reader->requester, flow->qp, &message))
			return;
		flow->next = block->next;
	}
}

// Removes the offers with an rkey that the source does not accept.
static void forget(struct roce_reader *reader, struct flow *flow, uint32_t rkey)
{
	uint32_t index = flow->head;

	flow->head = flow->tail = NONE;
	while (index != NONE) {
		uint32_t next = reader->blocks[index].next;

		if (reader->blocks[index].rkey == rkey) {
			give_back(reader, index);
			counter_add(&reader->counters.forgotten, 1);
		} else {
			reader->blocks[index].next = NONE;
			if (flow->tail == NONE)
				flow->head = index;
			else
				reader->blocks[flow->tail].next = index;
			flow->tail = index;
		}
		index = next;
	}
	flow->next = flow->head;
}

static void complete(struct roce_reader *reader)
{
	struct requester_completion completion;

	while (requester_completion(reader->requester, &completion)) {
		struct flow *flow = &reader->flows[reader->blocks[completion.user].flow];

		switch (completion.cause) {
		case QP_NO_CAUSE:
			counter_add(&reader->counters.blocks, 1);
			drop_head(reader, flow);
			post(reader, flow);
			break;
		case QP_RECEIVED_ACCESS:
		case QP_RECEIVED_INVALID:
			flow->qp = NULL; // the queue pair is in error
			forget(reader, flow, reader->blocks[completion.user].rkey);
			break;
		default:
			break; // read again on the next connection
		}
	}
}

void roce_reader_connected(struct roce_reader *reader, unsigned node, unsigned builder,
			   struct queue_pair *qp)
{
	struct flow *flow = flow_of(reader, node, builder);

	if (flow->qp != NULL)
		requester_flush(reader->requester, flow->qp);
	complete(reader);
	flow->qp = qp;
	flow->next = flow->head;
	post(reader, flow);
}

void roce_reader_gone(struct roce_reader *reader, unsigned node, unsigned builder,
		      const struct queue_pair *qp)
{
	if (flow_of(reader, node, builder)->qp == qp)
		roce_reader_connected(reader, node, builder, NULL);
}

void roce_reader_offer(struct roce_reader *reader, const struct message *message)
{
	struct flow *flow = flow_of(reader, message->node, message->builder);
	uint32_t index = reader->free;
	uint16_t source = reader->parameters.sources->index[message->source];
	struct block *block;

	if (index == NONE || source >= SOURCE_UNEXPECTED || message->size < MFP_HEADER_SIZE ||
	    message->size > reader->parameters.placements[message->builder].slot_size) {
		counter_add(&reader->counters.no_room, 1);
		return;
	}
	counter_add(&reader->counters.offers, 1);
	block = &reader->blocks[index];
	reader->free = block->next;
	*block = (struct block){
		.event = message->event,
		.address = message->address,
		.rkey = message->rkey,
		.length = message->size,
		.next = NONE,
		.source = source,
		.id = message->source,
		.flow = (uint16_t)(flow - reader->flows),
	};
	if (flow->tail == NONE)
		flow->head = index;
	else
		reader->blocks[flow->tail].next = index;
	flow->tail = index;
	if (flow->next == NONE)
		flow->next = index;
	post(reader, flow);
}

bool roce_reader_poll(struct roce_reader *reader, uint64_t now, struct requester_packet *packet)
{
	bool found = requester_poll(reader->requester, now, packet);

	complete(reader); // completes messages that requester_poll() has failed
	return found;
}

// Checks that the MFP header of a block matches the offer.
static void check_block(const struct roce_reader *reader, struct block *block,
			const uint8_t *payload, uint32_t at_hand)
{
	block->is_mfp = false;
	if (at_hand < MFP_HEADER_SIZE)
		return;
	block->event_id = load_le64(payload + 8);
	block->is_mfp = load_le16(payload) == MFP_MAGIC &&
			load_le32(payload + 4) == block->length &&
			divide(block->event_id, &reader->packing) == block->event &&
			load_le16(payload + 16) == block->id;
}

bool roce_reader_receive(struct roce_reader *reader, struct queue_pair *qp,
			 const struct roce_packet *packet, const struct qp_address *peer,
			 uint64_t now, const uint8_t *payload, uint32_t at_hand,
			 struct segment *segment)
{
	struct requester_data data;
	bool is_segment = false;

	if (requester_receive(reader->requester, qp, packet, peer, now, &data) == REQUESTER_DATA) {
		struct block *block = &reader->blocks[data.user];

		if (data.offset == 0)
			check_block(reader, block, payload, at_hand);
		if (block->is_mfp) {
			*segment = (struct segment){
				.event_id = block->event_id,
				.offset = data.offset,
				.size = data.size,
				.length = block->length,
				.source = block->source,
				.builder = (uint16_t)(block->flow % reader->n_builders),
			};
			counter_add(&reader->counters.segments, 1);
			is_segment = true;
		} else {
			counter_add(&reader->counters.malformed, 1);
		}
	}
	complete(reader);
	return is_segment;
}

void roce_reader_destroy(struct roce_reader *reader)
{
	if (reader == NULL)
		return;
	requester_destroy(reader->requester);
	free(reader->blocks);
	free(reader->flows);
	free(reader);
}

static bool make_requester(struct roce_reader *reader)
{
	const struct roce_settings *roce = reader->parameters.settings;
	const struct requester_parameters parameters = {
		.table = reader->parameters.table,
		.depth = ROCE_DEPTH,
		.window = RTE_MAX(roce->window, 2u),
		.ack_interval = RTE_MAX(roce->window / 2, 1u),
		.burst = ROLE_BURST,
	};

	reader->requester = requester_create(&parameters);
	return reader->requester != NULL;
}

// Room for all blocks of the events that hold a slot, twice: a source that has restarted offers its
// blocks again.
static uint32_t count_blocks(const struct roce_reader_parameters *parameters)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < parameters->n_builders; i++)
		n += 2ull * parameters->placements[i].slots * parameters->n_sources;
	return (uint32_t)RTE_MIN(n, (uint64_t)READS_MOST);
}

static bool make_blocks(struct roce_reader *reader)
{
	reader->n_blocks = count_blocks(&reader->parameters);
	reader->blocks = calloc(reader->n_blocks + 1, sizeof(*reader->blocks));
	reader->flows = calloc(reader->n_flows, sizeof(*reader->flows));
	reader->free = NONE;
	if (reader->blocks == NULL || reader->flows == NULL)
		return false;
	for (uint32_t i = reader->n_blocks; i-- > 0;)
		give_back(reader, i);
	for (unsigned i = 0; i < reader->n_flows; i++)
		reader->flows[i].head = reader->flows[i].tail = reader->flows[i].next = NONE;
	return true;
}

struct roce_reader *roce_reader_create(const struct roce_reader_parameters *parameters)
{
	struct roce_reader *reader = calloc(1, sizeof(*reader));

	if (reader == NULL)
		return NULL;
	reader->parameters = *parameters;
	reader->n_builders = parameters->n_builders;
	reader->packing = divisor_make(parameters->packing);
	reader->n_flows = parameters->n_nodes * reader->n_builders;
	if (!make_requester(reader) || !make_blocks(reader)) {
		roce_reader_destroy(reader);
		return NULL;
	}
	return reader;
}

const struct roce_reader_counters *roce_reader_counters(const struct roce_reader *reader)
{
	return &reader->counters;
}
