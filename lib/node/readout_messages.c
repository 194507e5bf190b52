// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026, the evb authors
#include "node/readout_internal.h"

static struct readout_roce *roce_of(void *context)
{
	return ((struct readout_role *)context)->roce;
}

static bool is_connected(void *context)
{
	return readout_roce_is_connected(roce_of(context));
}

static void granted(void *context, const struct message *grant)
{
	readout_roce_granted(roce_of(context), grant);
}

static void released(void *context, uint64_t event)
{
	readout_roce_released(roce_of(context), event);
}

static void forget(void *context)
{
	readout_roce_forget(roce_of(context));
}

static bool holds(void *context, uint64_t event)
{
	return readout_roce_holds(roce_of(context), event);
}

static bool holds_any(void *context)
{
	return readout_roce_holds_any(roce_of(context));
}

// --- sending ---

bool readout_send_roce_packet(struct readout_role *readout, uint64_t now)
{
	struct rte_mbuf *mbuf;
	uint32_t size;

	if (!readout_may_leave(readout, now))
		return false;
	if (!readout_pace_ready(&readout->logic.pace, now)) {
		counter_add(&readout->counters.held_pace, 1);
		return false;
	}
	mbuf = readout_roce_next(readout->roce, now, &size);
	if (mbuf == NULL)
		return false;
	readout_pace_take(&readout->logic.pace, rte_pktmbuf_pkt_len(mbuf) + readout->frame_overhead,
			  now);
	sender_put(&readout->sender, mbuf, 0, false);
	counter_add(&readout->counters.segments, 1);
	counter_add(&readout->counters.payload_bytes, size);
	return true;
}

// Sends a builder that requested the event the addresses of its blocks.
static bool offer(struct readout_role *readout)
{
	const struct block_store *store = readout->parameters.packets.store;
	struct readout_logic *logic = &readout->logic;

	for (; !readout_logic_is_sent(logic); logic->cursor.source++) {
		struct message message = {
			.kind = MESSAGE_OFFER,
			.event = logic->grant.event,
			.run = logic->grant.run,
			.builder = logic->grant.builder,
			.attempt = logic->grant.attempt,
			.source = store->ids[logic->cursor.source],
		};

		readout_roce_place(readout->roce, message.event, logic->cursor.source, &message);
		if (!mailbox_put(readout->parameters.to_control, &message))
			return false;
	}
	counter_add(&readout->counters.blocks, store->n_sources);
	return true;
}

// An event is posted to RoCE as a whole. It is the current event until its packets have left.
static bool step(void *context, uint64_t now)
{
	struct readout_role *readout = context;
	struct readout_logic *logic = &readout->logic;

	if (readout_roce_is_read(readout->roce))
		return offer(readout);
	if (!readout->posted) {
		readout->posted = readout_roce_post(readout->roce, &logic->grant);
		return readout->posted;
	}
	if (readout_send_roce_packet(readout, now))
		return true;
	if (!readout_roce_is_sent(readout->roce, logic->grant.builder, now))
		return false;
	counter_add(&readout->counters.blocks, readout_logic_sources(logic));
	logic->cursor.source = readout_logic_sources(logic);
	readout->posted = false;
	return true;
}

const struct readout_messages readout_roce_messages = {
	.is_connected = is_connected,
	.granted = granted,
	.released = released,
	.forget = forget,
	.holds = holds,
	.holds_any = holds_any,
	.step = step,
};
