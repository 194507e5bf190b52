// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "node/readout_internal.h"

#include <string.h>

#include "packet/segment_mbuf.h"

// --- the builder of the current event ---

static enum readout_reach find(void *context, unsigned index)
{
	struct readout_role *readout = context;
	const struct readout_builder *builder = &readout->builders[index];

	readout->builder = index;
	readout->local = builder->link;
	if (readout->local != NULL)
		return READOUT_LOCAL;
	if (readout->roce != NULL)
		return READOUT_REMOTE;
	readout->to.address = builder->address;
	readout->to.udp_port = builder->udp_port;
	return neighbours_get(readout->parameters.neighbours, builder->node, readout->to.mac)
		   ? READOUT_REMOTE
		   : READOUT_SOUGHT;
}

// --- what holds packets back ---

bool readout_may_leave(struct readout_role *readout, uint64_t now)
{
	const struct readout_parameters *p = &readout->parameters;

	if (!sender_room(&readout->sender, 2 + readout->bundles.n_open))
		return false;
	if (p->flow_control == NULL || !flow_control_paused(p->flow_control, p->data_priority, now))
		return true;
	counter_add(&readout->counters.held_pause, 1);
	return false;
}

static bool may_send(void *context, uint64_t now)
{
	struct readout_role *readout = context;

	if (readout->local == NULL)
		return readout_may_leave(readout, now);
	if (readout->n_staged + readout->bundles.n_open < ROLE_BURST)
		return true;
	counter_add(&readout->counters.link_full, 1);
	return false;
}

// --- segments ---

static void stage_for_link(struct readout_role *readout, struct rte_mbuf *mbuf,
			   const struct packet_segment *at, const struct store_block *block,
			   uint32_t size, uint64_t now)
{
	*mbuf_segment(mbuf) = (struct segment){
		.event_id = block_packets_event_id(&readout->packets, at->event),
		.event_index = at->event,
		.arrival = now,
		.offset = at->offset,
		.size = size,
		.length = block->size,
		.payload = (uint16_t)readout->packets.headers_size,
		.source = readout->indices[at->source],
		.flags = block->is_repeated ? SEGMENT_REPEATED : 0,
	};
	readout->staged[readout->n_staged++] = mbuf;
}

bool readout_flush_staged(struct readout_role *readout)
{
	unsigned done;

	if (readout->n_staged == 0)
		return true;
	done = link_enqueue(readout->local, readout->staged, readout->n_staged);
	readout->n_staged -= done;
	memmove(readout->staged, readout->staged + done,
		readout->n_staged * sizeof(*readout->staged));
	return readout->n_staged == 0;
}

// --- bundles ---

// False if the link of the local builder is full.
static bool close_bundle(struct readout_role *readout, struct bundle *bundle)
{
	struct link *link = readout->builders[bundle->builder].link;

	bundles_finish(&readout->bundles, bundle);
	if (link == NULL) {
		sender_put(&readout->sender, bundle->mbuf, readout->packets.headers_size, true);
	} else {
		if (link_enqueue(link, &bundle->mbuf, 1) == 0)
			return false;
		counter_add(&link->counters.enqueued, bundle->n - 1u); // it counts segments
	}
	bundles_remove(&readout->bundles, bundle);
	return true;
}

void readout_close_bundles(struct readout_role *readout)
{
	for (unsigned i = 0; i < readout->bundles.n_open;)
		if (!close_bundle(readout, &readout->bundles.open[i]))
			i++;
}

// Whether another builder's turn ends the bundle of the one before. Without a barrier or windows it
// does not: the bundles of a poll leave in the order of their first blocks, which is that of the
// shift, and a builder's turn is as long as one packet, at most.
static bool turns_end_bundles(const struct readout_role *readout)
{
	return (readout->logic.grant.flags & MESSAGE_BARRIER) != 0 ||
	       readout_logic_is_timed(&readout->logic);
}

static void begin_turn(struct readout_role *readout)
{
	struct bundles *bundles = &readout->bundles;

	if (readout->local != NULL || readout->logic.grant.n_positions <= 1 ||
	    !turns_end_bundles(readout))
		return;
	for (unsigned i = 0; i < bundles->n_open;)
		if (bundles->open[i].is_local || bundles->open[i].builder == readout->builder)
			i++;
		else
			(void)close_bundle(readout, &bundles->open[i]); // no link is full
}

// BUNDLES_FULL: the link of the local builder is full.
static enum bundles_result put_in_bundle(struct readout_role *readout,
					 const struct packet_segment *at,
					 const struct store_block *block, uint64_t now)
{
	struct bundles *bundles = &readout->bundles;
	const bool is_local = readout->local != NULL;
	enum bundles_result result =
	    bundles_put(bundles, at, block, readout->builder, is_local, &readout->to, now);

	if (result != BUNDLES_FULL)
		return result;
	if (!close_bundle(readout, bundles_find(bundles, readout->builder))) {
		counter_add(&readout->counters.link_full, 1);
		return BUNDLES_FULL;
	}
	return bundles_put(bundles, at, block, readout->builder, is_local, &readout->to, now);
}

static bool send_segment(void *context, const struct packet_segment *at,
			 const struct store_block *block, uint32_t size, uint64_t now)
{
	struct readout_role *readout = context;
	struct rte_mbuf *mbuf;
	enum bundles_result result = BUNDLES_ALONE;

	begin_turn(readout);
	if (size == block->size)
		result = put_in_bundle(readout, at, block, now);
	if (result != BUNDLES_ALONE)
		return result == BUNDLES_TAKEN;
	mbuf = block_packets_make(&readout->packets, at, block, size, &readout->to);
	if (mbuf == NULL)
		return false;
	if (readout->local != NULL)
		stage_for_link(readout, mbuf, at, block, size, now);
	else
		sender_put(&readout->sender, mbuf, readout->packets.headers_size, false);
	return true;
}

static bool finish(void *context)
{
	return readout_flush_staged(context);
}

static bool to_control(void *context, const struct message *message)
{
	struct readout_role *readout = context;

	return mailbox_put(readout->parameters.to_control, message);
}

const struct readout_output readout_packets = {
	.find = find,
	.may_send = may_send,
	.send = send_segment,
	.finish = finish,
	.to_control = to_control,
};
