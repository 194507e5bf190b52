// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include <stdlib.h>
#include <string.h>

#include "readout/segment_head.h"
#include "sender/sender_core_internal.h"
#include "wire/net.h"

#define BURST_NS    200000u // at the limit of the rate, at least two packets
#define BURST_MOST  (1u << 24)
#define BURST_LEAST 2u // packets

static uint32_t burst_of(const struct sender_core_parameters *p)
{
	const double bytes = (double)p->rate * BURST_NS * 1e-9;

	if (bytes > BURST_MOST)
		return BURST_MOST;
	return bytes > BURST_LEAST * p->mtu ? (uint32_t)bytes : BURST_LEAST * p->mtu;
}

bool sender_output_make(struct sender_core *core)
{
	const struct sender_core_parameters *p = &core->parameters;

	core->first_tick = p->first_event / p->readout.store->packing;
	core->head_room = p->mtu;
	core->heads = calloc(SENDER_SEGMENTS, core->head_room);
	pacer_init(&core->pacer, p->readout.ticks_per_second,
		   p->rate > 0 ? p->rate : PACER_UNLIMITED, burst_of(p), core->now);
	return core->heads != NULL;
}

void sender_output_free(struct sender_core *core)
{
	free(core->heads);
}

unsigned sender_output_flush(struct sender_core *core)
{
	const struct sender_wire *wire = &core->parameters.wire;
	unsigned sent;

	if (core->first == core->n)
		return 0;
	sent = wire->send(wire->context, &core->segments[core->first], core->n - core->first);
	for (unsigned i = core->first; i < core->first + sent; i++)
		if (core->segments[i].hold != NULL)
			block_hold_return(core->segments[i].hold);
	core->first += sent;
	if (core->first == core->n)
		core->first = core->n = 0;
	return sent;
}

static bool has_room(struct sender_core *core)
{
	if (core->n == SENDER_SEGMENTS)
		(void)sender_output_flush(core);
	return core->n < SENDER_SEGMENTS;
}

// Adds a segment whose head has the EJFAT headers and `copied` bytes of the block.
static struct sender_segment *add(struct sender_core *core, unsigned receiver, unsigned source,
				  uint64_t tick, const struct ejfat_re *re, const uint8_t *copy,
				  uint32_t copied)
{
	const bool load_balancer = core->parameters.load_balancer;
	const uint32_t size = segment_head_size(load_balancer);
	uint8_t *head = core->heads + (size_t)core->n * core->head_room;
	struct sender_segment *segment = &core->segments[core->n++];

	segment_head_write(head, load_balancer, tick, source, *re);
	memcpy(head + size, copy, copied);
	if (core->parameters.mfps && copied >= MFP_HEADER_SIZE && re->offset == 0)
		mfp_patch_event_id(head + size, re->event_number);
	*segment = (struct sender_segment){
		.receiver = receiver,
		.source = source,
		.head = head,
		.head_size = size + copied,
	};
	return segment;
}

// --- the output of the logic ---

static enum readout_reach find(void *context, unsigned builder)
{
	struct sender_core *core = context;

	core->receiver = builder;
	return READOUT_REMOTE;
}

static bool may_send(void *context, uint64_t now)
{
	struct sender_core *core = context;

	return has_room(core) && pacer_ready(&core->pacer, now);
}

static bool send_segment(void *context, const struct packet_segment *at,
			 const struct store_block *block, uint32_t size, uint64_t now)
{
	struct sender_core *core = context;
	const struct sender_core_parameters *p = &core->parameters;
	const struct block_store *store = p->readout.store;
	const struct ejfat_re re = segment_re(
	    block, at->offset, p->first_event + at->event * store->packing, store->ids[at->source]);
	const uint8_t *bytes = block->bytes + at->offset;
	const uint32_t copied = segment_copied(block, at->offset, size, p->mfps);
	struct sender_segment *segment =
	    add(core, core->receiver, at->source, core->first_tick + at->event, &re, bytes, copied);

	(void)pacer_take(&core->pacer, size + core->logic.parameters.overhead, now);
	if (copied == size)
		return true;
	segment->payload = bytes + copied;
	segment->payload_size = size - copied;
	segment->hold = block->hold;
	if (block->hold != NULL)
		block_hold_take(block->hold);
	return true;
}

// Segments name their receivers: nothing waits that needs to know the current one.
static bool finish(void *context)
{
	(void)context;
	return true;
}

static bool to_control(void *context, const struct message *message)
{
	struct sender_core *core = context;

	if (core->node != NULL)
		cluster_node_readout_message(core->node, 0, message, core->now);
	return true;
}

const struct readout_output sender_output = {
	.find = find,
	.may_send = may_send,
	.send = send_segment,
	.finish = finish,
	.to_control = to_control,
};

bool sender_output_end(struct sender_core *core, unsigned receiver, unsigned source)
{
	uint8_t block[MFP_HEADER_SIZE];
	const struct ejfat_re re =
	    segment_end_of_run(block, core->parameters.readout.store->ids[source]);

	if (!has_room(core))
		return false;
	(void)add(core, receiver, source, MFP_END_OF_RUN, &re, block, sizeof(block));
	return true;
}
